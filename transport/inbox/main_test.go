package inbox

import (
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine has an owner that waits for it: none is left when the tests are over.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
