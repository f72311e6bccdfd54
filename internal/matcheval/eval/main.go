// Command eval measures the matching of package memory and prints one table. See docs/matching.md.
//
//	go run ./internal/matcheval/eval [-gold FILE] [-data DIR] [-seed N] [-seeds N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/matcheval"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1) //nolint:forbidigo // the main function of a program
	}
}

// run prints the table. What falls short of what is demanded is an error, after the table.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("eval", flag.ContinueOnError)
	gold := flags.String("gold", "memory/testdata/gold.txt", "the gold set")
	data := flags.String("data", "", "a folder with texts that are measured from where they lie: adr-decisions.jsonl, eval-only/*.tsv")
	seed := flags.Uint64("seed", 1, "what everything is drawn from")
	asks := flags.Int("asks", 0, "asks of a team in its month (default 3,000)")
	seeds := flags.Int("seeds", 0, "also play the month of two mixes with so many seeds, from this one on")
	wrong := flags.Bool("wrong", false, "name up to 20 mistakes of each kind")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil // it has been printed
		}
		return err
	}
	f, err := os.Open(*gold)
	if err != nil {
		return err
	}
	defer f.Close()
	topics, err := matcheval.ReadGold(f)
	if err != nil {
		return err
	}
	o := &matcheval.Options{
		Gold: topics, Seed: *seed, Asks: *asks, Data: *data,
		NewMemory: func() revue.Memory { return memory.New(nil) },
		NewStore:  func(now func() time.Time) revue.Store { return memstore.New(&memstore.Options{Now: now}) },
	}
	r, err := matcheval.Run(ctx, o)
	if err != nil {
		return err
	}
	if err := r.Write(out); err != nil {
		return err
	}
	if *wrong {
		for _, w := range append(r.Gold.Wrong, r.Generated.Wrong...) {
			fmt.Fprintln(out, w)
		}
	}
	if *seeds > 0 {
		if err := months(ctx, o, *seeds, out); err != nil {
			return err
		}
	}
	return r.Check()
}

// months prints how many cards are left with wordings learned, in the mix of [matcheval.Run] and in a plainer one.
func months(ctx context.Context, o *matcheval.Options, seeds int, out io.Writer) error {
	fmt.Fprintln(out, "\n| mix | seed | cards for 100 asks, no wording learned | wordings learned | remain |\n|---|--:|--:|--:|--:|")
	asks := func(n int) int { // -asks bounds both
		if o.Asks > 0 {
			return min(n, o.Asks)
		}
		return n
	}
	for _, mix := range []struct {
		name             string
		teams, asks, own int
	}{{"8 teams, 3,000 asks, 60 % paraphrases", 8, asks(3000), 40}, {"4 teams, 2,000 asks, 50 % paraphrases", 4, asks(2000), 50}} {
		for seed := range uint64(seeds) { //nolint:gosec // it is not negative
			o := *o
			o.Seed, o.Teams, o.Asks, o.Own = o.Seed+seed, mix.teams, mix.asks, mix.own
			without, with, err := matcheval.Learning(ctx, &o)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %s | %d | %.1f | %.1f | %.1f %% |\n", mix.name, o.Seed, without.Per100(), with.Per100(), 100*float64(with.Cards)/float64(without.Cards))
		}
	}
	return nil
}
