package memstore_test

import (
	"testing"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/storagetest"
)

func TestContract(t *testing.T) {
	storagetest.Suite{
		Open: func(*testing.T) revue.Store { return memstore.New(nil) },
		OpenAt: func(_ *testing.T, now func() time.Time) revue.Store {
			return memstore.New(&memstore.Options{Now: now})
		},
	}.Run(t)
}
