// Package testneed is how a test says what it needs from the machine: a program, a service, a registry.
//
// Where that is missing the test is skipped with one uniform message, which the summary of "make test"
// shows. With REVUE_REQUIRE_ALL=1, as in continuous integration, it fails instead, so that nothing is
// left out without anybody noticing.
package testneed

import (
	"os"
	"os/exec"
	"testing"
)

// Prefix starts the message of each skip made here. The summary looks for it.
const Prefix = "left out, needs "

// RequireAll reports whether a missing need is a failure.
func RequireAll() bool { return os.Getenv("REVUE_REQUIRE_ALL") == "1" }

// MayInstall reports whether a test may download what it needs into the project's .cache folder. A bare
// "go test" never does; "make test" and continuous integration do.
func MayInstall() bool { return RequireAll() || os.Getenv("REVUE_INSTALL") == "1" }

// Need ends the test because what it needs isn't there: skipped, or failed under [RequireAll]. What
// is a short name, why says what is missing and how to get it.
func Need(tb testing.TB, what, why string) {
	tb.Helper()
	if RequireAll() {
		tb.Fatalf("needs %s: %s (REVUE_REQUIRE_ALL=1 makes this a failure)", what, why)
		return
	}
	tb.Skip(Prefix + what + ": " + why)
}

// Program returns the path of a program, or ends the test as [Need] does.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Need(tb, name, "no such program in PATH")
	}
	return path
}
