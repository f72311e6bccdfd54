package revuehttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuehttp"
)

const quick = `{"question":"Should the ledger be kept?","options":["yes","no"],"waitSeconds":`

func TestRequestWaits(t *testing.T) {
	for _, c := range []struct {
		name, wait string
		want       time.Duration
	}{
		{"the default", ``, 50 * time.Second},
		{"null is the default", `,"waitSeconds":null`, 50 * time.Second},
		{"none", `,"waitSeconds":0`, 0},
		{"a number", `,"waitSeconds":3`, 3 * time.Second},
		{"a fraction", `,"waitSeconds":1.5`, 1500 * time.Millisecond},
		{"a number in a string", `,"waitSeconds":" 2 "`, 2 * time.Second},
		{"too long", `,"waitSeconds":1e9`, 55 * time.Second},
		{"out of range", `,"waitSeconds":1e999`, 55 * time.Second},
		{"negative", `,"waitSeconds":-4`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t, nil)
				began := time.Now()
				w := a.do(http.MethodPost, "/v1/decisions/request", a.agent(ours).Secret, `{"question":"Should the ledger be kept?"`+c.wait+`}`)
				require.Equal(t, c.want, time.Since(began))
				got := read[map[string]any](t, w)
				require.Equal(t, "pending", got["status"])
				require.NotEmpty(t, got["decisionRef"])
				require.EqualValues(t, 1, got["retryAfterSeconds"])
				require.Contains(t, got["instruction"], "identical")
				require.NotContains(t, got, "answer")
			})
		})
	}
}

func TestRequestIsAnsweredMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		agent, human := a.agent(ours).Secret, a.human(ours).Secret
		var w *httptest.ResponseRecorder
		var done sync.WaitGroup
		done.Go(func() { w = a.do(http.MethodPost, "/v1/decisions/request", agent, quick+`50}`) })
		synctest.Wait()
		lots := read[revue.Page[revue.Lot]](t, a.do(http.MethodGet, "/v1/lots?status=open", human, ""))
		require.Len(t, lots.Items, 1)
		began := time.Now()
		read[revue.Lot](t, a.do(http.MethodPost, "/v1/lots/"+lots.Items[0].ID+"/answer", human, `{"value":"yes","seen":1}`))
		done.Wait()
		require.Zero(t, time.Since(began))
		o := read[revue.Outcome](t, w)
		require.Equal(t, revue.OutcomeAnswered, o.Status)
		require.Equal(t, "yes", o.Answer)
		require.Equal(t, "ada", o.DecidedBy.Name)
		require.Equal(t, "api", o.DecidedBy.Via)
		require.Empty(t, o.Claim)

		lot, err := a.reviewer(ours).Lot(t.Context(), o.LotID)
		require.NoError(t, err)
		require.False(t, lot.Asks[0].ReturnedAt.IsZero(), "it was returned when it was written")
	})
}

// The same ask has one key, however its options are spelled, and whatever it is sent through.
func TestRequestKey(t *testing.T) {
	a := newAPI(t, nil)
	agent := a.agent(ours).Secret
	ask := revue.Ask{
		Question: "Which colour?", Recommendation: "red", Concepts: []string{"paint", "walls"},
		Options: []revue.Option{{Value: "red"}, {Value: "blue", Label: "blue"}},
	}
	want, err := ask.Key()
	require.NoError(t, err)
	for _, options := range []string{
		`["red","blue"]`, `[{"value":"red"},{"value":"blue"}]`, `[{"label":"red"},"blue"]`,
		`[{"value":"red","label":"red","consequence":""},{"value":"blue","label":null}]`, `["\u0072ed","blue"]`,
	} {
		o := read[revue.Outcome](t, a.do(http.MethodPost, "/v1/decisions/request", agent,
			`{"question":"Which colour?","options":`+options+`,"recommendation":"red","concepts":["walls","paint"],"waitSeconds":0}`))
		lot, err := a.reviewer(ours).Lot(t.Context(), o.LotID)
		require.NoError(t, err)
		require.Equal(t, want, lot.Key, options)
		require.Len(t, lot.Asks, 1, "the same thread goes on with the same ask")
	}
}

