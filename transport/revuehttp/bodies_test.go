package revuehttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuehttp"
)

// TestBodiesAreReadStrictly: what is wrong with a body is said by its field, and nothing changes.
func TestBodiesAreReadStrictly(t *testing.T) {
	a := newAPI(t, nil)
	agent, human := a.agent(ours).Secret, a.human(ours).Secret
	lot := a.lot(ours, "Should the ledger be kept?").ID
	done := a.answered(ours, "May the exporter write to it?")
	const (
		ask    = "/v1/decisions/request"
		lookup = "/v1/decisions/lookup"
		notes  = "/v1/context"
		back   = "/v1/decisions/returned"
	)
	answer := "/v1/lots/" + lot + "/answer"
	correct := "/v1/decisions/" + done.DecisionID + "/corrections"
	for _, c := range []struct {
		name, path, body string
		status           int
		says             string
	}{
		{"nothing", ask, " ", 400, "body: is empty"},
		{"no JSON", ask, "question=x", 400, "body: is no JSON at byte 1"},
		{"half", ask, `{"question":"x"`, 400, "body: is no JSON"},
		{"two objects", ask, `{"question":"x"}{}`, 400, "body: has something after"},
		{"a comma too many", ask, `{"question":"x",}`, 400, "body: is no JSON"},
		{"text after it", ask, `{"question":"x"} x`, 400, "body: has something after"},
		{"a NUL byte", ask, "{\"question\":\"x\x00\"}", 400, "body: has a NUL byte"},
		{"invalid UTF-8", ask, "{\"question\":\"x\xff\"}", 400, "body: is not valid UTF-8"},
		{"half a character", ask, `{"question":"\ud83d?"}`, 400, "body: has half of a surrogate"},
		{"the other half", ask, `{"question":"\ude00"}`, 400, "body: has half of a surrogate"},
		{"too deep", ask, `{"question":` + strings.Repeat("[", 17) + strings.Repeat("]", 17) + `}`, 400, "body: is nested too deep"},
		{"far too deep", ask, strings.Repeat("[", 100_000), 400, "body: is nested too deep"},
		{"an array", ask, `["x"]`, 422, "body: must be a JSON object"},
		{"null", ask, `null`, 422, "body: must be a JSON object"},
		{"a string", ask, `"{}"`, 422, "body: must be a JSON object"},
		{"an unknown field", ask, `{"question":"x","wait":5}`, 422, "wait: there is no such field; the fields are kind, question, title"},
		{"a field in capitals", ask, `{"Question":"x"}`, 422, "Question: there is no such field"},
		{"an unknown field within", ask, `{"question":"x","options":["a",{"value":"b","color":1}]}`, 422, "options[1].color: there is no such field"},
		{"a field with escapes in its name", ask, `{"question":"x","\u202e\u0007":1}`, 422, `\u202e\a`},
		{"a field twice", ask, `{"question":"x","question":"y"}`, 422, "body: has the field question twice"},
		{"a field twice, once escaped", ask, `{"question":"x","qu\u0065stion":"y"}`, 422, "body: has the field question twice"},
		{"a field twice within", ask, `{"question":"x","options":[{"value":"a","value":"b"}]}`, 422, "options[0]: has the field value twice"},
		{"a number for a text", ask, `{"question":7}`, 422, "question: must be a string"},
		{"a text for a list", ask, `{"question":"x","concepts":"a,b"}`, 422, "concepts: must be an array"},
		{"a number in a list", ask, `{"question":"x","concepts":["a",1]}`, 422, "concepts[1]: must be a string"},
		{"null in a list", ask, `{"question":"x","files":[null]}`, 422, "files[0]: must be a string"},
		{"null for an option", ask, `{"question":"x","options":[null]}`, 422, "options[0]: must be a string or an object"},
		{"a number for an option", ask, `{"question":"x","options":[1]}`, 422, "options[0]: must be a string or an object"},
		{"an option of nothing", ask, `{"question":"x","options":[{"consequence":"c"}]}`, 422, "options[0]: has neither a value nor a label"},
		{"an option in a string", ask, `{"question":"x","options":["{\"value\":\"a\"}"]}`, 422, "options[0]: is an object within a string"},
		{"an option twice", ask, `{"question":"x","options":["a","a"]}`, 422, "options[1].value: is there twice"},
		{"a recommendation that is none", ask, `{"question":"x","options":["a"],"recommendation":"b"}`, 422, "recommendation: is none of the options"},
		{"a wait that is none", ask, `{"question":"x","waitSeconds":"soon"}`, 422, "waitSeconds: must be a number"},
		{"a wait that is a word", ask, `{"question":"x","waitSeconds":"Infinity"}`, 422, "waitSeconds: must be a number"},
		{"a wait that is true", ask, `{"question":"x","waitSeconds":true}`, 422, "waitSeconds: must be a number"},
		{"a wait that is empty", ask, `{"question":"x","waitSeconds":""}`, 422, "waitSeconds: must be a number"},
		{"acknowledge as a text", ask, `{"question":"x","acknowledge":"true"}`, 422, "acknowledge: must be true or false"},
		{"no question", ask, `{}`, 422, "question: is missing"},
		{"a blank question", ask, `{"question":" \n"}`, 422, "question: is missing or blank"},
		{"a question that is too long", ask, `{"question":"` + strings.Repeat("x", 3000) + `"}`, 422, "question: has 3000 bytes, the limit is 2048"},
		{"a NUL escape", ask, `{"question":"\u0000"}`, 422, "question: has a NUL byte"},
		{"another kind", ask, `{"kind":"order","question":"x"}`, 422, "kind: is neither decision nor approval"},
		{"a title of a decision", ask, `{"question":"x","title":"y"}`, 422, "title: only an approval has a title"},
		{"an expiry of a decision", ask, `{"question":"x","expiresInSeconds":5}`, 422, "expiresInSeconds: only an approval expires"},
		{"an approval with two titles", ask, `{"kind":"approval","question":"x","title":"y"}`, 422, "question: an approval has a title"},
		{"an approval without a title", ask, `{"kind":"approval","context":"x"}`, 422, "title: is blank"},
		{"an approval with options", ask, `{"kind":"approval","title":"x","options":["a"]}`, 422, "options: an approval has the two answers"},
		{"a ref of nobody", ask, `{"question":"x","decisionRef":"ask_none","waitSeconds":0}`, 404, "decisionRef: you have no ask of this id"},
		{"no query", lookup, `{"limit":3}`, 422, "query: is missing"},
		{"a limit of a half", lookup, `{"query":"x","limit":1.5}`, 422, "limit: must be a whole number"},
		{"a limit below nothing", lookup, `{"query":"x","limit":-1}`, 422, "limit: must be a whole number from 1 to 100"},
		{"no body of a note", notes, `{"kind":"finding"}`, 422, "body: is blank"},
		{"no status", back, `{"decisionRef":"ask_1"}`, 422, "status: is none of"},
		{"no ref", back, `{"status":"answered"}`, 422, "decisionRef: is missing"},
		{"both value and text", answer, `{"value":"yes","text":"or so"}`, 422, "text: give either value or text"},
		{"silence", answer, `{}`, 422, "value: is blank; silence is not an answer"},
		{"an answer that is none of the options", answer, `{"value":"maybe"}`, 422, "value: is none of the options"},
		{"a revision of the future", answer, `{"value":"yes","seen":9}`, 422, "seen: the lot has no such revision"},
		{"an answer to nobody", answer, `{"value":"yes","members":[]}`, 422, "members: none of them"},
		{"members that are none", answer, `{"value":"yes","members":["ask_none"]}`, 422, "members: the lot has no ask"},
		{"a verb that is none", correct, `{"verb":"right"}`, 422, "verb: is none of wrong"},
		{"no time", correct, `{"verb":"expires_after"}`, 422, "expires: expires_after needs"},
		{"a time that is none", correct, `{"verb":"expires_after","expires":"soon"}`, 422, "expires: must be a duration like 36h or 30d"},
		{"a time ago", correct, `{"verb":"expires_after","expires":"-3h"}`, 422, "expires: a duration must be positive"},
		{"days beyond all bounds", correct, `{"verb":"expires_after","expires":"9999999999d"}`, 422, "expires: must be a duration"},
		{"a token of another kind", "/v1/tokens", `{"kind":"root"}`, 422, "kind: is neither agent nor human"},
		{"a token of the past", "/v1/tokens", `{"kind":"agent","expires":"2001-01-31"}`, 422, "expires: is in the past"},
		{"a purge of nothing", "/v1/purge", `{}`, 422, "id: is missing"},
		{"a body where none is needed", "/v1/lots/" + lot + "/reopen", `{"x":1}`, 422, "x: there is no such field; there are none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			token := human
			if c.path == ask || c.path == lookup || c.path == notes || c.path == back {
				token = agent
			}
			before := a.head(ours)
			w := a.do(http.MethodPost, c.path, token, c.body)
			code := map[int]string{400: "invalid", 422: "invalid", 404: "not_found"}[c.status]
			refused(t, w, c.status, code, c.says)
			require.Equal(t, before, a.head(ours), "nothing changes")
		})
	}
}

