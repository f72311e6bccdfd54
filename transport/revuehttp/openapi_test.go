package revuehttp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuehttp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The document is kept beside the code, so that each change of the API is seen for what it is.
const golden = "openapi.json"

func TestOpenAPIIsTheGoldenFile(t *testing.T) {
	got, err := revuehttp.Describe()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "the API changed: run go test ./transport/revuehttp -run OpenAPI -update, and say in CHANGELOG.md what callers have to know")

	a := newAPI(t, nil)
	w := a.do(http.MethodGet, "/openapi.json", "", "")
	require.Equal(t, string(want), w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
}

// document is the golden file as far as the tests read it.
type document struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas    map[string]json.RawMessage
		Responses  map[string]response
		Parameters map[string]struct{ Name, In, Description string }
	}
}

type operation struct {
	OperationID, Summary string
	Parameters           []struct {
		Ref, Name, Description string
	}
	RequestBody *struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]response
}

type response struct {
	Ref, Description string
	Content          map[string]media
}

type media struct {
	Schema   json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

func readDocument(t testing.TB) (document, map[string]any) {
	t.Helper()
	raw, err := os.ReadFile(golden)
	require.NoError(t, err)
	raw = bytes.ReplaceAll(raw, []byte(`"$ref"`), []byte(`"ref"`)) // encoding/json tags aside, a name like any other
	var doc document
	require.NoError(t, json.Unmarshal(raw, &doc))
	var whole map[string]any
	raw, err = os.ReadFile(golden)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &whole))
	return doc, whole
}

// schemaAt resolves the schema at a path of the document. Objects of the document are open, as clients must take them; here
// each is closed, so that a field that the document does not have is found.
func schemaAt(t testing.TB, whole map[string]any, path ...string) *jsonschema.Resolved {
	t.Helper()
	at := any(whole)
	for _, name := range path {
		next, ok := at.(map[string]any)
		require.True(t, ok, path)
		at, ok = next[name]
		require.True(t, ok, "the document has no %s", strings.Join(path, " "))
	}
	components, _ := whole["components"].(map[string]any)
	raw, err := json.Marshal(map[string]any{"allOf": []any{at}, "components": map[string]any{"schemas": closed(components["schemas"])}})
	require.NoError(t, err)
	raw = bytes.ReplaceAll(raw, []byte("#/components/schemas/"), []byte("#/$defs/"))
	raw = bytes.Replace(raw, []byte(`"components":{"schemas":`), []byte(`"$defs":`), 1)
	raw = bytes.TrimSuffix(raw, []byte("}")) // of components
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(raw, &schema), string(raw))
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	require.NoError(t, err)
	return resolved
}

// closed returns the schemas with every object closed.
func closed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, sub := range v {
			out[name] = closed(sub)
		}
		if _, ok := v["properties"]; ok && v["type"] == "object" {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, sub := range v {
			out[i] = closed(sub)
		}
		return out
	default:
		return v
	}
}

// TestOpenAPISaysWhatIsServed: each route of the table is in the document and each of the document in the table; all is
// described, and what is said of a field is said of one that there is.
func TestOpenAPISaysWhatIsServed(t *testing.T) {
	doc, whole := readDocument(t)
	operations := 0
	for _, methods := range doc.Paths {
		operations += len(methods)
	}
	table := revuehttp.Table()
	require.Len(t, table, operations)
	ids := map[string]bool{}
	for _, route := range table {
		op, ok := doc.Paths[route.Path][strings.ToLower(route.Method)]
		require.True(t, ok, route)
		require.NotEmpty(t, op.Summary, route)
		require.False(t, ids[op.OperationID], op.OperationID)
		ids[op.OperationID] = true
		require.Equal(t, route.Body, op.RequestBody != nil, route)
		for _, p := range op.Parameters {
			require.NotEmpty(t, p.Ref+p.Description, "%s %s: %s", route.Method, route.Path, p.Name)
		}
		var want, got []string
		for _, status := range append(slices.Clone(route.Statuses), route.Status) {
			want = append(want, strconv.Itoa(status))
		}
		for status := range op.Responses {
			got = append(got, status)
		}
		require.ElementsMatch(t, want, got, route)
	}
	components, _ := whole["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	field := func(name string) {
		typ, prop, _ := strings.Cut(name, ".")
		s, _ := schemas[typ].(map[string]any)
		require.NotNil(t, s, "%s: the document has no such type", name)
		if prop != "" {
			props, _ := s["properties"].(map[string]any)
			require.Contains(t, props, prop, "%s: there is no such field", name)
		}
	}
	for name := range revuehttp.TypeNotes() {
		field(name)
	}
	for name := range revuehttp.FieldNotes() {
		field(name)
	}
	for _, name := range revuehttp.BoundFields() {
		field(name)
	}
	for name, needed := range revuehttp.NeededFields() {
		for _, prop := range needed {
			field(name + "." + prop)
		}
	}
}

