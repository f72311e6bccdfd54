package revuehttp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// A call whose token ends while it waits is answered as any other request with that token: 401, within a second.
func TestTokenEndsDuringAWait(t *testing.T) {
	for name, c := range map[string]struct {
		life  time.Duration
		after time.Duration
		end   func(t *testing.T, a *api, tok revue.Token)
	}{
		"it is revoked": {after: 5 * time.Second, end: func(t *testing.T, a *api, tok revue.Token) {
			_, err := a.admin(ours).RevokeToken(t.Context(), tok.ID)
			require.NoError(t, err)
		}},
		"its member is removed": {after: 5 * time.Second, end: func(t *testing.T, a *api, tok revue.Token) {
			_, err := a.admin(ours).RemoveMember(t.Context(), tok.Member)
			require.NoError(t, err)
		}},
		"it expires": {life: time.Minute, after: time.Minute, end: func(*testing.T, *api, revue.Token) {}},
	} {
		for _, kind := range []string{`"question":"Should the ledger be kept?"`, `"kind":"approval","title":"Deploy"`} {
			t.Run(name+" "+kind[1:5], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := newAPI(t, nil)
					ada := a.human(ours)
					tok := a.token(ours, revue.NewToken{Kind: revue.TokenAgent, Owner: "ada", Label: "builder", Life: c.life})
					if tok.Member == "" {
						tok.Member = ada.Member
					}
					<-time.After(10 * time.Second)
					var w *httptest.ResponseRecorder
					var calls sync.WaitGroup
					calls.Go(func() {
						w = a.do(http.MethodPost, "/v1/decisions/request", tok.Secret, `{`+kind+`,"waitSeconds":55}`)
					})
					<-time.After(c.after - 10*time.Second)
					synctest.Wait()
					began := time.Now()
					c.end(t, a, tok)
					calls.Wait()
					require.LessOrEqual(t, time.Since(began), time.Second)
					refused(t, w, http.StatusUnauthorized, "unauthenticated", "expired or revoked")
					require.Contains(t, w.Header().Get("WWW-Authenticate"), "invalid_token")
					require.Equal(t, w.Code, a.do(http.MethodGet, "/v1/whoami", tok.Secret, "").Code)
					require.Zero(t, a.server.Parked())
				})
			})
		}
	}
}

// A token that outlives its wait is of no consequence to it, and one that may not do something hears of that alone.
func TestTokenThatStaysGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		tok := a.token(ours, revue.NewToken{Kind: revue.TokenAgent, Label: "builder", Life: time.Minute})
		w := a.do(http.MethodPost, "/v1/decisions/request", tok.Secret, quick+`30}`)
		require.Equal(t, revue.OutcomePending, read[revue.Outcome](t, w).Status)
		human := a.human(ours).Secret
		w = a.do(http.MethodPost, "/v1/tokens", human, `{"kind":"agent","owner":"somebody else entirely"}`)
		require.NotEqual(t, http.StatusUnauthorized, w.Code)
	})
}

// A reader can't claim to have seen what is to come: neither does it miss anything, nor does it outlive its token.
func TestEventsFromBeyondTheHead(t *testing.T) {
	for _, ahead := range []int64{1, 2, 100, 9e18} {
		for _, header := range []bool{true, false} {
			t.Run(fmt.Sprint(ahead, header), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := newAPI(t, nil)
					tok := a.human(ours)
					from := strconv.FormatInt(min(int64(a.head(ours)), 9e17)+ahead, 10)
					target, with := "/v1/events?after="+from, func(*http.Request) {}
					if header {
						target, with = "/v1/events", func(r *http.Request) { r.Header.Set("Last-Event-ID", from) }
					}
					r := a.follow(tok.Secret, target, with)
					a.lot(ours, "Is the gate painted?")
					<-time.After(time.Second)
					require.False(t, r.ended())
					require.Equal(t, []int{int(a.head(ours))}, seqs(eventsIn(t, r.got())))
					_, err := a.admin(ours).RevokeToken(t.Context(), tok.ID)
					require.NoError(t, err)
					<-time.After(time.Second)
					require.True(t, r.ended())
					r.leave()
				})
			})
		}
	}
}

// A reader whose token has ended while it reads what is long past is not read to before it gets to the end.
func TestEventsOfLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		for i := range 20 {
			a.lot(ours, fmt.Sprintf("Is the gate number %d painted in red?", i))
		}
		tok := a.human(ours)
		slow := &slowReader{reader: &reader{header: http.Header{}, done: make(chan struct{})}}
		req := request(http.MethodGet, "/v1/events", tok.Secret, "")
		req.Header.Set("Accept", "text/event-stream")
		go func() {
			defer close(slow.done)
			a.handler.ServeHTTP(slow, req)
		}()
		<-time.After(5 * time.Second)
		_, err := a.admin(ours).RevokeToken(t.Context(), tok.ID)
		require.NoError(t, err)
		<-time.After(2 * time.Second)
		require.True(t, slow.ended())
	})
}

// slowReader takes half a second for each event.
type slowReader struct{ *reader }

func (r *slowReader) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("id:")) {
		<-time.After(500 * time.Millisecond)
	}
	return r.reader.Write(p)
}

