package memstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
)

// An Update is all or nothing, and a View sees what was committed.
func Example() {
	ctx := context.Background()
	store := memstore.New(nil)
	defer store.Close()

	err := store.Update(ctx, "acme", func(tx revue.Tx) error {
		return tx.PutLot(revue.Lot{ID: "lot_1", Seq: 1, Status: revue.StatusOpen, Question: "Ship it?"})
	})
	fmt.Println("first update:", err)

	err = store.Update(ctx, "acme", func(tx revue.Tx) error {
		if err := tx.PutLot(revue.Lot{ID: "lot_2", Seq: 2, Status: revue.StatusOpen}); err != nil {
			return err
		}
		return errors.New("changed my mind")
	})
	fmt.Println("second update:", err)

	err = store.View(ctx, "acme", func(tx revue.Tx) error {
		lots, err := tx.FindLots(revue.LotQuery{Status: revue.StatusOpen})
		for _, l := range lots {
			fmt.Println(l.ID, l.Question)
		}
		return err
	})
	fmt.Println("view:", err)
	// Output:
	// first update: <nil>
	// second update: changed my mind
	// lot_1 Ship it?
	// view: <nil>
}
