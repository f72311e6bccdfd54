package revuehttp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/transport/revuehttp"
)

// things are what one workspace has, made anew for each cell of the table. Nobody else may see their ids.
type things struct {
	lot, ended, decision, receipt, note, ask string
	token, member                            string
}

// things makes them. The ask is one of an agent's token.
func (a *api) things(n int, agent string) things {
	a.t.Helper()
	ctx := context.Background()
	lot := a.lot(ours, fmt.Sprintf("Should the exporter number %d keep its rows?", n))
	ended, err := a.reviewer(ours).Dismiss(ctx, a.lot(ours, fmt.Sprintf("Does importer %d wait for locks?", n)).ID, revue.Dismissal{})
	require.NoError(a.t, err)
	done := a.answered(ours, fmt.Sprintf("May ledger %d use two databases at once?", n))
	note, err := a.decider(ours).Share(ctx, revue.ContextItem{Kind: "finding", Body: fmt.Sprintf("note %d", n)})
	require.NoError(a.t, err)
	tok := a.token(ours, revue.NewToken{Kind: revue.TokenHuman, Owner: fmt.Sprintf("eve %d", n)})
	own, err := a.deciderAs(ours, agent).Request(ctx, revue.Ask{Question: fmt.Sprintf("Is builder %d done?", n)})
	require.NoError(a.t, err)
	_, err = a.reviewer(ours).Answer(ctx, own.LotID, revue.Answer{Text: "nearly"})
	require.NoError(a.t, err)
	return things{
		lot: lot.ID, ended: ended.ID, decision: done.DecisionID, receipt: done.ReceiptID, note: note.ID, ask: own.AskID,
		token: tok.ID, member: tok.Member,
	}
}

func (x things) ids() []string {
	return []string{x.lot, x.ended, x.decision, x.receipt, x.note, x.ask, x.token, x.member}
}

// cell is what a call of a route has to be: its path, its body, and what a token of the right kind of another workspace
// gets for it.
type cell struct {
	path, body string
	foreign    int
}

// cells has a row for every route.
func cells() map[string]func(things) cell {
	list := func(path string) func(things) cell {
		return func(things) cell { return cell{path: path, foreign: http.StatusOK} }
	}
	return map[string]func(things) cell{
		"GET /openapi.json":          list("/openapi.json"),
		"GET /.well-known/jwks.json": list("/.well-known/jwks.json"),
		"GET /v1/whoami":             list("/v1/whoami"),
		"POST /v1/decisions/lookup": func(things) cell {
			return cell{"/v1/decisions/lookup", `{"query":"May ledger 1 use two databases at once?"}`, http.StatusOK}
		},
		"POST /v1/decisions/request": func(x things) cell {
			return cell{"/v1/decisions/request", `{"question":"Should the reader of ` + x.lot[len(x.lot)-4:] + ` be closed?","waitSeconds":0}`, http.StatusOK}
		},
		"POST /v1/decisions/returned": func(x things) cell {
			return cell{"/v1/decisions/returned", `{"decisionRef":"` + x.ask + `","status":"answered"}`, http.StatusNotFound}
		},
		"POST /v1/context": func(things) cell {
			return cell{"/v1/context", `{"kind":"finding","body":"rows are numbered"}`, http.StatusOK}
		},
		"GET /v1/context":         list("/v1/context"),
		"DELETE /v1/context/{id}": func(x things) cell { return cell{"/v1/context/" + x.note, "", http.StatusNotFound} },
		"GET /v1/lots":            list("/v1/lots"),
		"GET /v1/lots/{id}":       func(x things) cell { return cell{"/v1/lots/" + x.lot, "", http.StatusNotFound} },
		"POST /v1/lots/{id}/answer": func(x things) cell {
			return cell{"/v1/lots/" + x.lot + "/answer", `{"value":"yes"}`, http.StatusNotFound}
		},
		"POST /v1/lots/{id}/dismiss": func(x things) cell { return cell{"/v1/lots/" + x.lot + "/dismiss", `{}`, http.StatusNotFound} },
		"POST /v1/lots/{id}/reopen":  func(x things) cell { return cell{"/v1/lots/" + x.ended + "/reopen", "", http.StatusNotFound} },
		"GET /v1/decisions":          list("/v1/decisions"),
		"GET /v1/decisions/{id}":     func(x things) cell { return cell{"/v1/decisions/" + x.decision, "", http.StatusNotFound} },
		"POST /v1/decisions/{id}/corrections": func(x things) cell {
			return cell{"/v1/decisions/" + x.decision + "/corrections", `{"verb":"wrong"}`, http.StatusNotFound}
		},
		"GET /v1/events":          list("/v1/events"),
		"GET /v1/receipts/{id}":   func(x things) cell { return cell{"/v1/receipts/" + x.receipt, "", http.StatusNotFound} },
		"GET /v1/streams":         list("/v1/streams"),
		"PUT /v1/streams/{slug}":  func(things) cell { return cell{"/v1/streams/web.app", `{"muted":true}`, http.StatusOK} },
		"POST /v1/sign-in":        func(things) cell { return cell{"/v1/sign-in", "", http.StatusCreated} },
		"GET /v1/tokens":          list("/v1/tokens"),
		"POST /v1/tokens":         func(things) cell { return cell{"/v1/tokens", `{"kind":"agent"}`, http.StatusCreated} },
		"DELETE /v1/tokens/{id}":  func(x things) cell { return cell{"/v1/tokens/" + x.token, "", http.StatusNotFound} },
		"GET /v1/members":         list("/v1/members"),
		"DELETE /v1/members/{id}": func(x things) cell { return cell{"/v1/members/" + x.member, "", http.StatusNotFound} },
		"GET /v1/workspaces":      list("/v1/workspaces"),
		"POST /v1/purge":          func(x things) cell { return cell{"/v1/purge", `{"id":"` + x.ended + `"}`, http.StatusNotFound} },
	}
}

