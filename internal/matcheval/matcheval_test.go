package matcheval_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/matcheval"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

func gold(t testing.TB) []matcheval.Topic {
	t.Helper()
	f, err := os.Open("../../memory/testdata/gold.txt")
	require.NoError(t, err)
	defer f.Close()
	topics, err := matcheval.ReadGold(f)
	require.NoError(t, err)
	return topics
}

// small is an evaluation of a memory that takes a second or two. It has no month.
func small(t testing.TB, newMemory func() revue.Memory) *matcheval.Options {
	t.Helper()
	return &matcheval.Options{
		Gold: gold(t), Seed: 1, Nuisance: 200, Changes: 4000, Teams: -1, NewMemory: newMemory,
		NewStore: func(now func() time.Time) revue.Store { return memstore.New(&memstore.Options{Now: now}) },
	}
}

func shipped() revue.Memory { return memory.New(nil) }

func run(t testing.TB, o *matcheval.Options) (*matcheval.Report, string) {
	t.Helper()
	r, err := matcheval.Run(t.Context(), o)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	return r, b.String()
}

func TestBounds(t *testing.T) {
	r, table := run(t, small(t, shipped))
	t.Log("\n" + table)
	require.NoError(t, r.Check())
	require.GreaterOrEqual(t, r.Topics, 60)
	require.GreaterOrEqual(t, r.Pairs, 300)
	require.Equal(t, 4000, r.Generated.Tried)
	require.Equal(t, r.Generated.Tried, r.Generated.Recalls)
	require.Zero(t, r.Gold.Applied+r.Generated.Applied)
	for _, op := range []string{"insert", "delete", "swap", "replace number", "replace version", "replace negation", "replace entity", "replace verb", "replace environment", "replace direction", "replace unit", "replace identifier", "replace quantity", "replace question", "replace word", "spelling quotes", "spelling layout", "spelling article"} {
		require.Positive(t, r.Generated.ByOp[op], op)
	}
}

// The month of one team, with the memory as it is.
func TestMonth(t *testing.T) {
	if testing.Short() {
		t.Skip("plays five months: left out by -short")
	}
	o := small(t, shipped)
	o.Teams, o.Changes = 1, 3000
	r, table := run(t, o)
	t.Log("\n" + table)
	require.NoError(t, r.Check())
	require.Len(t, r.Months, 5)
	require.Less(t, r.Months[3].Cards, r.Months[4].Cards, "some questions are reused as a rule alone")
	none, without, own, with := r.Months[0], r.Months[1], r.Months[2], r.Months[3]
	require.Zero(t, none.Reused)
	require.Less(t, without.Cards, none.Cards)
	require.Less(t, own.Cards, without.Cards)
	require.LessOrEqual(t, 2*with.Cards, without.Cards)
	require.Positive(t, with.Learned)
	require.LessOrEqual(t, with.Outdated, own.Outdated)
	require.Zero(t, without.Outdated)
	for _, m := range r.Months {
		require.Equal(t, 3000, m.Asks)
		require.Zero(t, m.Wrong)
		require.LessOrEqual(t, m.Asks, m.Reused+m.Joined+m.Cards, "every ask was answered by a card or from memory")
	}
}

// An alias is withdrawn with its decision. The shipped memory learns few of them, so this one takes nothing for crucial.
func TestAliasesGoWithTheirDecision(t *testing.T) {
	o := small(t, func() revue.Memory {
		return loosened{Memory: memory.New(nil), same: func(_, _ revue.Question, c revue.Comparison) revue.Comparison {
			c.Crucial = false
			return c
		}}
	})
	o.Teams, o.Asks, o.Changes = 1, 1500, 100
	r, _ := run(t, o)
	own, with := r.Months[2], r.Months[3]
	require.Greater(t, with.Learned, 20)
	require.Less(t, with.Outdated, own.Outdated)
}

