package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

const day = 24 * time.Hour

// Each case is one decision, what happened since, and one query; stop is part of the reason why it
// is not to be applied, "" for apply.
func TestGuidance(t *testing.T) {
	const q = "Which database should the billing service use?"
	opts := options("postgres", "mysql")
	base := revue.Decision{ID: "dec_a", Key: "k1", Question: q, Options: opts, Answer: "postgres", AnswerLabel: "Postgres"}
	ask := revue.Query{Text: q, Request: true, Options: opts, Key: "k1"}
	with := func(f func(*revue.Decision)) revue.Decision { d := base; f(&d); return d }
	asks := func(f func(*revue.Query)) revue.Query { q := ask; f(&q); return q }
	text := func(s string) (revue.Decision, revue.Query) {
		return with(func(d *revue.Decision) { d.Question = s }), asks(func(q *revue.Query) { q.Text = s })
	}
	type testCase struct {
		name string
		d    revue.Decision
		then func(*source)
		q    revue.Query
		stop string
	}
	cases := []testCase{
		{"the same", base, nil, ask, ""},
		{"a trivial variant", base, nil, asks(func(q *revue.Query) { q.Text = "what DB should billing service use" }), ""},
		{"a trivial variant of all words", base, nil, asks(func(q *revue.Query) { q.Text = "what DB should the billing service use" }), ""},
		{"a lookup", base, nil, revue.Query{Text: q}, ""},
		{"keywords", base, nil, revue.Query{Text: "billing database"}, "Found by keywords"},
		{"an alias", with(func(d *revue.Decision) { d.Aliases = []revue.Alias{{Text: "What do we store invoices in?"}} }), nil, asks(func(q *revue.Query) { q.Text = "what do we store invoices in" }), ""},
		{"one word more", base, nil, asks(func(q *revue.Query) { q.Text = "Which database should the billing service use in staging?" }), "environment: staging / (nothing)"},
		{"negation", base, nil, asks(func(q *revue.Query) { q.Text = "Which database should the billing service not use?" }), "negation: not / (nothing)"},

		{"fewer options", base, nil, asks(func(q *revue.Query) { q.Options = opts[:1] }), ""},
		{"another option", base, nil, asks(func(q *revue.Query) { q.Options = options("postgres", "sqlite") }), "an option is offered that the human did not have"},
		{"another label", base, nil, asks(func(q *revue.Query) { q.Options = []revue.Option{{Value: "postgres", Label: "PG"}} }), "an option is offered"},
		{"without the answer", base, nil, asks(func(q *revue.Query) { q.Options = opts[1:] }), "not among the options"},
		{"no options", base, nil, asks(func(q *revue.Query) { q.Options = nil }), "none are offered now"},
		{"free text", with(func(d *revue.Decision) { d.Options = nil }), nil, asks(func(q *revue.Query) { q.Options = nil }), ""},
		{"free text, options offered", with(func(d *revue.Decision) { d.Options = nil }), nil, ask, "free text"},

		{"the same concept", with(func(d *revue.Decision) { d.Concepts = []string{"billing", "db"} }), nil, asks(func(q *revue.Query) { q.Concepts = []string{"DB"} }), ""},
		{"another concept", with(func(d *revue.Decision) { d.Concepts = []string{"billing"} }), nil, asks(func(q *revue.Query) { q.Concepts = []string{"search"} }), "other concepts"},
		{"other files", with(func(d *revue.Decision) { d.Files = []string{"a.go"} }), nil, asks(func(q *revue.Query) { q.Files = []string{"b.go"} }), "other files"},
		{"the same repo", with(func(d *revue.Decision) { d.Repo = "h/a" }), nil, asks(func(q *revue.Query) { q.Repo = "h/a" }), ""},
		{"another repo", with(func(d *revue.Decision) { d.Repo = "h/a" }), nil, asks(func(q *revue.Query) { q.Repo = "h/b" }), "another repository"},
		{"no repo", with(func(d *revue.Decision) { d.Repo = "h/a" }), nil, ask, ""},

		{"aging", base, func(s *source) { s.now = start.Add(180 * day) }, ask, ""},
		{"stale", base, func(s *source) { s.now = start.Add(181 * day) }, ask, "stale"},
		{"expired", base, func(s *source) {
			s.correct("dec_a", revue.VerbExpiresAfter, revue.Correction{Expires: start.Add(day)})
			s.now = start.Add(day)
		}, ask, "expired"},
		{"not yet expired", base, func(s *source) {
			s.correct("dec_a", revue.VerbExpiresAfter, revue.Correction{Expires: start.Add(day)})
		}, ask, ""},
		{"ask next time", base, func(s *source) { s.correct("dec_a", revue.VerbAskNextTime, revue.Correction{}) }, ask, "asked next time"},
		{"too broad, the same key", base, func(s *source) { s.correct("dec_a", revue.VerbTooBroad, revue.Correction{}) }, ask, ""},
		{"too broad, another key", base, func(s *source) { s.correct("dec_a", revue.VerbTooBroad, revue.Correction{}) }, asks(func(q *revue.Query) { q.Key = "k2" }), "too broad"},
		{"only this repo", with(func(d *revue.Decision) { d.Repo = "h/a" }), func(s *source) { s.correct("dec_a", revue.VerbOnlyThisRepo, revue.Correction{}) }, ask, "repository"},
		{"wrong, undone", base, func(s *source) {
			s.correct("dec_a", revue.VerbWrong, revue.Correction{})
			s.change("dec_a", revue.EventDecisionCorrected, func(d *revue.Decision) {
				d.Corrections = append(slices.Clone(d.Corrections), revue.Correction{ID: "undo", Undoes: d.Corrections[0].ID})
			})
		}, ask, ""},

		{"another answer", base, func(s *source) {
			s.make(revue.Decision{Question: q, Options: opts, Answer: "mysql"})
		}, ask, "answers otherwise"},
		{"another answer elsewhere", with(func(d *revue.Decision) { d.Concepts = []string{"eu"} }), func(s *source) {
			s.make(revue.Decision{Question: q, Options: opts, Answer: "mysql", Concepts: []string{"us"}})
		}, asks(func(q *revue.Query) { q.Concepts = []string{"eu"} }), ""},
		{"another answer to an alias", with(func(d *revue.Decision) { d.Aliases = []revue.Alias{{Text: "What do we store invoices in?"}} }), func(s *source) {
			s.make(revue.Decision{Question: "What do we store invoices in?", Options: opts, Answer: "mysql"})
		}, ask, "answers otherwise"},
		{"another answer, superseded", base, func(s *source) {
			s.make(revue.Decision{Question: q, Options: opts, Answer: "mysql", SupersededBy: "dec_a"})
		}, ask, ""},
		{"another answer, withdrawn", base, func(s *source) {
			d := s.make(revue.Decision{Question: q, Options: opts, Answer: "mysql"})
			s.correct(d.ID, revue.VerbWrong, revue.Correction{})
		}, ask, ""},
		{"the same answer twice", base, func(s *source) {
			s.make(revue.Decision{ID: "dec_0", Question: q, Options: opts, Answer: "postgres", AnswerLabel: "Postgres", CreatedAt: start.Add(-day)})
		}, ask, ""},
		{"the same answer withdrawn later", base, func(s *source) {
			d := s.make(revue.Decision{Question: q, Options: opts, Answer: "postgres"})
			s.correct(d.ID, revue.VerbWrong, revue.Correction{At: start.Add(time.Hour)})
		}, ask, "withdrawn as wrong"},
		{"the same answer withdrawn before", base, func(s *source) {
			d := s.make(revue.Decision{Question: q, Options: opts, Answer: "postgres"})
			s.correct(d.ID, revue.VerbWrong, revue.Correction{At: start.Add(-time.Hour)})
		}, ask, ""},
	}
	add := func(name, question string, remember revue.Remember, files []string, asked []string, stop string) {
		d, q := text(question)
		d.Remember, d.Files, q.Files = remember, files, asked
		if files != nil {
			d.Repo, q.Repo = "h/a", "h/a"
		}
		cases = append(cases, testCase{name, d, nil, q, stop})
	}
	add("one word", "Databases?", "", nil, nil, "too few words")
	add("nothing in particular", "Should I merge the branch?", "", nil, nil, "may mean different things")
	add("this", "Should this endpoint require an admin role?", "", nil, nil, "both say 'this'")
	add("THIS", "Should THIS endpoint require an admin role?", "", nil, nil, "both say 'this'")
	add("REST is a name", "Should the billing service use REST or gRPC?", "", nil, nil, "")
	add("new", "Should we deploy the new release to staging?", "", nil, nil, "both say 'new'")
	add("today", "Should billing be deployed today?", "", nil, nil, "both say 'today'")
	add("next", "Which billing endpoint comes next?", "", nil, nil, "both say 'next'")
	add("proposed", "Should the proposed invoice schema be accepted?", "", nil, nil, "'proposed' may mean another thing")
	add("Friday", "Should billing be deployed on Friday?", "", nil, nil, "'friday' may mean another thing")
	add("at noon", "Should billing be deployed at noon?", "", nil, nil, "'at noon' may mean another thing")
	add("old", "Should the old billing cluster be drained?", "", nil, nil, "'old' may mean another thing")
	add("how long shall we", "How long shall we keep access logs?", "", nil, nil, "")
	add("it", "Should it use Postgres?", "", nil, nil, "both say 'it'")
	add("it, named before", "Should the billing service retry a payment when it fails?", "", nil, nil, "")
	add("this, other files", "Should this file be formatted?", "", []string{"a.go"}, []string{"a.go", "b.go"}, "both say 'this'")
	add("this file, the same, two words", "Should this file be formatted with gofumpt?", "", []string{"a.go"}, []string{"a.go"}, "")
	add("this function, the same file", "Should this function be formatted with gofumpt?", "", []string{"a.go"}, []string{"a.go"}, "both say 'this'")
	add("this file now", "Should this file be formatted with gofumpt now?", "", []string{"a.go"}, []string{"a.go"}, "both say 'this'")
	add("may I", "May I edit internal/auth/token.go to fix the race?", "", nil, nil, "standing rule")
	add("may I, as a rule", "May I edit internal/auth/token.go to fix the race?", revue.RememberRule, nil, nil, "")
	add("ok to", "Is it OK to deploy billing to staging?", "", nil, nil, "standing rule")
	add("can we", "Can we drop the sessions table?", "", nil, nil, "standing rule")
	add("shall I", "Shall I drop the sessions table?", "", nil, nil, "standing rule")
	add("allowed", "Am I allowed to drop the sessions table?", "", nil, nil, "standing rule")
	add("proceed", "Should I proceed with the sessions migration?", "", nil, nil, "standing rule")
	add("go ahead", "Should I go ahead with the sessions migration?", "", nil, nil, "standing rule")
	add("proceed, as a rule", "Should I proceed with the sessions migration?", revue.RememberRule, nil, nil, "")
	add("proceed alone, as a rule", "Proceed?", revue.RememberRule, nil, nil, "may mean different things")
	add("Chinese", "计费服务应该使用哪个数据库？", "", nil, nil, "standing rule")
	add("Chinese, as a rule", "计费服务应该使用哪个数据库？", revue.RememberRule, nil, nil, "")
	add("Chinese, this", "这个服务应该使用哪个数据库？", "", nil, nil, "both say")
	add("Chinese, may I", "可以删除用户会话表吗？", "", nil, nil, "standing rule")
	add("German", "Welche Datenbank soll der Abrechnungsdienst verwenden?", revue.RememberRule, nil, nil, "")
	add("German, now", "Soll der Abrechnungsdienst jetzt Postgres verwenden?", revue.RememberRule, nil, nil, "both say 'jetzt'")
	add("an unknown script", "አገልግሎቱ የትኛውን ዳታቤዝ መጠቀም አለበት", "", nil, nil, "its script")
	add("hidden characters", "Should billing \u202euse Postgres?", "", nil, nil, "invisible")

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, m := newSource(), memory.New(nil)
			s.make(c.d)
			s.decisions["dec_a"] = func() revue.Decision { d := s.decisions["dec_a"]; d.FreeText = len(c.d.Options) == 0; return d }()
			if c.then != nil {
				recall(t, m, s, revue.Query{Text: "warm up"}) // so that the change is read from the journal
				c.then(s)
			}
			r := recall(t, m, s, c.q)
			require.NotEmpty(t, r.Matches)
			i := slices.IndexFunc(r.Matches, func(m revue.Match) bool { return m.DecisionID == "dec_a" })
			require.GreaterOrEqual(t, i, 0)
			got := r.Matches[i]
			if c.stop == "" {
				require.Equal(t, revue.Apply, got.ReuseGuidance, got.Reason)
				require.Equal(t, 0, i, "apply comes first")
				require.InDelta(t, 1, got.Score, 0)
				require.Equal(t, "postgres", got.Answer)
				return
			}
			require.Equal(t, revue.Confirm, got.ReuseGuidance, got.Reason)
			require.Contains(t, got.Reason, c.stop)
			// A fresh index says the same as one that followed the journal.
			fresh := recall(t, memory.New(nil), s, c.q)
			require.Equal(t, r, fresh)
		})
	}
}