// whose says once more, by hand, whom a route is for.
func whose(route string) string {
	switch route {
	case "GET /openapi.json", "GET /.well-known/jwks.json":
		return "public"
	case "GET /v1/whoami":
		return "anyone"
	case "POST /v1/decisions/lookup", "POST /v1/decisions/request", "POST /v1/decisions/returned", "POST /v1/context":
		return "agent"
	default:
		return "human"
	}
}

// TestWhoMayCallWhat calls every route with every sort of credential. A call that is refused changes nothing, and one
// of another workspace learns of no id.
func TestWhoMayCallWhat(t *testing.T) {
	rows := cells()
	count := 0
	for _, route := range revuehttp.Table() {
		name := route.Method + " " + route.Path
		row, ok := rows[name]
		require.True(t, ok, "%s has no row in the table of this test", name)
		delete(rows, name)
		require.Equal(t, whose(name), route.Who, name)
		// A plane for each route: it stays small.
		a := newAPI(t, nil)
		agent, human := a.agent(ours), a.human(ours)
		foreign := map[string]revue.Token{"agent": a.agent(theirs), "human": a.human(theirs)}
		expired := map[string]revue.Token{}
		revoked := map[string]revue.Token{}
		for kind, tok := range foreign {
			expired[kind] = a.token(ours, revue.NewToken{Kind: tok.Kind, Label: "short", Life: time.Minute})
			revoked[kind] = a.token(ours, revue.NewToken{Kind: tok.Kind, Label: "gone"})
			_, err := a.admin(ours).RevokeToken(t.Context(), revoked[kind].ID)
			require.NoError(t, err)
		}
		a.ahead.Store(int64(time.Hour))
		good := map[string]revue.Token{"agent": agent, "human": human}
		in, err := a.admin(ours).SignIn(t.Context())
		require.NoError(t, err)
		browser, err := a.desk.OpenSession(t.Context(), in.Code, "Firefox")
		require.NoError(t, err)
		spare, err := a.admin(ours).SignIn(t.Context())
		require.NoError(t, err)
		right := route.Who // the kind of token that it takes
		if right == "public" || right == "anyone" {
			right = "human"
		}
		with := func(token string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
		}
		inURL := func(r *http.Request) {
			r.URL.RawQuery = "access_token=" + url.QueryEscape(good[right].Secret)
			r.RequestURI = r.URL.RequestURI()
		}
		byKind := func(kind string) (int, string) {
			if route.Who == kind || route.Who == "public" || route.Who == "anyone" {
				return route.Status, ""
			}
			return http.StatusForbidden, "denied"
		}
		agentStatus, agentCode := byKind("agent")
		humanStatus, humanCode := byKind("human")
		for _, c := range []struct {
			name   string
			with   func(*http.Request)
			status int
			code   string
		}{
			{"no token", func(*http.Request) {}, http.StatusUnauthorized, "unauthenticated"},
			{"agent token", with(agent.Secret), agentStatus, agentCode},
			{"human token", with(human.Secret), humanStatus, humanCode},
			{"token of another workspace", with(foreign[right].Secret), -1, ""},
			{"revoked token", with(revoked[right].Secret), http.StatusUnauthorized, "unauthenticated"},
			{"expired token", with(expired[right].Secret), http.StatusUnauthorized, "unauthenticated"},
			{"malformed token", with(good[right].Secret[:20]), http.StatusUnauthorized, "unauthenticated"},
			{"id of a token", with(good[right].ID), http.StatusUnauthorized, "unauthenticated"},
			{"session", with(browser.Secret), http.StatusUnauthorized, "unauthenticated"},
			{"session as a token of a human", with("rvu_h_" + browser.Secret[len("rvu_s_"):]), http.StatusUnauthorized, "unauthenticated"},
			{"one-time code", with(spare.Code), http.StatusUnauthorized, "unauthenticated"},
			{"session in a cookie", func(r *http.Request) {
				for _, name := range []string{"revue_session", "__Host-revue_session"} {
					r.AddCookie(&http.Cookie{Name: name, Value: browser.Secret}) //nolint:gosec // G124: it is on its way to the server
				}
			}, http.StatusUnauthorized, "unauthenticated"},
			{"token in the query string", inURL, http.StatusBadRequest, "invalid"},
			{"token in the query string too", func(r *http.Request) { with(good[right].Secret)(r); inURL(r) }, http.StatusBadRequest, "invalid"},
			{"basic auth", func(r *http.Request) {
				r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("x:"+good[right].Secret)))
			}, http.StatusUnauthorized, "unauthenticated"},
			{"two Authorization headers", func(r *http.Request) {
				r.Header["Authorization"] = []string{"Bearer " + good[right].Secret, "Bearer " + good[right].Secret}
			}, http.StatusUnauthorized, "unauthenticated"},
			{"token in a cookie", func(r *http.Request) {
				for _, name := range []string{"token", "Authorization", "access_token", "revue"} {
					r.AddCookie(&http.Cookie{Name: name, Value: good[right].Secret}) //nolint:gosec // G124: it is on its way to the server
				}
			}, http.StatusUnauthorized, "unauthenticated"},
		} {
			count++
			a.ahead.Add(int64(time.Second))
			x := a.things(count, agent.ID)
			call := row(x)
			if c.status == -1 {
				c.status, c.code = call.foreign, ""
				if c.status == http.StatusNotFound {
					c.code = "not_found"
				}
			}
			if route.Who == "public" && c.code == "unauthenticated" {
				c.status, c.code = http.StatusOK, ""
			}
			r := request(route.Method, call.path, "", call.body)
			r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:4711", count/256, count%256) // failures are counted by address
			c.with(r)
			oursBefore, theirsBefore := a.head(ours), a.head(theirs)
			w := a.serve(r)
			where := fmt.Sprintf("%s with %s", name, c.name)
			require.Equal(t, c.status, w.Code, "%s: %s", where, w.Body)
			require.Contains(t, append(route.Statuses, route.Status), w.Code, "%s: a status that the table does not have", where)
			require.NotEmpty(t, w.Header().Get("X-Request-Id"), where)
			require.NotContains(t, w.Body.String(), good[right].Secret, where)
			if c.code != "" {
				require.Equal(t, c.code, problemOf(t, w).Code, where)
				require.Equal(t, oursBefore, a.head(ours), "%s changed something", where)
				require.Equal(t, theirsBefore, a.head(theirs), "%s changed something", where)
			}
			if c.code == "unauthenticated" {
				require.True(t, strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer "), where)
			}
			if c.name == "token of another workspace" && call.foreign != http.StatusNotFound {
				require.Equal(t, oursBefore, a.head(ours), "%s changed another workspace", where)
				for _, id := range x.ids() {
					require.NotContains(t, w.Body.String(), id, where)
				}
			}
		}
	}
	require.Empty(t, rows, "rows without a route")
	t.Logf("route table: %d cells", count)
	require.Greater(t, count, 250)
}