// TestOpenAPIExamples: what the document shows, it allows, and the server takes.
func TestOpenAPIExamples(t *testing.T) {
	doc, whole := readDocument(t)
	examples := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			check := func(m media, at ...string) {
				for name, e := range m.Examples {
					examples++
					var v any
					require.NoError(t, json.Unmarshal(e.Value, &v))
					require.NoError(t, schemaAt(t, whole, append([]string{"paths", path, method}, at...)...).Validate(v), "%s %s: example %s", method, path, name)
				}
			}
			if op.RequestBody != nil {
				check(op.RequestBody.Content["application/json"], "requestBody", "content", "application/json", "schema")
			}
			for status, r := range op.Responses {
				check(r.Content["application/json"], "responses", status, "content", "application/json", "schema")
			}
		}
	}
	require.Greater(t, examples, 10)

	a := newAPI(t, nil)
	agent := a.agent(ours).Secret
	for _, path := range []string{"/v1/decisions/lookup", "/v1/decisions/request", "/v1/context"} {
		for name, e := range doc.Paths[path]["post"].RequestBody.Content["application/json"].Examples {
			body := strings.ReplaceAll(string(e.Value), `"waitSeconds": 50`, `"waitSeconds": 0`)
			body = strings.Replace(body, `"expiresInSeconds"`, `"waitSeconds": 0, "expiresInSeconds"`, 1)
			require.Equal(t, http.StatusOK, a.do(http.MethodPost, path, agent, body).Code, "%s: %s", path, name)
		}
	}
}

// checked checks what a server says against the document.
type checked struct {
	*api
	doc   document
	whole map[string]any
	seen  map[string]bool // "GET /v1/lots 200"

	schemas map[string]*jsonschema.Resolved // by the path in the document
}

// call makes a request to a route and checks the response: its status, its type and its body.
func (c *checked) call(method, pattern, target, token, body string) *httptest.ResponseRecorder {
	c.t.Helper()
	w := c.do(method, target, token, body)
	c.check(method, pattern, w)
	return w
}

func (c *checked) check(method, pattern string, w *httptest.ResponseRecorder) {
	c.t.Helper()
	status := strconv.Itoa(w.Code)
	where := method + " " + pattern + " " + status
	c.seen[where] = true
	op := c.doc.Paths[pattern][strings.ToLower(method)]
	res, ok := op.Responses[status]
	require.True(c.t, ok, "%s is not in the document: %s", where, w.Body)
	at := []string{"paths", pattern, strings.ToLower(method), "responses", status}
	if name, ok := strings.CutPrefix(res.Ref, "#/components/responses/"); ok {
		res, at = c.doc.Components.Responses[name], []string{"components", "responses", name}
	}
	mediaType := w.Header().Get("Content-Type")
	if len(res.Content) == 0 {
		require.Empty(c.t, w.Body.String(), where)
		return
	}
	require.Contains(c.t, res.Content, mediaType, where)
	var v any
	require.NoError(c.t, json.Unmarshal(w.Body.Bytes(), &v), where)
	at = append(at, "content", mediaType, "schema")
	name := strings.Join(at, " ")
	if c.schemas[name] == nil {
		c.schemas[name] = schemaAt(c.t, c.whole, at...)
	}
	require.NoError(c.t, c.schemas[name].Validate(v), "%s: %s", where, w.Body)
}