// What only the plane has a use for is in no lot that is shown.
func TestLotsAreShownWithoutTheirInside(t *testing.T) {
	a := newAPI(t, nil)
	agent, human := a.agent(ours).Secret, a.human(ours).Secret
	approve := func(key string) *httptest.ResponseRecorder {
		r := request(http.MethodPost, "/v1/decisions/request", agent, `{"kind":"approval","title":"Deploy","waitSeconds":0}`)
		r.Header.Set("Idempotency-Key", key)
		return a.serve(r)
	}
	lot := read[revue.Outcome](t, approve("call-of-mine")).LotID
	answered := a.do(http.MethodPost, "/v1/lots/"+lot+"/answer", human, `{"value":"approved"}`)
	require.Equal(t, revue.Approved, read[revue.Outcome](t, approve("call-of-mine")).Answer)
	away := a.lot(ours, "Is the gate painted?").ID
	dismissed := a.do(http.MethodPost, "/v1/lots/"+away+"/dismiss", human, ``)
	done := a.answered(ours, "May the exporter write to it?")
	for what, w := range map[string]*httptest.ResponseRecorder{
		"answer": answered, "dismiss": dismissed,
		"reopen": a.do(http.MethodPost, "/v1/lots/"+away+"/reopen", human, ""),
		"lots":   a.do(http.MethodGet, "/v1/lots", human, ""),
		"lot":    a.do(http.MethodGet, "/v1/lots/"+lot, human, ""),
		"why":    a.do(http.MethodGet, "/v1/decisions/"+done.DecisionID, human, ""),
	} {
		require.Equal(t, http.StatusOK, w.Code, what)
		require.Contains(t, w.Body.String(), `"askCount":`, what)
		require.NotContains(t, w.Body.String(), "call-of-mine", what)
		require.NotRegexp(t, `"(claims|final|calls|collected|caller)":`, w.Body.String(), what)
	}
}

// Lists are bounded before anything is made of them, and repeats up to there are none of a caller's faults.
func TestLongLists(t *testing.T) {
	a := newAPI(t, nil)
	agent, human := a.agent(ours).Secret, a.human(ours).Secret
	lot := a.lot(ours, "Is the gate painted?").ID
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	for _, c := range []struct {
		field, path, body string
		item              string
		limit             int
		token             string
		status            int // at the limit
	}{
		{"concepts", "/v1/decisions/request", `"question":"x","waitSeconds":0`, `"a,[\""`, 8 * revue.MaxConcepts, agent, 200},
		{"files", "/v1/decisions/request", `"question":"y","waitSeconds":0`, `"a/./b"`, 8 * revue.MaxFiles, agent, 200},
		{"options", "/v1/decisions/request", `"question":"z","waitSeconds":0`, `{"value":"v","label":"l"}`, 8 * revue.MaxOptions, agent, 422},
		{"affected", "/v1/decisions/request", `"kind":"approval","title":"z","waitSeconds":0`, `{"label":"v"}`, 8 * revue.MaxAffected, agent, 422},
		{"concepts", "/v1/decisions/lookup", `"query":"x"`, `"a"`, 8 * revue.MaxConcepts, agent, 200},
		{"files", "/v1/decisions/lookup", `"query":"x"`, `"a"`, 8 * revue.MaxFiles, agent, 200},
		{"concepts", "/v1/context", `"kind":"note","body":"x"`, `"a"`, 8 * revue.MaxConcepts, agent, 200},
		{"members", "/v1/lots/" + lot + "/answer", `"value":"yes"`, `"a"`, 10_000, human, 422},
	} {
		w := a.do(http.MethodPost, c.path, c.token, `{`+c.body+`,"`+c.field+`":`+list(c.limit+1, c.item)+`}`)
		refused(t, w, http.StatusUnprocessableEntity, "invalid", c.field+": has more than", strconv.Itoa(c.limit))
		w = a.do(http.MethodPost, c.path, c.token, `{`+c.body+`,"`+c.field+`":`+list(c.limit, c.item)+`}`)
		require.Equal(t, c.status, w.Code, c.field+" "+w.Body.String())
		require.NotContains(t, w.Body.String(), "has more than", c.field)
	}
}

// A body that is encoded is refused, whatever it decodes to.
func TestEncodedBody(t *testing.T) {
	a := newAPI(t, nil)
	r := request(http.MethodPost, "/v1/decisions/request", a.agent(ours).Secret, quick+`0}`)
	r.Header.Set("Content-Encoding", "gzip")
	refused(t, a.serve(r), http.StatusUnsupportedMediaType, "invalid", "Content-Encoding")
}

// Bodies that one token holds open keep nobody else out, and are not taken in beyond a bound.
func TestBodiesHeldOpen(t *testing.T) {
	a := newAPI(t, nil)
	ts := httptest.NewServer(a.handler)
	defer ts.Close()
	one, two := a.agent(ours).Secret, a.agent(ours).Secret
	open := func(token string) net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ts.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = fmt.Fprintf(c, "POST /v1/decisions/lookup HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 1048576\r\n\r\n{", token)
		require.NoError(t, err)
		return c
	}
	for range 16 {
		open(one)
	}
	status := func(token, body string) int { return a.do(http.MethodPost, "/v1/decisions/lookup", token, body).Code }
	whole := `{"query":"x"` + strings.Repeat(" ", 1000) + `}`
	require.Eventually(t, func() bool { return status(one, whole) == http.StatusTooManyRequests }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, http.StatusOK, status(two, whole))
	require.Equal(t, http.StatusOK, a.do(http.MethodGet, "/v1/whoami", one, "").Code)
	resp, err := http.ReadResponse(bufio.NewReader(open(one)), nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
}