// TestPathsThatAreNone are spellings of paths that other programs may take for a route.
func TestPathsThatAreNone(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	lot := a.lot(ours, "Should the ledger be kept?").ID
	for _, target := range []string{
		"/", "/v1", "/v1/", "/v1/lots/", "//v1/lots", "/v1//lots", "/v1/./lots", "/v1/x/../lots", "/v1/lots/%2e%2e/tokens",
		"/v1/lots/..%2Ftokens", "/v1/lots/" + lot + "/", "/v1/lots/" + lot + "%2Fanswer", "/v1/lots/" + lot + "/answer/..",
		"/V1/lots", "/v1/Lots", "/v1/%6Cots", "/v1/lots;x=1", "/v1/lots/" + lot + ";x=1", "/v1/lots/" + lot + "%00", "/v1/lots/%ff",
		"/v1/lots/" + strings.Repeat("a", 129), "/v1/whoami/", "/healthz", "/metrics", "/openapi.json/", "/.well-known/", "/v1/lots/" + lot + "%20",
		"/v1/streams/", "/v1/streams/.", "/v1/streams/..", "/v1/streams/%2e%2e", "/v1/streams/.hidden", "/v1/streams/-x", "/v1/streams/a%2Fb",
		"/v1/streams/a%20b", "/v1/streams/a%00", "/v1/streams/" + strings.Repeat("a", 65), "/v1/streams/%E2%80%AEid", "/v1/streams/a/b", "/v1/sign-in/x",
		"/v1/tokens/..", "/v1/lots/a%2Fb", "/v1/lots/a%5Cb", "/v1/lots/.", "/v1/lots/%E2%80%AEid",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			w := a.do(method, target, human, "")
			refused(t, w, http.StatusNotFound, "not_found")
		}
	}
}

