package storagetest_test

import (
	"fmt"
	"testing"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/storagetest"
)

// The test of a driver is one call.
func ExampleRun() {
	testStore := func(t *testing.T) {
		storagetest.Run(t, func(*testing.T) revue.Store { return memstore.New(nil) })
	}
	passed := testing.RunTests(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestStore", F: testStore}})
	fmt.Println(passed)
	// Output: true
}