func TestNeverFound(t *testing.T) {
	const q = "Which database should the billing service use?"
	for name, f := range map[string]func(*source, string){
		"wrong": func(s *source, id string) { s.correct(id, revue.VerbWrong, revue.Correction{}) },
		"superseded": func(s *source, id string) {
			s.change(id, revue.EventDecisionSuperseded, func(d *revue.Decision) { d.SupersededBy = "dec_x" })
		},
		"purged": func(s *source, id string) {
			s.change(id, revue.EventPurged, func(d *revue.Decision) { d.Purged, d.Question, d.Answer = true, "", "" })
		},
		"once": func(s *source, id string) {
			s.change(id, revue.EventDecisionCorrected, func(d *revue.Decision) { d.Remember = revue.RememberOnce })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := newSource(), memory.New(nil)
			d := s.make(revue.Decision{Question: q, Options: options("postgres"), Answer: "postgres"})
			require.Len(t, recall(t, m, s, revue.Query{Text: q}).Matches, 1)
			f(s, d.ID)
			require.Empty(t, recall(t, m, s, revue.Query{Text: q}).Matches)
			require.Empty(t, recall(t, memory.New(nil), s, revue.Query{Text: "billing database"}).Matches)
		})
	}
}

// Purging a lot may blank the aliases of the decision made in it.
func TestPurgedLot(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	d := s.make(revue.Decision{LotID: "lot_1", Question: "Which database should billing use?", Answer: "postgres", Aliases: []revue.Alias{{Text: "What do we store invoices in?"}}})
	alias := revue.Query{Text: "What do we store invoices in?"}
	require.Equal(t, revue.Apply, recall(t, m, s, alias).Matches[0].ReuseGuidance)
	s.mu.Lock()
	d.Aliases = []revue.Alias{{}}
	s.decisions[d.ID] = d
	s.event(revue.Event{Kind: revue.EventPurged, Ref: "lot_1"})
	s.mu.Unlock()
	require.Empty(t, recall(t, m, s, alias).Matches)
}

