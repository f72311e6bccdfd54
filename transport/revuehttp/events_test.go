package revuehttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuehttp"
)

// reader is the other end of a stream.
type reader struct {
	header http.Header
	cancel context.CancelFunc
	done   chan struct{} // closed when the handler has returned

	mu       sync.Mutex
	status   int
	text     strings.Builder
	flushed  int
	deadline time.Time
	stuck    bool // it takes in nothing any more
}

func (r *reader) Header() http.Header { return r.header }

func (r *reader) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stuck {
		time.Sleep(time.Until(r.deadline)) //nolint:forbidigo // it stands in for a connection that blocks until its deadline, in a bubble
		return 0, os.ErrDeadlineExceeded
	}
	return r.text.Write(p)
}

func (r *reader) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushed = r.text.Len()
	return nil
}

func (r *reader) SetWriteDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = t
	return nil
}

func (r *reader) SetReadDeadline(time.Time) error { return nil }

// got is what has arrived.
func (r *reader) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()[:r.flushed]
}

// ended reports whether the stream is over.
func (r *reader) ended() bool {
	synctest.Wait()
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// follow opens a stream in a bubble.
func (a *api) follow(token, target string, with ...func(*http.Request)) *reader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{header: http.Header{}, cancel: cancel, done: make(chan struct{})}
	req := request(http.MethodGet, target, token, "").WithContext(ctx)
	req.Header.Set("Accept", "text/event-stream")
	for _, f := range with {
		f(req)
	}
	go func() {
		defer close(r.done)
		a.handler.ServeHTTP(r, req)
	}()
	synctest.Wait()
	return r
}

// leave ends the stream from the side of the reader.
func (r *reader) leave() {
	r.cancel()
	<-r.done
}

// eventsIn reads the events of a stream.
func eventsIn(t *testing.T, text string) []revue.Event {
	t.Helper()
	var out []revue.Event
	for block := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(block, "id: ") {
			continue
		}
		lines := strings.Split(block, "\n")
		require.Len(t, lines, 3, block)
		var e revue.Event
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(lines[2], "data: ")), &e))
		require.Equal(t, "event: "+string(e.Kind), lines[1])
		require.Equal(t, e.Sum(), e.Hash, "the event came whole")
		out = append(out, e)
	}
	return out
}

func seqs(events []revue.Event) []int {
	out := make([]int, len(events))
	for i, e := range events {
		out[i] = int(e.Seq)
	}
	return out
}

func TestEventsAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		human := a.human(ours).Secret
		a.lot(ours, "Should the ledger be kept?")
		head := int(a.head(ours))
		require.Greater(t, head, 2)

		all := a.follow(human, "/v1/events")
		require.Equal(t, http.StatusOK, all.status)
		require.Equal(t, "text/event-stream", all.header.Get("Content-Type"))
		require.Empty(t, all.header.Get("Content-Encoding"))
		require.True(t, strings.HasPrefix(all.got(), "retry: 2000\n\n"), all.got())
		require.Len(t, eventsIn(t, all.got()), head)

		some := a.follow(human, "/v1/events?after=1")
		back := a.follow(human, "/v1/events?after=1", func(r *http.Request) { r.Header.Set("Last-Event-ID", "2") })
		fresh := a.follow(human, "/v1/events?after=now")
		require.Equal(t, 2, seqs(eventsIn(t, some.got()))[0])
		require.Equal(t, 3, seqs(eventsIn(t, back.got()))[0], "the header goes first")
		require.Empty(t, eventsIn(t, fresh.got()))

		a.lot(ours, "May the exporter write to the ledger?")
		a.lot(theirs, "What do the others ask?")
		synctest.Wait()
		for _, r := range []*reader{all, some, back, fresh} {
			events := eventsIn(t, r.got())
			require.Equal(t, int(a.head(ours)), int(events[len(events)-1].Seq))
		}
		require.Equal(t, []int{head + 1}, seqs(eventsIn(t, fresh.got())))
		for _, r := range []*reader{all, some, back, fresh} {
			require.False(t, r.ended())
			r.leave()
			require.Zero(t, r.deadline, "the connection may be used again")
		}
	})
}

func TestEventsHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		r := a.follow(a.human(ours).Secret, "/v1/events?after=now")
		defer r.leave()
		for beats := range 4 {
			require.Equal(t, beats, strings.Count(r.got(), ": heartbeat\n\n"))
			time.Sleep(15 * time.Second) //nolint:forbidigo // fake time
			synctest.Wait()
		}
	})
}

// doubting is a plane whose tokens can be made bad, or its store be out of reach, without an event.
type doubting struct {
	*revue.Desk
	err atomic.Pointer[revue.Error]
}

func (p *doubting) Authenticate(ctx context.Context, bearer string) (revue.Principal, error) {
	if err := p.err.Load(); err != nil {
		return revue.Principal{}, err
	}
	return p.Desk.Authenticate(ctx, bearer)
}

func TestEventsEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(t *testing.T, a *api, tok revue.Token, plane *doubting)
		after time.Duration // how long it may take
		stays bool
	}{
		{name: "the token is revoked", end: func(t *testing.T, a *api, tok revue.Token, _ *doubting) {
			_, err := a.admin(ours).RevokeToken(t.Context(), tok.ID)
			require.NoError(t, err)
		}},
		{name: "another token is revoked", stays: true, end: func(t *testing.T, a *api, _ revue.Token, _ *doubting) {
			_, err := a.admin(ours).RevokeToken(t.Context(), a.agent(ours).ID)
			require.NoError(t, err)
		}},
		{name: "the member is removed", end: func(t *testing.T, a *api, tok revue.Token, _ *doubting) {
			_, err := a.admin(ours).RemoveMember(t.Context(), tok.Member)
			require.NoError(t, err)
		}},
		{name: "another member is removed", stays: true, end: func(t *testing.T, a *api, _ revue.Token, _ *doubting) {
			bob := a.token(ours, revue.NewToken{Kind: revue.TokenHuman, Owner: "bob"})
			_, err := a.admin(ours).RemoveMember(t.Context(), bob.Member)
			require.NoError(t, err)
		}},
		{name: "the token is bad at a heartbeat", after: 15 * time.Second, end: func(_ *testing.T, _ *api, _ revue.Token, plane *doubting) {
			plane.err.Store(revue.ErrDenied)
		}},
		{name: "the store is out of reach at a heartbeat", stays: true, after: 31 * time.Second, end: func(_ *testing.T, _ *api, _ revue.Token, plane *doubting) {
			plane.err.Store(revue.ErrUnavailable)
		}},
		{name: "the token expires", after: time.Hour, end: func(*testing.T, *api, revue.Token, *doubting) {}},
		{name: "the server ends streams", end: func(_ *testing.T, a *api, _ revue.Token, _ *doubting) { a.server.EndStreams() }},
		{name: "the server shuts down", end: func(t *testing.T, a *api, _ revue.Token, _ *doubting) {
			require.NoError(t, a.server.Shutdown(t.Context()))
		}},
		{name: "the reader leaves", end: func(*testing.T, *api, revue.Token, *doubting) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t, nil)
				plane := &doubting{Desk: a.desk}
				a.server = revuehttp.NewServer(plane, &revuehttp.Options{Rate: -1})
				a.handler = a.server.Handler()
				tok := a.token(ours, revue.NewToken{Kind: revue.TokenHuman, Owner: "ada", Life: time.Hour})
				r := a.follow(tok.Secret, "/v1/events")
				require.False(t, r.ended())
				c.end(t, a, tok, plane)
				if c.name == "the reader leaves" {
					r.cancel()
				}
				time.Sleep(c.after + 500*time.Millisecond) //nolint:forbidigo // fake time
				require.Equal(t, !c.stays, r.ended())
				for _, e := range eventsIn(t, r.got()) {
					require.False(t, e.Kind == revue.EventTokenRevoked && e.Ref == tok.ID)
				}
				if c.stays {
					plane.err.Store(nil)
					a.lot(ours, "Is it still followed?")
					synctest.Wait()
					events := eventsIn(t, r.got())
					require.Equal(t, revue.EventLotOpened, events[len(events)-1].Kind)
				}
				r.leave()
			})
		})
	}
}

