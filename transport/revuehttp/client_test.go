package revuehttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuehttp"
)

const (
	planeURL   = "http://127.0.0.1:7433"
	someToken  = "rvu_a_sometokenthatnobodymade"
	aWorkspace = "acme"
)

// wire connects clients to whatever is served on it at the time, in memory. It may be used in a bubble.
type wire struct {
	mu   sync.Mutex
	down func(ctx context.Context) (net.Conn, error) // what happens where nothing is served; nil: refused
	open *pipes
}

// pipes is a listener in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w.mu.Lock()
	open, down := w.open, w.down
	w.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	if open == nil {
		if down != nil {
			return down(ctx)
		}
		return nil, refused
	}
	mine, theirs := net.Pipe()
	select {
	case open.conns <- theirs:
		return mine, nil
	case <-open.done:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve serves until stop, which cuts every connection, or until the test ends.
func (w *wire) serve(t testing.TB, h http.Handler) (stop func()) {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(p) }()
	w.mu.Lock()
	w.open = p
	w.mu.Unlock()
	stop = sync.OnceFunc(func() {
		w.mu.Lock()
		w.open = nil
		w.mu.Unlock()
		_ = srv.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("served until: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// client returns a client over the wire.
func (w *wire) client(t testing.TB, token string, opts *revuehttp.ClientOptions) *revuehttp.Client {
	t.Helper()
	var o revuehttp.ClientOptions
	if opts != nil {
		o = *opts
	}
	tr := &http.Transport{DialContext: w.dial, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	o.HTTP = &http.Client{Transport: tr}
	c, err := revuehttp.NewClient(planeURL, token, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// over returns a client of a handler, in memory.
func over(t testing.TB, h http.HandlerFunc, opts *revuehttp.ClientOptions) *revuehttp.Client {
	t.Helper()
	w := &wire{}
	w.serve(t, h)
	return w.client(t, someToken, opts)
}

// asked is a call of Request on its way.
type asked struct {
	out  revue.Outcome
	err  error
	took time.Duration
	done chan struct{}
}

func startRequest(ctx context.Context, d revue.Decider, ask revue.Ask) *asked {
	a := &asked{done: make(chan struct{})}
	began := time.Now()
	go func() {
		defer close(a.done)
		a.out, a.err = d.Request(ctx, ask)
		a.took = time.Since(began)
	}()
	return a
}

func sendProblem(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "title": "t", "status": status, "code": code, "detail": detail, "id": "lot_x", "requestId": "req-1"})
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func pendingBody() map[string]any {
	return map[string]any{"status": "pending", "decisionRef": "ask_x", "lotId": "lot_x", "retryAfterSeconds": 0}
}

func deploy() revue.Ask {
	return revue.Ask{Kind: revue.KindApproval, Question: "Deploy build 7?", Context: "All tests passed."}
}

func colour() revue.Ask {
	return revue.Ask{Question: "Which colour should buttons have?", Options: []revue.Option{{Value: "blue"}, {Value: "red"}}}
}

// openLot returns the one open lot of the workspace.
func (s *site) openLot(t testing.TB) revue.Lot {
	t.Helper()
	page, err := s.reviewer().Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	return page.Items[0]
}

// reviewer is a human who works on the desk itself.
func (s *site) reviewer() revue.Reviewer {
	return s.desk.Reviewer(revue.Human{Workspace: aWorkspace, ID: "ada", Name: "Ada", Via: "library"})
}

// count returns how many events of a kind the journal has.
func (s *site) count(t testing.TB, kind revue.EventKind) int {
	t.Helper()
	n := 0
	for _, e := range s.journal(t) {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// journal returns what has happened in the workspace.
func (s *site) journal(t testing.TB) []revue.Event {
	t.Helper()
	mark, err := s.desk.Decider(revue.Agent{Workspace: aWorkspace, Credential: "marker", Name: "marker"}).
		Share(t.Context(), revue.ContextItem{Kind: "note", Body: fmt.Sprintf("mark %p", new(int)), Concepts: []string{"mark"}})
	require.NoError(t, err)
	var all []revue.Event
	for e, err := range s.reviewer().Events(t.Context(), 0) {
		require.NoError(t, err)
		all = append(all, e)
		if e.Ref == mark.ID {
			break
		}
	}
	return all
}

func TestNewClientChecksItsArguments(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]struct{ url, token string }{
		"no url":         {"", someToken},
		"no scheme":      {"revue.example.com", someToken},
		"no host":        {"https://", someToken},
		"another scheme": {"ftp://revue.example.com", someToken},
		"a password":     {"https://ada:verysecretword@revue.example.com", someToken},
		"a bad password": {"https://ada:verysecretword@revue.example.com:port", someToken},
		"a query":        {"https://revue.example.com?key=verysecretword", someToken},
		"a lone ?":       {"https://revue.example.com?", someToken},
		"a fragment":     {"https://revue.example.com#x", someToken},
		"a lone #":       {"https://revue.example.com#", someToken},
		"opaque":         {"https:revue.example.com", someToken},
		"plain http":     {"http://revue.example.com", someToken},
		"a disguise":     {"http://127.0.0.1.example.com", someToken},
		"a lookalike":    {"http://localhost.example.com", someToken},
		"no token":       {"https://revue.example.com", ""},
		"two words":      {"https://revue.example.com", "verysecretword verysecretword"},
		"a line end":     {"https://revue.example.com", "verysecretword\r\nHost: x"},
		"no ASCII":       {"https://revue.example.com", "verysecretwörd"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := revuehttp.NewClient(bad.url, bad.token, nil)
			require.ErrorIs(t, err, revue.ErrInvalid)
			require.NotContains(t, err.Error(), "verysecretw")
			require.NotContains(t, err.Error(), someToken)
		})
	}
	for _, url := range []string{
		"https://revue.example.com", "https://revue.example.com/", "https://example.com/revue/", "https://[2001:db8::1]:8443",
		"http://localhost:7433", "http://127.0.0.1", "http://127.8.8.8:1", "http://[::1]:7433", "HTTP://LOCALHOST",
	} {
		_, err := revuehttp.NewClient(url, someToken, nil)
		require.NoError(t, err, url)
	}
	_, err := revuehttp.NewClient("http://revue.example.com", someToken, &revuehttp.ClientOptions{Insecure: true})
	require.NoError(t, err)
	for name, o := range map[string]revuehttp.ClientOptions{
		"thread":    {Thread: "a\nb"},
		"via":       {Via: "\xff"},
		"workspace": {Workspace: "a\x00"},
		"timeout":   {Timeout: -1},
		"tries":     {Tries: -1},
	} {
		_, err := revuehttp.NewClient("https://revue.example.com", someToken, &o)
		require.ErrorIs(t, err, revue.ErrInvalid, name)
	}
}

// Each way in which a plane may be down is told at once, before anybody gets impatient.
func TestPlaneIsDown(t *testing.T) {
	t.Parallel()
	hangs := func(ctx context.Context) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, down := range map[string]func(context.Context) (net.Conn, error){
		"refused": nil,
		"no host": func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}}
		},
		"no answer": hangs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := (&wire{down: down}).client(t, someToken, nil)
				ctx := t.Context()
				for call, fn := range map[string]func() error{
					"request": func() error { _, err := c.Request(ctx, revue.Ask{Question: "?", Wait: time.Hour}); return err },
					"lookup":  func() error { _, err := c.Lookup(ctx, revue.Query{Text: "x"}); return err },
					"lots":    func() error { _, err := c.Lots(ctx, revue.LotFilter{}); return err },
					"answer":  func() error { _, err := c.Answer(ctx, "lot_x", revue.Answer{Value: "x"}); return err },
					"events": func() error {
						for _, err := range c.Events(ctx, 0) {
							return err
						}
						return nil
					},
					"from now": func() error {
						for _, err := range c.Events(ctx, revue.FromNow) {
							return err
						}
						return nil
					},
				} {
					began := time.Now()
					err := fn()
					require.ErrorIs(t, err, revue.ErrUnavailable, call)
					require.Contains(t, revue.MessageOf(err), "REVUE_API_URL", call)
					require.Contains(t, revue.MessageOf(err), planeURL, call)
					require.LessOrEqual(t, time.Since(began), 1500*time.Millisecond, call)
				}
			})
		})
	}
}

func TestTLSThatGetsNowhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }() // it listens, and says nothing
		defer theirs.Close()
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return mine, nil }}
		c, err := revuehttp.NewClient("https://revue.example.com", someToken, &revuehttp.ClientOptions{HTTP: &http.Client{Transport: tr}})
		require.NoError(t, err)
		began := time.Now()
		_, err = c.Request(t.Context(), colour())
		require.ErrorIs(t, err, revue.ErrUnavailable)
		require.LessOrEqual(t, time.Since(began), 1500*time.Millisecond)
		mine.Close()
	})
}

func TestCertificateThatDoesNotHold(t *testing.T) {
	t.Parallel()
	ts := httptest.NewUnstartedServer(http.NotFoundHandler())
	ts.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	ts.StartTLS()
	defer ts.Close()
	c, err := revuehttp.NewClient(ts.URL, someToken, &revuehttp.ClientOptions{ConnectTimeout: time.Minute})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Whoami(t.Context())
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.Contains(t, revue.MessageOf(err), "certificate")
}

// What a plane answers with, and what its client makes of it.
func TestErrorsComeBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		code    string
		kind    string // of the content; a problem document by default
		want    *revue.Error
		message string
	}{
		"invalid":            {status: 422, code: "invalid", want: revue.ErrInvalid, message: "the detail"},
		"unreadable":         {status: 400, code: "invalid", want: revue.ErrInvalid, message: "the detail"},
		"not found":          {status: 404, code: "not_found", want: revue.ErrNotFound, message: "the detail"},
		"conflict":           {status: 409, code: "conflict", want: revue.ErrConflict, message: "the detail"},
		"denied":             {status: 403, code: "denied", want: revue.ErrDenied, message: "the detail"},
		"unauthenticated":    {status: 401, code: "unauthenticated", want: revue.ErrDenied, message: "the detail"},
		"too large":          {status: 413, code: "too_large", want: revue.ErrTooLarge, message: "the detail"},
		"rate limited":       {status: 429, code: "rate_limited", want: revue.ErrRateLimited, message: "the detail"},
		"unavailable":        {status: 503, code: "unavailable", want: revue.ErrUnavailable, message: "the detail"},
		"internal":           {status: 500, code: "internal", want: revue.ErrInternal, message: "the detail"},
		"the code wins":      {status: 500, code: "conflict", want: revue.ErrConflict, message: "the detail"},
		"an unknown code":    {status: 409, code: "tea", want: revue.ErrConflict, message: "the detail"},
		"a page: 401":        {status: 401, kind: "text/html", want: revue.ErrDenied, message: "401"},
		"a page: 403":        {status: 403, kind: "text/html", want: revue.ErrDenied, message: "403"},
		"a page: 404":        {status: 404, kind: "text/html", want: revue.ErrNotFound, message: "REVUE_API_URL"},
		"a page: 409":        {status: 409, kind: "text/html", want: revue.ErrConflict, message: "409"},
		"a page: 413":        {status: 413, kind: "text/html", want: revue.ErrTooLarge, message: "413"},
		"a page: 418":        {status: 418, kind: "text/html", want: revue.ErrInvalid, message: "418"},
		"a page: 429":        {status: 429, kind: "text/html", want: revue.ErrRateLimited, message: "429"},
		"a page: 500":        {status: 500, kind: "text/html", want: revue.ErrInternal, message: "500"},
		"a page: 502":        {status: 502, kind: "text/html", want: revue.ErrUnavailable, message: "502"},
		"a page: 504":        {status: 504, kind: "text/html", want: revue.ErrUnavailable, message: "504"},
		"a redirect":         {status: 302, kind: "text/html", want: revue.ErrInternal, message: "302"},
		"JSON of no kind":    {status: 403, kind: "application/json", want: revue.ErrDenied, message: "403"},
		"a document of junk": {status: 403, kind: "application/problem+json", want: revue.ErrDenied, message: "403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := over(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.kind == "" {
					sendProblem(w, c.status, c.code, "the detail")
					return
				}
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, "<h1>not what you think</h1>")
			}, &revuehttp.ClientOptions{Tries: 1})
			_, err := client.Lot(t.Context(), "lot_x")
			require.ErrorIs(t, err, c.want)
			require.Contains(t, revue.MessageOf(err), c.message)
			if c.kind == "" {
				var e *revue.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, "lot_x", e.ID)
				require.ErrorContains(t, e.Err, "req-1") // for the log
			}
		})
	}
}

