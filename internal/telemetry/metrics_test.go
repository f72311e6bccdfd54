package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/internal/telemetry"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// scrape returns every series by its name and labels, as the text format has them.
func scrape(t *testing.T, m *telemetry.Metrics) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	out := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if ok {
			name += "}"
		} else {
			name, value, ok = strings.Cut(strings.TrimSpace(line), " ")
		}
		require.True(t, ok, line)
		v, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err, line)
		out[name] = v
	}
	return out
}

// counts are values of series.
type counts map[string]float64

func expect(t *testing.T, m *telemetry.Metrics, want counts) {
	t.Helper()
	got := scrape(t, m)
	for name, v := range want {
		_, ok := got[name]
		require.True(t, ok, "there is no series %s among %v", name, slices.Sorted(maps.Keys(got)))
		require.InDelta(t, v, got[name], 1e-9, name)
	}
}

func human(workspace string) revue.Human {
	return revue.Human{Workspace: workspace, ID: "local", Name: "ada", Via: revue.LocalVia, Local: true}
}

func agent(workspace, thread string) revue.Agent {
	return revue.Agent{Workspace: workspace, Credential: "tok_" + thread, Name: "bot", Thread: thread, Via: "library"}
}

func ask(t *testing.T, p revue.Plane, a revue.Agent, question string) revue.Outcome {
	t.Helper()
	o, err := p.Decider(a).Request(t.Context(), revue.Ask{Question: question, Options: []revue.Option{{Value: "yes"}, {Value: "no"}}})
	require.NoError(t, err)
	return o
}