func TestContradictionReturnsBoth(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	const q = "Which database should the billing service use?"
	s.make(revue.Decision{Question: q, Options: options("postgres", "mysql"), Answer: "postgres"})
	alone := recall(t, m, s, revue.Query{Text: q}).Matches[0].Confidence
	s.now = s.now.Add(time.Hour)
	s.make(revue.Decision{Question: "what db should the billing service use", Options: options("postgres", "mysql"), Answer: "mysql"})
	got := recall(t, m, s, revue.Query{Text: q}).Matches
	require.Len(t, got, 2)
	require.Equal(t, "mysql", got[0].Answer, "newest first")
	for _, match := range got {
		require.Equal(t, revue.Confirm, match.ReuseGuidance)
		require.Contains(t, match.Reason, "answers otherwise")
		require.Less(t, match.Confidence, alone)
	}
}

func TestLimitAndOrder(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	for i := range 150 {
		s.now = s.now.Add(time.Minute)
		s.make(revue.Decision{Question: fmt.Sprintf("Which database should service%d use for customer invoices?", i), Answer: "postgres"})
	}
	q := revue.Query{Text: "Which database should service7 use for customer invoices?"}
	first := recall(t, m, s, q)
	require.Len(t, first.Matches, 10)
	require.Equal(t, "dec_8", first.Matches[0].DecisionID)
	require.Equal(t, revue.Apply, first.Matches[0].ReuseGuidance)
	require.Equal(t, "dec_150", first.Matches[1].DecisionID, "newest first among equals")
	for _, n := range []int{-1, 0, 1, 3, 100, 1000} {
		q.Limit = n
		want := n
		if n <= 0 {
			want = 10
		}
		got := recall(t, m, s, q)
		require.Len(t, got.Matches, min(want, 100))
		require.Equal(t, first.Matches[:min(len(got.Matches), 10)], got.Matches[:min(len(got.Matches), 10)])
	}
}