// A token goes to its plane and nowhere else, and is in nothing that is shown.
func TestTokenStaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	var status int
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+someToken {
			t.Errorf("Authorization: %q", r.Header.Get("Authorization"))
		}
		if status < 400 {
			http.Redirect(w, r, other.URL+"/?t="+someToken, status)
			return
		}
		sendProblem(w, status, "invalid", "I got "+someToken)
	}))
	defer ts.Close()
	var logged bytes.Buffer
	c, err := revuehttp.NewClient(ts.URL, someToken, &revuehttp.ClientOptions{
		Tries: 2, ConnectTimeout: time.Minute, Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(t, err)
	defer c.Close()
	for _, status = range []int{301, 302, 303, 307, 308, 422, 503} {
		_, err := c.Share(t.Context(), revue.ContextItem{Kind: "note", Body: "b"})
		require.Error(t, err)
		require.NotContains(t, err.Error(), someToken)
		require.NotContains(t, fmt.Sprintf("%+v", err), someToken)
	}
	require.Zero(t, elsewhere.Load())
	require.NotEmpty(t, logged.String())
	require.NotContains(t, logged.String(), someToken)
	require.NotContains(t, fmt.Sprint(c.Plane().Authenticate(t.Context(), "rvu_a_other")), someToken)
}

// Answers that no plane would give are errors, and never an outcome.
func TestMalformedAnswers(t *testing.T) {
	t.Parallel()
	ask := func(c *revuehttp.Client) error { _, err := c.Request(t.Context(), colour()); return err }
	lot := func(c *revuehttp.Client) error { _, err := c.Lot(t.Context(), "lot_x"); return err }
	lots := func(c *revuehttp.Client) error { _, err := c.Lots(t.Context(), revue.LotFilter{}); return err }
	for name, c := range map[string]struct {
		call func(*revuehttp.Client) error
		body string
		want *revue.Error
	}{
		"no JSON":                    {lot, "<h1>welcome</h1>", revue.ErrInternal},
		"nothing":                    {lot, "", revue.ErrInternal},
		"half":                       {lot, `{"id":"lot_x","ques`, revue.ErrInternal},
		"two":                        {lot, `{"id":"lot_x"}{}`, revue.ErrInternal},
		"no lot":                     {lot, `{}`, revue.ErrInternal},
		"null":                       {lot, `null`, revue.ErrInternal},
		"another type":               {lot, `{"id":7}`, revue.ErrInternal},
		"a list for a page":          {lots, `[]`, revue.ErrInternal},
		"too deep":                   {lots, strings.Repeat("[", 20_000), revue.ErrInternal},
		"too long":                   {lots, `{"items":[],"x":"` + strings.Repeat("x", 64<<10) + `"}`, revue.ErrTooLarge},
		"no outcome":                 {ask, `{}`, revue.ErrInternal},
		"an outcome of no kind":      {ask, `{"status":"approved","decisionRef":"ask_x","answer":"yes"}`, revue.ErrInternal},
		"answered without an answer": {ask, `{"status":"answered","decisionRef":"ask_x"}`, revue.ErrInternal},
		"pending with an answer":     {ask, `{"status":"pending","decisionRef":"ask_x","answer":"yes"}`, revue.ErrInternal},
		"expired with an answer":     {ask, `{"status":"expired","decisionRef":"ask_x","answer":"approved"}`, revue.ErrInternal},
		"an outcome of nothing":      {ask, `{"status":"answered","answer":"yes"}`, revue.ErrInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := over(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", strconv.Itoa(len(c.body)))
				_, _ = io.WriteString(w, c.body)
			}, &revuehttp.ClientOptions{MaxResponse: 60 << 10})
			require.ErrorIs(t, c.call(client), c.want)
		})
	}
}

// created succeeds with 201.
type created struct{ http.ResponseWriter }

func (c created) Write(p []byte) (int, error) {
	if c.Header().Get("Content-Type") == "application/json" {
		c.WriteHeader(http.StatusCreated)
	}
	return c.ResponseWriter.Write(p)
}

func (c created) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// What may succeed the next time is sent again, with the same id, less and less often, and not for ever.
func TestWhatIsSentAgain(t *testing.T) {
	t.Parallel()
	cut := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	status := func(n int, code string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { sendProblem(w, n, code, "no") }
	}
	half := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":"lot`)
		panic(http.ErrAbortHandler)
	}
	halfProblem := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000")
		sendProblem(w, 409, "conflict", "no")
		panic(http.ErrAbortHandler)
	}
	for name, c := range map[string]struct {
		fails func(http.ResponseWriter)
		again bool
	}{
		"a cut":          {cut, true},
		"half an answer": {half, true},
		"half a refusal": {halfProblem, true},
		"408":            {status(408, "invalid"), true},
		"429":            {status(429, "rate_limited"), true},
		"502":            {status(502, ""), true},
		"503":            {status(503, "unavailable"), true},
		"504":            {status(504, ""), true},
		"a page that a proxy cut": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"lot`)
			flushNow(w)
		}, true},
		"400": {status(400, "invalid"), false},
		"401": {status(401, "unauthenticated"), false},
		"403": {status(403, "denied"), false},
		"404": {status(404, "not_found"), false},
		"409": {status(409, "conflict"), false},
		"413": {status(413, "too_large"), false},
		"422": {status(422, "invalid"), false},
		"500": {status(500, "internal"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries, ids := 0, map[string]int{}
				client := over(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					ids[r.Header.Get("Idempotency-Key")]++
					if r.Method == http.MethodPost && slices.Contains([]string{"/v1/tokens", "/v1/sign-in"}, r.URL.Path) {
						w = created{w}
					}
					if tries++; tries%3 != 0 {
						c.fails(w)
						return
					}
					if r.Method == http.MethodDelete && strings.HasPrefix(r.URL.Path, "/v1/context") || slices.Contains([]string{"/v1/purge", "/v1/decisions/returned"}, r.URL.Path) {
						w.WriteHeader(http.StatusNoContent)
						return
					}
					if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/request") {
						answerJSON(w, map[string]any{"status": "reused", "decisionRef": "ask_x", "answer": "blue"})
						return
					}
					answerJSON(w, map[string]any{"id": "lot_x", "slug": "web.app", "code": "a code", "decision": map[string]any{"id": "dec_x"}})
				}, nil)
				ctx := t.Context()
				for call, fn := range map[string]func() error{
					"request": func() error { _, err := client.Request(ctx, colour()); return err },
					"lookup":  func() error { _, err := client.Lookup(ctx, revue.Query{Text: "x"}); return err },
					"share":   func() error { _, err := client.Share(ctx, revue.ContextItem{Kind: "note", Body: "b"}); return err },
					"answer":  func() error { _, err := client.Answer(ctx, "lot_x", revue.Answer{Value: "x"}); return err },
					"dismiss": func() error { _, err := client.Dismiss(ctx, "lot_x", revue.Dismissal{}); return err },
					"reopen":  func() error { _, err := client.Reopen(ctx, "lot_x"); return err },
					"correct": func() error {
						_, err := client.Correct(ctx, revue.Correction{DecisionID: "dec_x", Verb: revue.VerbWrong})
						return err
					},
					"lot":          func() error { _, err := client.Lot(ctx, "lot_x"); return err },
					"why":          func() error { _, err := client.Why(ctx, "dec_x"); return err },
					"contexts":     func() error { _, err := client.Contexts(ctx, revue.ContextFilter{}); return err },
					"remove":       func() error { return client.RemoveContext(ctx, "ctx_x") },
					"create token": func() error { _, err := client.Admin().CreateToken(ctx, revue.NewToken{}); return err },
					"set stream": func() error {
						_, err := client.Admin().SetStream(ctx, revue.StreamSettings{Slug: "web.app"})
						return err
					},
					"sign in":  func() error { _, err := client.Admin().SignIn(ctx); return err },
					"revoke":   func() error { _, err := client.Admin().RevokeToken(ctx, "tok_x"); return err },
					"purge":    func() error { return client.Admin().Purge(ctx, "lot_x") },
					"returned": func() error { return client.Returned(ctx, revue.Outcome{Status: "answered", AskID: "ask_x"}, nil) },
				} {
					if dropped := []string{"remove", "purge", "returned"}; strings.HasPrefix(name, "half an") || strings.HasPrefix(name, "a page") {
						if slices.Contains(dropped, call) {
							continue // their answer has nothing to cut
						}
					}
					tries, ids = 0, map[string]int{}
					err := fn()
					if !c.again {
						require.Error(t, err, call)
						require.Equal(t, 1, tries, call)
						continue
					}
					require.NoError(t, err, call)
					require.Equal(t, 3, tries, call)
					require.Len(t, ids, 1, call)
					for id := range ids {
						needs := slices.Contains([]string{"request", "answer", "dismiss", "reopen", "correct", "remove", "create token", "set stream", "sign in", "revoke", "purge"}, call)
						require.Equal(t, needs, id != "", "%s: id %q", call, id)
					}
				}
			})
		})
	}
}