// TestFollow has two desks on one store: the metrics are of the one that does nothing, and count what the other does.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk, busy := revue.New(store, memory.New(nil), nil), revue.New(store, memory.New(nil), nil)
		_, err := desk.Admin(human("w")).CreateWorkspace(t.Context(), "w")
		require.NoError(t, err)
		old := ask(t, busy, agent("w", "t0"), "Which database holds the orders?")

		m := telemetry.New(&telemetry.Options{Parked: func() int { return 3 }})
		f, err := m.Follow(t.Context(), desk, store, human("w"))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{}, 2)
		go func() { f.Run(ctx); done <- struct{}{} }()
		go func() { _ = desk.Run(ctx); done <- struct{}{} }()
		defer func() { cancel(); <-done; <-done }()
		pass := func(d time.Duration) { <-time.After(d); synctest.Wait() }
		pass(time.Second)
		expect(t, m, counts{
			`revue_open_lots{kind="decision"}`: 1, `revue_asks_total{kind="decision"}`: 0, `revue_lots_total{change="opened",kind="decision"}`: 0,
			`revue_parked_calls`: 3, `revue_journal_lag_events`: 0,
		})

		// A card that was open before is known, and how old it is.
		pass(20 * time.Minute)
		review := busy.Reviewer(human("w"))
		_, err = review.Answer(t.Context(), old.LotID, revue.Answer{Value: "yes"})
		require.NoError(t, err)
		pass(2 * time.Second)
		expect(t, m, counts{
			`revue_open_lots{kind="decision"}`: 0, `revue_outcomes_total{outcome="answered"}`: 1,
			`revue_time_to_answer_seconds_bucket{kind="decision",le="900"}`: 0, `revue_time_to_answer_seconds_bucket{kind="decision",le="3600"}`: 1,
		})

		// Three ask the same; one of them gets a card of its own by the human's choice, and is no new ask.
		first := ask(t, busy, agent("w", "t1"), "Do we keep the blue shed?")
		for _, thread := range []string{"t2", "t3"} {
			require.Equal(t, first.LotID, ask(t, busy, agent("w", thread), "Do we keep the blue shed?").LotID)
		}
		pass(2 * time.Second)
		expect(t, m, counts{
			`revue_asks_total{kind="decision"}`: 3, `revue_asks_joined_total`: 2, `revue_lots_total{change="opened",kind="decision"}`: 1,
			`revue_open_lots{kind="decision"}`: 1, `revue_interruptions_saved_total{how="grouped"}`: 0,
		})
		lot, err := review.Lot(t.Context(), first.LotID)
		require.NoError(t, err)
		require.Len(t, lot.Asks, 3)
		_, err = review.Answer(t.Context(), lot.ID, revue.Answer{Value: "yes", Seen: lot.Revision, Members: []string{lot.Asks[0].ID, lot.Asks[1].ID}})
		require.NoError(t, err)
		pass(2 * time.Second)
		expect(t, m, counts{
			`revue_asks_total{kind="decision"}`: 3, `revue_asks_joined_total`: 2, `revue_lots_total{change="opened",kind="decision"}`: 2,
			`revue_lots_total{change="answered",kind="decision"}`: 2, `revue_open_lots{kind="decision"}`: 1,
			`revue_outcomes_total{outcome="answered"}`: 3, `revue_interruptions_saved_total{how="grouped"}`: 1,
		})

		// Another reuses; the human corrects and takes that back.
		reused := ask(t, busy, agent("w", "t5"), "Which database holds the orders?")
		require.Equal(t, revue.OutcomeReused, reused.Status)
		dec, err := review.Correct(t.Context(), revue.Correction{DecisionID: reused.DecisionID, Verb: revue.VerbTooBroad})
		require.NoError(t, err)
		_, err = review.Correct(t.Context(), revue.Correction{DecisionID: reused.DecisionID, Undoes: dec.Corrections[0].ID})
		require.NoError(t, err)

		// A card is dismissed, opened again and dismissed.
		away := ask(t, busy, agent("w", "t6"), "Is the north gate painted?")
		_, err = review.Dismiss(t.Context(), away.LotID, revue.Dismissal{})
		require.NoError(t, err)
		_, err = review.Reopen(t.Context(), away.LotID)
		require.NoError(t, err)
		_, err = review.Dismiss(t.Context(), away.LotID, revue.Dismissal{})
		require.NoError(t, err)

		// An approval runs out, in a workspace that is new.
		_, err = busy.Decider(agent("new", "t1")).Request(t.Context(), revue.Ask{Kind: revue.KindApproval, Question: "Delete it?", Expires: time.Minute})
		require.NoError(t, err)
		pass(10 * time.Second)
		expect(t, m, counts{`revue_open_lots{kind="approval"}`: 1, `revue_asks_total{kind="approval"}`: 1})
		pass(2 * time.Minute)
		expect(t, m, counts{
			`revue_asks_total{kind="decision"}`: 5, `revue_outcomes_total{outcome="reused"}`: 1, `revue_interruptions_saved_total{how="reused"}`: 1,
			`revue_corrections_total{verb="too_broad"}`: 1, `revue_corrections_total{verb="undo"}`: 1,
			`revue_lots_total{change="dismissed",kind="decision"}`: 2, `revue_lots_total{change="reopened",kind="decision"}`: 1,
			`revue_lots_total{change="expired",kind="approval"}`: 1, `revue_outcomes_total{outcome="expired"}`: 1,
			`revue_open_lots{kind="approval"}`: 0, `revue_open_lots{kind="decision"}`: 1, `revue_journal_lag_events`: 0,
		})
	})
}

// TestFollowImported counts what happens in a workspace that was imported, and not what had happened before.
func TestFollowImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := revue.New(store, memory.New(nil), nil)
		m := telemetry.New(nil)
		f, err := m.Follow(t.Context(), desk, store, human("w"))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { f.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		old := time.Now().UTC().Add(-time.Hour)
		require.NoError(t, store.Update(t.Context(), "w", func(tx revue.Tx) error {
			return tx.Append(revue.Event{Seq: 1, At: old, Kind: revue.EventAskReused, Asks: []string{"ask_1"}})
		}))
		_, err = desk.Admin(human("w")).CreateWorkspace(t.Context(), "w")
		require.NoError(t, err)
		ask(t, desk, agent("w", "t1"), "Which database holds the orders?")
		<-time.After(10 * time.Second)
		synctest.Wait()
		expect(t, m, counts{`revue_asks_total{kind="decision"}`: 1, `revue_outcomes_total{outcome="reused"}`: 0, `revue_journal_lag_events`: 0})
	})
}