// An index that followed the journal finds what one that was just built finds, whatever happened.
func TestFollowsJournal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := newSource()
	m := memory.New(nil)
	pick := func(l ...string) string { return l[rng.IntN(len(l))] }
	question := func() string {
		return fmt.Sprintf("Should the %s service %s the %s?", pick("billing", "search", "user"), pick("cache", "log", "drop"), pick("sessions", "events", "tokens"))
	}
	for step := range 1500 {
		id := fmt.Sprintf("dec_%d", rng.IntN(len(s.order)+1))
		_, there := s.decisions[id]
		switch k := rng.IntN(10); {
		case k < 4 || !there:
			s.make(revue.Decision{Question: question(), Options: options("yes", "no"), Answer: pick("yes", "no"), LotID: fmt.Sprintf("lot_%d", step)})
		case k == 4:
			s.correct(id, revue.Verbs()[rng.IntN(5)], revue.Correction{Expires: s.now.Add(day)})
		case k == 5:
			s.change(id, revue.EventDecisionCorrected, func(d *revue.Decision) {
				if st := d.Standing(); len(st) > 0 {
					d.Corrections = append(slices.Clone(d.Corrections), revue.Correction{ID: fmt.Sprint("undo", step), Undoes: st[0].ID})
				}
			})
		case k == 6:
			s.change(id, revue.EventDecisionConfirmed, func(d *revue.Decision) {
				d.Aliases = append(slices.Clone(d.Aliases), revue.Alias{Text: question()})
				d.Confirmations++
				d.ConfirmedAt = s.now
			})
		case k == 7:
			s.change(id, revue.EventDecisionSuperseded, func(d *revue.Decision) { d.SupersededBy = "dec_x" })
		case k == 8:
			s.change(id, revue.EventPurged, func(d *revue.Decision) { d.Purged, d.Question, d.Aliases = true, "", nil })
		default:
			s.mu.Lock()
			s.event(revue.Event{Kind: revue.EventLotOpened, Lot: "lot_x"})
			s.mu.Unlock()
		}
		s.now = s.now.Add(time.Hour)
		if step%50 == 0 {
			for range 3 {
				q := revue.Query{Text: question(), Limit: 100, Request: true, Options: options("yes", "no")}
				a, b := recall(t, m, s, q), recall(t, memory.New(nil), s, q)
				require.Equal(t, b, a)
			}
		}
	}
}