func flushNow(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func TestTryingAgainIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts       revuehttp.ClientOptions
		retryAfter string
		tries      int
		least      time.Duration
		most       time.Duration
	}{
		"by number":                      {opts: revuehttp.ClientOptions{Tries: 3, RetryFor: time.Hour}, tries: 3, most: 10 * time.Second},
		"one is none":                    {opts: revuehttp.ClientOptions{Tries: 1}, tries: 1},
		"by time":                        {opts: revuehttp.ClientOptions{Tries: 1000, RetryFor: time.Minute}, most: time.Minute},
		"by default":                     {most: revuehttp.DefaultRetryFor},
		"as the plane says":              {opts: revuehttp.ClientOptions{Tries: 3, RetryFor: time.Minute}, retryAfter: "7", tries: 3, least: 14 * time.Second, most: 18 * time.Second},
		"as the plane says, with a date": {opts: revuehttp.ClientOptions{Tries: 2, RetryFor: time.Minute}, retryAfter: "date", tries: 2, least: 8 * time.Second, most: 12 * time.Second},
		"not where that is too late":     {opts: revuehttp.ClientOptions{RetryFor: time.Minute}, retryAfter: "90", tries: 1},
		"a time that is none":            {opts: revuehttp.ClientOptions{Tries: 2}, retryAfter: "soon", tries: 2, most: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				client := over(t, func(w http.ResponseWriter, _ *http.Request) {
					tries++
					switch c.retryAfter {
					case "":
					case "date":
						w.Header().Set("Retry-After", time.Now().Add(10*time.Second).UTC().Format(http.TimeFormat))
					default:
						w.Header().Set("Retry-After", c.retryAfter)
					}
					sendProblem(w, 503, "unavailable", "restarting")
				}, &c.opts)
				began := time.Now()
				_, err := client.Lots(t.Context(), revue.LotFilter{})
				require.ErrorIs(t, err, revue.ErrUnavailable)
				require.Equal(t, "restarting", revue.MessageOf(err))
				require.GreaterOrEqual(t, time.Since(began), c.least)
				require.LessOrEqual(t, time.Since(began), c.most)
				if c.tries > 0 {
					require.Equal(t, c.tries, tries)
				}
				require.Positive(t, tries)
			})
		})
	}
}

// A plane that takes a request and never answers keeps nobody for long.
func TestPlaneThatNeverAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var place atomic.Bool // the next request
		c := over(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if place.CompareAndSwap(true, false) {
				answerJSON(w, pendingBody())
				return
			}
			<-r.Context().Done()
		}, nil)
		began := time.Now()
		_, err := c.Lots(t.Context(), revue.LotFilter{})
		require.ErrorIs(t, err, revue.ErrUnavailable)
		require.Equal(t, revuehttp.DefaultTimeout, time.Since(began))

		began = time.Now()
		_, err = c.Request(t.Context(), revue.Ask{Question: "?", Wait: time.Hour})
		require.ErrorIs(t, err, revue.ErrUnavailable)
		require.Equal(t, revuehttp.DefaultTimeout, time.Since(began))

		place.Store(true)
		began = time.Now()
		o, err := c.Request(t.Context(), revue.Ask{Question: "?", Wait: 10 * time.Second})
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status)
		require.Equal(t, "ask_x", o.AskID)
		require.Equal(t, 13*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = c.Lots(ctx, revue.LotFilter{})
		require.Equal(t, context.DeadlineExceeded, err)
	})
}

// A plane that does not wait, since it drains say, is asked again, but not all the time.
func TestPlaneThatDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		c := over(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			requests++
			answerJSON(w, pendingBody())
		}, nil)
		began := time.Now()
		o, err := c.Request(t.Context(), revue.Ask{Question: "?", Wait: 5 * time.Minute})
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status)
		require.Equal(t, 5*time.Minute, time.Since(began))
		require.Less(t, requests, 700)
		require.Greater(t, requests, 100)
	})
}

// bubble is a site on a wire.
func servedSite(t *testing.T) (s *site, w *wire, stop func()) {
	t.Helper()
	s, w = newSite(t), &wire{}
	return s, w, w.serve(t, s.server.Handler())
}

func (s *site) agent(t testing.TB, w *wire) *revuehttp.Client {
	t.Helper()
	return w.client(t, s.token(t, aWorkspace, revue.TokenAgent, "agent"), nil)
}

func TestPlaneRestartsDuringAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w, stop := servedSite(t)
		ask := colour()
		ask.Wait = 5 * time.Minute
		a := startRequest(t.Context(), s.agent(t, w), ask)
		synctest.Wait()
		lot := s.openLot(t)
		for range 3 {
			<-time.After(20 * time.Second)
			stop()
			<-time.After(10 * time.Second)
			stop = w.serve(t, s.server.Handler())
		}
		<-time.After(10 * time.Second)
		_, err := s.reviewer().Answer(t.Context(), lot.ID, revue.Answer{Value: "red"})
		require.NoError(t, err)
		<-a.done
		require.NoError(t, a.err)
		require.Equal(t, "red", a.out.Answer)
		require.Equal(t, lot.ID, a.out.LotID)
		require.Less(t, a.took, 105*time.Second)
		require.Equal(t, 1, s.count(t, revue.EventLotOpened))
		require.Equal(t, 1, s.count(t, revue.EventAskReturned))
	})
}

func TestPlaneGoesAwayDuringAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w, stop := servedSite(t)
		c := s.agent(t, w)
		ask := colour()
		ask.Wait = time.Minute
		a := startRequest(t.Context(), c, ask)
		synctest.Wait()
		lot := s.openLot(t)
		<-time.After(5 * time.Second)
		stop()
		_, err := s.reviewer().Answer(t.Context(), lot.ID, revue.Answer{Value: "red"})
		require.NoError(t, err)
		<-a.done
		require.NoError(t, a.err)
		require.Equal(t, revue.OutcomePending, a.out.Status)
		require.Equal(t, lot.ID, a.out.LotID)
		require.NotEmpty(t, a.out.AskID)
		require.GreaterOrEqual(t, a.took, time.Minute)
		require.Less(t, a.took, time.Minute+5*time.Second)

		w.serve(t, s.server.Handler())
		o, err := c.Request(t.Context(), colour())
		require.NoError(t, err)
		require.Equal(t, "red", o.Answer)
	})
}

func TestTokenIsRevokedDuringAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w, stop := servedSite(t)
		ask := colour()
		ask.Wait = time.Hour
		a := startRequest(t.Context(), s.agent(t, w), ask)
		synctest.Wait()
		for _, tok := range mustDo(s.admin(aWorkspace).Tokens(t.Context())) {
			_, err := s.admin(aWorkspace).RevokeToken(t.Context(), tok.ID)
			require.NoError(t, err)
		}
		stop()
		w.serve(t, s.server.Handler())
		<-a.done
		require.ErrorIs(t, a.err, revue.ErrDenied)
		require.Less(t, a.took, 3*time.Second)
	})
}

func mustDo[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestApprovalExpiresDuringAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w, stop := servedSite(t)
		ask := deploy()
		ask.Wait, ask.Expires = time.Hour, 3*time.Minute
		a := startRequest(t.Context(), s.agent(t, w), ask)
		<-time.After(time.Minute)
		stop()
		<-time.After(30 * time.Second)
		w.serve(t, s.server.Handler())
		<-a.done
		require.NoError(t, a.err)
		require.Equal(t, revue.OutcomeExpired, a.out.Status)
		require.Equal(t, 3*time.Minute, a.took.Round(time.Second))
	})
}

// losing lets requests through and loses what it is told to: the answers, when all was done.
type losing struct {
	http.Handler
	lose func(r *http.Request, answer string) bool
}

func (l losing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") == "text/event-stream" {
		l.Handler.ServeHTTP(w, r)
		return
	}
	rec := httptest.NewRecorder()
	l.Handler.ServeHTTP(rec, r)
	if l.lose(r, rec.Body.String()) {
		panic(http.ErrAbortHandler)
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// An approval whose answer is lost on the way is given to the same call again, and to no other.
func TestLostApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := newSite(t), &wire{}
		lost := 0
		w.serve(t, losing{s.server.Handler(), func(_ *http.Request, answer string) bool {
			if lost < 3 && strings.Contains(answer, `"answered"`) {
				lost++
				return true
			}
			return false
		}})
		c := s.agent(t, w)
		ask := deploy()
		ask.Wait = time.Minute
		a := startRequest(t.Context(), c, ask)
		synctest.Wait()
		lot := s.openLot(t)
		_, err := s.reviewer().Answer(t.Context(), lot.ID, revue.Answer{Value: revue.Approved})
		require.NoError(t, err)
		<-a.done
		require.NoError(t, a.err)
		require.Equal(t, revue.Approved, a.out.Answer)
		require.Equal(t, 3, lost)

		again, err := c.Request(t.Context(), deploy())
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, again.Status)
		require.NotEqual(t, lot.ID, again.LotID)
	})
}

// A call that ends while the plane gave it an approval, which never arrived: the next same call goes on as it, and gets it.
func TestApprovalThatNobodyGotIsCollected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cancel bool // the call is cancelled; else its wait ends
		down   bool // the plane restarts in between
	}{
		"the wait ends":                        {},
		"the wait ends, and the plane is gone": {down: true},
		"the call is cancelled":                {cancel: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, w := newSite(t), &wire{}
				var bad atomic.Bool
				bad.Store(true)
				stop := w.serve(t, losing{s.server.Handler(), func(r *http.Request, answer string) bool {
					if bad.Load() && c.cancel && strings.Contains(answer, `"answered"`) {
						<-r.Context().Done() // it is on its way
					}
					return bad.Load() && strings.Contains(answer, `"answered"`)
				}})
				client := s.agent(t, w)
				ask := deploy()
				ask.Wait = time.Minute
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := startRequest(ctx, client, ask)
				synctest.Wait()
				lot := s.openLot(t)
				_, err := s.reviewer().Answer(t.Context(), lot.ID, revue.Answer{Value: revue.Approved})
				require.NoError(t, err)
				<-time.After(5 * time.Second)
				if c.cancel {
					cancel()
				}
				if c.down {
					<-time.After(50 * time.Second)
					stop()
				}
				<-a.done
				if c.cancel {
					require.Equal(t, context.Canceled, a.err)
				} else {
					require.NoError(t, a.err)
					require.Equal(t, revue.OutcomePending, a.out.Status)
				}
				<-time.After(10 * time.Second)
				bad.Store(false)
				if c.down {
					w.serve(t, s.server.Handler())
				}
				o, err := client.Request(t.Context(), deploy())
				require.NoError(t, err)
				require.Equal(t, revue.Approved, o.Answer)
				require.Equal(t, lot.ID, o.LotID)
				o, err = client.Request(t.Context(), deploy())
				require.NoError(t, err)
				require.Equal(t, revue.OutcomePending, o.Status)
			})
		})
	}
}

// A human's write whose answer is lost is done once, whatever happened in between.
func TestLostWriteIsDoneOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := newSite(t), &wire{}
		var after func()
		w.serve(t, losing{s.server.Handler(), func(r *http.Request, _ string) bool {
			if r.Method != http.MethodPost || after == nil {
				return false
			}
			after()
			after = nil
			return true
		}})
		human := w.client(t, s.token(t, aWorkspace, revue.TokenHuman, "Grace"), &revuehttp.ClientOptions{Via: "cli"})
		_, err := s.agent(t, w).Request(t.Context(), colour())
		require.NoError(t, err)
		lot := s.openLot(t)

		after = func() { mustDo(s.reviewer().Reopen(t.Context(), lot.ID)) }
		got, err := human.Dismiss(t.Context(), lot.ID, revue.Dismissal{Reason: "later"})
		require.NoError(t, err)
		require.Equal(t, revue.StatusOpen, got.Status, "it was dismissed a second time")
		require.Equal(t, 1, s.count(t, revue.EventLotDismissed))

		after = func() {}
		got, err = human.Answer(t.Context(), lot.ID, revue.Answer{Value: "blue"})
		require.NoError(t, err)
		require.Equal(t, "blue", got.Answer.Value)
		require.Equal(t, revue.Who{ID: got.Answer.By.ID, Name: "Grace", Via: "cli"}, got.Answer.By)
		require.Equal(t, 1, s.count(t, revue.EventLotAnswered))

		after = func() {}
		dec, err := human.Correct(t.Context(), revue.Correction{DecisionID: got.DecisionID, Verb: revue.VerbExpiresAfter, After: time.Hour})
		require.NoError(t, err)
		require.Len(t, dec.Corrections, 1)
		require.Equal(t, 1, s.count(t, revue.EventDecisionCorrected))
	})
}