// With other seeds, learned wordings halve the cards too.
func TestMonthsOfOtherSeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("plays months of several teams: left out by -short")
	}
	for seed := range uint64(3) {
		o := small(t, shipped)
		o.Seed, o.Teams = seed+2, 2
		without, with, err := matcheval.Learning(t.Context(), o)
		require.NoError(t, err)
		t.Logf("seed %d: %.1f cards for 100 asks without, %.1f with", o.Seed, without.Per100(), with.Per100())
		require.LessOrEqual(t, float64(with.Cards), matcheval.MaxRemaining*float64(without.Cards), "seed %d", o.Seed)
		require.Zero(t, without.Wrong+with.Wrong)
	}
	_, _, err := matcheval.Learning(t.Context(), small(t, shipped))
	require.ErrorContains(t, err, "no team plays")
	_, _, err = matcheval.Learning(t.Context(), nil)
	require.Error(t, err)
}

// The shares by bucket rise with the score, and the report says so where they do not.
func TestScoresAreCalibrated(t *testing.T) {
	o := small(t, shipped)
	o.Nuisance, o.Changes = 1000, 3000
	r, _ := run(t, o)
	require.NoError(t, r.Check())
	before, full := 1.0, 0
	for _, b := range r.Buckets {
		if b.Tried < 5 {
			continue
		}
		full++
		now := float64(b.Right) / float64(b.Tried)
		require.LessOrEqual(t, now, before, "scores from %.1f", b.From)
		before = now
	}
	require.GreaterOrEqual(t, full, 4)
	require.GreaterOrEqual(t, float64(r.Near.Top3), 0.8*float64(r.Near.Tried), "near misses stand before paraphrases")

	r.Buckets[3].Tried, r.Buckets[3].Right = 100, 10
	r.Buckets[5].Tried, r.Buckets[5].Right = 100, 90
	require.ErrorContains(t, r.Check(), "right more often than higher ones")
}

func TestSameSeedSameTable(t *testing.T) {
	o := small(t, shipped)
	o.Teams, o.Asks, o.Changes, o.Gold = 1, 200, 500, o.Gold[:30]
	_, one := run(t, o)
	_, again := run(t, o)
	require.Equal(t, one, again)
	o.Seed = 2
	_, other := run(t, o)
	require.NotEqual(t, one, other)
}

// loosened is a memory with its rules relaxed.
type loosened struct {
	revue.Memory

	same   func(a, b revue.Question, c revue.Comparison) revue.Comparison
	recall func(*revue.Recalled)
}

func (l loosened) Same(a, b revue.Question) revue.Comparison {
	c := l.Memory.Same(a, b)
	if l.same != nil {
		c = l.same(a, b, c)
	}
	return c
}

func (l loosened) Recall(ctx context.Context, src revue.Source, q revue.Query) (revue.Recalled, error) {
	got, err := l.Memory.Recall(ctx, src, q)
	if l.recall != nil {
		l.recall(&got)
	}
	return got, err
}

// without returns the words of a question, in order, for which drop is false.
func without(text string, drop func(string) bool) []string {
	return slices.DeleteFunc(strings.Fields(strings.ToLower(strings.Trim(text, "?"))), drop)
}

