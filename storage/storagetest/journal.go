package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

func journal() []clause {
	return []clause{
		{
			name: "the journal is numbered without gaps", check: gaps,
			rule: "Append adds an event whose Seq is that of the head plus one; any other is an error",
		},
		{
			name: "the head is the last event", check: head,
			rule: "Head returns the last event, the zero Event when there is none",
		},
		{
			name: "events are read in order and in pages", check: eventPages,
			rule: "Events returns at most limit events after the given number, in order",
		},
	}
}

func gaps(e *env) error {
	s := e.open()
	for n := revue.Seq(0); n < 3; n++ {
		for _, wrong := range []revue.Seq{n + 2, n + 3, n, n - 1, 0, -1} {
			var got error
			err := e.update(s, "ws", func(tx revue.Tx) error {
				got = tx.Append(revue.Event{Seq: wrong, At: tx.Now()})
				return got
			})
			if got == nil || err == nil {
				return fmt.Errorf("the head is number %d; Append of number %d returned %#v and Update %#v", n, wrong, got, err)
			}
		}
		if err := e.update(s, "ws", func(tx revue.Tx) error { return tx.Append(revue.Event{Seq: n + 1, At: tx.Now()}) }); err != nil {
			return fmt.Errorf("the head is number %d; Append of number %d: %w", n, n+1, err)
		}
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		all, err := tx.Events(0, 100)
		if err == nil && len(all) != 3 {
			err = fmt.Errorf("3 events were appended, the journal has %d", len(all))
		}
		return err
	})
}

func head(e *env) error {
	s := e.open()
	empty := func(tx revue.Tx) error {
		h, err := tx.Head()
		if err != nil {
			return fmt.Errorf("Head of an empty journal: %w", err)
		}
		if h.Seq != 0 || h.Hash != "" || !h.At.IsZero() || h.Kind != "" {
			return fmt.Errorf("Head of an empty journal is %+v", h)
		}
		return nil
	}
	if err := e.view(s, "ws", empty); err != nil {
		return err
	}
	return e.update(s, "ws", func(tx revue.Tx) error {
		for n := revue.Seq(1); n <= 12; n++ {
			if err := tx.Append(revue.Event{Seq: n, At: tx.Now(), Ref: strconv.Itoa(int(n))}); err != nil {
				return err
			}
			h, err := tx.Head()
			if err != nil {
				return err
			}
			if h.Seq != n || h.Ref != strconv.Itoa(int(n)) {
				return fmt.Errorf("after event %d was appended Head is event %d (%s)", n, h.Seq, h.Ref)
			}
		}
		return nil
	})
}