// Whoever makes a token and loses the answer is told what has become of it.
func TestLostTokenIsExplained(t *testing.T) {
	t.Parallel()
	tries := 0
	c := over(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if tries++; tries == 1 {
			panic(http.ErrAbortHandler)
		}
		sendProblem(w, http.StatusConflict, "conflict", "the token was made by an earlier call with this id")
	}, nil)
	_, err := c.Admin().CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Label: "ci"})
	require.ErrorIs(t, err, revue.ErrConflict)
	require.Contains(t, revue.MessageOf(err), "the token was made by an earlier call")
	require.Contains(t, revue.MessageOf(err), "revoke that token")
}

// Where text can't be sent as it is, nothing is.
func TestTextThatIsNone(t *testing.T) {
	t.Parallel()
	c := over(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }, nil)
	for field, call := range map[string]func() error{
		"question": func() error { _, err := c.Request(t.Context(), revue.Ask{Question: "\xff"}); return err },
		"options[0]": func() error {
			_, err := c.Request(t.Context(), revue.Ask{Options: []revue.Option{{Label: "\xff"}}})
			return err
		},
		"query": func() error { _, err := c.Lookup(t.Context(), revue.Query{Text: "\xff"}); return err },
		"concepts[1]": func() error {
			_, err := c.Share(t.Context(), revue.ContextItem{Concepts: []string{"a", "\xff"}})
			return err
		},
		"note":           func() error { _, err := c.Answer(t.Context(), "lot_x", revue.Answer{Note: "\xff"}); return err },
		"reason":         func() error { _, err := c.Dismiss(t.Context(), "lot_x", revue.Dismissal{Reason: "\xff"}); return err },
		"Revue-Thread":   func() error { _, err := c.For(revue.Agent{Thread: "\xff"}).Request(t.Context(), colour()); return err },
		"no such lot":    func() error { _, err := c.Lot(t.Context(), "../tokens"); return err },
		"no such shared": func() error { return c.RemoveContext(t.Context(), "") },
	} {
		err := call()
		require.ErrorContains(t, err, field)
	}
}

// The journal, read over a network that breaks, is the journal: nothing is missing and nothing comes twice.
func TestEventsOverABadNetwork(t *testing.T) {
	t.Parallel()
	const events = 120
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := newFaults(seed)
	f.every = true
	s := newSite(t)
	ts := httptest.NewUnstartedServer(f.handler(s.server.Handler()))
	ts.Listener = f.listener(ts.Listener)
	ts.Start()
	t.Cleanup(ts.Close)
	o := patient(ts.Client())
	c, err := revuehttp.NewClient(ts.URL, s.token(t, aWorkspace, revue.TokenHuman, "Grace"), &o)
	require.NoError(t, err)
	defer c.Close()

	sharer := s.desk.Decider(revue.Agent{Workspace: aWorkspace, Credential: "sharer", Name: "sharer"})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i := range events { // some before they are read, some meanwhile
			_, err := sharer.Share(t.Context(), revue.ContextItem{Kind: "note", Body: fmt.Sprint("note ", i)})
			if err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 { // a stream each, and one more for each cut
		var got []revue.Event
		shared := 0
		for e, err := range c.Events(t.Context(), 0) {
			require.NoError(t, err)
			got = append(got, e)
			if e.Kind == revue.EventContextShared {
				shared++
			}
			if shared == events {
				break
			}
		}
		wg.Wait()
		require.Equal(t, s.journal(t)[:len(got)], got)
	}
	t.Logf("%d connections, %d of them cut while they answered", f.conns.Load(), f.cutOut.Load())
	require.Greater(t, f.cutOut.Load(), int64(10))
}

// A stream on which nothing comes, not even a sign of life, is taken up again; the consumer may take all its time.
func TestSilentStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var asked []string
		c := over(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Header.Get("Last-Event-ID"))
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			flushNow(w)
			n := len(asked)
			_, _ = fmt.Fprintf(w, ": hello\n\nid: %d\nevent: lot.opened\ndata: {\"seq\":%d,\ndata: \"kind\":\"lot.opened\"}\n\n", n, n)
			if n != 2 {
				_, _ = io.WriteString(w, "id: 99\ndata: {\"se")
			}
			flushNow(w)
			if n == 2 { // it is alive for an hour
				for range 4 * 60 {
					select {
					case <-time.After(15 * time.Second):
					case <-r.Context().Done():
						return
					}
					_, _ = io.WriteString(w, ": heartbeat\n\n")
					flushNow(w)
				}
			}
			<-r.Context().Done()
		}, nil)
		var got []revue.Seq
		for e, err := range c.Events(t.Context(), 0) {
			require.NoError(t, err)
			got = append(got, e.Seq)
			<-time.After(10 * time.Minute)
			if e.Seq == 3 {
				break
			}
		}
		require.Equal(t, []revue.Seq{1, 2, 3}, got)
		require.Equal(t, []string{"0", "1", "2"}, asked)
		took := time.Since(began)
		// Three times ten minutes in which nothing was read, the hour of signs of life less the first, and the silence
		// after each of the first two streams.
		require.InDelta(t, (30*time.Minute + time.Hour - 15*time.Second + 2*45*time.Second).Seconds(), took.Seconds(), 5)
	})
}

// What ends a stream for good, and that nothing is left of it.
func TestStreamsThatEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  *revue.Error
	}{
		"denied":        {func(w http.ResponseWriter, _ *http.Request) { sendProblem(w, 401, "unauthenticated", "no") }, revue.ErrDenied},
		"for agents":    {func(w http.ResponseWriter, _ *http.Request) { sendProblem(w, 403, "denied", "no") }, revue.ErrDenied},
		"not found":     {func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }, revue.ErrNotFound},
		"no stream":     {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, map[string]any{"items": nil}) }, revue.ErrInternal},
		"no event":      {streaming("data: hello\n\n"), revue.ErrInternal},
		"event 0":       {streaming("data: {}\n\n"), revue.ErrInternal},
		"a gap":         {streaming("data: {\"seq\":1}\n\ndata: {\"seq\":3}\n\n"), revue.ErrInternal},
		"too long":      {streaming("data: " + strings.Repeat("x", 2<<20)), revue.ErrInternal},
		"too many rows": {streaming(strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000)), revue.ErrInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := over(t, c.serve, nil)
				last := error(nil)
				n := 0
				for _, err := range client.Events(t.Context(), 0) {
					require.NoError(t, last, "an error was not the last")
					n++
					last = err
				}
				require.ErrorIs(t, last, c.want)
				require.LessOrEqual(t, n, 2)
			})
		})
	}
}

func streaming(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		flushNow(w)
		<-r.Context().Done()
	}
}

func TestConsumerOfEventsLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which fails where a goroutine is left
		left := make(chan struct{})
		c := over(t, func(w http.ResponseWriter, r *http.Request) {
			streaming("data: {\"seq\":1}\n\n")(w, r)
			close(left)
		}, nil)
		events := c.Events(t.Context(), 0)
		for _, err := range events {
			require.NoError(t, err)
			break
		}
		<-left

		left = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for e, err := range c.Events(ctx, 0) {
			if n++; n == 1 {
				require.Equal(t, revue.Seq(1), e.Seq)
				cancel()
				continue
			}
			require.Equal(t, context.Canceled, err)
		}
		require.Equal(t, 2, n)
		<-left
	})
}