// blind is a plane whose journals can't be followed.
type blind struct{ revue.Plane }

type blindReviewer struct{ revue.Reviewer }

func (b blind) Reviewer(h revue.Human) revue.Reviewer { return blindReviewer{b.Plane.Reviewer(h)} }

func (blindReviewer) Lots(context.Context, revue.LotFilter) (revue.Page[revue.Lot], error) {
	return revue.Page[revue.Lot]{}, revue.ErrUnavailable
}

// TestLag says how far a process that sees nothing is behind, and says so once in the log.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := revue.New(store, memory.New(nil), nil)
		_, err := desk.Admin(human("w")).CreateWorkspace(t.Context(), "w")
		require.NoError(t, err)
		var log strings.Builder
		m := telemetry.New(&telemetry.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		f, err := m.Follow(t.Context(), blind{desk}, store, human("w"))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { f.Run(ctx); close(done) }()
		ask(t, desk, agent("w", "t1"), "Which colour has the door?")
		ask(t, desk, agent("w", "t2"), "Which colour has the door?")
		<-time.After(5 * time.Minute)
		expect(t, m, counts{`revue_journal_lag_events`: 2, `revue_asks_total{kind="decision"}`: 0})
		cancel()
		<-done
		require.Equal(t, 1, strings.Count(log.String(), "the metrics don't see what happens"), log.String())
	})
}

// failing is a store that fails, in the transaction or around it.
type failing struct {
	revue.Store
	err error
}

func (f failing) View(context.Context, string, func(revue.Tx) error) error { return f.err }

func (f failing) Update(_ context.Context, _ string, fn func(revue.Tx) error) error {
	if err := fn(nil); err != nil {
		return err
	}
	return f.err
}

func (f failing) Watch(_ context.Context, wake func(string)) error {
	wake("")
	return f.err
}

func TestStore(t *testing.T) {
	m := telemetry.New(nil)
	down := &revue.Error{Code: revue.CodeUnavailable, Err: errors.New("rvu_a_kq7wmzt4hxnp2rv6")}
	s := m.Store(failing{err: down})
	ctx := t.Context()
	require.Equal(t, down, s.View(ctx, "w", nil))
	require.Equal(t, down, s.Update(ctx, "w", func(revue.Tx) error { return nil }))
	require.Equal(t, revue.ErrConflict, s.Update(ctx, "w", func(revue.Tx) error { return revue.ErrConflict }), "no failure of the store")
	require.Error(t, s.Update(ctx, "w", func(revue.Tx) error { return down }))
	seen := false
	require.Equal(t, down, s.Watch(ctx, func(string) { seen = s.Watching() }))
	require.True(t, seen)
	require.False(t, s.Watching())
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.Error(t, s.View(gone, "w", nil))
	expect(t, m, counts{
		`revue_store_errors_total{code="unavailable",op="view"}`: 1, `revue_store_errors_total{code="unavailable",op="update"}`: 2,
		`revue_store_errors_total{code="unavailable",op="watch"}`: 1,
	})
}

// TestPlane counts the calls that end before there is an answer, and keeps a Returner one.
func TestPlane(t *testing.T) {
	m := telemetry.New(nil)
	desk := revue.New(memstore.New(nil), m.Memory(memory.New(nil)), nil)
	p := telemetry.Plane(desk, m, nil)
	require.Equal(t, revue.OutcomePending, ask(t, p, agent("w", "t1"), "Which colour has the door?").Status)
	require.Implements(t, (*revue.Returner)(nil), p.Decider(agent("w", "t1")))
	require.NotImplements(t, (*revue.Returner)(nil), telemetry.Plane(forgetful{desk}, m, nil).Decider(agent("w", "t1")))
	expect(t, m, counts{`revue_outcomes_total{outcome="pending"}`: 1, `revue_memory_recall_seconds_count`: 1})
}

