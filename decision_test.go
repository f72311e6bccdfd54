package revue

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func someDecision() Decision {
	return Decision{
		ID: "dec_1", Key: "k", Question: "Which one?", Options: []Option{{Value: "a", Label: "a"}, {Value: "b", Label: "b", Consequence: "slow"}},
		Answer: "a", Concepts: []string{"billing"}, Files: []string{"internal/pay/pay.go"}, Repo: "github.com/acme/api",
		Remember: RememberDefault, CreatedAt: noon, ConfirmedAt: noon,
	}
}

func someQuery() Query {
	d := someDecision()
	return Query{
		Text: d.Question, Concepts: d.Concepts, Files: d.Files, Repo: d.Repo, Options: d.Options, Key: d.Key, Request: true,
	}
}

func TestObstacle(t *testing.T) {
	correct := func(v Verb) func(*Decision) {
		return func(d *Decision) {
			d.Corrections = append(d.Corrections, Correction{ID: "cor_" + string(v), Verb: v, Expires: noon.Add(time.Hour), At: noon})
		}
	}
	at := noon.Add(time.Minute)
	for name, c := range map[string]struct {
		dec   func(*Decision)
		query func(*Query)
		at    time.Time
		want  string
	}{
		"nothing":                   {at: at},
		"aging":                     {at: noon.Add(StaleAfter)},
		"stale":                     {at: noon.Add(StaleAfter + time.Second), want: "stale"},
		"wrong":                     {dec: correct(VerbWrong), at: at, want: "withdrawn"},
		"superseded":                {dec: func(d *Decision) { d.SupersededBy = "dec_2" }, at: at, want: "superseded"},
		"purged":                    {dec: func(d *Decision) { d.Purged = true }, at: at, want: "withdrawn"},
		"once":                      {dec: func(d *Decision) { d.Remember = RememberOnce }, at: at, want: "withdrawn"},
		"ask next time":             {dec: correct(VerbAskNextTime), at: at, want: "asked next time"},
		"too broad, same key":       {dec: correct(VerbTooBroad), at: at},
		"too broad, near":           {dec: correct(VerbTooBroad), query: func(q *Query) { q.Key = "other" }, at: at, want: "too broad"},
		"too broad, lookup":         {dec: correct(VerbTooBroad), query: func(q *Query) { q.Key, q.Request = "", false }, at: at, want: "too broad"},
		"only this repo, here":      {dec: correct(VerbOnlyThisRepo), at: at},
		"only this repo, elsewhere": {dec: correct(VerbOnlyThisRepo), query: func(q *Query) { q.Repo = "github.com/acme/web" }, at: at, want: "repository"},
		"only this repo, unknown":   {dec: correct(VerbOnlyThisRepo), query: func(q *Query) { q.Repo = "" }, at: at, want: "repository"},
		"only this repo, both unknown": {
			dec:   func(d *Decision) { correct(VerbOnlyThisRepo)(d); d.Repo = "" },
			query: func(q *Query) { q.Repo = "" }, at: at, want: "repository",
		},
		"not expired yet":            {dec: correct(VerbExpiresAfter), at: noon.Add(time.Hour - 1)},
		"expired":                    {dec: correct(VerbExpiresAfter), at: noon.Add(time.Hour), want: "expired"},
		"other concepts":             {query: func(q *Query) { q.Concepts = []string{"search"} }, at: at, want: "concepts"},
		"no concepts":                {query: func(q *Query) { q.Concepts = nil }, at: at},
		"other files":                {query: func(q *Query) { q.Files = []string{"internal/pay/pay.go.bak"} }, at: at, want: "files"},
		"its folder":                 {query: func(q *Query) { q.Files = []string{"internal/pay/"} }, at: at},
		"other repo, common concept": {query: func(q *Query) { q.Repo = "github.com/acme/web" }, at: at},
		"other repo":                 {query: func(q *Query) { q.Repo, q.Concepts = "github.com/acme/web", nil }, at: at, want: "repository"},
		"unknown repo":               {query: func(q *Query) { q.Repo, q.Concepts = "", nil }, at: at},
		"fewer options":              {query: func(q *Query) { q.Options = q.Options[:1] }, at: at},
		"one option more":            {query: func(q *Query) { q.Options = append(q.Options[:2:2], Option{Value: "c", Label: "c"}) }, at: at, want: "did not have"},
		"another label":              {query: func(q *Query) { q.Options = []Option{{Value: "a", Label: "A!"}} }, at: at, want: "did not have"},
		"consequence left out":       {query: func(q *Query) { q.Options = []Option{{Value: "a", Label: "a"}, {Value: "b", Label: "b"}} }, at: at},
		"another consequence": {query: func(q *Query) {
			q.Options = []Option{{Value: "a", Label: "a"}, {Value: "b", Label: "b", Consequence: "fast"}}
		}, at: at, want: "did not see"},
		"without the answer":   {query: func(q *Query) { q.Options = q.Options[1:] }, at: at, want: "not among"},
		"no options":           {query: func(q *Query) { q.Options = nil }, at: at, want: "none are offered"},
		"a lookup":             {query: func(q *Query) { q.Options, q.Request = nil, false }, at: at},
		"free text to options": {dec: func(d *Decision) { d.FreeText = true }, at: at, want: "free text"},
		"free text to none":    {dec: func(d *Decision) { d.FreeText = true }, query: func(q *Query) { q.Options = nil }, at: at},
		"undone": {dec: func(d *Decision) {
			correct(VerbWrong)(d)
			d.Corrections = append(d.Corrections, Correction{ID: "cor_u", Undoes: "cor_wrong"})
		}, at: at},
	} {
		d, q := someDecision(), someQuery()
		if c.dec != nil {
			c.dec(&d)
		}
		if c.query != nil {
			c.query(&q)
		}
		got := d.Obstacle(q, c.at)
		if c.want == "" {
			require.Empty(t, got, name)
		} else {
			require.Contains(t, got, c.want, name)
		}
	}
}

