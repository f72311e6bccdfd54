package revuehttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuehttp"
)

// hasty is a plane on which nobody waits.
type hasty struct{ *revue.Desk }

func (p hasty) Decider(a revue.Agent) revue.Decider { return hastyDecider{p.Desk.Decider(a)} }

type hastyDecider struct{ revue.Decider }

func (d hastyDecider) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	ask.Wait = 0
	return d.Decider.Request(ctx, ask)
}

// fuzzed is what a fuzz target calls: it is made anew now and then, so that it stays small.
type fuzzed struct {
	mu           sync.Mutex
	calls        int
	api          *api
	agent, human string
	lot, open    revue.Lot
}

func (f *fuzzed) fresh(t testing.TB) {
	if f.calls%500 == 0 {
		f.api = newAPI(t, nil)
		f.api.handler = revuehttp.NewServer(hasty{f.api.desk}, &revuehttp.Options{Rate: -1}).Handler()
		f.agent, f.human = f.api.agent(ours).Secret, f.api.human(ours).Secret
		f.open = f.api.lot(ours, "Should the ledger be kept?")
		f.lot = f.api.answered(ours, "May the exporter write to it?")
	}
	f.calls++
	f.api.t = t
}

// serve makes a request and checks what holds whatever it is: the server has no fault, an error is a problem document
// that says something, and what is refused changes nothing.
func (f *fuzzed) serve(t testing.TB, r *http.Request) *httptest.ResponseRecorder {
	oursBefore, theirsBefore := f.api.head(ours), f.api.head(theirs)
	w := f.api.serve(r)
	require.Less(t, w.Code, 500, w.Body.String())
	require.Equal(t, theirsBefore, f.api.head(theirs), "another workspace was reached")
	if w.Code >= 400 {
		require.NotEmpty(t, problemOf(t, w).Detail)
		require.Equal(t, oursBefore, f.api.head(ours), "what was refused changed something: %s", w.Body)
	}
	return w
}

func FuzzBodies(f *testing.F) {
	paths := []string{
		"/v1/decisions/lookup", "/v1/decisions/request", "/v1/decisions/returned", "/v1/context",
		"/v1/lots/LOT/answer", "/v1/lots/LOT/dismiss", "/v1/lots/LOT/reopen", "/v1/decisions/DEC/corrections", "/v1/tokens", "/v1/purge",
	}
	const agentPaths = 4
	for i, seeds := range [][]string{
		{`{"query":"ledger","concepts":["a"],"limit":3}`, `{"query":"\ud800"}`, ``, `null`},
		{
			`{"question":"Which?","options":["a",{"value":"b","label":"B","consequence":"c"}],"recommendation":"a","waitSeconds":"1"}`,
			`{"kind":"approval","title":"Go?","context":"x","affected":[{"label":"a","meta":"b"}],"expiresInSeconds":1e400}`,
			`{"question":"x","decisionRef":"ask_1","acknowledge":true,"stream":"web","files":["a"],"concepts":["b"]}`,
			`{"question":"x","options":[{"value":"a","value":"b"}]}`, `{"question":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}`, `{"question":"x"}{}`,
		},
		{`{"decisionRef":"ask_1","status":"answered","claim":"clm_1","failed":true}`},
		{`{"kind":"finding","body":"b","concepts":["c"]}`},
		{`{"value":"yes","seen":1,"members":["ask_1"],"remember":"rule"}`, `{"text":"no"}`, `{"confirms":"dec_1"}`, `{"value":"yes","seen":-9223372036854775808}`},
		{`{"reason":"r","seen":1,"members":[]}`},
		{`{}`, `[]`},
		{`{"verb":"expires_after","expires":"30d"}`, `{"undoes":"cor_1"}`, `{"verb":"expires_after","expires":"2027-01-31T12:00:00+14:00"}`, `{"verb":"expires_after","expires":"106751d"}`},
		{`{"kind":"agent","owner":"o","label":"l","expires":"1h"}`, `{"kind":"human","owner":"\u202e"}`},
		{`{"id":"lot_1"}`},
	} {
		for _, s := range seeds {
			f.Add(uint8(i), []byte(s))
		}
	}
	var fz fuzzed
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		fz.mu.Lock()
		defer fz.mu.Unlock()
		fz.fresh(t)
		i := int(which) % len(paths)
		token := fz.human
		if i < agentPaths {
			token = fz.agent
		}
		path := strings.NewReplacer("LOT", fz.open.ID, "DEC", fz.lot.DecisionID).Replace(paths[i])
		w := fz.serve(t, request(http.MethodPost, path, token, string(body)))
		if w.Code < 300 && len(body) > 0 {
			require.True(t, json.Valid(body), "it was taken, and is no JSON")
		}
	})
}

