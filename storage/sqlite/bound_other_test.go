//go:build !linux

package sqlite

import (
	"os"
	"testing"
)

// bound runs f as a user who is bound by the permissions of files: root is not.
func bound(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() <= 0 {
		t.Skip("this user is not bound by permissions")
	}
	f()
}