// What is committed after the call of Events is seen, however late the events are read, and nothing else is.
func TestEventsFromNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w, stop := servedSite(t)
		agent, human := s.agent(t, w), w.client(t, s.token(t, aWorkspace, revue.TokenHuman, "Grace"), nil)
		share := func(body string) revue.ContextItem {
			item, err := agent.Share(t.Context(), revue.ContextItem{Kind: "note", Body: body})
			require.NoError(t, err)
			return item
		}
		share("before")
		events := human.Events(t.Context(), revue.FromNow)
		want := []string{share("one").ID, share("two").ID}
		for range 2 { // a second range starts over
			var got []string
			for e, err := range events {
				require.NoError(t, err)
				got = append(got, e.Ref)
				if len(got) == 1 {
					stop()
					stop = w.serve(t, s.server.Handler())
				}
				if len(got) == len(want) {
					break
				}
			}
			require.Equal(t, want, got)
		}
	})
}

func TestRoutingOfAnAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w, _ := servedSite(t)
		c := s.agent(t, w).Plane().Decider(revue.Agent{
			Workspace: "ignored", Credential: "ignored", Thread: "thread-ü", Repo: "git@github.com:acme/api.git", Via: "mcp stdio", Acknowledges: true,
		})
		_, err := c.Request(t.Context(), colour())
		require.NoError(t, err)
		lot := s.openLot(t)
		require.Equal(t, "thread-ü", lot.Asks[0].Thread)
		require.Equal(t, "github.com/acme/api", lot.Asks[0].Repo)
		require.Equal(t, "mcp stdio", lot.Asks[0].Via)
		require.Equal(t, "agent", lot.Asks[0].Agent)
		_, err = s.reviewer().Answer(t.Context(), lot.ID, revue.Answer{Value: "red"})
		require.NoError(t, err)

		// It counts as returned when its transport says so.
		o, err := c.Request(t.Context(), colour())
		require.NoError(t, err)
		require.Equal(t, "red", o.Answer)
		require.Zero(t, s.count(t, revue.EventAskReturned))
		r, ok := c.(revue.Returner)
		require.True(t, ok)
		require.NoError(t, r.Returned(t.Context(), o, io.ErrClosedPipe))
		require.Zero(t, s.count(t, revue.EventAskReturned))
		require.NoError(t, r.Returned(t.Context(), o, nil))
		require.Equal(t, 1, s.count(t, revue.EventAskReturned))
		require.ErrorIs(t, r.Returned(t.Context(), revue.Outcome{Status: revue.OutcomeAnswered, AskID: "ask_x"}, nil), revue.ErrNotFound)

		// An approval of a made-up thread belongs to the credential alone.
		one := s.agent(t, w).For(revue.Agent{Thread: "one", AnyThread: true})
		first, err := one.Request(t.Context(), deploy())
		require.NoError(t, err)
		second, err := one.For(revue.Agent{Thread: "two", AnyThread: true}).Request(t.Context(), deploy())
		require.NoError(t, err)
		require.Equal(t, first.LotID, second.LotID)

		// Another workspace than the token's is denied.
		_, err = w.client(t, s.token(t, aWorkspace, revue.TokenAgent, "agent"), &revuehttp.ClientOptions{Workspace: "other"}).Request(t.Context(), colour())
		require.ErrorIs(t, err, revue.ErrDenied)
	})
}

func TestClientAsAPlane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w, _ := servedSite(t)
		ctx := t.Context()
		secret := s.token(t, aWorkspace, revue.TokenHuman, "Grace")
		c := w.client(t, secret, nil)
		plane := c.Plane()
		p, err := plane.Authenticate(ctx, secret)
		require.NoError(t, err)
		require.Equal(t, "Grace", p.Human.Name)
		require.Equal(t, aWorkspace, p.Workspace)
		other := s.token(t, aWorkspace, revue.TokenAgent, "agent")
		_, err = plane.Authenticate(ctx, other) // it would act as Grace
		require.ErrorIs(t, err, revue.ErrDenied)
		p, err = w.client(t, other, nil).Plane().Authenticate(ctx, other)
		require.NoError(t, err)
		require.Equal(t, "agent", p.Agent.Name)
		require.Nil(t, p.Human)

		admin := plane.Admin(revue.Human{Via: "cli"})
		tok, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenHuman, Owner: "Joan", Label: "laptop", Life: 36 * time.Hour})
		require.NoError(t, err)
		require.NotEmpty(t, tok.Secret)
		require.Equal(t, 36*time.Hour, tok.ExpiresAt.Sub(tok.CreatedAt))
		id, err := w.client(t, tok.Secret, nil).Whoami(ctx)
		require.NoError(t, err)
		require.Equal(t, tok.ID, id.Token)
		require.Equal(t, "Joan", id.Name)
		_, err = admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenAgent, Workspace: "other"})
		require.ErrorIs(t, err, revue.ErrDenied)
		tokens, err := admin.Tokens(ctx)
		require.NoError(t, err)
		require.Len(t, tokens, 3)
		_, err = admin.RevokeToken(ctx, "tok_x")
		require.ErrorIs(t, err, revue.ErrNotFound)

		// Joan's token ends with her place.
		members, err := admin.Members(ctx)
		require.NoError(t, err)
		require.Len(t, members, 2)
		_, err = admin.RemoveMember(ctx, members[1].ID)
		require.NoError(t, err)
		_, err = w.client(t, tok.Secret, nil).Whoami(ctx)
		require.ErrorIs(t, err, revue.ErrDenied)

		_, err = w.client(t, other, nil).Request(ctx, colour())
		require.NoError(t, err)
		lot := s.openLot(t)
		got, err := plane.Reviewer(revue.Human{Via: "cli", Call: "call-1"}).Answer(ctx, lot.ID, revue.Answer{Value: "red"})
		require.NoError(t, err)
		require.Equal(t, "cli", got.Answer.By.Via)
		_, err = plane.Reviewer(revue.Human{Call: "call-1"}).Dismiss(ctx, lot.ID, revue.Dismissal{})
		require.ErrorIs(t, err, revue.ErrConflict) // the same id for another call

		keys, err := plane.Keys(ctx)
		require.NoError(t, err)
		receipt, err := c.Receipt(ctx, got.ReceiptID)
		require.NoError(t, err)
		require.NoError(t, keys.VerifyReceipt(receipt))

		streams, err := admin.Streams(ctx)
		require.NoError(t, err)
		require.Len(t, streams, 1)
		set := revue.StreamSettings{Slug: " Web.App_2", Name: "The web app", Position: 3, Muted: true}
		web, err := admin.SetStream(ctx, set)
		require.NoError(t, err)
		set.Slug = "web.app_2"
		require.Equal(t, set, web.StreamSettings)
		require.Equal(t, "Grace", web.ChangedBy.Name)
		require.Equal(t, "cli", web.ChangedBy.Via)
		streams, err = admin.Streams(ctx)
		require.NoError(t, err)
		require.Equal(t, web, streams[0], "it comes first, and all of it comes through")
		require.Len(t, streams, 2)
		for field, bad := range map[string]revue.StreamSettings{
			"slug: is missing": {Slug: " "}, "slug: is no slug": {Slug: "../tokens"}, "slug: is no": {Slug: strings.Repeat("x", 65)},
			"slug: ": {Slug: "wéb"}, "name: is not valid UTF-8": {Slug: "web", Name: "\xff"}, "name: has": {Slug: "web", Name: strings.Repeat("x", 81)},
			"position: ": {Slug: "web", Position: -1},
		} {
			_, err := admin.SetStream(ctx, bad)
			require.ErrorIs(t, err, revue.ErrInvalid)
			require.ErrorContains(t, err, field)
		}

		// A code opens a session of Grace; it is no token, and ends like one.
		in, err := admin.SignIn(ctx)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(revue.SignInFor), in.ExpiresAt, time.Minute)
		browser, err := s.desk.OpenSession(ctx, in.Code, "Firefox")
		require.NoError(t, err)
		require.Equal(t, "Grace", browser.Owner)
		_, err = w.client(t, browser.Secret, nil).Whoami(ctx)
		require.ErrorIs(t, err, revue.ErrDenied)
		_, err = admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenSession})
		require.ErrorIs(t, err, revue.ErrInvalid)
		ended, err := admin.RevokeToken(ctx, browser.ID)
		require.NoError(t, err)
		require.Equal(t, revue.TokenSession, ended.Kind)
		_, err = s.desk.Session(ctx, browser.Secret)
		require.ErrorIs(t, err, revue.ErrDenied)
		_, err = w.client(t, other, nil).Admin().SignIn(ctx)
		require.ErrorIs(t, err, revue.ErrDenied, "an agent has no inbox")
		_, err = w.client(t, other, nil).Admin().SetStream(ctx, revue.StreamSettings{Slug: "web", Muted: true})
		require.ErrorIs(t, err, revue.ErrDenied)
		workspaces, err := admin.Workspaces(ctx)
		require.NoError(t, err)
		require.Len(t, workspaces, 1)
		require.NoError(t, admin.Purge(ctx, lot.ID))
		got, err = c.Lot(ctx, lot.ID)
		require.NoError(t, err)
		require.True(t, got.Purged)
		_, err = admin.CreateWorkspace(ctx, "another")
		require.ErrorIs(t, err, revue.ErrDenied)
		_, err = admin.RotateKey(ctx)
		require.ErrorIs(t, err, revue.ErrDenied)
		_, err = plane.Decider(revue.Agent{}).Lookup(ctx, revue.Query{Text: "x"})
		require.ErrorIs(t, err, revue.ErrDenied)
	})
}