// heard is a plane that says what it is told to, and hears what became of it.
type heard struct {
	revue.Plane
	request func(context.Context, revue.Ask) (revue.Outcome, error)

	mu       sync.Mutex
	agents   []revue.Agent
	returned []error
	outcomes []revue.Outcome
}

func (p *heard) Authenticate(context.Context, string) (revue.Principal, error) {
	return revue.Principal{
		TokenID: "tok_1", Kind: revue.TokenAgent, Workspace: ours,
		Agent: &revue.Agent{Workspace: ours, Credential: "tok_1", Name: "builder", Thread: "tok_1"},
	}, nil
}

func (p *heard) Decider(a revue.Agent) revue.Decider {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agents = append(p.agents, a)
	return hearing{p: p}
}

type hearing struct {
	revue.Decider
	p *heard
}

func (d hearing) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	return d.p.request(ctx, ask)
}

func (d hearing) Returned(_ context.Context, o revue.Outcome, err error) error {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	d.p.returned = append(d.p.returned, err)
	d.p.outcomes = append(d.p.outcomes, o)
	return nil
}

// lossy is a response writer whose connection breaks.
type lossy struct {
	*httptest.ResponseRecorder
	write, flush error
}

func (l *lossy) Write(p []byte) (int, error) {
	if l.write != nil {
		return 0, l.write
	}
	return l.ResponseRecorder.Write(p)
}

func (l *lossy) FlushError() error { return l.flush }

// TestReturnedOnce: the plane hears once what became of each outcome, and of none that the caller will tell it of.
func TestReturnedOnce(t *testing.T) {
	broken := errors.New("broken pipe")
	answered := revue.Outcome{Status: revue.OutcomeAnswered, Answer: "approved", AskID: "ask_1", LotID: "lot_1", Claim: "clm_1"}
	for _, c := range []struct {
		name        string
		outcome     revue.Outcome
		err         error
		body        string
		gone        bool
		write       error
		flush       error
		want        []bool // whether each call of Returned says that it arrived
		status      int
		acknowledge bool
	}{
		{name: "it was written", outcome: answered, want: []bool{true}, status: 200},
		{name: "the caller tells", outcome: answered, acknowledge: true, want: nil, status: 200},
		{name: "the client has gone", outcome: answered, gone: true, want: []bool{false}},
		{name: "the client has gone, and would have told", outcome: answered, gone: true, acknowledge: true, want: []bool{false}},
		{name: "it could not be written", outcome: answered, write: broken, want: []bool{false}},
		{name: "it could not be flushed", outcome: answered, flush: broken, want: []bool{false}},
		{name: "the caller finds out itself that it did not arrive", outcome: answered, flush: broken, acknowledge: true, want: nil},
		{name: "pending", outcome: revue.Outcome{Status: revue.OutcomePending, AskID: "ask_1"}, want: []bool{true}, status: 200},
		{name: "an answer that is none", outcome: revue.Outcome{Status: revue.OutcomeAnswered, AskID: "ask_1"}, want: []bool{false}, status: 500},
		{name: "a status that is none", outcome: revue.Outcome{Status: "approved", AskID: "ask_1"}, want: []bool{false}, status: 500},
		{name: "a pending answer", outcome: revue.Outcome{Status: revue.OutcomePending, Answer: "yes", AskID: "ask_1"}, want: []bool{false}, status: 500},
		{name: "an error", err: revue.ErrNotFound, want: nil, status: 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			plane := &heard{request: func(context.Context, revue.Ask) (revue.Outcome, error) {
				if c.gone {
					cancel()
				}
				return c.outcome, c.err
			}}
			body := `{"question":"Which colour?"`
			if c.acknowledge {
				body += `,"acknowledge":true`
			}
			w := &lossy{httptest.NewRecorder(), c.write, c.flush}
			revuehttp.NewServer(plane, nil).Handler().ServeHTTP(w, request(http.MethodPost, "/v1/decisions/request", "rvu_a_x", body+"}").WithContext(ctx))
			var got []bool
			for _, err := range plane.returned {
				got = append(got, err == nil)
			}
			require.Equal(t, c.want, got)
			require.True(t, plane.agents[0].Acknowledges)
			if c.status != 0 {
				require.Equal(t, c.status, w.Code)
			}
			for _, o := range plane.outcomes {
				require.Equal(t, c.outcome.Claim, o.Claim, "what is told is told of the claim")
			}
			require.Equal(t, c.acknowledge && !c.gone, strings.Contains(w.Body.String(), "clm_1"), "the claim is for the one who tells")
			if c.gone {
				require.Empty(t, w.Body.String())
			}
		})
	}
}