func TestBodyTypes(t *testing.T) {
	a := newAPI(t, nil)
	agent := a.agent(ours).Secret
	for _, c := range []struct {
		types []string
		ok    bool
	}{
		{nil, true},
		{[]string{"application/json"}, true},
		{[]string{"Application/JSON; charset=UTF-8"}, true},
		{[]string{"application/vnd.revue+json"}, true},
		{[]string{"text/plain"}, false},
		{[]string{"application/x-www-form-urlencoded"}, false},
		{[]string{"multipart/form-data; boundary=x"}, false},
		{[]string{"application/json; charset=utf-16"}, false},
		{[]string{"application/json", "text/plain"}, false},
		{[]string{"application/jsonx"}, false},
		{[]string{";"}, false},
		{[]string{""}, false},
	} {
		r := request(http.MethodPost, "/v1/decisions/lookup", agent, `{"query":"x"}`)
		r.Header["Content-Type"] = c.types
		w := a.serve(r)
		if c.ok {
			require.Equal(t, http.StatusOK, w.Code, c.types)
		} else {
			refused(t, w, http.StatusUnsupportedMediaType, "invalid", "application/json")
		}
	}
	big := `{"kind":"note","body":"` + strings.Repeat("x", 1<<20) + `"}`
	refused(t, a.do(http.MethodPost, "/v1/context", agent, big), http.StatusRequestEntityTooLarge, "too_large")
	r := request(http.MethodPost, "/v1/context", agent, big)
	r.ContentLength = -1 // chunked
	refused(t, a.serve(r), http.StatusRequestEntityTooLarge, "too_large")
}

