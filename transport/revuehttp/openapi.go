package revuehttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// dict is an object of the document. encoding/json sorts its names, so that the document is the same each time.
type dict = map[string]any

// describe returns the OpenAPI document of the routes, indented.
func describe(routes []route) ([]byte, error) {
	g := schemas{defs: dict{}}
	paths := dict{}
	for i := range routes {
		rt := &routes[i]
		at, ok := paths[rt.path].(dict)
		if !ok {
			at = dict{}
			paths[rt.path] = at
		}
		at[strings.ToLower(rt.method)] = g.operation(rt)
	}
	g.of(reflect.TypeFor[problemBody](), false)
	doc := dict{
		"openapi": "3.1.0",
		"info": dict{
			"title": "Revue", "version": "1",
			"summary":     "Human decisions for AI agents",
			"description": "Agents look up, request and share; humans answer, correct and administer. A token is for one of the two and for one workspace. Errors are problem documents (RFC 9457) with a code.",
			"license":     dict{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []any{dict{"url": "/", "description": "The plane that serves this document"}},
		"security": []any{dict{"bearer": []any{}}},
		"tags": []any{
			dict{"name": string(agents), "description": "For the tokens of agents"},
			dict{"name": string(members), "description": "For the tokens of humans"},
			dict{"name": "plane", "description": "For anyone"},
		},
		"paths": paths,
		"components": dict{
			"schemas": g.defs, "parameters": parameters(), "responses": refusals(), "headers": headers(),
			"securitySchemes": dict{"bearer": dict{ //nolint:gosec // G101: it speaks of credentials and has none
				"type": "http", "scheme": "bearer", "bearerFormat": "rvu_a_… or rvu_h_…",
				"description": "A token of an agent (rvu_a_…) or of a human (rvu_h_…), in this header alone. One in a URL is refused.",
			}},
		},
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func ref(kind, name string) dict { return dict{"$ref": "#/components/" + kind + "/" + name} }

func (g *schemas) operation(rt *route) dict {
	tag := string(rt.who)
	if rt.who == public || rt.who == anyone {
		tag = "plane"
	}
	op := dict{"operationId": rt.name, "summary": rt.summary, "tags": []any{tag}, "responses": g.responses(rt)}
	if rt.about != "" {
		op["description"] = rt.about
	}
	if rt.who == public {
		op["security"] = []any{}
	}
	op["parameters"] = operationParameters(rt)
	if rt.body != nil {
		media := dict{"schema": g.of(reflect.TypeOf(rt.body), true)}
		if rt.example != nil {
			media["examples"] = named(rt.example)
		}
		op["requestBody"] = dict{"required": !rt.bodyOptional, "content": dict{"application/json": media}}
	}
	return op
}

func named(examples map[string]any) dict {
	out := dict{}
	for name, v := range examples {
		out[name] = dict{"value": v}
	}
	return out
}

func operationParameters(rt *route) []any {
	out := []any{ref("parameters", "requestId")}
	if strings.Contains(rt.path, "{id}") {
		out = append(out, ref("parameters", "id"))
	}
	if strings.Contains(rt.path, "{slug}") {
		out = append(out, ref("parameters", "slug"))
	}
	for _, p := range rt.query {
		out = append(out, p.describe())
	}
	if rt.who != public {
		out = append(out, ref("parameters", "workspace"), ref("parameters", "via"))
	}
	if rt.who == agents {
		out = append(out, ref("parameters", "thread"), ref("parameters", "repo"), ref("parameters", "caller"))
	}
	if rt.calls {
		out = append(out, ref("parameters", "call"))
	}
	if rt.tagged {
		out = append(out, ref("parameters", "ifNoneMatch"))
	}
	if rt.stream {
		out = append(out, ref("parameters", "lastEventId"))
	}
	return out
}

func (p param) describe() dict {
	schema := dict{"type": "string"}
	switch {
	case p.integer:
		schema = dict{"type": "integer", "minimum": 1, "default": 100}
	case p.boolean:
		schema = dict{"type": "boolean", "default": false}
	case len(p.enum) > 0:
		schema["enum"] = p.enum
	}
	if p.many {
		schema = dict{"type": "array", "items": schema, "maxItems": revue.MaxConcepts}
	}
	out := dict{"name": p.name, "in": "query", "description": p.about, "schema": schema}
	if p.example != "" {
		out["example"] = p.example
		if n, err := strconv.Atoi(p.example); err == nil && p.integer {
			out["example"] = n
		}
	}
	return out
}

// parameters are those that many operations have.
func parameters() dict {
	in := func(where, name, about string, schema dict) dict {
		return dict{"name": name, "in": where, "description": about, "schema": schema}
	}
	text := func(limit int) dict { return dict{"type": "string", "minLength": 1, "maxLength": limit} }
	id := in("path", "id", "The id of the thing; opaque", dict{"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"})
	slug := in("path", "slug", "The slug of a stream; capitals are folded", dict{
		"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "maxLength": revue.MaxStream, "examples": []any{"web-app"},
	})
	id["required"], slug["required"] = true, true
	return dict{
		"id":          id,
		"slug":        slug,
		"requestId":   in("header", HeaderRequestID, "An id of your own for this request in the log of the server; else one is made", dict{"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}),
		"workspace":   in("header", HeaderWorkspace, "The name of the workspace that is meant. Another than the token's is a 403.", text(maxHeaderWord)),
		"via":         in("header", HeaderVia, "Through what the caller works: api (the default), cli or mcp stdio. Another value counts as api.", text(maxHeaderWord)),
		"thread":      in("header", HeaderThread, "One session of an agent, to which its answers go. By default a token is one thread.", text(maxThread)),
		"repo":        in("header", HeaderRepo, "The repository that the agent works in, as an address or a URL", text(maxRepo)),
		"caller":      in("header", HeaderCaller, "The value credential says that the thread was made up for a process: an approval then belongs to the token alone.", dict{"type": "string", "examples": []any{callerCredential}}),
		"call":        in("header", HeaderCall, "The id of this call, random and the same each time it is tried again. A write that was done is not done twice.", text(revue.MaxCall)),
		"ifNoneMatch": in("header", "If-None-Match", "The ETag of what you have; a 304 says that it is as it was", dict{"type": "string"}),
		"lastEventId": in("header", headerLastEvent, "The id of the last event seen; it goes before the parameter after", dict{"type": "string", "pattern": "^[0-9]*$"}),
	}
}

// headers are those of responses.
func headers() dict {
	text := dict{"type": "string"}
	return dict{
		"requestId":  dict{"description": "Names the request in the log of the server", "schema": text},
		"etag":       dict{"description": "Changes with the state and the revision of what is shown", "schema": text},
		"retryAfter": dict{"description": "Seconds until another try makes sense", "schema": dict{"type": "integer", "minimum": 1}},
	}
}

// refusal is one status that is no success.
type refusal struct {
	status      int
	name, about string
}

func allRefusals() []refusal {
	return []refusal{
		{http.StatusBadRequest, "BadRequest", "The body is no JSON, or what looks like a token is in the URL (code invalid)"},
		{http.StatusUnauthorized, "Unauthenticated", "No token, or one that is unknown, expired or revoked (code unauthenticated)"},
		{http.StatusForbidden, "Denied", "The token may not do this, or the host or origin is not allowed (code denied)"},
		{http.StatusNotFound, "NotFound", "There is no such thing in the workspace of the token (code not_found)"},
		{http.StatusRequestTimeout, "TooSlow", "The body did not arrive in time (code invalid)"},
		{http.StatusConflict, "Conflict", "Somebody was first, or the state does not allow it (code conflict)"},
		{http.StatusRequestEntityTooLarge, "TooLarge", "The body is over the limit (code too_large)"},
		{http.StatusUnsupportedMediaType, "UnsupportedType", "The body is not declared as JSON, or it is encoded (code invalid)"},
		{http.StatusUnprocessableEntity, "Invalid", "A field, a header or a parameter is wrong (code invalid); detail names it and the remedy"},
		{http.StatusTooManyRequests, "RateLimited", "Too many requests of this token, or too much of them at once (code rate_limited)"},
		{http.StatusInternalServerError, "Internal", "A fault of the plane (code internal)"},
		{http.StatusServiceUnavailable, "Unavailable", "The plane or its store is out of reach (code unavailable); try again"},
	}
}

func refusals() dict {
	out := dict{}
	for _, f := range allRefusals() {
		with := dict{HeaderRequestID: ref("headers", "requestId")}
		if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
			with["Retry-After"] = ref("headers", "retryAfter")
		}
		out[f.name] = dict{
			"description": f.about, "headers": with,
			"content": dict{"application/problem+json": dict{"schema": ref("schemas", "Problem")}},
		}
	}
	return out
}

// statuses are all that a route may answer with, besides success.
func (rt *route) statuses() []int {
	out := slices.Clone(rt.fails)
	out = append(out, http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusInternalServerError)
	if rt.who != public {
		out = append(out, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if rt.who != public || rt.handle != nil {
		out = append(out, http.StatusServiceUnavailable)
	}
	if rt.body != nil {
		out = append(out, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if rt.tagged {
		out = append(out, http.StatusNotModified)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (g *schemas) responses(rt *route) dict {
	with := dict{HeaderRequestID: ref("headers", "requestId")}
	if rt.tagged {
		with["ETag"] = ref("headers", "etag")
	}
	success := dict{"description": "Done", "headers": with}
	if rt.response != nil {
		mediaType := rt.mediaType
		if mediaType == "" {
			mediaType = "application/json"
		}
		media := dict{"schema": g.of(reflect.TypeOf(rt.response), false)}
		if rt.answers != nil {
			media["examples"] = named(rt.answers)
		}
		content := dict{mediaType: media}
		if rt.stream {
			content[eventStream] = dict{"schema": dict{"type": "string", "description": "Server-sent events: id, event and data, which is an Event as JSON"}}
		}
		success["content"] = content
		success["description"] = "The answer"
	}
	out := dict{strconv.Itoa(rt.status): success}
	for _, status := range rt.statuses() {
		if status == http.StatusNotModified {
			out[strconv.Itoa(status)] = dict{"description": "It is as it was", "headers": with}
			continue
		}
		for _, f := range allRefusals() {
			if f.status == status {
				out[strconv.Itoa(status)] = ref("responses", f.name)
			}
		}
	}
	return out
}

// schemas makes JSON Schemas (2020-12) of Go types.
type schemas struct {
	defs dict // by name
}

// of returns the schema of a type, a reference where it has a name of its own. Input says that it is a body to send.
func (g *schemas) of(t reflect.Type, input bool) dict {
	if values := enumOf(t, input); values != nil {
		return dict{"type": "string", "enum": values}
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return dict{"type": "string", "format": "date-time"}
	case reflect.TypeFor[revue.KeySet]():
		return keySetSchema()
	case reflect.TypeFor[optionBody]():
		return optionSchema()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem(), input)
	case reflect.Slice:
		return dict{"type": "array", "items": g.of(t.Elem(), input)}
	case reflect.Struct:
		return g.named(t, input)
	case reflect.Map:
		return dict{"type": "object"}
	case reflect.Bool:
		return dict{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return dict{"type": "integer", "format": "int64"}
	case reflect.Float64:
		return dict{"type": "number"}
	case reflect.String:
		return dict{"type": "string"}
	default:
		panic(fmt.Sprintf("a body has the type %s, which no schema is known for", t))
	}
}

func (g *schemas) named(t reflect.Type, input bool) dict {
	name := schemaName(t)
	if name == "" {
		return dict{"type": "object", "additionalProperties": false}
	}
	if _, ok := g.defs[name]; !ok {
		g.defs[name] = dict{} // for types that hold themselves
		g.defs[name] = g.object(name, t, input)
	}
	return ref("schemas", name)
}

func (g *schemas) object(name string, t reflect.Type, input bool) dict {
	properties := dict{}
	required := g.fields(name, t, input, properties, hidden(t))
	out := dict{"type": "object", "properties": properties}
	if input {
		required = neededFields()[name]
		out["additionalProperties"] = false
	}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	if about := typeNotes()[name]; about != "" {
		out["description"] = about
	}
	return out
}

// fields fills in the properties of a struct, those of embedded ones among them, and returns what is always there.
func (g *schemas) fields(name string, t reflect.Type, input bool, properties dict, hidden []string) (required []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			required = append(required, g.fields(name, f.Type, input, properties, hidden)...)
			continue
		}
		field := jsonName(f)
		if field == "" || slices.Contains(hidden, field) {
			continue
		}
		s := maps.Clone(g.of(f.Type, input))
		if about, ok := fieldNotes()[name+"."+field]; ok {
			s["description"] = about
		}
		maps.Copy(s, fieldBounds()[name+"."+field])
		properties[field] = s
		if tag := f.Tag.Get("json"); !strings.Contains(tag, ",omitempty") && !strings.Contains(tag, ",omitzero") {
			required = append(required, field)
		}
	}
	return required
}

// hidden are the fields of an embedded type that are not shown.
func hidden(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Type == reflect.TypeFor[*internal]() {
			names = append(names, jsonName(f))
		}
	}
	return names
}

// schemaName is the name of a type in the document, "" for one that has none.
func schemaName(t reflect.Type) string {
	name := t.Name()
	if kind, of, ok := strings.Cut(name, "["); ok {
		of = strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]")
		if of == "lotBody" {
			of = "Lot"
		}
		if kind == "Page" {
			return of + "Page"
		}
		return of + "List"
	}
	if other, ok := map[string]string{
		"lookupBody": "Lookup", "lookupResult": "Findings", "requestBody": "DecisionRequest", "outcomeBody": "Outcome",
		"returnedBody": "Acknowledgement", "contextBody": "Note", "correctionBody": "CorrectionRequest",
		"lotBody": "Lot", "explanationBody": "Explanation", "tokenBody": "TokenRequest", "streamBody": "StreamRequest", "purgeBody": "Purge", "problemBody": "Problem",
	}[name]; ok {
		return other
	}
	return name
}

// enumOf are the values of a type of which nothing else is ever sent. Input says that it is a caller who sends them.
func enumOf(t reflect.Type, input bool) []string {
	switch t {
	case reflect.TypeFor[revue.Kind]():
		return texts(revue.KindDecision, revue.KindApproval)
	case reflect.TypeFor[revue.Status]():
		return texts(revue.StatusOpen, revue.StatusAnswered, revue.StatusDismissed, revue.StatusExpired)
	case reflect.TypeFor[revue.OutcomeStatus]():
		return texts(revue.OutcomeReused, revue.OutcomeAnswered, revue.OutcomeDismissed, revue.OutcomePending, revue.OutcomeExpired)
	case reflect.TypeFor[revue.Verb]():
		return texts(revue.Verbs()...)
	case reflect.TypeFor[revue.Remember]():
		return texts(revue.RememberDefault, revue.RememberRule, revue.RememberOnce)
	case reflect.TypeFor[revue.TokenKind]():
		if input {
			return texts(revue.TokenAgent, revue.TokenHuman)
		}
		return texts(revue.TokenAgent, revue.TokenHuman, revue.TokenSession)
	case reflect.TypeFor[revue.Freshness]():
		return texts(revue.Fresh, revue.Aging, revue.Stale, revue.Expired)
	case reflect.TypeFor[revue.Guidance]():
		return texts(revue.Apply, revue.Confirm)
	case reflect.TypeFor[revue.Verdict]():
		return texts(revue.VerdictSame, revue.VerdictLikely, revue.VerdictRelated, revue.VerdictNone)
	default:
		return nil
	}
}

func texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func optionSchema() dict {
	text := func(about string) dict {
		return dict{"type": "string", "maxLength": revue.MaxOptionText, "description": about}
	}
	return dict{"oneOf": []any{
		dict{"type": "string", "minLength": 1, "maxLength": revue.MaxOptionText, "description": "The value, and the label too"},
		dict{
			"type": "object", "additionalProperties": false,
			"properties": dict{
				"value":       text("What the agent gets back, byte for byte; by default the label"),
				"label":       text("What the human reads; by default the value"),
				"consequence": text("What follows from it"),
			},
		},
	}}
}

func keySetSchema() dict {
	text := func(about string) dict { return dict{"type": "string", "description": about} }
	key := dict{
		"type": "object", "required": []string{"alg", "crv", "kid", "kty", "use", "x"},
		"properties": dict{
			"kty": dict{"type": "string", "const": "OKP"}, "crv": dict{"type": "string", "const": "Ed25519"},
			"x": text("The key in base64url"), "kid": text("Its thumbprint (RFC 7638)"),
			"use": dict{"type": "string", "const": "sig"}, "alg": dict{"type": "string", "const": "EdDSA"},
		},
	}
	return dict{"type": "object", "required": []string{"keys"}, "properties": dict{"keys": dict{"type": "array", "items": key}}}
}