// A reader that is stuck holds nothing for long.
func TestEventsStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		r := a.follow(a.human(ours).Secret, "/v1/events?after=now")
		r.mu.Lock()
		r.stuck = true
		r.mu.Unlock()
		a.lot(ours, "Does anybody read this?")
		time.Sleep(revuehttp.WriteIn - time.Second) //nolint:forbidigo // fake time
		require.False(t, r.ended())
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time
		require.True(t, r.ended())
		r.leave()
	})
}

func TestEventsHead(t *testing.T) {
	a := newAPI(t, nil)
	r := request(http.MethodHead, "/v1/events", a.human(ours).Secret, "")
	r.Header.Set("Accept", "text/event-stream")
	w := a.serve(r)
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Body.String())
}

func TestEventsPage(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	a.answered(ours, "Should the ledger be kept?")
	head := int(a.head(ours))
	page := func(query string, with ...func(*http.Request)) revue.Page[revue.Event] {
		r := request(http.MethodGet, "/v1/events"+query, human, "")
		for _, f := range with {
			f(r)
		}
		return read[revue.Page[revue.Event]](t, a.serve(r))
	}
	all := page("")
	require.Len(t, all.Items, head)
	require.NoError(t, revue.VerifyChain(revue.Event{}, all.Items))
	require.Equal(t, strconv.Itoa(head), all.NextCursor)

	first := page("?limit=2")
	require.Equal(t, []int{1, 2}, seqs(first.Items))
	require.Equal(t, "2", first.NextCursor)
	require.Equal(t, 3, seqs(page("?after=2&limit=1").Items)[0])
	require.Equal(t, 3, seqs(page("?limit=1", func(r *http.Request) { r.Header.Set("Last-Event-ID", "2") }).Items)[0])

	for _, query := range []string{"?after=now", "?after=" + strconv.Itoa(head), "?after=9999"} {
		none := page(query)
		require.Empty(t, none.Items, query)
		require.NotEmpty(t, none.NextCursor, query)
	}
	require.Equal(t, strconv.Itoa(head), page("?after=now").NextCursor)

	for _, accept := range []string{"", "*/*", "application/json", "text/*", "text/event-stream;q=0", "application/json, text/html"} {
		got := page("", func(r *http.Request) { r.Header.Set("Accept", accept) })
		require.Len(t, got.Items, head, "a stream is for those who name it: %q", accept)
	}
	for _, c := range []struct{ query, header, says string }{
		{"?after=-1", "", "after"},
		{"?after=NOW", "", "after"},
		{"?after=1.5", "", "after"},
		{"?after=%2B1", "", "after"},
		{"?after=99999999999999999999", "", "after"},
		{"?after=1&after=2", "", "after"},
		{"?since=1", "", "since"},
		{"?limit=0", "", "limit"},
		{"", "now", "Last-Event-ID"},
		{"", "x", "Last-Event-ID"},
		{"", "-1", "Last-Event-ID"},
	} {
		r := request(http.MethodGet, "/v1/events"+c.query, human, "")
		if c.header != "" {
			r.Header.Set("Last-Event-ID", c.header)
		}
		refused(t, a.serve(r), http.StatusUnprocessableEntity, "invalid", c.says+":")
	}
}

// A stream over a network, which does not hold up the end of its server.
func TestEventsOverTheNetwork(t *testing.T) {
	a := newAPI(t, nil)
	ts := httptest.NewUnstartedServer(a.handler)
	ts.Config.RegisterOnShutdown(a.server.EndStreams)
	ts.Start()
	defer ts.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/v1/events?after=now", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+a.human(ours).Secret)
	res, err := ts.Client().Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	require.True(t, lines.Scan())
	require.Equal(t, "retry: 2000", lines.Text())
	a.lot(ours, "Should the ledger be kept?")
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: ") {
	}
	require.Equal(t, "event: lot.opened", lines.Text())

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, ts.Config.Shutdown(ctx))
	for lines.Scan() {
	}
	require.NoError(t, lines.Err(), "the stream ended as a whole")
}