func TestCorrected(t *testing.T) {
	d := someDecision()
	d, err := d.corrected(Correction{ID: "c1", Verb: VerbWrong})
	require.NoError(t, err)
	require.False(t, d.Live())
	same, err := d.corrected(Correction{ID: "c2", Verb: VerbWrong})
	require.NoError(t, err)
	require.Len(t, same.Corrections, 1, "the same again changes nothing")

	_, err = d.corrected(Correction{ID: "c3", Undoes: "c9"})
	require.ErrorIs(t, err, ErrNotFound)
	undone, err := d.corrected(Correction{ID: "c3", Undoes: "c1"})
	require.NoError(t, err)
	require.True(t, undone.Live())
	require.Len(t, undone.Corrections, 2, "nothing is edited in place")
	_, err = undone.corrected(Correction{ID: "c4", Undoes: "c1"})
	require.ErrorIs(t, err, ErrConflict)
	_, err = undone.corrected(Correction{ID: "c4", Undoes: "c3"})
	require.ErrorIs(t, err, ErrNotFound, "an undo is not a correction to undo")

	d = someDecision()
	for i, hours := range []int{1, 3} {
		d, err = d.corrected(Correction{ID: itoa(int64(i)), Verb: VerbExpiresAfter, Expires: noon.Add(time.Duration(hours) * time.Hour)})
		require.NoError(t, err)
	}
	require.Equal(t, noon.Add(3*time.Hour), d.ExpiresAt(), "the last one stands")
	d, err = d.corrected(Correction{ID: "u", Undoes: "1"})
	require.NoError(t, err)
	require.Equal(t, noon.Add(time.Hour), d.ExpiresAt())
}

// A correction takes back one alias and nothing else, once; aliases older than ids stay.
func TestCorrectedAlias(t *testing.T) {
	d := Decision{ID: "dec_1", Question: "Which database?", Aliases: []Alias{{Text: "What DB?"}, {ID: "als_1", Text: "Which store?"}}}
	require.Equal(t, []string{"Which database?", "What DB?", "Which store?"}, d.wordings())
	for _, undoes := range []string{"als_2", "Which store?"} {
		_, err := d.corrected(Correction{ID: "cor_1", Undoes: undoes})
		require.ErrorIs(t, err, ErrNotFound)
	}
	after, err := d.corrected(Correction{ID: "cor_1", Undoes: "als_1"})
	require.NoError(t, err)
	require.Equal(t, []string{"Which database?", "What DB?"}, after.wordings())
	require.Len(t, after.Accepted(), 1)
	require.Len(t, after.Aliases, 2, "nothing is edited")
	require.Equal(t, d.digest(), after.digest(), "what the journal says of the decision still holds")
	require.True(t, after.Live())
	require.Empty(t, after.Standing())
	require.True(t, after.disowned("Which store?"))
	require.False(t, d.disowned("Which store?"))
	require.False(t, after.disowned("What DB?"))
	_, err = after.corrected(Correction{ID: "cor_2", Undoes: "als_1"})
	require.ErrorIs(t, err, ErrConflict)
	after.Aliases = append(after.Aliases, Alias{ID: "als_3", Text: "Which store?"})
	require.False(t, after.disowned("Which store?"), "a human accepted it again")
}

