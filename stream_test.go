package revue_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
)

func setStream(t *testing.T, d *revue.Desk, s revue.StreamSettings) revue.Stream {
	t.Helper()
	out, err := d.Admin(local).SetStream(t.Context(), s)
	require.NoError(t, err)
	return out
}

func streams(t *testing.T, d *revue.Desk, h revue.Human) []revue.Stream {
	t.Helper()
	all, err := d.Admin(h).Streams(t.Context())
	require.NoError(t, err)
	return all
}

func askIn(t *testing.T, d *revue.Desk, stream, question string) revue.Outcome {
	t.Helper()
	o, err := d.Decider(agent("a")).Request(t.Context(), revue.Ask{Question: question, Stream: stream})
	require.NoError(t, err)
	return o
}

func TestSetStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := newPlane(t, store)
		askIn(t, desk, "web-app", "Which door is first?")
		begun := time.Now().UTC()
		require.Equal(t, []revue.Stream{{StreamSettings: revue.StreamSettings{Slug: "web-app"}, CreatedAt: begun}}, streams(t, desk, local))

		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		set := revue.StreamSettings{Slug: "web-app", Name: "The web app", Position: 3, Muted: true}
		got := setStream(t, desk, set)
		require.Equal(t, revue.Stream{
			StreamSettings: set, CreatedAt: begun, ChangedAt: begun.Add(time.Hour),
			ChangedBy: &revue.Who{ID: "local", Name: "root", Via: revue.LocalVia},
		}, got)
		require.Equal(t, []revue.Stream{got}, streams(t, desk, local))
		require.Equal(t, []revue.Stream{got}, streams(t, plane(store), local))

		// Again it changes nothing, whoever says it.
		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		again := set
		again.Slug, again.Name = " Web-App ", "  The web app\t "
		same, err := desk.Admin(alice).SetStream(t.Context(), again)
		require.NoError(t, err)
		require.Equal(t, got, same)

		// What is asked there later leaves it as it is.
		askIn(t, plane(store), "web-app", "Which door is second?")
		require.Equal(t, []revue.Stream{got}, streams(t, desk, local))

		// It is set whole: what is left out is taken back.
		plain := setStream(t, desk, revue.StreamSettings{Slug: "web-app"})
		require.Equal(t, revue.StreamSettings{Slug: "web-app"}, plain.StreamSettings)
		require.Equal(t, begun, plain.CreatedAt)
		require.Equal(t, begun.Add(2*time.Hour), plain.ChangedAt)

		// One that nothing was asked in is made.
		made := setStream(t, desk, revue.StreamSettings{Slug: "new.one_2", Name: "New"})
		require.Equal(t, begun.Add(2*time.Hour), made.CreatedAt)
		askIn(t, desk, "new.one_2", "Which door is third?")
		require.Equal(t, []revue.Stream{made, plain}, streams(t, desk, local))

		// Another workspace knows nothing of it.
		elsewhere := local
		elsewhere.Workspace = "other"
		_, err = desk.Admin(elsewhere).SetStream(t.Context(), set)
		require.ErrorIs(t, err, revue.ErrNotFound, "there is no such workspace")
		_, err = desk.Admin(local).CreateWorkspace(t.Context(), "other")
		require.NoError(t, err)
		require.Empty(t, streams(t, desk, elsewhere))
		_, err = desk.Admin(elsewhere).SetStream(t.Context(), set)
		require.NoError(t, err)
		require.Equal(t, []revue.Stream{made, plain}, streams(t, desk, local))
	})
}

func TestSetStreamInvalid(t *testing.T) {
	store := memstore.New(nil)
	desk := newPlane(t, store)
	setStream(t, desk, revue.StreamSettings{Slug: "web-app", Name: "The web app"})
	before := streams(t, desk, local)
	for name, c := range map[string]struct {
		set   revue.StreamSettings
		field string
	}{
		"no slug":                 {revue.StreamSettings{Name: "x"}, "slug: "},
		"a blank slug":            {revue.StreamSettings{Slug: " \t"}, "slug: "},
		"no slug at all":          {revue.StreamSettings{Slug: "web app"}, "slug: "},
		"a path":                  {revue.StreamSettings{Slug: "../web-app"}, "slug: "},
		"a dot":                   {revue.StreamSettings{Slug: "."}, "slug: "},
		"a letter of wide":        {revue.StreamSettings{Slug: "wéb"}, "slug: "},
		"a long slug":             {revue.StreamSettings{Slug: strings.Repeat("x", revue.MaxStream+1)}, "slug: "},
		"a long name":             {revue.StreamSettings{Slug: "web-app", Name: strings.Repeat("x", 81)}, "name: "},
		"a name with bidi":        {revue.StreamSettings{Slug: "web-app", Name: "a\u202eb"}, "name: "},
		"a name with lines":       {revue.StreamSettings{Slug: "web-app", Name: "a\nb"}, "name: "},
		"a name that is no UTF-8": {revue.StreamSettings{Slug: "web-app", Name: "a\xff"}, "name: "},
		"a name with NUL":         {revue.StreamSettings{Slug: "web-app", Name: "a\x00"}, "name: "},
		"a negative position":     {revue.StreamSettings{Slug: "web-app", Position: -1}, "position: "},
		"a high position":         {revue.StreamSettings{Slug: "web-app", Position: 1001}, "position: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := desk.Admin(local).SetStream(t.Context(), c.set)
			require.ErrorIs(t, err, revue.ErrInvalid)
			require.True(t, strings.HasPrefix(err.Error(), c.field), err)
			require.Equal(t, before, streams(t, desk, local))
		})
	}
	_, err := desk.Admin(revue.Human{Name: "x"}).SetStream(t.Context(), revue.StreamSettings{Slug: "x"})
	require.ErrorIs(t, err, revue.ErrInvalid)
	// What is just within the limits is taken.
	for _, s := range []revue.StreamSettings{
		{Slug: strings.Repeat("x", revue.MaxStream), Name: strings.Repeat("é", 40), Position: 1000},
		{Slug: "0", Position: 1},
		{Slug: "web-app", Name: "\u3164"}, // nothing can be seen of it
	} {
		got := setStream(t, desk, s)
		require.Equal(t, s.Slug, got.Slug)
	}
	require.Empty(t, setStream(t, desk, revue.StreamSettings{Slug: "web-app", Name: "\u3164"}).Name)
}