func TestQueries(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	for _, q := range []string{"One", "Two", "Three"} {
		a.lot(ours, q+" databases for the ledger?")
	}
	for _, c := range []struct{ target, says string }{
		{"/v1/lots?state=open", "state: there is no such parameter; there are status, kind"},
		{"/v1/lots?status=closed", "status: is none of open, answered"},
		{"/v1/lots?kind=vote", "kind: is none of"},
		{"/v1/lots?newest=1", "newest: must be true or false"},
		{"/v1/lots?limit=0", "limit: must be a whole number from 1"},
		{"/v1/lots?limit=-5", "limit: must be"},
		{"/v1/lots?limit=", "limit: must be"},
		{"/v1/lots?limit=1&limit=2", "limit: is there twice"},
		{"/v1/lots?limit=1e2", "limit: must be"},
		{"/v1/lots?cursor=x", "cursor: is none of ours"},
		{"/v1/lots?cursor=s-1", "cursor: is none of ours"},
		{"/v1/lots?cursor=" + strings.Repeat("s", 129), "cursor: has 129 bytes, the limit is 128"},
		{"/v1/lots?stream=a%ff", "stream: is no text"},
		{"/v1/lots?stream=a%00", "stream: is no text"},
		{"/v1/lots?a;b", "query: can't be read"},
		{"/v1/lots?status=%zz", "query: can't be read"},
		{"/v1/decisions?q=" + strings.Repeat("x", 2049), "q: has 2049 bytes"},
		{"/v1/decisions?q=x&cursor=s1", "cursor: a search has one page"},
		{"/v1/context?cursor=!", "cursor: is none of ours"},
		{"/v1/tokens?limit=1", "limit: there is no such parameter; this takes none"},
		{"/v1/whoami?x", "x: there is no such parameter"},
	} {
		refused(t, a.do(http.MethodGet, c.target, human, ""), http.StatusUnprocessableEntity, "invalid", c.says)
	}
	var seen []string
	for cursor, pages := "", 0; ; pages++ {
		page := read[revue.Page[revue.Lot]](t, a.do(http.MethodGet, "/v1/lots?status=open&newest=true&limit=1&cursor="+cursor, human, ""))
		if len(page.Items) > 0 {
			seen = append(seen, page.Items[0].Question[:3])
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
		require.Less(t, pages, 5)
	}
	require.Equal(t, []string{"Thr", "Two", "One"}, seen)
	require.Len(t, read[revue.Page[revue.Lot]](t, a.do(http.MethodGet, "/v1/lots?limit=100000", human, "")).Items, 3, "more is cut")
	require.JSONEq(t, `{"items":[]}`, a.do(http.MethodGet, "/v1/lots?stream=none", human, "").Body.String())
}

// TestETag: what was not changed is not sent again.
func TestETag(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	lot := a.lot(ours, "Should the ledger be kept?")
	get := func(path string, tags ...string) *httptest.ResponseRecorder {
		r := request(http.MethodGet, path, human, "")
		r.Header["If-None-Match"] = tags
		return a.serve(r)
	}
	for _, path := range []string{"/v1/lots/" + lot.ID, "/v1/lots?status=open"} {
		first := get(path)
		tag := first.Header().Get("ETag")
		require.Regexp(t, `^W/"[A-Za-z0-9_-]{24}"$`, tag)
		for _, tags := range [][]string{{tag}, {strings.TrimPrefix(tag, "W/")}, {`"x", ` + tag}, {`"x"`, tag}, {"*"}} {
			w := get(path, tags...)
			require.Equal(t, http.StatusNotModified, w.Code, tags)
			require.Empty(t, w.Body.String())
			require.Equal(t, tag, w.Header().Get("ETag"))
		}
		for _, tags := range [][]string{{`W/"x"`}, {""}, {tag[:10]}} {
			require.Equal(t, http.StatusOK, get(path, tags...).Code, tags)
		}
	}
	one, all := "/v1/lots/"+lot.ID, "/v1/lots"
	tags := map[string]string{one: get(one).Header().Get("ETag"), all: get(all).Header().Get("ETag")}
	next := func(what string) {
		for path, tag := range tags {
			w := get(path, tag)
			require.Equal(t, http.StatusOK, w.Code, "%s: %s has changed", what, path)
			tags[path] = w.Header().Get("ETag")
		}
	}
	_, err := a.deciderAs(ours, "second").Request(t.Context(), revue.Ask{
		Question: lot.Question, Options: lot.Options, Concepts: lot.Concepts,
	})
	require.NoError(t, err)
	next("another agent joined")
	_, err = a.reviewer(ours).Dismiss(t.Context(), lot.ID, revue.Dismissal{})
	require.NoError(t, err)
	next("it was dismissed")
	require.NoError(t, a.admin(ours).Purge(t.Context(), lot.ID))
	next("it was purged")
	require.Equal(t, http.StatusNotFound, get("/v1/lots/lot_none", "*").Code)
}

func TestCompression(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	for range 5 {
		a.lot(ours, "Should "+strings.Repeat("the ledger and ", 60)+"the exporter be kept?")
	}
	get := func(path, accept string) *httptest.ResponseRecorder {
		r := request(http.MethodGet, path, human, "")
		r.Header.Set("Accept-Encoding", accept)
		return a.serve(r)
	}
	plain := get("/v1/lots", "")
	require.Empty(t, plain.Header().Get("Content-Encoding"))
	require.Contains(t, plain.Header().Values("Vary"), "Accept-Encoding")
	require.Greater(t, plain.Body.Len(), 1<<10)
	packed := get("/v1/lots", "br, gzip;q=0.8")
	require.Equal(t, "gzip", packed.Header().Get("Content-Encoding"))
	require.Contains(t, packed.Header().Values("Vary"), "Accept-Encoding")
	require.Equal(t, packed.Header().Get("ETag"), plain.Header().Get("ETag"))
	require.Less(t, packed.Body.Len(), plain.Body.Len())
	z, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	body, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, plain.Body.String(), string(body))
	require.Empty(t, get("/v1/whoami", "gzip").Header().Get("Content-Encoding"), "it is too small")

	// Over a network, as a client of net/http asks for it.
	ts := httptest.NewServer(a.handler)
	defer ts.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/v1/lots", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+human)
	res, err := ts.Client().Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.True(t, res.Uncompressed)
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.JSONEq(t, plain.Body.String(), string(got))
}