// A memory that is a little too ready to take one question for another does not pass.
func TestLoosenedMemoryIsNoticed(t *testing.T) {
	take := func(v revue.Verdict, when func(a, b revue.Question, c revue.Comparison) bool) func() revue.Memory {
		return func() revue.Memory {
			return loosened{Memory: memory.New(nil), same: func(a, b revue.Question, c revue.Comparison) revue.Comparison {
				if when(a, b, c) {
					c.Verdict = v
				}
				return c
			}}
		}
	}
	for _, c := range []struct {
		name   string
		memory func() revue.Memory
		want   string
	}{
		{"applies by score", func() revue.Memory {
			return loosened{Memory: memory.New(nil), recall: func(r *revue.Recalled) {
				for i := range r.Matches {
					if r.Matches[i].Score >= 0.7 {
						r.Matches[i].ReuseGuidance = revue.Apply
					}
				}
			}}
		}, "are taken for the same"},
		{"drops not", take(revue.VerdictSame, func(a, b revue.Question, _ revue.Comparison) bool {
			not := func(w string) bool { return w == "not" || w == "never" }
			return slices.Equal(without(a.Text, not), without(b.Text, not))
		}), "are taken for the same"},
		{"drops all that comes behind in", take(revue.VerdictSame, func(a, b revue.Question, _ revue.Comparison) bool {
			x, _, _ := strings.Cut(a.Text, " in ")
			y, _, _ := strings.Cut(b.Text, " in ")
			return x == y
		}), "are taken for the same"},
		{"takes order for nothing", take(revue.VerdictSame, func(a, b revue.Question, _ revue.Comparison) bool {
			x, y := without(a.Text, func(string) bool { return false }), without(b.Text, func(string) bool { return false })
			slices.Sort(x)
			slices.Sort(y)
			return slices.Equal(x, y)
		}), "are taken for the same"},
		{"joins what is related", take(revue.VerdictLikely, func(_, _ revue.Question, c revue.Comparison) bool { return c.Verdict == revue.VerdictRelated }), "are joined"},
		{"hides what differs", func() revue.Memory {
			return loosened{Memory: memory.New(nil), same: func(_, _ revue.Question, c revue.Comparison) revue.Comparison {
				if c.Verdict == revue.VerdictRelated && strings.HasPrefix(c.Differs, "quantity") {
					return revue.Comparison{Verdict: revue.VerdictLikely}
				}
				return c
			}}
		}, "name no difference"},
		{"takes nothing for crucial", func() revue.Memory {
			return loosened{Memory: memory.New(nil), same: func(_, _ revue.Question, c revue.Comparison) revue.Comparison {
				c.Crucial = false
				return c
			}}
		}, "are said to differ crucially"},
		{"finds nothing", func() revue.Memory {
			return loosened{Memory: memory.New(nil), recall: func(r *revue.Recalled) { r.Matches = nil }}
		}, "paraphrases are in the top 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := small(t, c.memory)
			o.Gold = o.Gold[25:65]
			r, _ := run(t, o)
			require.ErrorContains(t, r.Check(), c.want)
		})
	}
}

// The month notices it too: agents that are given the answer to another decision, and a memory that learns nothing.
func TestLoosenedMonthIsNoticed(t *testing.T) {
	o := small(t, func() revue.Memory {
		return loosened{Memory: memory.New(nil), recall: func(r *revue.Recalled) {
			for i := range r.Matches {
				if r.Matches[i].Score >= 0.4 {
					r.Matches[i].ReuseGuidance = revue.Apply
				}
			}
		}}
	})
	o.Teams, o.Asks, o.Changes, o.Gold = 1, 300, 100, o.Gold[:20]
	r, _ := run(t, o)
	require.ErrorContains(t, r.Check(), "were given the answer to another decision")

	o.NewMemory = func() revue.Memory {
		return loosened{Memory: memory.New(nil), recall: func(r *revue.Recalled) {
			for i := range r.Matches {
				r.Matches[i].ReuseGuidance = revue.Confirm
			}
		}}
	}
	r, _ = run(t, o)
	require.ErrorContains(t, r.Check(), "cards with wordings learned")
}

func TestRunNeedsItsParts(t *testing.T) {
	_, err := matcheval.Run(t.Context(), nil)
	require.Error(t, err)
	o := small(t, nil)
	_, err = matcheval.Run(t.Context(), o)
	require.Error(t, err)
}