func TestStreamOrder(t *testing.T) {
	desk := newPlane(t, memstore.New(nil))
	for _, s := range []revue.StreamSettings{
		{Slug: "b"},
		{Slug: "a"},
		{Slug: "z", Position: 1},
		{Slug: "y", Position: 1000},
		{Slug: "x", Position: 2},
		{Slug: "w", Position: 2, Name: "A name does not count"},
	} {
		setStream(t, desk, s)
	}
	var got []string
	for _, s := range streams(t, desk, local) {
		got = append(got, s.Slug)
	}
	require.Equal(t, []string{"z", "w", "x", "y", "a", "b"}, got)
}

// Nobody is told of what happens in a muted stream. What happened meanwhile is not told later either, what happens after
// it is told again is.
func TestMutedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := newPlane(t, store)
		n := &told{}
		running(t, withNotifier(store, n))
		synctest.Wait()
		told := func() (out []string) {
			t.Helper()
			time.Sleep(time.Minute) //nolint:forbidigo // fake time
			for _, x := range n.notices() {
				out = append(out, string(x.Kind)+" "+x.Lot.Question)
			}
			slices.Sort(out)
			return out
		}
		askIn(t, desk, "noisy", "Which door is first?")
		require.Equal(t, []string{"asked Which door is first?"}, told())

		setStream(t, desk, revue.StreamSettings{Slug: "noisy", Muted: true})
		setStream(t, desk, revue.StreamSettings{Slug: "early", Muted: true}) // before anything was asked in it
		quiet := askIn(t, desk, "noisy", "Which roof is second?")
		askIn(t, desk, "early", "Which pump is third?")
		answer(t, desk, quiet.LotID, revue.Answer{Text: "the red one"})
		heard := askIn(t, desk, "other", "Which gate is fourth?")
		want := []string{"asked Which door is first?", "asked Which gate is fourth?"}
		require.Equal(t, want, told())
		require.Equal(t, revue.OutcomeAnswered, askIn(t, desk, "noisy", "Which roof is second?").Status, "agents hear as ever")
		require.Len(t, streams(t, desk, local), 3)

		setStream(t, desk, revue.StreamSettings{Slug: "noisy"})
		require.Equal(t, want, told(), "what is past is not told")
		later := askIn(t, desk, "noisy", "Which crane is fifth?")
		answer(t, desk, heard.LotID, revue.Answer{Text: "the left one"})
		answer(t, desk, later.LotID, revue.Answer{Text: "the tall one"})
		require.Equal(t, append([]string{"answered Which crane is fifth?", "answered Which gate is fourth?"},
			"asked Which crane is fifth?", "asked Which door is first?", "asked Which gate is fourth?"), told())
	})
}

// A stream of another workspace that has the same slug is not muted with it.
func TestMutedInOneWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := newPlane(t, store)
		elsewhere := local
		elsewhere.Workspace = "other"
		_, err := desk.Admin(local).CreateWorkspace(t.Context(), "other")
		require.NoError(t, err)
		_, err = desk.Admin(elsewhere).SetStream(t.Context(), revue.StreamSettings{Slug: "agents", Muted: true})
		require.NoError(t, err)
		n := &told{}
		running(t, withNotifier(store, n))
		synctest.Wait()
		for _, ws := range []string{"w", "other"} {
			a := agent("a")
			a.Workspace = ws
			_, err := desk.Decider(a).Request(t.Context(), revue.Ask{Question: "Which door is first?"})
			require.NoError(t, err)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		all := n.notices()
		require.Len(t, all, 1)
		require.Equal(t, "w", all[0].Workspace)
	})
}

func TestStreamsComeAlong(t *testing.T) {
	store := memstore.New(nil)
	desk := newPlane(t, store)
	setStream(t, desk, revue.StreamSettings{Slug: "web-app", Name: "The web app", Position: 3, Muted: true})
	askIn(t, desk, "agents", "Which door is first?")
	file := export(t, store, "w", nil)
	for _, there := range []revue.Store{memstore.New(nil), sqliteStore(t)} {
		into(t, there, "", file, nil)
		require.Equal(t, streams(t, desk, local), streams(t, plane(there), local))
		require.Equal(t, body(file), body(export(t, there, "w", nil)))
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(file), "\n"), "\n")
	lines = lines[:len(lines)-1]
	for old, with := range map[string]string{
		`"name":"The web app"`: `"name":"` + strings.Repeat("x", 81) + `"`,
		`"position":3`:         `"position":1001`,
		`"position":3,`:        `"position":-1,`,
		`"muted":true`:         `"muted":true,"loud":true`,
	} {
		changed := slices.Clone(lines)
		for i := range changed {
			changed[i] = strings.Replace(changed[i], old, with, 1)
		}
		require.NotEqual(t, lines, changed)
		require.Error(t, refused(t, sealed(changed), with))
	}
}