func TestReadsOnlyWhatChanged(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	for i := range 2500 {
		s.make(revue.Decision{Question: fmt.Sprintf("Should table%d be dropped?", i), Answer: "yes"})
	}
	recall(t, m, s, revue.Query{Text: "Should table7 be dropped?"})
	require.Equal(t, 2500, s.reads)
	s.correct("dec_8", revue.VerbWrong, revue.Correction{})
	for range 3 {
		r := recall(t, m, s, revue.Query{Text: "Should table7 be dropped?"})
		require.False(t, slices.ContainsFunc(r.Matches, func(m revue.Match) bool { return m.DecisionID == "dec_8" }))
	}
	require.Equal(t, 2501, s.reads)
}

// A store that was put back from a copy has another journal, shorter or longer.
func TestRestoredStore(t *testing.T) {
	const q = "Should the sessions table be dropped?"
	for _, after := range []int{0, 1, 5} {
		m := memory.New(nil)
		s := newSource()
		s.make(revue.Decision{ID: "dec_old", Question: q, Answer: "yes"})
		s.make(revue.Decision{Question: "Should the users table be dropped?", Answer: "no"})
		require.Equal(t, "dec_old", recall(t, m, s, revue.Query{Text: q}).Matches[0].DecisionID)
		s = newSource()
		for i := range after {
			s.make(revue.Decision{ID: fmt.Sprintf("dec_new%d", i), Question: fmt.Sprintf("Should table%d be created?", i), Answer: "no"})
		}
		for _, match := range recall(t, m, s, revue.Query{Text: q}).Matches {
			require.NotEqual(t, "dec_old", match.DecisionID)
		}
	}
}

func TestWorkspacesApartAndBounded(t *testing.T) {
	m := memory.New(&memory.Options{MaxWorkspaces: 2})
	var all []*source
	for i := range 5 {
		s := newSource()
		s.workspace = fmt.Sprint("w", i)
		s.make(revue.Decision{ID: fmt.Sprint("dec_w", i), Question: "Should the sessions table be dropped?", Answer: "yes"})
		all = append(all, s)
	}
	for range 2 {
		for i, s := range all {
			r := recall(t, m, s, revue.Query{Text: "sessions table dropped"})
			require.Len(t, r.Matches, 1)
			require.Equal(t, fmt.Sprint("dec_w", i), r.Matches[0].DecisionID)
		}
	}
	require.Equal(t, 2, all[0].reads, "dropped and read again")
	reads := all[4].reads
	recall(t, m, all[4], revue.Query{Text: "sessions"})
	require.Equal(t, reads, all[4].reads, "kept")
}

