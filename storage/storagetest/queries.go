package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/revuehq/revue"
)

func queries() []clause {
	const rule = "Find methods return what matches every field set in the query, ordered by Seq"
	return []clause{
		{name: "lots are found by every combination of fields", rule: rule, check: findLots},
		{name: "asks are found by every combination of fields", rule: rule, check: findAsks},
		{name: "decisions are found by every combination of fields", rule: rule, check: findDecisions},
		{name: "many decisions are found by their ids", rule: "IDs: these alone, those that exist", check: findManyIDs},
		{name: "context is found by every combination of fields", rule: rule, check: findContexts},
		{name: "what was read and put back is found as it is now", rule: rule, check: found},
		{name: "pages follow each other", rule: "After: those with a greater Seq; with Newest, with a smaller one (0: no bound); Limit 0: no limit", check: pages},
		{
			name: "queries take text as it is",
			rule: "Find methods return what matches; no character has a meaning, and case counts", check: literal,
		},
	}
}

// paging is what all queries have in common.
type paging struct {
	after  revue.Seq
	newest bool
	limit  int
}

func pagings() []paging {
	var all []paging
	for _, after := range []revue.Seq{0, 1, 50, 1000} {
		for _, newest := range []bool{false, true} {
			for _, limit := range []int{0, 1, 3} {
				all = append(all, paging{after, newest, limit})
			}
		}
	}
	return all
}

// apply is the contract of paging, on a list in order of Seq.
func apply[T any](p paging, all []T, seq func(T) revue.Seq) []T {
	var out []T
	for _, v := range all {
		switch {
		case p.after == 0, !p.newest && seq(v) > p.after, p.newest && seq(v) < p.after:
			out = append(out, v)
		}
	}
	if p.newest {
		slices.Reverse(out)
	}
	if p.limit > 0 && len(out) > p.limit {
		out = out[:p.limit]
	}
	return out
}

// either reports whether a field of a query selects a value.
func either[T comparable](field, value T) bool {
	var zero T
	return field == zero || field == value
}

// same compares what was found with what should have been, by id.
func same[T any](what string, query any, want, got []T, id func(T) string) error {
	ids := func(l []T) []string {
		out := make([]string, 0, len(l))
		for _, v := range l {
			out = append(out, id(v))
		}
		return out
	}
	if w, g := ids(want), ids(got); !slices.Equal(w, g) {
		return fmt.Errorf("%s(%+v) found %v, want %v", what, query, g, w)
	}
	return nil
}

// shuffled is an order of putting in that is not the order of Seq.
func shuffled(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = (i*37 + 11) % n
	}
	return out
}

var noon = time.Date(2026, 7, 8, 12, 0, 0, 1000, time.UTC)

