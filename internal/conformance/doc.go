// Package conformance runs the scenarios of the official MCP conformance suite that fit a real server
// against "revue serve".
//
// The suite is an npm package and wants a newer Node.js than distributions carry; both are installed, in
// exact versions, into .cache/conformance. Most scenarios call fixture tools by name, which only a test
// server has; those that any server can pass are listed in testdata/scenarios.txt, and the single checks
// in them that need a fixture are listed with their reason in testdata/expected-failures.txt. A check
// listed there that passes is a failure too, so the list can't go stale.
//
// The suite sends no credential. A proxy in the test adds it and passes everything else on as it came,
// Host and Origin included.
package conformance