type forgetful struct{ revue.Plane }

func (f forgetful) Decider(a revue.Agent) revue.Decider {
	return struct{ revue.Decider }{f.Plane.Decider(a)}
}

// TestHTTP shows that nothing a caller makes up becomes a label.
func TestHTTP(t *testing.T) {
	m := telemetry.New(nil)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/lots/{id}", func(w http.ResponseWriter, r *http.Request) {
		httpguard.SetRoute(r, r.Pattern)
		if r.PathValue("id") == "cut" {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "ok")
	})
	h := httpguard.Logged(slog.New(slog.DiscardHandler), m.HTTP(mux))
	for _, c := range []struct{ method, target string }{
		{"GET", "/v1/lots/lot_kq7wmzt4hxnp"},
		{"GET", "/v1/lots/lot_2rv6?token=rvu_a_kq7wmzt4hxnp"},
		{"GET", "/secret/kq7wmzt4hxnp"},
		{"BREW", "/kq7wmzt4hxnp"},
		{"GET", "/v1/lots/cut"},
	} {
		func() {
			defer func() { _ = recover() }()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.target, nil))
		}()
	}
	expect(t, m, counts{
		`revue_http_requests_total{method="GET",route="/v1/lots/{id}",status="200"}`: 2,
		`revue_http_requests_total{method="GET",route="/v1/lots/{id}",status="0"}`:   1,
		`revue_http_requests_total{method="GET",route="other",status="404"}`:         1,
		`revue_http_requests_total{method="other",route="other",status="404"}`:       1,
		`revue_http_request_seconds_count{method="GET",route="/v1/lots/{id}"}`:       3,
	})
	for name := range scrape(t, m) {
		require.NotRegexp(t, `kq7wmzt4hxnp|2rv6|rvu_|BREW`, name)
	}
}

// TestOperations compares docs/operations.md with the metrics there are.
func TestOperations(t *testing.T) {
	m := telemetry.New(nil)
	m.HTTP(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	help, kind, labels := map[string]string{}, map[string]string{}, map[string]string{}
	label := regexp.MustCompile(`([a-z]+)="`)
	for line := range strings.Lines(w.Body.String()) {
		line = strings.TrimSpace(line)
		if name, text, ok := strings.Cut(strings.TrimPrefix(line, "# HELP "), " "); ok && strings.HasPrefix(line, "# HELP revue_") {
			help[name] = text
		} else if name, text, ok := strings.Cut(strings.TrimPrefix(line, "# TYPE "), " "); ok && strings.HasPrefix(line, "# TYPE revue_") {
			kind[name] = text
		} else if strings.HasPrefix(line, "revue_") {
			name, rest, _ := strings.Cut(line, "{")
			name, _, _ = strings.Cut(name, " ")
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base := strings.TrimSuffix(name, suffix); kind[base] == "histogram" {
					name = base
				}
			}
			var all []string
			for _, l := range label.FindAllStringSubmatch(rest, -1) {
				if l[1] != "le" && !slices.Contains(all, "`"+l[1]+"`") {
					all = append(all, "`"+l[1]+"`")
				}
			}
			labels[name] = strings.Join(all, ", ")
		}
	}
	var table strings.Builder
	table.WriteString("| metric | type | labels | what |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(help)) {
		table.WriteString("| `" + name + "` | " + kind[name] + " | " + labels[name] + " | " + help[name] + " |\n")
	}
	_, _, found := strings.Cut(readFile(t, "../../docs/operations.md"), table.String())
	require.True(t, found, "the table of metrics in docs/operations.md should be\n%s", table.String())
}