func TestRecallConcurrent(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				d := s.make(revue.Decision{ID: fmt.Sprintf("dec_%d_%d", w, i), Question: fmt.Sprintf("Should writer%d see table%d?", w, i), Options: options("yes"), Answer: "yes"})
				r, err := m.Recall(t.Context(), s, revue.Query{Text: d.Question})
				if err != nil || len(r.Matches) == 0 || r.Matches[0].DecisionID != d.ID || r.Matches[0].ReuseGuidance != revue.Apply || r.Seq < d.Seq {
					t.Errorf("%s: not found at once: %v %+v", d.ID, err, r)
				}
				s.correct(d.ID, revue.VerbWrong, revue.Correction{})
				r, err = m.Recall(t.Context(), s, revue.Query{Text: d.Question})
				if err != nil || slices.ContainsFunc(r.Matches, func(m revue.Match) bool { return m.DecisionID == d.ID }) {
					t.Errorf("%s: found after it was withdrawn: %v", d.ID, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRecallHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newSource(), memory.New(nil)
		s.make(revue.Decision{Question: "Should the sessions table be dropped?", Answer: "yes"})
		release := make(chan struct{})
		s.hook = func(ctx context.Context, what string) error {
			if what != "decisions" {
				return nil
			}
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		done := make(chan error, 1)
		go func() {
			_, err := m.Recall(t.Context(), s, revue.Query{Text: "sessions table"})
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := m.Recall(ctx, s, revue.Query{Text: "sessions table"}) // waits for the other one
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
		require.NoError(t, <-done)
		require.Len(t, recall(t, m, s, revue.Query{Text: "sessions table"}).Matches, 1)
	})
}

func TestRecallFailsAndRecovers(t *testing.T) {
	boom := errors.New("boom")
	for _, what := range []string{"view", "head", "events", "decisions"} {
		s, m := newSource(), memory.New(nil)
		s.make(revue.Decision{Question: "Should the sessions table be dropped?", Answer: "yes"})
		if what == "events" { // the first recall reads none
			recall(t, m, s, revue.Query{Text: "sessions table"})
			s.make(revue.Decision{Question: "Should the files table be dropped?", Answer: "yes"})
		}
		for range 2 {
			s.hook = func(_ context.Context, w string) error {
				if w == what {
					return boom
				}
				return nil
			}
			_, err := m.Recall(t.Context(), s, revue.Query{Text: "sessions table"})
			require.ErrorIs(t, err, boom, what)
			s.hook = nil
			s.make(revue.Decision{Question: "Should the events table be dropped?", Answer: "yes"})
			require.NotEmpty(t, recall(t, m, s, revue.Query{Text: "sessions table"}).Matches)
			s.make(revue.Decision{Question: "Should the tokens table be dropped?", Answer: "yes"})
		}
	}
}

func TestRecalledDeictic(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	for q, want := range map[string]bool{
		"Proceed?":                                           true,
		"Should I continue?":                                 true,
		"Should this be merged?":                             true,
		"Should I commit the changes?":                       true,
		"Which release is the latest?":                       true,
		"Should we deploy today?":                            true,
		"Should errors be retried on the client?":            false,
		"Should files older than 30 days be deleted?":        false,
		"Should uploads above 5 MB be rejected?":             false,
		"Which Node version should the CI run, 18 or later?": false,
		"Is there a limit on upload size?":                   false,
		"Should the service that is exposed use TLS?":        false,
		"Should the REST API return JSON?":                   false,
		"Should we deploy billing to staging?":               false,
	} {
		require.Equal(t, want, recall(t, m, s, revue.Query{Text: q}).Deictic, q)
	}
}

func TestSame(t *testing.T) {
	m := memory.New(nil)
	q := func(s string, files ...string) revue.Question {
		return revue.Question{Text: s, Files: files, Repo: "h/a"}
	}
	long := strings.Repeat("länge", 300)
	for _, c := range []struct {
		name    string
		a, b    revue.Question
		want    revue.Verdict
		differs string
	}{
		{"same", q("Which DB should billing use?"), q("what database should billing use"), revue.VerdictSame, ""},
		{"I and we", q("How do I store passwords?"), q("How do we store passwords?"), revue.VerdictLikely, "I / we"},
		{"I who asks for leave", q("Should I store passwords with bcrypt?"), q("Should we store passwords with bcrypt?"), revue.VerdictRelated, "I / we"},
		{"environment", q("Should we deploy billing to staging?"), q("Should we deploy billing to the staging environment?"), revue.VerdictLikely, "environment"},
		{"environment of something", q("Should staging environment variables be copied to billing?"), q("Should staging variables be copied to billing?"), revue.VerdictRelated, "environment"},
		{"greeting", q("Hello, should we store passwords with bcrypt? Thanks!"), q("Should we store passwords with bcrypt?"), revue.VerdictLikely, "thanks"},
		{"no greeting", q("Should the page say thanks?"), q("Should the page say?"), revue.VerdictRelated, "thanks"},
		{"moved", q("Which database should we use for billing?"), q("For billing, which database should we use?"), revue.VerdictLikely, "order of words"},
		{"moved and another", q("Which database should we use for billing?"), q("For search, which database should we use?"), revue.VerdictRelated, "billing"},
		{"two", q("Should staging retry 5 times?"), q("Should production retry 50 times?"), revue.VerdictRelated, "environment: staging / production; number: 5 / 50"},
		{"direction", q("Should I rename A1 to B1?"), q("Should I rename B1 to A1?"), revue.VerdictRelated, "order of words"},
		{"plural", q("Should we delete the session table?"), q("Should we delete the session tables?"), revue.VerdictRelated, "words: table / tables"},
		{"a and the", q("Should we delete a session table?"), q("Should we delete the session table?"), revue.VerdictRelated, "a / (nothing)"},
		{"a and no article", q("Should we delete a session table?"), q("Should we delete session table?"), revue.VerdictRelated, "a / (nothing)"},
		{"the and no article", q("Should we delete the session table?"), q("should we delete session table"), revue.VerdictSame, ""},
		{"others", q("Should we delete the session table?"), q("Which licence does the SDK have?"), revue.VerdictNone, ""},
		{"this", q("Should this endpoint require TLS?"), q("should this endpoint require TLS"), revue.VerdictLikely, "both say 'this'"},
		{"this file", q("Should this file be formatted?", "a.go", "b.go"), q("Should this file be formatted?", "b.go", "a.go"), revue.VerdictSame, ""},
		{"this file, another", q("Should this file be formatted?", "a.go"), q("Should this file be formatted?", "b.go"), revue.VerdictLikely, "may mean different things"},
		{"this and a word", q("Should I test this endpoint?"), q("Should we test this endpoint?"), revue.VerdictRelated, "I / we"},
		{"Friday", q("Should billing be deployed on Friday?"), q("should billing be deployed on Friday"), revue.VerdictLikely, "'friday'"},
		{"proceed", q("Proceed?"), q("proceed"), revue.VerdictLikely, "does not say what it is about"},
		{"empty", q(""), q(""), revue.VerdictLikely, "does not say"},
		{"long", q("Should " + long + " be dropped?"), q("Should " + long + "x be dropped?"), revue.VerdictRelated, "…"},
		{"hostile", q("Should table `x\u202ey` be dropped?"), q("Should table `x\u202ez` be dropped?"), revue.VerdictRelated, "\u202e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, back := m.Same(c.a, c.b), m.Same(c.b, c.a)
			require.Equal(t, c.want, got.Verdict, got.Differs)
			require.Equal(t, c.want, back.Verdict)
			require.Contains(t, got.Differs, c.differs)
			require.LessOrEqual(t, len(got.Differs), 300)
			if c.want == revue.VerdictSame {
				require.Empty(t, got.Differs)
			}
		})
	}
}

// Two processes have a memory each and one store.
func TestTwoMemoriesOneStore(t *testing.T) {
	s, a, b := newSource(), memory.New(nil), memory.New(nil)
	for i := range 20 {
		q := revue.Query{Text: fmt.Sprintf("Should table%d be kept in billing?", i)}
		require.NotEqual(t, revue.VerdictSame, first(recall(t, b, s, q)).Verdict)
		d := s.make(revue.Decision{Question: q.Text, Answer: "yes"})
		for _, m := range []*memory.Memory{a, b} {
			got := first(recall(t, m, s, q))
			require.Equal(t, d.ID, got.DecisionID)
			require.Equal(t, revue.Apply, got.ReuseGuidance)
		}
		s.correct(d.ID, revue.VerbWrong, revue.Correction{})
		for _, m := range []*memory.Memory{b, a} {
			require.NotEqual(t, d.ID, first(recall(t, m, s, q)).DecisionID)
		}
	}
}

func first(r revue.Recalled) revue.Match {
	if len(r.Matches) == 0 {
		return revue.Match{}
	}
	return r.Matches[0]
}

func TestConfidence(t *testing.T) {
	const q = "Should the sessions table be dropped?"
	full := revue.Decision{Question: q, Answer: "yes", Concepts: []string{"db"}, Files: []string{"a.sql"}, Repo: "h/r"}
	of := func(after time.Duration, f func(*revue.Decision)) float64 {
		s, d := newSource(), full
		f(&d)
		s.make(d)
		s.now = s.now.Add(after)
		return first(recall(t, memory.New(nil), s, revue.Query{Text: q})).Confidence
	}
	same := func(*revue.Decision) {}
	confirmed := func(d *revue.Decision) { d.Confirmations = 2 }
	require.InDelta(t, 0.6, of(0, same), 0.001)
	require.InDelta(t, 0.825, of(0, confirmed), 0.001)
	require.InDelta(t, 0.7, of(0, func(d *revue.Decision) { d.Remember = revue.RememberRule }), 0.001)
	require.InDelta(t, 0.6*0.8, of(105*day, same), 0.001)
	require.InDelta(t, 0.24, of(200*day, same), 0.001)
	require.InDelta(t, 0.57, of(0, func(d *revue.Decision) { d.Repo = "" }), 0.001)
	require.Less(t, of(0, func(d *revue.Decision) { d.Repo, d.Files, d.Concepts = "", nil, nil }), of(0, func(d *revue.Decision) { d.Repo = "" }))
}

// Whatever is asked, an answer is applied only where the canonical tokens are those of the decision.
func FuzzRecall(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.a, v.b)
	}
	f.Fuzz(func(t *testing.T, asked, decided string) {
		s := newSource()
		s.make(revue.Decision{Question: decided, Answer: "yes", Remember: revue.RememberRule})
		r := recall(t, memory.New(nil), s, revue.Query{Text: asked})
		for _, match := range r.Matches {
			if match.ReuseGuidance == revue.Apply {
				require.Equal(t, memory.Canonical(decided), memory.Canonical(asked))
				require.False(t, r.Deictic)
			}
		}
	})
}