// A folder is measured as far as it has what is looked for, and nothing of it is printed.
func TestData(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "eval-only"), 0o755))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("adr-decisions.jsonl", `{"title":"Use zanzibar tuples for permissions"}`+"\n"+`{"title":"Use zanzibar tuples for permissions."}`+"\n"+`{"title":"Keep sessions in valkey"}`+"\n")
	write("eval-only/qqp-dev.tsv", "1\tHow do I learn zulu?\thow do I learn zulu\t7\n0\tHow do I learn zulu?\tHow do I learn xhosa?\t8\n")
	write("eval-only/paws-qqp-dev.tsv", "id\tsentence1\tsentence2\tlabel\n1\tIs zulu older than xhosa?\tIs xhosa older than zulu?\t0\n")
	o := small(t, shipped)
	o.Changes, o.Data, o.Gold = 10, dir, o.Gold[:5]
	r, table := run(t, o)
	require.Equal(t, 2, r.TitleCount)
	require.Positive(t, r.Titles.Tried)
	require.Zero(t, r.Titles.Applied)
	require.Len(t, r.Labelled, 2)
	require.Equal(t, matcheval.Labelled{Name: "qqp-dev", Pairs: 2, Same: 1, SameRight: 1, Found: matcheval.Found{Tried: 1, Top1: 1, Top3: 1, Top10: 1, Applied: 1}}, r.Labelled[0])
	require.Equal(t, 1, r.Labelled[1].Pairs)
	require.Zero(t, r.Labelled[1].Same+r.Labelled[1].Likely)
	require.NotContains(t, strings.ToLower(table), "zulu")
	require.NotContains(t, strings.ToLower(table), "zanzibar")

	write("adr-decisions.jsonl", "no JSON\n")
	_, err := matcheval.Run(t.Context(), o)
	require.Error(t, err)
	o.Data = filepath.Join(dir, "nowhere")
	r, _ = run(t, o)
	require.Nil(t, r.Titles)
	require.Empty(t, r.Labelled)
}

func TestReadGold(t *testing.T) {
	topics, err := matcheval.ReadGold(strings.NewReader("# head\nQ: Keep logs?\n= keep logs\n\n~ Do we keep logs?\n! Keep no logs? [negation]\nQ: Ship?\n"))
	require.NoError(t, err)
	require.Equal(t, []matcheval.Topic{
		{Question: "Keep logs?", Variants: []string{"keep logs"}, Paraphrases: []string{"Do we keep logs?"}, Changes: []matcheval.Change{{Text: "Keep no logs?", Kind: "negation"}}},
		{Question: "Ship?"},
	}, topics)
	require.Equal(t, 3, topics[0].Pairs())
	require.Equal(t, []string{"Keep logs?", "keep logs", "Do we keep logs?"}, topics[0].Wordings())
	for text, want := range map[string]string{
		"= keep logs\n":                    "line 1: no question before it",
		"Q: Keep logs?\n! Drop logs?\n":    "line 2: a change names what differs",
		"Q: Keep logs?\n? Drop logs?\n":    "line 2: none of Q:",
		"Q: Keep logs?\n~ \n":              "line 2: no wording",
		"Q: Keep logs?\n\nQ: Keep logs?\n": "line 3: the wording of line 1 again",
	} {
		_, err := matcheval.ReadGold(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func FuzzReadGold(f *testing.F) {
	f.Add("Q: a?\n= a\n~ b?\n! c? [d]\n")
	f.Add("! x []")
	f.Add("Q:\x00\n! [")
	f.Fuzz(func(t *testing.T, text string) {
		topics, err := matcheval.ReadGold(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, topic := range topics {
			require.NotEmpty(t, topic.Question)
			require.Len(t, topic.Wordings(), 1+len(topic.Variants)+len(topic.Paraphrases))
		}
	})
}

// The table in the document has the rows that the program prints.
func TestDocumentedTable(t *testing.T) {
	doc, err := os.ReadFile("../../docs/matching.md")
	require.NoError(t, err)
	o := small(t, shipped)
	o.Teams, o.Asks, o.Changes = 1, 40, 1000
	_, table := run(t, o)
	rows := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || strings.HasPrefix(cells[1], "-") {
			continue
		}
		rows++
		if what := strings.TrimSpace(cells[1]); !strings.HasPrefix(what, "score") {
			require.True(t, strings.Contains(string(doc), "| "+what+" "), "docs/matching.md has no row %q: run make eval", what) //nolint:testifylint // Contains would print the document
		}
	}
	require.Greater(t, rows, 30)
}