// TestAgentOfHeaders: what the headers of a request make of its agent.
func TestAgentOfHeaders(t *testing.T) {
	base := revue.Agent{Workspace: ours, Credential: "tok_1", Name: "builder", Thread: "tok_1", Via: "api", Acknowledges: true}
	with := func(f func(*revue.Agent)) revue.Agent {
		a := base
		f(&a)
		return a
	}
	long := strings.Repeat("x", 201)
	for _, c := range []struct {
		name, header string
		values       []string
		want         revue.Agent
		refused      bool
	}{
		{name: "nothing", header: "X-Else", values: []string{"x"}, want: base},
		{name: "a thread", header: "Revue-Thread", values: []string{"session 7"}, want: with(func(a *revue.Agent) { a.Thread = "session 7" })},
		{name: "a thread of 200 bytes", header: "Revue-Thread", values: []string{long[1:]}, want: with(func(a *revue.Agent) { a.Thread = long[1:] })},
		{name: "a thread that is too long", header: "Revue-Thread", values: []string{long}, refused: true},
		{name: "a blank thread", header: "Revue-Thread", values: []string{" "}, refused: true},
		{name: "two threads", header: "Revue-Thread", values: []string{"a", "b"}, refused: true},
		{name: "a thread with a control character", header: "Revue-Thread", values: []string{"a\x01"}, refused: true},
		{name: "a thread that is no text", header: "Revue-Thread", values: []string{"a\xff"}, refused: true},
		{name: "a repository", header: "Revue-Repo", values: []string{"git@github.com:acme/api.git"}, want: with(func(a *revue.Agent) { a.Repo = "github.com/acme/api" })},
		{name: "a repository that is too long", header: "Revue-Repo", values: []string{strings.Repeat(long, 6)}, refused: true},
		{name: "via stdio", header: "Revue-Via", values: []string{"mcp stdio"}, want: with(func(a *revue.Agent) { a.Via = "mcp stdio" })},
		{name: "via the command line", header: "Revue-Via", values: []string{"cli"}, want: with(func(a *revue.Agent) { a.Via = "cli" })},
		{name: "via something made up", header: "Revue-Via", values: []string{"local, unauthenticated"}, want: base},
		{name: "a made-up thread", header: "Revue-Caller", values: []string{"credential"}, want: with(func(a *revue.Agent) { a.AnyThread = true })},
		{name: "another caller", header: "Revue-Caller", values: []string{"thread"}, want: base},
		{name: "a call", header: "Idempotency-Key", values: []string{"call-1"}, want: with(func(a *revue.Agent) { a.Call = "call-1" })},
		{name: "a call that is too long", header: "Idempotency-Key", values: []string{long}, refused: true},
		{name: "two calls", header: "Idempotency-Key", values: []string{"a", "b"}, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			plane := &heard{request: func(context.Context, revue.Ask) (revue.Outcome, error) {
				return revue.Outcome{Status: revue.OutcomePending, AskID: "ask_1"}, nil
			}}
			r := request(http.MethodPost, "/v1/decisions/request", "rvu_a_x", `{"question":"Which colour?"}`)
			r.Header[c.header] = c.values
			w := httptest.NewRecorder()
			revuehttp.NewServer(plane, nil).Handler().ServeHTTP(w, r)
			if c.refused {
				refused(t, w, http.StatusUnprocessableEntity, "invalid", c.header+":")
				require.Empty(t, plane.agents)
				return
			}
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Equal(t, c.want, plane.agents[0])
		})
	}
}