func findLots(e *env) error {
	s := e.open()
	var all []revue.Lot
	for i := range 96 {
		l := revue.Lot{
			ID: "lot" + strconv.Itoa(i), Seq: revue.Seq(i*2 + 1),
			Status: []revue.Status{revue.StatusOpen, revue.StatusAnswered}[i%2],
			Kind:   []revue.Kind{revue.KindDecision, revue.KindApproval}[i/2%2],
			Stream: []string{"agents", "ops"}[i/4%2],
			Key:    []string{"k1", "k2"}[i/8%2],
		}
		if d := i / 16 % 3; d < 2 { // every third group never expires
			l.ExpiresAt = noon.Add(time.Duration(d) * time.Microsecond)
		}
		all = append(all, l)
	}
	err := e.update(s, "ws", func(tx revue.Tx) error {
		for _, i := range shuffled(len(all)) {
			if err := tx.PutLot(all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		for _, status := range []revue.Status{"", revue.StatusOpen, revue.StatusExpired} {
			for _, kind := range []revue.Kind{"", revue.KindApproval} {
				for _, stream := range []string{"", "ops"} {
					for _, key := range []string{"", "k1", "none"} {
						for _, expires := range []time.Time{{}, noon.Add(-1), noon, noon.Add(time.Microsecond)} {
							for _, p := range pagings() {
								q := revue.LotQuery{
									Status: status, Kind: kind, Stream: stream, Key: key, ExpiresBefore: expires,
									After: p.after, Newest: p.newest, Limit: p.limit,
								}
								var want []revue.Lot
								for _, l := range all {
									if either(status, l.Status) && either(kind, l.Kind) && either(stream, l.Stream) && either(key, l.Key) &&
										(expires.IsZero() || !l.ExpiresAt.IsZero() && !l.ExpiresAt.After(expires)) {
										want = append(want, l)
									}
								}
								want = apply(p, want, func(l revue.Lot) revue.Seq { return l.Seq })
								got, err := tx.FindLots(q)
								if err != nil {
									return fmt.Errorf("FindLots(%+v): %w", q, err)
								}
								if err := same("FindLots", q, want, got, func(l revue.Lot) string { return l.ID }); err != nil {
									return err
								}
							}
						}
					}
				}
			}
		}
		return nil
	})
}

func findAsks(e *env) error {
	s := e.open()
	var all []revue.AskRecord
	for i := range 64 {
		bit := func(n int, values ...string) string { return values[i>>n&1] }
		all = append(all, revue.AskRecord{
			ID: "ask" + strconv.Itoa(i), Seq: revue.Seq(i*2 + 1),
			LotID: bit(0, "l1", "l2"), Key: bit(1, "k1", "k2"), Thread: bit(2, "t1", "t2"),
			Credential: bit(3, "c1", "c2"), DecisionID: bit(4, "", "d2"),
			ReturnedAt: []time.Time{{}, noon}[i>>5],
		})
	}
	err := e.update(s, "ws", func(tx revue.Tx) error {
		for _, i := range shuffled(len(all)) {
			if err := tx.PutAsk(all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		for mask := range 1 << 6 {
			pick := func(n int, v string) string {
				if mask>>n&1 == 0 {
					return ""
				}
				return v
			}
			for _, p := range pagings() {
				q := revue.AskQuery{
					Lot: pick(0, "l1"), Key: pick(1, "k2"), Thread: pick(2, "t1"), Credential: pick(3, "c2"), Decision: pick(4, "d2"),
					Uncollected: mask>>5 == 1, After: p.after, Newest: p.newest, Limit: p.limit,
				}
				var want []revue.AskRecord
				for _, a := range all {
					if either(q.Lot, a.LotID) && either(q.Key, a.Key) && either(q.Thread, a.Thread) &&
						either(q.Credential, a.Credential) && either(q.Decision, a.DecisionID) &&
						(!q.Uncollected || a.DecisionID != "" && a.ReturnedAt.IsZero()) {
						want = append(want, a)
					}
				}
				want = apply(p, want, func(a revue.AskRecord) revue.Seq { return a.Seq })
				got, err := tx.FindAsks(q)
				if err != nil {
					return fmt.Errorf("FindAsks(%+v): %w", q, err)
				}
				if err := same("FindAsks", q, want, got, func(a revue.AskRecord) string { return a.ID }); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func findDecisions(e *env) error {
	s := e.open()
	var all []revue.Decision
	for i := range 40 {
		all = append(all, revue.Decision{ID: "dec" + strconv.Itoa(i), Seq: revue.Seq(i*3 + 1), Key: []string{"k1", "k2"}[i%2]})
	}
	err := e.update(s, "ws", func(tx revue.Tx) error {
		for _, i := range shuffled(len(all)) {
			if err := tx.PutDecision(all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		for _, ids := range [][]string{nil, {"dec7"}, {"dec30", "dec2", "dec3", "dec2", "missing", "DEC4", ""}, {"missing"}} {
			for _, key := range []string{"", "k1", "none"} {
				for _, p := range pagings() {
					q := revue.DecisionQuery{IDs: ids, Key: key, After: p.after, Newest: p.newest, Limit: p.limit}
					var want []revue.Decision
					for _, d := range all {
						if (ids == nil || slices.Contains(ids, d.ID)) && either(key, d.Key) {
							want = append(want, d)
						}
					}
					want = apply(p, want, func(d revue.Decision) revue.Seq { return d.Seq })
					got, err := tx.FindDecisions(q)
					if err != nil {
						return fmt.Errorf("FindDecisions(%+v): %w", q, err)
					}
					if err := same("FindDecisions", q, want, got, func(d revue.Decision) string { return d.ID }); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

func findManyIDs(e *env) error {
	s := e.open()
	const n = 2500
	var ids []string
	err := e.update(s, "ws", func(tx revue.Tx) error {
		for i := range n {
			id := fmt.Sprintf(`%d "'\,%%_[]{}é`, i)
			ids = append(ids, id)
			if err := tx.PutDecision(revue.Decision{ID: id, Seq: revue.Seq(i + 1)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		got, err := tx.FindDecisions(revue.DecisionQuery{IDs: ids[:n-1]})
		if err != nil {
			return fmt.Errorf("FindDecisions with %d ids: %w", n-1, err)
		}
		if len(got) != n-1 {
			return fmt.Errorf("FindDecisions with %d ids found %d", n-1, len(got))
		}
		return nil
	})
}

func findContexts(e *env) error {
	s := e.open()
	var all []revue.ContextItem
	for i := range 48 {
		all = append(all, revue.ContextItem{
			ID: "ctx" + strconv.Itoa(i), Seq: revue.Seq(i*2 + 1),
			Credential: []string{"c1", "c2"}[i%2],
			Removed:    i/2%3 == 0,
			ExpiresAt:  noon.Add(time.Duration(i/6%3) * time.Microsecond),
		})
	}
	err := e.update(s, "ws", func(tx revue.Tx) error {
		for _, i := range shuffled(len(all)) {
			if err := tx.PutContext(all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		for _, live := range []time.Time{{}, noon.Add(-1), noon, noon.Add(time.Microsecond), noon.Add(time.Hour)} {
			for _, credential := range []string{"", "c1", "none"} {
				for _, p := range pagings() {
					q := revue.ContextQuery{Live: live, Credential: credential, After: p.after, Newest: p.newest, Limit: p.limit}
					var want []revue.ContextItem
					for _, c := range all {
						if either(credential, c.Credential) && (live.IsZero() || !c.Removed && c.ExpiresAt.After(live)) {
							want = append(want, c)
						}
					}
					want = apply(p, want, func(c revue.ContextItem) revue.Seq { return c.Seq })
					got, err := tx.FindContexts(q)
					if err != nil {
						return fmt.Errorf("FindContexts(%+v): %w", q, err)
					}
					if err := same("FindContexts", q, want, got, func(c revue.ContextItem) string { return c.ID }); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// found changes one field after the other of what it has read in the same transaction: a store may then
// write less than all.
func found(e *env) error {
	s := e.open()
	lot := revue.Lot{ID: "x", Seq: 5, Status: revue.StatusOpen, Kind: revue.KindDecision, Stream: "s", Key: "k", ExpiresAt: noon}
	ask := revue.AskRecord{ID: "x", Seq: 5, LotID: "l", Key: "k", Thread: "t", Credential: "c"}
	dec := revue.Decision{ID: "x", Seq: 5, Key: "k"}
	steps := []func(){
		func() {}, // as it is
		func() { lot.Question, ask.Question, dec.Question = "?", "?", "?" },
		func() { lot.ExpiresAt, ask.DecisionID, dec.Key = noon.Add(time.Hour), "d", "k2" },
		func() { lot.Status, ask.ReturnedAt, dec.Answer = revue.StatusAnswered, noon, "!" },
		func() { lot.Status, ask.ReturnedAt = revue.StatusOpen, time.Time{} },
		func() { lot.ExpiresAt, ask.DecisionID = time.Time{}, "" },
		func() { lot.Kind, ask.Thread = revue.KindApproval, "t2" },
		func() { lot.Stream, ask.Credential = "s2", "c2" },
		func() { lot.Key, ask.Key = "k2", "k2" },
		func() { lot.ExpiresAt, ask.DecisionID, ask.LotID = noon, "d2", "l2" },
		func() { lot.Seq, ask.Seq, dec.Seq = 7, 7, 7 },
	}
	check := func(tx revue.Tx, step int) error {
		count := func(what string, got, want bool, err error) error {
			if err != nil || got != want {
				return fmt.Errorf("after change %d of what was read, found by %s: %v, want %v: %w", step, what, got, want, errOr(err))
			}
			return nil
		}
		for _, q := range []revue.LotQuery{
			{Status: revue.StatusOpen},
			{Status: revue.StatusAnswered},
			{Kind: revue.KindDecision},
			{Stream: "s"},
			{Key: "k"},
			{Key: "k2"},
			{ExpiresBefore: noon},
			{Status: revue.StatusOpen, ExpiresBefore: noon},
			{Status: revue.StatusOpen, ExpiresBefore: noon.Add(time.Hour)},
			{After: 6},
		} {
			found, err := tx.FindLots(q)
			want := either(q.Status, lot.Status) && either(q.Kind, lot.Kind) && either(q.Stream, lot.Stream) && either(q.Key, lot.Key) &&
				(q.ExpiresBefore.IsZero() || !lot.ExpiresAt.IsZero() && !lot.ExpiresAt.After(q.ExpiresBefore)) && lot.Seq > q.After
			if err := count(fmt.Sprintf("%+v", q), len(found) == 1 && found[0].Question == lot.Question && found[0].Status == lot.Status, want, err); err != nil {
				return err
			}
		}
		for _, q := range []revue.AskQuery{
			{Lot: "l"},
			{Lot: "l2"},
			{Key: "k"},
			{Key: "k2"},
			{Thread: "t"},
			{Credential: "c"},
			{Decision: "d"},
			{Decision: "d2"},
			{Uncollected: true},
			{Key: "k", Uncollected: true},
			{Key: "k2", Uncollected: true},
			{Key: "k", After: 6},
			{After: 6},
		} {
			found, err := tx.FindAsks(q)
			want := either(q.Lot, ask.LotID) && either(q.Key, ask.Key) && either(q.Thread, ask.Thread) && either(q.Credential, ask.Credential) &&
				either(q.Decision, ask.DecisionID) && (!q.Uncollected || ask.DecisionID != "" && ask.ReturnedAt.IsZero()) && ask.Seq > q.After
			if err := count(fmt.Sprintf("%+v", q), len(found) == 1 && found[0].Question == ask.Question, want, err); err != nil {
				return err
			}
		}
		for _, q := range []revue.DecisionQuery{{Key: "k"}, {Key: "k2"}, {IDs: []string{"x"}}, {After: 6}} {
			found, err := tx.FindDecisions(q)
			want := either(q.Key, dec.Key) && dec.Seq > q.After
			if err := count(fmt.Sprintf("%+v", q), len(found) == 1 && found[0].Answer == dec.Answer, want, err); err != nil {
				return err
			}
		}
		return nil
	}
	put := func(tx revue.Tx) error { return errors.Join(tx.PutLot(lot), tx.PutAsk(ask), tx.PutDecision(dec)) }
	if err := e.update(s, "ws", put); err != nil {
		return err
	}
	for i, change := range steps {
		change()
		err := e.update(s, "ws", func(tx revue.Tx) error {
			_, err1 := tx.Lot("x")
			_, err2 := tx.Ask("x")
			_, err3 := tx.Decision("x")
			if err := errors.Join(err1, err2, err3, put(tx)); err != nil {
				return err
			}
			return check(tx, i) // in the same transaction
		})
		if err == nil {
			err = e.view(s, "ws", func(tx revue.Tx) error { return check(tx, i) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pages(e *env) error {
	s := e.open()
	err := e.update(s, "ws", func(tx revue.Tx) error {
		for i := range 25 {
			if err := tx.PutLot(revue.Lot{ID: strconv.Itoa(100 - i), Seq: revue.Seq(i + 1), Status: revue.StatusOpen}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, newest := range []bool{false, true} {
		var seen []revue.Seq
		var after revue.Seq
		for range 25 {
			var page []revue.Lot
			err := e.view(s, "ws", func(tx revue.Tx) error {
				var err error
				page, err = tx.FindLots(revue.LotQuery{Status: revue.StatusOpen, After: after, Newest: newest, Limit: 4})
				return err
			})
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, l := range page {
				seen = append(seen, l.Seq)
			}
			after = page[len(page)-1].Seq
		}
		if newest {
			slices.Reverse(seen)
		}
		if len(seen) != 25 || !slices.IsSorted(seen) || seen[0] != 1 || seen[24] != 25 {
			return fmt.Errorf("pages of 4 (newest first: %v) of lots 1 to 25 gave %v", newest, seen)
		}
	}
	return nil
}

func literal(e *env) error {
	s := e.open()
	texts := []string{"a", "A", "á", "a%", "a_", "ab", "a ", " a", "'", `"`, `\`, "null", "0", "*", "a*", "?"}
	err := e.update(s, "ws", func(tx revue.Tx) error {
		for i, text := range texts {
			id, seq := strconv.Itoa(i), revue.Seq(i+1)
			err := first(
				func() error { return tx.PutLot(revue.Lot{ID: id, Seq: seq, Key: text, Stream: text}) },
				func() error { return tx.PutAsk(revue.AskRecord{ID: id, Seq: seq, Key: text, Thread: text}) },
				func() error { return tx.PutDecision(revue.Decision{ID: id, Seq: seq, Key: text}) },
				func() error { return tx.PutContext(revue.ContextItem{ID: id, Seq: seq, Credential: text}) },
			)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		for i, text := range texts {
			l1, err1 := tx.FindLots(revue.LotQuery{Key: text})
			l2, err2 := tx.FindLots(revue.LotQuery{Stream: text})
			a1, err3 := tx.FindAsks(revue.AskQuery{Key: text})
			a2, err4 := tx.FindAsks(revue.AskQuery{Thread: text})
			d, err5 := tx.FindDecisions(revue.DecisionQuery{Key: text})
			c, err6 := tx.FindContexts(revue.ContextQuery{Credential: text})
			if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
				return fmt.Errorf("find %q: %w", text, err)
			}
			if len(l1) != 1 || len(l2) != 1 || len(a1) != 1 || len(a2) != 1 || len(d) != 1 || len(c) != 1 || l1[0].ID != strconv.Itoa(i) {
				return fmt.Errorf("a query of the text %q found %d and %d lots, %d and %d asks, %d decisions, %d context items; want one of each",
					text, len(l1), len(l2), len(a1), len(a2), len(d), len(c))
			}
		}
		return nil
	})
}