func FuzzURLs(f *testing.F) {
	for _, s := range []string{
		"/v1/lots?status=open&kind=decision&stream=agents&newest=true&limit=2&cursor=s1", "/v1/lots?limit=99999999999999999999", "/v1/decisions?q=ledger&concept=a&concept=b",
		"/v1/events?after=1&limit=1", "/v1/events?after=9223372036854775807", "/v1/context?cursor=s-1", "/v1/lots?cursor=s", "/v1/lots?cursor=szzzzzzzzzzzzzzzzz",
		"/v1/lots/%2e%2e/tokens", "/v1//lots", "/v1/lots?a;b", "/v1/lots?%zz", "/v1/receipts/%00", "/v1/tokens?x=RVU_h_1", "/v1/lots?status=%72vu_a_", "/v1/lots/a%252fb",
	} {
		f.Add(s)
	}
	var fz fuzzed
	f.Fuzz(func(t *testing.T, target string) {
		if !strings.HasPrefix(target, "/") || strings.ContainsAny(target, " \r\n\t\x00") {
			return // no request line
		}
		for _, c := range []byte(target) {
			if c < 0x20 || c == 0x7f {
				return
			}
		}
		if _, err := http.NewRequest(http.MethodGet, target, nil); err != nil { //nolint:noctx // it is never sent
			return
		}
		fz.mu.Lock()
		defer fz.mu.Unlock()
		fz.fresh(t)
		r := request(http.MethodGet, target, fz.human, "")
		w := fz.serve(t, r)
		if strings.Contains(strings.ToLower(target), "rvu_") {
			require.Equal(t, http.StatusBadRequest, w.Code)
		}
		if w.Code == http.StatusOK && r.URL.Path == "/v1/lots" {
			var page revue.Page[revue.Lot]
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
		}
	})
}

func FuzzHeaders(f *testing.F) {
	for _, name := range []string{
		"Authorization", "Accept-Encoding", "Accept", "Last-Event-ID", "If-None-Match", "Idempotency-Key", "X-Request-Id", "Origin", "Content-Type",
		"Revue-Thread", "Revue-Repo", "Revue-Workspace", "Revue-Via", "Revue-Caller", "Cookie",
	} {
		for _, v := range []string{"", "x", "Bearer rvu_h_x", "gzip;q=0.5, *;q=0", "*", "-1", "\xff", "main", `W/"x"`, "null"} {
			f.Add(name, v)
		}
	}
	var fz fuzzed
	f.Fuzz(func(t *testing.T, name, value string) {
		if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") != "" {
			return
		}
		name = http.CanonicalHeaderKey(name)
		fz.mu.Lock()
		defer fz.mu.Unlock()
		fz.fresh(t)
		lot := fz.open.ID
		for _, r := range []*http.Request{
			request(http.MethodGet, "/v1/lots", fz.human, ""),
			request(http.MethodGet, "/v1/events?limit=1", fz.human, ""),
			request(http.MethodPost, "/v1/lots/"+lot+"/answer", fz.human, `{"value":"maybe"}`),
			request(http.MethodPost, "/v1/decisions/lookup", fz.agent, `{"query":"ledger"}`),
		} {
			ctx, cancel := context.WithCancel(t.Context())
			if name == "Accept" {
				cancel() // a stream of events ends at once
			}
			was := r.Header[name]
			r.Header[name] = []string{value}
			if name == "Accept" && r.URL.Path == "/v1/events" && strings.Contains(strings.ToLower(value), "event-stream") {
				r = r.WithContext(ctx)
			}
			w := fz.serve(t, r)
			cancel()
			if name == "Authorization" && strings.TrimSpace(value) != strings.TrimSpace(strings.Join(was, "")) && w.Code < 400 {
				scheme, token, _ := strings.Cut(value, " ")
				require.True(t, strings.EqualFold(scheme, "Bearer"))
				require.Contains(t, []string{fz.agent, fz.human}, strings.TrimSpace(token))
			}
			if strings.EqualFold(value, w.Header().Get("X-Request-Id")) && value != "" {
				require.Regexp(t, `^[A-Za-z0-9._-]{1,64}$`, value)
			}
		}
	})
}
