// Package revuehttp offers a [revue.Plane] as a JSON API over HTTP, and has the client for it.
//
// # Serving
//
//	api := revuehttp.NewServer(desk, nil)
//	srv := &http.Server{Addr: "127.0.0.1:7433", Handler: api.Handler(), ReadHeaderTimeout: 10 * time.Second}
//	srv.RegisterOnShutdown(api.EndStreams)
//
// The server around it has no WriteTimeout: agents wait for humans, and humans follow events. To stop, drain the desk,
// call [Server.Shutdown], then that of the server: parked calls return pending, streams end, and what was asked stays
// as it is.
//
// Every route, with its types and its statuses, is in the OpenAPI document at /openapi.json. The file openapi.json
// beside this code is the same.
//
// # Who may call
//
// A token is for an agent or for a human, and for one workspace. It is read from the Authorization header and from
// nowhere else: not from cookies, and a URL with what looks like a token in it is refused. There are routes for agents
// (below /v1/decisions, and POST /v1/context), routes for humans (all others), /v1/whoami for both, and two that are
// public: /openapi.json and the keys of receipts at /.well-known/jwks.json. The thing of another workspace is a 404, as
// one that never was.
//
// Requests must be for a host, and from an origin, that [Options] name. Each token may make so many requests a second.
//
// # Asking
//
// POST /v1/decisions/request waits, up to waitSeconds, and answers 200 with an outcome: reused, answered, dismissed,
// expired or pending. After pending the identical request waits on. Fields give the same key as over MCP, whether options
// are strings or objects. The outcome counts as returned when the response was written and flushed; a client that can
// lose it on its own way sets acknowledge, and posts to /v1/decisions/returned once it has it.
//
// The header Idempotency-Key says that a request is the same call as an earlier one: what was done is not done twice, and
// an approval that got lost on the way comes back.
//
// # Reading bodies
//
// JSON is read strictly. A field that there is not, one in another case or of another type, one that is there twice, text
// after the object: each is an error that names the field and the remedy, and nothing changes. What is no JSON at all is a
// 400, what is wrong with it a 422. The one leniency is for numbers of seconds, which may be strings and are cut to their
// range.
//
// # Errors
//
// Every error is a problem document (RFC 9457) with a code for programs, a detail for people, the id of what it is
// about and the id of the request, which is in the log too. The log has one line for a request, with its route in place of
// its path, and nothing that the caller made up.
//
// # Following events
//
// GET /v1/events with Accept: text/event-stream follows the journal. A reader that comes back sends the id of the last
// event it has seen as Last-Event-ID and misses none. The stream ends when its token does. Without that Accept the same
// path returns a page.
//
// # From Go
//
// [Client] is a [revue.Decider], a [revue.Returner] and a [revue.Reviewer], and errors.Is knows its errors.
package revuehttp