// Many decisions on one question, and questions of the greatest size, take no time that matters.
func TestHostileSizes(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	for i := range 3000 {
		s.make(revue.Decision{Question: "Should billing use Postgres?", Answer: []string{"yes", "no"}[i%2]})
	}
	at := time.Now()
	r := recall(t, m, s, revue.Query{Text: "Should billing use Postgres?", Limit: 100})
	require.Len(t, r.Matches, 100)
	for _, match := range r.Matches {
		require.Equal(t, revue.Confirm, match.ReuseGuidance)
	}
	a, b := strings.Repeat("x y ", revue.MaxQuestion/4), strings.Repeat("y z ", revue.MaxQuestion/4)
	for range 10 {
		c := m.Same(revue.Question{Text: a}, revue.Question{Text: b})
		require.NotEqual(t, revue.VerdictSame, c.Verdict)
	}
	require.Less(t, time.Since(at), 20*time.Second)
}

func TestScore(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	s.make(revue.Decision{Question: "Which database should we use for billing invoices?", Answer: "postgres", Concepts: []string{"billing"}})
	for _, c := range []struct {
		q        revue.Query
		min, max float64
	}{
		{revue.Query{Text: "what DB should we use for billing invoices"}, 1, 1},
		{revue.Query{Text: "For billing invoices, which database should we use?"}, 0.95, 0.95},
		{revue.Query{Text: "Which database should we use for billing receipts?"}, memory.MinScore, 0.499},
		{revue.Query{Text: "Which database should we not use for billing invoices?"}, memory.MinScore, 0.499},
		{revue.Query{Text: "Which database should we use for billing invoices in staging?"}, memory.MinScore, 0.499},
		{revue.Query{Text: "Do billing invoices go to a database that differs from that of receipts?"}, 0, 0.599},
		{revue.Query{Text: "What database do we need for billing invoices?"}, memory.MinScore, 0.599},
		{revue.Query{Text: "Which database do we use for billing invoices?"}, 0.7, 0.899},
		{revue.Query{Text: "billing database"}, memory.MinScore, 0.8},
		{revue.Query{Text: "what DB should we use for billing invoices", Concepts: []string{"search"}}, 0.85, 0.85},
	} {
		got := first(recall(t, m, s, c.q))
		require.GreaterOrEqual(t, got.Score, c.min, c.q.Text)
		require.LessOrEqual(t, got.Score, c.max, c.q.Text)
	}
	require.Empty(t, recall(t, m, s, revue.Query{Text: "Should the nightly job archive old avatars?"}).Matches)
}