func TestMethods(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	for _, c := range []struct{ method, path, allow string }{
		{http.MethodPost, "/v1/lots", "GET, HEAD"},
		{http.MethodPut, "/v1/lots/lot_1", "GET, HEAD"},
		{http.MethodOptions, "/v1/lots", "GET, HEAD"},
		{http.MethodTrace, "/v1/whoami", "GET, HEAD"},
		{"BREW", "/v1/context", "POST, GET, HEAD"},
		{http.MethodGet, "/v1/lots/lot_1/answer", "POST"},
		{http.MethodPatch, "/v1/tokens", "GET, HEAD, POST"},
		{http.MethodDelete, "/v1/decisions/lookup", "POST, GET, HEAD"},
		{http.MethodPost, "/openapi.json", "GET, HEAD"},
		{http.MethodGet, "/v1/streams/web.app", "PUT"},
		{http.MethodGet, "/v1/sign-in", "POST"},
	} {
		w := a.do(c.method, c.path, human, "")
		refused(t, w, http.StatusMethodNotAllowed, "invalid", c.allow)
		require.Equal(t, c.allow, w.Header().Get("Allow"), "%s %s", c.method, c.path)
	}
	w := a.do(http.MethodHead, "/v1/whoami", human, "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Body.String())
	require.NotEmpty(t, w.Header().Get("Content-Length"))
	w = a.do(http.MethodGet, "/v1/decisions/lookup", human, "") // the id of a decision, as far as GET goes
	refused(t, w, http.StatusNotFound, "not_found")
}

// TestHostsAndOrigins: a page of another origin reaches nothing, whatever it knows.
func TestHostsAndOrigins(t *testing.T) {
	a := newAPI(t, &revuehttp.Options{Rate: -1, Hosts: []string{"plane.example"}, Origins: []string{"https://console.example"}})
	human, agent := a.human(ours).Secret, a.agent(ours).Secret
	for _, host := range []struct {
		name string
		ok   bool
	}{
		{"127.0.0.1:7433", true},
		{"localhost", true},
		{"[::1]:7433", true},
		{"plane.example", true},
		{"PLANE.example:443", true},
		{"evil.example", false},
		{"plane.example.evil.example", false},
		{"10.0.0.1", false},
		{"", false},
	} {
		for _, origin := range []struct {
			name string
			ok   bool
		}{
			{"", true},
			{"http://127.0.0.1:7433", true},
			{"http://localhost:3000", true},
			{"https://console.example", true},
			{"https://plane.example", true},
			{"https://evil.example", false},
			{"null", false},
			{"https://console.example.evil.example", false},
			{"file://", false},
		} {
			for _, path := range []string{"/v1/whoami", "/openapi.json", "/v1/nothing", "/v1/context"} {
				r := request(http.MethodGet, path, human, "")
				if path == "/v1/context" {
					r = request(http.MethodPost, path, agent, `{"kind":"note","body":"from a page"}`)
				}
				r.Host = host.name
				if origin.name != "" {
					r.Header.Set("Origin", origin.name)
				}
				before := a.head(ours)
				w := a.serve(r)
				where := fmt.Sprintf("%s at %q from %q", path, host.name, origin.name)
				if !host.ok || !origin.ok {
					require.Equal(t, http.StatusForbidden, w.Code, where)
					require.Equal(t, "denied", problemOf(t, w).Code, where)
					require.Equal(t, before, a.head(ours), where)
				} else {
					require.NotEqual(t, http.StatusForbidden, w.Code, where)
				}
				require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), "%s: no page is let in by a browser", where)
			}
		}
	}
}

