// Package revuemcp offers a [revue.Plane] to agents as tools of the Model Context Protocol, over standard
// input and output and over Streamable HTTP.
//
// # Profiles
//
// A [Server] has one of two sets of tools. [Decisions], the default, is lookup_decision, request_decision
// and share_context: questions with options whose answers are remembered. A request waits up to 55
// seconds and then returns pending; the identical call resumes it. [Approvals] is one request_decision that
// blocks until a human approves or declines one concrete act, or its time is up, and returns that word and
// nothing else as text.
//
// # Serving
//
// One server is enough for any number of clients:
//
//	srv := revuemcp.NewServer(desk, nil)
//	err := srv.Serve(ctx, agent, os.Stdin, os.Stdout) // one agent, on standard input and output
//	mux.Handle("/mcp", srv.Handler())                 // many, over HTTP
//
// Over HTTP the handler takes the agent from the bearer token of the request, by the plane's Authenticate, and
// the thread and the repository from the headers [HeaderThread] and [HeaderRepo]. It refuses hosts and
// origins that [Options] do not name. Nothing an agent says in a tool call has a say in who it is. For an
// authentication of your own, wrap the plane and override Authenticate.
//
// To stop, drain the desk and then call [Server.Shutdown] (or end the context of Serve): every parked
// call returns pending, and the same call after the restart resumes.
//
// # Waiting for a human
//
// Clients give up on silence: some after 60 seconds without a byte, others after 300 without progress.
// So while a call waits, a client that gave a progress token gets a notification at once and every 15
// seconds, and an HTTP stream gets its headers within three seconds and a comment every 15. A client that
// leaves is noticed, in every protocol version, and its call ends; what it asked stays open.
//
// Where the decider is a [revue.Returner], it is told of each outcome whether the response that carried it
// was written. An answer that never got out is there for the next identical call.
//
// # Reading what models send
//
// The schemas that are advertised are strict, and reading is not: lists may come as JSON strings or as
// one text with commas or line ends, options as texts, objects or both, numbers as text. What could mean two
// things is refused with an error that names the field and the remedy. So is text that is not UTF-8,
// before anything changes.
//
// # Asking from Go
//
// [Client] is the way back: a [revue.Decider] over a session of the SDK, with errors that errors.Is knows.
package revuemcp