// A call whose client leaves ends, and what it asked stays as it was.
func TestRequestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		agent := a.agent(ours).Secret
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			a.serve(request(http.MethodPost, "/v1/decisions/request", agent, quick+`50}`).WithContext(ctx))
		}()
		synctest.Wait()
		require.Equal(t, 1, a.server.Parked())
		before := a.head(ours)
		leave()
		<-done
		require.Zero(t, a.server.Parked())
		require.Equal(t, before, a.head(ours))
		lots, err := a.reviewer(ours).Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
		require.NoError(t, err)
		require.Len(t, lots.Items, 1)
	})
}

func TestRequestEndsWithTheServer(t *testing.T) {
	park := func(a *api, agent string) (response func() *httptest.ResponseRecorder) {
		var w *httptest.ResponseRecorder
		var done sync.WaitGroup
		done.Go(func() { w = a.do(http.MethodPost, "/v1/decisions/request", agent, quick+`50}`) })
		synctest.Wait()
		return func() *httptest.ResponseRecorder { done.Wait(); return w }
	}
	t.Run("a plane that drains", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI(t, nil)
			agent, began := a.agent(ours).Secret, time.Now()
			response := park(a, agent)
			a.desk.Drain()
			require.NoError(t, a.server.Shutdown(t.Context()))
			require.Equal(t, revue.OutcomePending, read[revue.Outcome](t, response()).Status)
			require.Zero(t, time.Since(began))
			// A call that comes now does not wait.
			refused(t, a.do(http.MethodPost, "/v1/decisions/request", agent, quick+`50}`), http.StatusServiceUnavailable, "unavailable", "identical call")
		})
	})
	t.Run("a plane that does not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI(t, nil)
			agent, began := a.agent(ours).Secret, time.Now()
			response := park(a, agent)
			before := a.head(ours)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			require.ErrorIs(t, a.server.Shutdown(ctx), context.DeadlineExceeded)
			w := response()
			refused(t, w, http.StatusServiceUnavailable, "unavailable", "nothing was decided")
			require.Equal(t, "1", w.Header().Get("Retry-After"))
			require.Equal(t, 2*time.Second, time.Since(began))
			require.Equal(t, before, a.head(ours))
		})
	})
}

// TestParkedCallsAreCheap measures what a call costs while it waits, its connection and the goroutines of net/http
// among it.
func TestParkedCallsAreCheap(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("measures memory")
	}
	const calls, limit = 400, 40 << 10
	waiting := make(chan struct{}, calls)
	plane := &heard{request: func(ctx context.Context, _ revue.Ask) (revue.Outcome, error) {
		waiting <- struct{}{}
		<-ctx.Done()
		return revue.Outcome{}, ctx.Err()
	}}
	server := revuehttp.NewServer(plane, &revuehttp.Options{Rate: -1})
	ts := httptest.NewServer(server.Handler())
	defer ts.Close()
	body := `{"question":"Which colour?","context":"` + strings.Repeat("All of this is dropped before the wait. ", 1000) + `"}`
	conns := make([]net.Conn, calls)
	measure := func() (bytes uint64, goroutines int) {
		var m runtime.MemStats
		for range 2 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse, runtime.NumGoroutine()
	}
	before, goroutinesBefore := measure()
	for i := range conns {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ts.Listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		conns[i] = conn
		_, err = io.WriteString(conn, "POST /v1/decisions/request HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer rvu_a_x\r\n"+
			"Content-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		require.NoError(t, err)
	}
	for range conns {
		<-waiting
	}
	after, goroutinesAfter := measure()
	each := (after - before) / calls
	t.Logf("a parked call: %d bytes, %.2f goroutines", each, float64(goroutinesAfter-goroutinesBefore)/calls)
	require.Less(t, each, uint64(limit))
	require.LessOrEqual(t, goroutinesAfter-goroutinesBefore, 2*calls+4, "one of the connection, and the one that listens for its end")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, server.Shutdown(ctx), context.Canceled)
	buf := make([]byte, 12)
	for _, conn := range conns {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, err := io.ReadFull(conn, buf)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, "HTTP/1.1 503", string(buf))
	}
}
