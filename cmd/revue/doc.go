// Command revue runs a plane of human decisions for AI agents, and is the human's side of it in a terminal.
//
//	revue serve               run the plane over HTTP
//	revue mcp                 serve one agent over stdio, for a plane elsewhere or with one of its own
//	revue login URL           keep a token for a plane elsewhere
//	revue inbox               see what agents ask
//	revue answer LOT VALUE    answer it
//
// The exit code is 0 when it is done, 1 when it failed, 2 when the command was misused and 3 when there is no
// such thing. An error is one line on stderr. With --json, stdout holds JSON alone.
//
// This package is wiring: the meaning is in package revue. It is the only one that reads the environment.
package main