func TestCorrectionNormalized(t *testing.T) {
	for name, c := range map[string]struct {
		in   Correction
		want string
	}{
		"no verb":             {Correction{}, "verb"},
		"unknown verb":        {Correction{Verb: "wrongish"}, "verb"},
		"wrong":               {Correction{Verb: VerbWrong}, ""},
		"wrong with a time":   {Correction{Verb: VerbWrong, After: time.Hour}, "expires"},
		"expires without one": {Correction{Verb: VerbExpiresAfter}, "expires"},
		"expires with two":    {Correction{Verb: VerbExpiresAfter, After: time.Hour, Expires: noon}, "expires"},
		"expires back":        {Correction{Verb: VerbExpiresAfter, After: -time.Hour}, "expires"},
		"expires":             {Correction{Verb: VerbExpiresAfter, After: time.Hour}, ""},
		"undo":                {Correction{Undoes: "c"}, ""},
		"undo with a verb":    {Correction{Undoes: "c", Verb: VerbWrong}, "undoes"},
		"NUL in the note":     {Correction{Verb: VerbWrong, Note: "a\x00"}, "note"},
		"far away":            {Correction{Verb: VerbExpiresAfter, Expires: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}, "expires"},
	} {
		got, err := c.in.normalized(noon)
		if c.want != "" {
			require.ErrorIs(t, err, ErrInvalid, name)
			require.True(t, strings.HasPrefix(MessageOf(err), c.want+":"), "%s: %v", name, err)
			continue
		}
		require.NoError(t, err, name)
		if c.in.After > 0 {
			require.Equal(t, noon.Add(c.in.After), got.Expires)
		}
	}
}

func TestNormalizeRepo(t *testing.T) {
	for in, want := range map[string]string{
		"git@github.com:Acme/API.git":                    "github.com/acme/api",
		"https://user:s3cret@github.com/acme/api.git":    "github.com/acme/api",
		"https://github.com/acme/api/":                   "github.com/acme/api",
		"ssh://git@github.com:22/acme/api":               "github.com/acme/api",
		"github.com/acme/api":                            "github.com/acme/api",
		"git@gitlab.com:group/sub/project.git":           "gitlab.com/group/sub/project",
		"https://token@dev.azure.com/org/project/_git/x": "dev.azure.com/org/project/_git/x",
		"https://github.com/acme/api?token=s3cret#x":     "github.com/acme/api",
		"/srv/git/api.git":                               "",
		"../api":                                         "",
		"./api":                                          "",
		"file:///srv/git/api":                            "",
		"api":                                            "",
		"":                                               "",
		"C:\\src\\api":                                   "",
		"https://github.com/a b":                         "",
		"https://github.com/acme/user:s3cret@elsewhere/x": "",
	} {
		require.Equal(t, want, NormalizeRepo(in), in)
	}
}

func FuzzNormalizeRepo(f *testing.F) {
	f.Add("git@github.com:Acme/API.git")
	f.Add("https://user:s3cret@github.com/acme/api")
	f.Fuzz(func(t *testing.T, s string) {
		got := NormalizeRepo(s)
		require.NotContains(t, got, "@")
		require.Equal(t, got, NormalizeRepo(got), "normalizing again changes nothing")
	})
}

func TestFitsIsSymmetric(t *testing.T) {
	parts := [][]string{nil, {"a"}, {"b"}, {"a", "b"}, {"a/c"}}
	repos := []string{"", "h/x", "h/y"}
	var all []Scope
	for _, c := range parts {
		for _, f := range parts {
			for _, r := range repos {
				all = append(all, Scope{Concepts: c, Files: f, Repo: r})
			}
		}
	}
	for _, a := range all {
		require.True(t, a.Fits(a), "%+v", a)
		for _, b := range all {
			require.Equal(t, a.Fits(b), b.Fits(a), "%+v %+v", a, b)
		}
	}
}
