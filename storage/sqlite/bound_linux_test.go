package sqlite

import (
	"runtime"
	"syscall"
	"testing"
)

// bound runs f as a user who is bound by the permissions of files: root is not.
func bound(t *testing.T, f func()) {
	t.Helper()
	const nobody = 65534
	done := make(chan struct{})
	go func() {
		defer close(done)
		if syscall.Geteuid() == 0 {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
		}
		f()
	}()
	<-done
}