// Equal scores are ordered by the relevance they came from, then newest first.
func TestOrderAmongEquals(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	const wording = "For billing invoices, which database should we use?"
	s.make(revue.Decision{ID: "dec_short", Question: wording, Answer: "postgres"})
	s.make(revue.Decision{ID: "dec_a", Question: wording, Answer: "postgres", Concepts: []string{"storage", "ledger", "reports", "exports", "archives"}})
	s.make(revue.Decision{ID: "dec_b", Question: wording, Answer: "postgres", Concepts: []string{"storage", "ledger", "reports", "exports", "archives"}})
	r := recall(t, m, s, revue.Query{Text: "Which database should we use for billing invoices?"})
	require.Len(t, r.Matches, 3)
	for i, id := range []string{"dec_short", "dec_b", "dec_a"} {
		require.Equal(t, id, r.Matches[i].DecisionID)
		require.InDelta(t, 0.95, r.Matches[i].Score, 0)
	}
}

// An alias that was taken back is none.
func TestAliasTakenBack(t *testing.T) {
	const question, alias = "Which database should billing use?", "What do we store invoices in?"
	s, m := newSource(), memory.New(nil)
	d := s.make(revue.Decision{Question: question, Answer: "postgres", Aliases: []revue.Alias{{ID: "als_1", Text: alias}, {Text: "Where do we put invoices of billing?"}}})
	s.decisions[d.ID] = func() revue.Decision { d := s.decisions[d.ID]; d.FreeText = true; return d }()
	q := revue.Query{Text: alias, Request: true}
	require.Equal(t, revue.Apply, first(recall(t, m, s, q)).ReuseGuidance)
	s.change(d.ID, revue.EventDecisionCorrected, func(d *revue.Decision) {
		d.Corrections = append(slices.Clone(d.Corrections), revue.Correction{ID: "cor_1", Undoes: "als_1"})
	})
	for _, x := range recall(t, m, s, q).Matches {
		require.Equal(t, revue.Confirm, x.ReuseGuidance)
	}
	for _, text := range []string{question, "Where do we put invoices of billing?"} {
		q.Text = text
		require.Equal(t, revue.Apply, first(recall(t, m, s, q)).ReuseGuidance, text)
	}
}