// TestWorkspaceHeader: the token says for which workspace it is.
func TestWorkspaceHeader(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	for _, c := range []struct {
		value  string
		status int
	}{{ours, 200}, {"MAIN", 200}, {theirs, 403}, {"nowhere", 403}, {" ", 422}, {strings.Repeat("x", 101), 422}} {
		r := request(http.MethodGet, "/v1/whoami", human, "")
		r.Header.Set("Revue-Workspace", c.value)
		require.Equal(t, c.status, a.serve(r).Code, c.value)
	}
}

// A request that was let in by somebody further out is not asked for its token, and may do what its principal may.
func TestPrincipalOfSomebodyElse(t *testing.T) {
	a := newAPI(t, nil)
	lot := a.lot(ours, "Should the ledger be kept?").ID
	human := &revue.Human{Workspace: ours, ID: "mem_1", Name: "ada", Local: true, Via: "web"}
	as := func(p revue.Principal, method, target, body string) int {
		r := request(method, target, "", body)
		return a.serve(r.WithContext(httpguard.WithPrincipal(r.Context(), p))).Code
	}
	h := revue.Principal{Kind: revue.TokenHuman, Workspace: ours, Human: human}
	require.Equal(t, http.StatusOK, as(h, http.MethodPost, "/v1/lots/"+lot+"/answer", `{"value":"yes"}`))
	require.Equal(t, http.StatusForbidden, as(h, http.MethodPost, "/v1/context", `{"kind":"note","body":"x"}`))
	require.Equal(t, http.StatusForbidden, as(revue.Principal{Kind: revue.TokenAgent, Workspace: ours, Agent: &revue.Agent{}}, http.MethodGet, "/v1/lots", ""))
	require.Equal(t, http.StatusForbidden, as(revue.Principal{Kind: revue.TokenHuman, Workspace: ours}, http.MethodGet, "/v1/lots", ""), "a principal without its human is none")
	got, err := a.reviewer(ours).Lot(t.Context(), lot)
	require.NoError(t, err)
	require.Equal(t, "api", got.Answer.By.Via, "through what is this transport's to say")
	require.True(t, human.Local, "what was handed over is not changed")
}

// TestCallIDs: a write that is tried again is done once.
func TestCallIDs(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	lot := "/v1/lots/" + a.lot(ours, "Should the ledger be kept?").ID
	write := func(call, path, body string) *httptest.ResponseRecorder {
		r := request(http.MethodPost, path, human, body)
		r.Header.Set("Idempotency-Key", call)
		return a.serve(r)
	}
	require.Equal(t, revue.StatusDismissed, read[revue.Lot](t, write("one", lot+"/dismiss", `{}`)).Status)
	require.Equal(t, revue.StatusOpen, read[revue.Lot](t, write("two", lot+"/reopen", "")).Status)
	before := a.head(ours)
	require.Equal(t, revue.StatusOpen, read[revue.Lot](t, write("one", lot+"/dismiss", `{}`)).Status, "it was done, and taken back since")
	require.Equal(t, before, a.head(ours))
	refused(t, write("one", lot+"/answer", `{"value":"yes"}`), http.StatusConflict, "conflict", "make a new id")
	refused(t, write(strings.Repeat("x", 201), lot+"/answer", `{"value":"yes"}`), http.StatusUnprocessableEntity, "invalid", "Idempotency-Key:")
	require.Equal(t, before, a.head(ours))
}

