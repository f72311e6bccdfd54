package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/sqlite"
)

// Two stores on one file are what two processes have: one sees, and is woken by, what the other commits.
func Example() {
	dir, err := os.MkdirTemp("", "revue")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	reader, err := sqlite.Open(ctx, filepath.Join(dir, "revue.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()
	woken := make(chan string, 1)
	go reader.Watch(ctx, func(workspace string) { woken <- workspace })
	fmt.Printf("watching: %q\n", <-woken)

	writer, err := sqlite.Open(ctx, filepath.Join(dir, "revue.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer writer.Close()
	err = writer.Update(ctx, "acme", func(tx revue.Tx) error {
		return tx.PutLot(revue.Lot{ID: "lot_1", Seq: 1, Status: revue.StatusOpen, Question: "Ship it?"})
	})
	if err != nil {
		log.Fatal(err)
	}

	workspace := <-woken
	err = reader.View(ctx, workspace, func(tx revue.Tx) error {
		lot, err := tx.Lot("lot_1")
		fmt.Printf("%s: %s\n", workspace, lot.Question)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// watching: ""
	// acme: Ship it?
}