// Over a network that breaks, every code that a caller gets opens a session, and a lane has the settings that were set last.
func TestAdminOverABadNetwork(t *testing.T) {
	t.Parallel()
	const times = 60
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := newFaults(seed)
	s := newSite(t)
	ts := httptest.NewUnstartedServer(f.handler(s.server.Handler()))
	ts.Listener = f.listener(ts.Listener)
	ts.Start()
	t.Cleanup(ts.Close)
	o := patient(ts.Client())
	c, err := revuehttp.NewClient(ts.URL, s.token(t, aWorkspace, revue.TokenHuman, "Grace"), &o)
	require.NoError(t, err)
	defer c.Close()
	ids := map[string]bool{}
	for i := range times {
		in, err := c.Admin().SignIn(t.Context())
		require.NoError(t, err)
		opened, err := s.desk.OpenSession(t.Context(), in.Code, "Firefox")
		require.NoError(t, err)
		require.False(t, ids[opened.ID])
		ids[opened.ID] = true
		set := revue.StreamSettings{Slug: "web.app", Name: strconv.Itoa(i), Position: i, Muted: i%2 == 0}
		got, err := c.Admin().SetStream(t.Context(), set)
		require.NoError(t, err)
		require.Equal(t, set, got.StreamSettings)
		all, err := s.admin(aWorkspace).Streams(t.Context())
		require.NoError(t, err)
		require.Equal(t, []revue.Stream{got}, all)
	}
	require.Positive(t, f.cutIn.Load()+f.cutOut.Load()+f.refusals.Load()+f.refused.Load()+f.dropped.Load())
}

// Calls one after the other share a connection, also where they fail.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var conns atomic.Int64
	ts := httptest.NewUnstartedServer(s.server.Handler())
	ts.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	ts.Start()
	defer ts.Close()
	agent, err := revuehttp.NewClient(ts.URL, s.token(t, aWorkspace, revue.TokenAgent, "agent"), &revuehttp.ClientOptions{ConnectTimeout: time.Minute})
	require.NoError(t, err)
	defer agent.Close()
	for range 20 {
		_, err := agent.Request(t.Context(), colour())
		require.NoError(t, err)
		_, err = agent.Request(t.Context(), revue.Ask{})
		require.ErrorIs(t, err, revue.ErrInvalid)
		_, err = agent.Lots(t.Context(), revue.LotFilter{})
		require.ErrorIs(t, err, revue.ErrDenied)
		require.NoError(t, agent.Returned(t.Context(), revue.Outcome{Status: revue.OutcomePending}, nil))
	}
	require.Equal(t, int64(1), conns.Load())
}

// Calls that are parked at once share connections over HTTP/2, as many as the server lets on one.
func TestManyParkedCalls(t *testing.T) {
	t.Parallel()
	const calls = 200
	s := newSite(t)
	var conns atomic.Int64
	ts := httptest.NewUnstartedServer(s.server.Handler())
	ts.EnableHTTP2 = true
	ts.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	ts.StartTLS()
	defer ts.Close()
	hc := ts.Client()
	agent, err := revuehttp.NewClient(ts.URL, s.token(t, aWorkspace, revue.TokenAgent, "agent"), &revuehttp.ClientOptions{
		HTTP: hc, RetryFor: time.Minute, ConnectTimeout: time.Minute,
	})
	require.NoError(t, err)
	defer agent.Close()
	_, err = agent.Whoami(t.Context()) // from now on it is known which version the plane speaks
	require.NoError(t, err)
	var started []*asked
	for i := range calls {
		ask := colour()
		ask.Wait = time.Minute
		started = append(started, startRequest(t.Context(), agent.For(revue.Agent{Thread: strconv.Itoa(i)}), ask))
	}
	require.Eventually(t, func() bool { return s.server.Parked() == calls }, time.Minute, 5*time.Millisecond)
	_, err = s.reviewer().Answer(t.Context(), s.openLot(t).ID, revue.Answer{Value: "blue"})
	require.NoError(t, err)
	for _, a := range started {
		<-a.done
		require.NoError(t, a.err)
		require.Equal(t, "blue", a.out.Answer)
	}
	require.Less(t, conns.Load(), int64(10))
}