// TestSetStream: the settings of a lane are checked like any other input, and a repeat changes nothing.
func TestSetStream(t *testing.T) {
	a := newAPI(t, nil)
	human := a.human(ours).Secret
	put := func(slug, body string) *httptest.ResponseRecorder {
		return a.do(http.MethodPut, "/v1/streams/"+slug, human, body)
	}
	first := read[revue.Stream](t, put("Web.App", `{"name":" The web app ","position":2,"muted":true}`))
	require.Equal(t, revue.StreamSettings{Slug: "web.app", Name: "The web app", Position: 2, Muted: true}, first.StreamSettings)
	require.Equal(t, "ada", first.ChangedBy.Name)
	require.Equal(t, first, read[revue.Stream](t, put("web.app", `{"name":"The web app","position":2,"muted":true}`)))
	require.Equal(t, first, read[revue.Stream](t, put("web%2Eapp", `{"name":"The web app","position":2,"muted":true}`)))
	for _, c := range []struct {
		body, says string
		status     int
	}{
		{``, "is empty", http.StatusBadRequest},
		{`[]`, "must be a JSON object", http.StatusUnprocessableEntity},
		{`{"slug":"other"}`, "slug: there is no such field", http.StatusUnprocessableEntity},
		{`{"name":7}`, "name: must be a string", http.StatusUnprocessableEntity},
		{`{"name":"` + strings.Repeat("x", 81) + `"}`, "name: has 81 bytes, the limit is 80", http.StatusUnprocessableEntity},
		{`{"name":"a\u202eb"}`, "name: has a control or bidirectional character", http.StatusUnprocessableEntity},
		{`{"position":"2"}`, "position: must be a whole number", http.StatusUnprocessableEntity},
		{`{"position":1.5}`, "position: must be a whole number", http.StatusUnprocessableEntity},
		{`{"position":-1}`, "position: is not between 0 (none) and 1000", http.StatusUnprocessableEntity},
		{`{"position":1001}`, "position: is not between 0 (none) and 1000", http.StatusUnprocessableEntity},
		{`{"muted":"yes"}`, "muted: must be true or false", http.StatusUnprocessableEntity},
		{`{"muted":true,"muted":false}`, "twice", http.StatusUnprocessableEntity},
	} {
		refused(t, put("web.app", c.body), c.status, "invalid", c.says)
	}
	got, err := a.admin(ours).Streams(t.Context())
	require.NoError(t, err)
	require.Equal(t, []revue.Stream{first}, got)
	require.Equal(t, revue.StreamSettings{Slug: "web.app"}, read[revue.Stream](t, put("web.app", `{}`)).StreamSettings)
}

// TestSignIn: a code is in its response alone, which nobody keeps, and opens a session of whoever asked for it.
func TestSignIn(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, &revuehttp.Options{Rate: -1, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	tok := a.human(ours)
	codes := map[string]bool{}
	for _, body := range []string{"", "{}"} {
		r := request(http.MethodPost, "/v1/sign-in", tok.Secret, body)
		r.Header.Set("Idempotency-Key", "the same")
		w := a.serve(r)
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		in := read[revue.SignIn](t, w)
		require.WithinDuration(t, time.Now().Add(revue.SignInFor), in.ExpiresAt, time.Minute)
		require.False(t, codes[in.Code])
		codes[in.Code] = true
		for name, values := range w.Header() {
			require.NotContains(t, strings.Join(values, " "), in.Code, name)
		}
		s, err := a.desk.OpenSession(t.Context(), in.Code, "Firefox")
		require.NoError(t, err)
		require.Equal(t, tok.Member, s.Member)
		require.Equal(t, ours, s.Workspace)
		require.NotContains(t, log.String(), s.Secret)
	}
	require.Contains(t, log.String(), "/v1/sign-in")
	for code := range codes {
		require.NotContains(t, log.String(), code)
	}
	refused(t, a.do(http.MethodPost, "/v1/sign-in", tok.Secret, `{"owner":"eve"}`), http.StatusUnprocessableEntity, "invalid", "owner: there is no such field")
	refused(t, a.do(http.MethodPost, "/v1/tokens", tok.Secret, `{"kind":"session"}`), http.StatusUnprocessableEntity, "invalid", "kind: is neither agent nor human")

	// Sessions are listed and revoked like tokens.
	listed := read[struct{ Items []revue.Token }](t, a.do(http.MethodGet, "/v1/tokens", tok.Secret, "")).Items
	var sessions []revue.Token
	for _, l := range listed {
		require.Empty(t, l.Secret)
		require.Empty(t, l.Hash)
		if l.Kind == revue.TokenSession {
			sessions = append(sessions, l)
		}
	}
	require.Len(t, sessions, 2)
	require.False(t, read[revue.Token](t, a.do(http.MethodDelete, "/v1/tokens/"+sessions[0].ID, tok.Secret, "")).RevokedAt.IsZero())
}
