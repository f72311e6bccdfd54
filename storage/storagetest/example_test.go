package storagetest_test

import (
	"testing"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/storagetest"
)

// The test of a driver is one call.
func ExampleRun() {
	// In your package it is TestStore.
	testStore := func(t *testing.T) {
		storagetest.Run(t, func(*testing.T) revue.Store { return memstore.New(nil) })
	}
	_ = testStore
}
