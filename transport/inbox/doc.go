// Package inbox is the web inbox: an [net/http.Handler] where humans answer what agents ask, and correct what is
// remembered.
//
// The pages are rendered by the server, are embedded in the binary, work without JavaScript for reading and answering,
// and are live with it. A human signs in with a one-time code ([revue.Admin].SignIn), which a POST trades for a session in
// an HttpOnly cookie; nothing that agents hold opens a session. Every form carries a token of its session, and is taken
// from this server's own pages alone.
//
// All that agents write is hostile here: it is escaped, characters that act on text are shown by their names, Markdown
// becomes a small set of elements, nothing is loaded from elsewhere, and a link shows where it leads. The policy of the
// pages allows no inline script and no inline style.
//
// [Server.Handler] wants an outer guard for hosts, origins and sizes, as every handler of a revue server does. When the
// server stops, call [Server.Shutdown] first: live views end and reconnect elsewhere.
package inbox