// TestRateOfATokenIsLimited: each token has its own share, which comes back with time, and a call that waits counts once.
func TestRateOfATokenIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, &revuehttp.Options{Rate: 2, Burst: 3})
		first, second := a.human(ours).Secret, a.agent(ours).Secret
		whoami := func(token string) *httptest.ResponseRecorder { return a.do(http.MethodGet, "/v1/whoami", token, "") }
		for range 3 {
			require.Equal(t, http.StatusOK, whoami(first).Code)
		}
		before := a.head(ours)
		w := whoami(first)
		refused(t, w, http.StatusTooManyRequests, "rate_limited", "too many requests")
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		require.Equal(t, before, a.head(ours))
		require.Equal(t, http.StatusOK, whoami(second).Code, "another token has its own share")
		require.Equal(t, http.StatusOK, a.do(http.MethodGet, "/openapi.json", "", "").Code)
		time.Sleep(500 * time.Millisecond) //nolint:forbidigo // fake time
		require.Equal(t, http.StatusOK, whoami(first).Code)
		require.Equal(t, http.StatusTooManyRequests, whoami(first).Code)

		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		w = a.do(http.MethodPost, "/v1/decisions/request", second, quick+`50}`)
		require.Equal(t, http.StatusOK, w.Code)
		for range 3 {
			require.Equal(t, http.StatusOK, whoami(second).Code, "the wait cost nothing")
		}
		require.Equal(t, http.StatusTooManyRequests, whoami(second).Code)
	})
	t.Run("a negative rate sets no limit", func(t *testing.T) {
		a := newAPI(t, &revuehttp.Options{Rate: -1, Burst: 1})
		token := a.human(ours).Secret
		for range 500 {
			require.Equal(t, http.StatusOK, a.do(http.MethodGet, "/v1/whoami", token, "").Code)
		}
	})
}