func eventPages(e *env) error {
	s := e.open()
	const n = 30
	for i := 0; i < n; i += 3 {
		err := e.update(s, "ws", func(tx revue.Tx) error {
			for j := range 3 {
				if err := tx.Append(revue.Event{Seq: revue.Seq(i + j + 1), At: tx.Now()}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		for _, after := range []revue.Seq{0, 1, 9, 10, n - 1, n, n + 1, 1 << 40} {
			for _, limit := range []int{1, 2, 7, n, n + 1, 1 << 30} {
				got, err := tx.Events(after, limit)
				if err != nil {
					return fmt.Errorf("Events(%d, %d): %w", after, limit, err)
				}
				want := min(limit, int(max(0, n-after)))
				if len(got) != want {
					return fmt.Errorf("Events(%d, %d) of %d returned %d events, want %d", after, limit, n, len(got), want)
				}
				for i, ev := range got {
					if ev.Seq != after+revue.Seq(i)+1 {
						return fmt.Errorf("Events(%d, %d) returned number %d at place %d", after, limit, ev.Seq, i)
					}
				}
			}
		}
		return nil
	})
}

func records() []clause {
	return []clause{
		{
			name: "records come back byte for byte", check: recordValues,
			rule: "Records keeps bytes by kind and key; a key is up to 256 bytes, a value up to 1 MiB",
		},
		{
			name: "records are listed by kind in byte order", check: recordOrder,
			rule: "ListRecords returns the records of a kind in byte order of their keys",
		},
		{
			name: "records are deleted", check: recordDelete,
			rule: "DeleteRecord of what is not there: nil",
		},
	}
}

func recordValues(e *env) error {
	s := e.open()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	values := map[string][]byte{
		"nil": nil, "empty": {}, "zero": {0}, "all bytes": all, "text": []byte("null"),
		"json": []byte(`{"a":[1,2,"\u0000"]}`), "1 MiB": []byte(strings.Repeat("\xff\x00ü", 1<<18)),
		strings.Repeat("k", 256): []byte("long key"),
		strings.Repeat("é", 128): []byte("long key in bytes"),
	}
	for _, text := range hostile() {
		if len(text) <= 256 {
			values[text] = []byte(text)
		}
	}
	for range 2 { // put, then replace
		err := e.update(s, "ws", func(tx revue.Tx) error {
			for k, v := range values {
				if err := tx.PutRecord("kind", k, v); err != nil {
					return fmt.Errorf("PutRecord(%.40q): %w", k, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		for k, v := range values {
			got, err := tx.Record("kind", k)
			if err != nil {
				return fmt.Errorf("Record(%.40q): %w", k, err)
			}
			if string(got) != string(v) {
				return fmt.Errorf("Record(%.40q) is %.60q, want %.60q", k, got, v)
			}
		}
		recs, err := tx.ListRecords("kind")
		if err != nil {
			return err
		}
		if len(recs) != len(values) {
			return fmt.Errorf("%d records were put, twice each; ListRecords returns %d", len(values), len(recs))
		}
		for _, r := range recs {
			if string(r.Value) != string(values[r.Key]) {
				return fmt.Errorf("ListRecords has %.60q for %.40q, want %.60q", r.Value, r.Key, values[r.Key])
			}
		}
		return nil
	})
}

func recordOrder(e *env) error {
	s := e.open()
	keys := []string{"b", "a", "B", "_", "é", "e\u0301", "z", "Z", "10", "9", "\uff5e", "\U0001f600", "a/b", "a b", "ab", "", "~"}
	others := map[string]string{"kin": "dx", "kind ": "x", "Kind": "x", "kind/a": "b", "": "kind"}
	err := e.update(s, "ws", func(tx revue.Tx) error {
		for kind, k := range others {
			if err := tx.PutRecord(kind, k, []byte("other")); err != nil {
				return err
			}
		}
		for _, k := range keys {
			if err := tx.PutRecord("kind", k, []byte(k)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(keys)
	return e.view(s, "ws", func(tx revue.Tx) error {
		recs, err := tx.ListRecords("kind")
		if err != nil {
			return err
		}
		var got []string
		for _, r := range recs {
			got = append(got, r.Key)
			if string(r.Value) != r.Key {
				return fmt.Errorf("ListRecords has value %q for key %q", r.Value, r.Key)
			}
		}
		if !slices.Equal(got, keys) {
			return fmt.Errorf("ListRecords returns the keys %q, want %q", got, keys)
		}
		if recs, err = tx.ListRecords("none"); err != nil || len(recs) != 0 {
			return fmt.Errorf("ListRecords of a kind that nobody used returns %d records and error %v", len(recs), err)
		}
		return nil
	})
}

func recordDelete(e *env) error {
	s := e.open()
	err := e.update(s, "ws", func(tx revue.Tx) error {
		return first(
			func() error { return tx.PutRecord("a", "k", []byte("v")) },
			func() error { return tx.PutRecord("b", "k", []byte("v")) },
			func() error { return tx.PutRecord("a", "k2", []byte("v")) },
		)
	})
	if err != nil {
		return err
	}
	for range 2 {
		if err := e.update(s, "ws", func(tx revue.Tx) error { return tx.DeleteRecord("a", "k") }); err != nil {
			return fmt.Errorf("DeleteRecord: %w", err)
		}
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		_, gone := tx.Record("a", "k")
		_, err1 := tx.Record("b", "k")
		_, err2 := tx.Record("a", "k2")
		if !errors.Is(gone, revue.ErrNotFound) || err1 != nil || err2 != nil {
			return fmt.Errorf("after one of three records was deleted, reading it gives %w, the others %v and %v", errOr(gone), err1, err2)
		}
		return nil
	})
}

func clock() []clause {
	return []clause{
		{
			name: "now is in UTC, in whole microseconds and the same at each call", check: now,
			rule: "Now is the time of this transaction in UTC, truncated to microseconds, the same at each call",
		},
		{
			name: "now never runs backwards", check: nowMonotonic,
			rule: "Now never runs backwards between committed Updates of a workspace",
		},
		{
			name: "now does not follow a clock that is set back", needs: "OpenAt", check: nowSetBack,
			rule: "Now never runs backwards between committed Updates of a workspace",
		},
	}
}

func now(e *env) error {
	s := e.open()
	check := func(tx revue.Tx) error {
		t := tx.Now()
		switch {
		case t.IsZero():
			return errors.New("Now is the zero time")
		case t.Location() != time.UTC:
			return fmt.Errorf("Now is in %v", t.Location())
		case t.Nanosecond()%1000 != 0:
			return fmt.Errorf("Now has nanoseconds: %v", t)
		}
		if err := tx.PutRecord("test", "k", nil); err != nil && errors.Is(err, revue.ErrUnavailable) {
			return err
		}
		for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
			if !tx.Now().Equal(t) {
				return fmt.Errorf("Now was %v, then %v in the same transaction", t, tx.Now())
			}
		}
		return nil
	}
	for range 20 {
		if err := first(
			func() error { return e.update(s, "ws", check) },
			func() error { return e.view(s, "ws", check) },
		); err != nil {
			return err
		}
	}
	return nil
}

func nowMonotonic(e *env) error {
	stores := []revue.Store{e.open()}
	if e.suite.Place != nil {
		open := e.place()
		stores = []revue.Store{open(), open()}
	}
	var last time.Time
	for i := range 60 {
		s := stores[i%len(stores)]
		check := func(tx revue.Tx) error {
			if tx.Now().Before(last) {
				return fmt.Errorf("Now is %v, after an Update committed at %v", tx.Now(), last)
			}
			return nil
		}
		var at time.Time
		err := first(
			func() error {
				return e.update(s, "ws", func(tx revue.Tx) error {
					at = tx.Now()
					if err := check(tx); err != nil {
						return err
					}
					return tx.PutRecord("test", "k", []byte(strconv.Itoa(i)))
				})
			},
			func() error { last = at; return e.view(s, "ws", check) },
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func nowSetBack(e *env) error {
	clock := time.Date(2030, 1, 2, 3, 4, 5, 6_789, time.FixedZone("east", 3600))
	s := e.own(e.suite.OpenAt(e.t, func() time.Time { return clock }))
	stamp := func() (time.Time, error) {
		var t time.Time
		err := e.update(s, "ws", func(tx revue.Tx) error {
			t = tx.Now()
			return tx.PutRecord("test", "k", []byte(t.String()))
		})
		return t, err
	}
	one, err := stamp()
	if err != nil {
		return err
	}
	if want := clock.UTC().Truncate(time.Microsecond); !one.Equal(want) {
		return fmt.Errorf("the clock says %v, Now is %v", want, one)
	}
	clock = clock.Add(-time.Hour)
	two, err := stamp()
	if err != nil {
		return err
	}
	if two.Before(one) {
		return fmt.Errorf("an Update committed at %v, the clock was set back, and the next ran at %v", one, two)
	}
	err = e.view(s, "ws", func(tx revue.Tx) error {
		if tx.Now().Before(one) {
			return fmt.Errorf("an Update committed at %v, the clock was set back, and a View ran at %v", one, tx.Now())
		}
		return nil
	})
	if err != nil {
		return err
	}
	clock = clock.Add(2 * time.Hour)
	three, err := stamp()
	if err == nil && !three.Equal(clock.UTC().Truncate(time.Microsecond)) {
		err = fmt.Errorf("the clock went on to %v, Now is %v", clock, three)
	}
	return err
}