// TestResponsesAreAsDescribed plays a workspace through and checks every response against the document.
func TestResponsesAreAsDescribed(t *testing.T) {
	doc, whole := readDocument(t)
	c := &checked{api: newAPI(t, nil), doc: doc, whole: whole, seen: map[string]bool{}, schemas: map[string]*jsonschema.Resolved{}}
	agent, human := c.agent(ours).Secret, c.human(ours).Secret
	get := func(pattern, target string) { c.call(http.MethodGet, pattern, target, human, "") }
	post := func(pattern, target, token, body string) *httptest.ResponseRecorder {
		return c.call(http.MethodPost, pattern, target, token, body)
	}
	ask := func(body string) revue.Outcome {
		return read[revue.Outcome](t, post("/v1/decisions/request", "/v1/decisions/request", agent, body))
	}
	lots := schemaAt(t, whole, "paths", "/v1/lots", "get", "responses", "200", "content", "application/json", "schema")
	for _, wrong := range []string{`{}`, `{"items":null}`, `{"items":[{}]}`, `{"items":[],"more":1}`, `{"items":[],"nextCursor":7}`} {
		var v any
		require.NoError(t, json.Unmarshal([]byte(wrong), &v))
		require.Error(t, lots.Validate(v), "the check lets pass %s", wrong)
	}

	get("/openapi.json", "/openapi.json")
	get("/.well-known/jwks.json", "/.well-known/jwks.json")
	get("/v1/whoami", "/v1/whoami")
	c.call(http.MethodGet, "/v1/whoami", "/v1/whoami", agent, "")
	for _, path := range []string{"/v1/lots", "/v1/decisions", "/v1/context", "/v1/streams", "/v1/tokens", "/v1/members", "/v1/workspaces", "/v1/events"} {
		get(path, path) // where there is nothing
	}

	question := `{"question":"Which database should the ledger use?","options":["postgres",{"value":"sqlite","label":"SQLite","consequence":"one writer"}],"recommendation":"postgres","context":"It is small.","concepts":["ledger"],"files":["ledger.go"],"waitSeconds":0}`
	pending := ask(question)
	require.Equal(t, revue.OutcomePending, pending.Status)
	post("/v1/decisions/request", "/v1/decisions/request", agent, `{"question":"Which database should that ledger use?","options":["postgres",{"value":"sqlite","label":"SQLite","consequence":"one writer"}],"concepts":["ledger"],"waitSeconds":0}`)
	get("/v1/lots", "/v1/lots?status=open&newest=true&limit=1")
	get("/v1/lots/{id}", "/v1/lots/"+pending.LotID)
	answer := "/v1/lots/" + pending.LotID + "/answer"
	post("/v1/lots/{id}/answer", answer, human, `{"value":"postgres","note":"for now","seen":1}`)
	require.Equal(t, http.StatusConflict, post("/v1/lots/{id}/answer", answer, human, `{"value":"sqlite"}`).Code)
	answered := ask(question)
	require.Equal(t, revue.OutcomeAnswered, answered.Status)
	require.NotNil(t, answered.Receipt)
	other := c.agent(ours).Secret
	reused := read[revue.Outcome](t, post("/v1/decisions/request", "/v1/decisions/request", other, question))
	require.Equal(t, revue.OutcomeReused, reused.Status)
	post("/v1/decisions/lookup", "/v1/decisions/lookup", agent, `{"query":"Which database should the ledger use?"}`)
	post("/v1/decisions/lookup", "/v1/decisions/lookup", agent, `{"query":"paint"}`)
	get("/v1/decisions", "/v1/decisions?q=database+of+the+ledger")
	get("/v1/decisions", "/v1/decisions?concept=ledger&concept=colours&limit=1")
	get("/v1/receipts/{id}", "/v1/receipts/"+answered.Receipt.ID)
	corrections := "/v1/decisions/" + answered.DecisionID + "/corrections"
	dec := read[revue.Decision](t, post("/v1/decisions/{id}/corrections", corrections, human, `{"verb":"expires_after","expires":"30d","note":"look again"}`))
	post("/v1/decisions/{id}/corrections", corrections, human, `{"undoes":"`+dec.Corrections[0].ID+`"}`)
	post("/v1/decisions/{id}/corrections", corrections, human, `{"undoes":"`+dec.Corrections[0].ID+`"}`)
	post("/v1/decisions/{id}/corrections", corrections, human, `{"verb":"ask_next_time"}`)
	get("/v1/decisions/{id}", "/v1/decisions/"+answered.DecisionID)

	// A new lot has the decision pinned, and is dismissed and opened again.
	pinned := read[revue.Outcome](t, post("/v1/decisions/request", "/v1/decisions/request", other, strings.Replace(question, "the ledger", "the second ledger", 1)))
	post("/v1/lots/{id}/dismiss", "/v1/lots/"+pinned.LotID+"/dismiss", human, "")
	post("/v1/decisions/request", "/v1/decisions/request", other, strings.Replace(question, "the ledger", "the second ledger", 1))
	get("/v1/lots/{id}", "/v1/lots/"+pinned.LotID)
	post("/v1/lots/{id}/reopen", "/v1/lots/"+pinned.LotID+"/reopen", human, "")
	post("/v1/lots/{id}/reopen", "/v1/lots/"+pinned.LotID+"/reopen", human, "{}")
	post("/v1/lots/{id}/dismiss", "/v1/lots/"+pinned.LotID+"/dismiss", human, `{"reason":"not needed"}`)

	approval := `{"kind":"approval","title":"Delete 2 branches","context":"Merged.","affected":[{"label":"a","meta":"old"},{"label":"b"}],"expiresInSeconds":"60","waitSeconds":0}`
	card := ask(approval)
	get("/v1/lots/{id}", "/v1/lots/"+card.LotID)
	require.Equal(t, revue.OutcomePending, card.Status)
	post("/v1/lots/{id}/answer", "/v1/lots/"+card.LotID+"/answer", human, `{"value":"approved"}`)
	c.ahead.Add(int64(3 * time.Second)) // calls that were parked have gone
	claimed := read[revue.Outcome](t, post("/v1/decisions/request", "/v1/decisions/request", agent, strings.Replace(approval, `"waitSeconds":0`, `"waitSeconds":1,"acknowledge":true`, 1)))
	require.Equal(t, revue.OutcomeAnswered, claimed.Status)
	require.NotEmpty(t, claimed.Claim)
	post("/v1/decisions/returned", "/v1/decisions/returned", agent, `{"decisionRef":"`+claimed.AskID+`","status":"answered","claim":"`+claimed.Claim+`"}`)
	post("/v1/decisions/returned", "/v1/decisions/returned", agent, `{"decisionRef":"ask_unknown","status":"answered"}`)
	late := ask(strings.Replace(approval, "2 branches", "3 branches", 1))
	c.ahead.Add(int64(2 * time.Minute))
	get("/v1/lots/{id}", "/v1/lots/"+late.LotID)
	ask(strings.Replace(approval, "2 branches", "3 branches", 1))

	note := read[revue.ContextItem](t, post("/v1/context", "/v1/context", agent, `{"kind":"finding","body":"The ledger is small.","concepts":["ledger"]}`))
	post("/v1/decisions/lookup", "/v1/decisions/lookup", agent, `{"query":"ledger","concepts":["ledger"],"limit":3}`)
	get("/v1/context", "/v1/context")
	c.call(http.MethodDelete, "/v1/context/{id}", "/v1/context/"+note.ID, human, "")

	tok := read[revue.Token](t, post("/v1/tokens", "/v1/tokens", human, `{"kind":"human","owner":"bob","label":"laptop","expires":"90d"}`))
	require.NotEmpty(t, tok.Secret)
	made := read[revue.Token](t, post("/v1/tokens", "/v1/tokens", human, `{"kind":"agent"}`))
	c.call(http.MethodDelete, "/v1/tokens/{id}", "/v1/tokens/"+made.ID, human, "")
	c.call(http.MethodPut, "/v1/streams/{slug}", "/v1/streams/web.app", human, `{"name":"The web app","position":1,"muted":true}`)
	c.call(http.MethodPut, "/v1/streams/{slug}", "/v1/streams/web.app", human, `{"position":-1}`)
	get("/v1/streams", "/v1/streams")
	in := read[revue.SignIn](t, post("/v1/sign-in", "/v1/sign-in", human, ""))
	_, err := c.desk.OpenSession(t.Context(), in.Code, "Firefox")
	require.NoError(t, err)
	nobody := c.token(ours, revue.NewToken{Kind: revue.TokenHuman, Label: "shared"})
	in = read[revue.SignIn](t, post("/v1/sign-in", "/v1/sign-in", nobody.Secret, "{}"))
	_, err = c.desk.OpenSession(t.Context(), in.Code, "")
	require.NoError(t, err)
	get("/v1/tokens", "/v1/tokens")
	get("/v1/members", "/v1/members")
	c.call(http.MethodDelete, "/v1/members/{id}", "/v1/members/"+tok.Member, human, "")
	post("/v1/purge", "/v1/purge", human, `{"id":"`+pending.LotID+`"}`)
	post("/v1/purge", "/v1/purge", human, `{"id":"lot_unknown"}`)
	get("/v1/lots/{id}", "/v1/lots/"+pending.LotID)
	get("/v1/decisions/{id}", "/v1/decisions/"+answered.DecisionID)
	for _, path := range []string{"/v1/lots", "/v1/decisions", "/v1/context", "/v1/streams", "/v1/tokens", "/v1/members", "/v1/workspaces"} {
		get(path, path)
	}
	get("/v1/events", "/v1/events?limit=5")
	get("/v1/events", "/v1/events?after=now")
	get("/v1/lots", "/v1/lots?limit=none")
	get("/v1/lots", "/v1/lots?access_token="+human)
	get("/v1/lots/{id}", "/v1/lots/lot_unknown")
	c.call(http.MethodGet, "/v1/lots", "/v1/lots", agent, "")
	c.call(http.MethodGet, "/v1/lots", "/v1/lots", "", "")

	succeeded := map[string]bool{}
	for where := range maps.Keys(c.seen) {
		if f := strings.Fields(where); f[2] < "300" {
			succeeded[f[0]+" "+f[1]] = true
		}
	}
	for _, route := range revuehttp.Table() {
		require.True(t, succeeded[route.Method+" "+route.Path], "%s %s was not checked", route.Method, route.Path)
	}
}