// TestFailuresOfAnAddressAreLimited: guesses are slowed down, and nobody with a good token is kept out by them.
func TestFailuresOfAnAddressAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		good := a.human(ours).Secret
		guess := func(address string) int {
			r := request(http.MethodGet, "/v1/lots", "rvu_h_"+strings.Repeat("x", 26), "")
			r.RemoteAddr = address
			return a.serve(r).Code
		}
		for range 20 {
			require.Equal(t, http.StatusUnauthorized, guess("192.0.2.7:1"))
		}
		require.Equal(t, http.StatusTooManyRequests, guess("192.0.2.7:2"), "another port is the same address")
		require.Equal(t, http.StatusUnauthorized, guess("192.0.2.8:1"))
		r := request(http.MethodGet, "/v1/lots", good, "")
		r.RemoteAddr = "192.0.2.7:3"
		require.Equal(t, http.StatusOK, a.serve(r).Code)
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		require.Equal(t, http.StatusUnauthorized, guess("192.0.2.7:4"))
		require.Equal(t, http.StatusTooManyRequests, guess("192.0.2.7:5"))
	})
}

// TestLog: a line says which route and how it went, and nothing that the caller made up.
func TestLog(t *testing.T) {
	var buf bytes.Buffer
	a := newAPI(t, &revuehttp.Options{Rate: -1, Log: slog.New(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	tok := a.human(ours)
	lot := a.lot(ours, "Should the ledger be kept?")
	line := func(r *http.Request) map[string]any {
		t.Helper()
		buf.Reset()
		w := a.serve(r)
		var got map[string]any
		require.NoError(t, json.Unmarshal(buf.Bytes(), &got), buf.String())
		require.Equal(t, w.Header().Get("X-Request-Id"), got["requestId"])
		require.EqualValues(t, w.Code, got["status"])
		for _, secret := range []string{tok.Secret, "rvu_", "sesame", "agent/7", "lot_"} {
			require.NotContains(t, buf.String(), secret)
		}
		return got
	}
	dressed := func(method, target, token, body string) *http.Request {
		r := request(method, target, token, body)
		r.Header.Set("User-Agent", "agent/7")
		r.Header.Set("Cookie", "open=sesame")
		r.Header.Set("Referer", "https://sesame.example")
		return r
	}
	got := line(dressed(http.MethodGet, "/v1/lots?stream=sesame", tok.Secret, ""))
	require.Equal(t, "GET /v1/lots", got["route"])
	require.Equal(t, tok.ID, got["token"])
	require.Equal(t, "DEBUG", got["level"])
	got = line(dressed(http.MethodPost, "/v1/lots/"+lot.ID+"/dismiss", tok.Secret, `{"reason":"sesame"}`))
	require.Equal(t, "POST /v1/lots/{id}/dismiss", got["route"])
	require.Equal(t, "INFO", got["level"])
	got = line(dressed(http.MethodGet, "/v1/sesame/"+tok.Secret, "", ""))
	require.Empty(t, got["route"])
	require.Equal(t, "INFO", got["level"])
	got = line(dressed("SESAME", "/v1/lots?token="+tok.Secret, tok.Secret, ""))
	require.Equal(t, "other", got["method"])
	line(dressed(http.MethodGet, "/v1/lots", tok.Secret+"x", ""))

	for _, c := range []struct {
		ids  []string
		kept bool
	}{
		{[]string{"abc-1_2.3"}, true},
		{[]string{strings.Repeat("a", 64)}, true},
		{[]string{strings.Repeat("a", 65)}, false},
		{[]string{"a b"}, false},
		{[]string{""}, false},
		{[]string{"a", "b"}, false},
		{[]string{"a\"b"}, false},
		{[]string{"é"}, false},
		{[]string{tok.Secret}, false},
	} {
		r := request(http.MethodGet, "/v1/whoami", tok.Secret, "")
		r.Header["X-Request-Id"] = c.ids
		got := line(r)
		require.Equal(t, c.kept, got["requestId"] == c.ids[0], c.ids)
		require.NotEmpty(t, got["requestId"])
	}
}

// broken is a plane whose store has failed.
type broken struct {
	*revue.Desk
	err error
}

func (p broken) Reviewer(revue.Human) revue.Reviewer { return brokenReviewer{err: p.err} }

type brokenReviewer struct {
	revue.Reviewer
	err error
}

func (r brokenReviewer) Lots(context.Context, revue.LotFilter) (revue.Page[revue.Lot], error) {
	if r.err == nil {
		panic("lost the thread")
	}
	return revue.Page[revue.Lot]{}, r.err
}

// lost is a plane that can't look up tokens.
type lost struct{ revue.Plane }

func (lost) Authenticate(context.Context, string) (revue.Principal, error) {
	return revue.Principal{}, &revue.Error{Code: revue.CodeUnavailable, Message: "the store is out of reach", Err: io.ErrUnexpectedEOF}
}

// TestNoStoreForTokens: where tokens can't be looked up, none is called bad.
func TestNoStoreForTokens(t *testing.T) {
	var buf bytes.Buffer
	a := &api{t: t, handler: revuehttp.NewServer(lost{}, &revuehttp.Options{Log: slog.New(slog.NewTextHandler(&buf, nil))}).Handler()}
	w := a.do(http.MethodGet, "/v1/lots", "rvu_h_"+strings.Repeat("k", 26), "")
	refused(t, w, http.StatusServiceUnavailable, "unavailable", "out of reach")
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Contains(t, buf.String(), "unexpected EOF")
	require.NotContains(t, buf.String(), "kkk")
}

// TestFaults: a fault of the plane is told as one, with its cause in the log alone.
func TestFaults(t *testing.T) {
	cause := &revue.Error{Code: revue.CodeUnavailable, Message: "the store is out of reach", Err: io.ErrUnexpectedEOF}
	for _, c := range []struct {
		name   string
		err    error
		status int
		code   string
		logged string
	}{
		{"unavailable", cause, 503, "unavailable", "unexpected EOF"},
		{"another error", io.ErrNoProgress, 500, "internal", "multiple Read calls"},
		{"a panic", nil, 500, "internal", "lost the thread"},
		{"a conflict", revue.ErrConflict, 409, "conflict", ""},
		{"a limit of the plane", revue.ErrRateLimited, 429, "rate_limited", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAPI(t, nil)
			var buf bytes.Buffer
			a.handler = revuehttp.NewServer(broken{a.desk, c.err}, &revuehttp.Options{Log: slog.New(slog.NewTextHandler(&buf, nil))}).Handler()
			w := a.do(http.MethodGet, "/v1/lots", a.human(ours).Secret, "")
			refused(t, w, c.status, c.code)
			require.Equal(t, c.status == 503 || c.status == 429, w.Header().Get("Retry-After") != "")
			require.Contains(t, buf.String(), c.logged)
			if c.logged != "" {
				require.NotContains(t, w.Body.String(), c.logged)
				require.Contains(t, buf.String(), w.Header().Get("X-Request-Id"))
			}
		})
	}
}
