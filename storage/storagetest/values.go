package storagetest

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

func values() []clause {
	rule := "everything put comes back equal: text byte for byte, times to the microsecond in UTC, nil and empty lists alike"
	return []clause{
		{name: "a lot comes back equal", rule: rule, check: lots.roundTrip},
		{name: "an ask comes back equal", rule: rule, check: asks.roundTrip},
		{name: "a decision comes back equal", rule: rule, check: decisions.roundTrip},
		{name: "a context item comes back equal", rule: rule, check: contexts.roundTrip},
		{name: "an event comes back equal", rule: rule, check: events.roundTrip},
		{
			name:  "the asks of a lot are not stored with it",
			rule:  "the Asks field is not stored: asks are kept by Asks",
			check: lotWithoutAsks,
		},
		{
			name:  "put replaces by id",
			rule:  "Put inserts or replaces by id",
			check: replaces,
		},
		{
			name:  "what is not there is not found",
			rule:  "Get-like methods return ErrNotFound for what is not there",
			check: notFound,
		},
		{
			name:  "what was put belongs to the store",
			rule:  "what a caller does later to what it put, or to what it read, changes nothing in the store",
			check: aliasing,
		},
	}
}

// kept is one of the types that a store keeps, with the methods for it.
type kept[T any] struct {
	what string
	id   func(*T) *string
	seq  func(*T) *revue.Seq
	put  func(revue.Tx, T) error
	get  func(revue.Tx, string) (T, error)
	find func(revue.Tx) ([]T, error)
}

var lots = kept[revue.Lot]{
	"lot", func(v *revue.Lot) *string { return &v.ID }, func(v *revue.Lot) *revue.Seq { return &v.Seq },
	func(tx revue.Tx, v revue.Lot) error { return tx.PutLot(v) },
	func(tx revue.Tx, id string) (revue.Lot, error) { return tx.Lot(id) },
	func(tx revue.Tx) ([]revue.Lot, error) { return tx.FindLots(revue.LotQuery{}) },
}

var asks = kept[revue.AskRecord]{
	"ask", func(v *revue.AskRecord) *string { return &v.ID }, func(v *revue.AskRecord) *revue.Seq { return &v.Seq },
	func(tx revue.Tx, v revue.AskRecord) error { return tx.PutAsk(v) },
	func(tx revue.Tx, id string) (revue.AskRecord, error) { return tx.Ask(id) },
	func(tx revue.Tx) ([]revue.AskRecord, error) { return tx.FindAsks(revue.AskQuery{}) },
}

var decisions = kept[revue.Decision]{
	"decision", func(v *revue.Decision) *string { return &v.ID }, func(v *revue.Decision) *revue.Seq { return &v.Seq },
	func(tx revue.Tx, v revue.Decision) error { return tx.PutDecision(v) },
	func(tx revue.Tx, id string) (revue.Decision, error) { return tx.Decision(id) },
	func(tx revue.Tx) ([]revue.Decision, error) { return tx.FindDecisions(revue.DecisionQuery{}) },
}

var contexts = kept[revue.ContextItem]{
	"context item", func(v *revue.ContextItem) *string { return &v.ID }, func(v *revue.ContextItem) *revue.Seq { return &v.Seq },
	func(tx revue.Tx, v revue.ContextItem) error { return tx.PutContext(v) },
	func(tx revue.Tx, id string) (revue.ContextItem, error) { return tx.Context(id) },
	func(tx revue.Tx) ([]revue.ContextItem, error) { return tx.FindContexts(revue.ContextQuery{}) },
}

// Events have no id and are numbered by the journal: the "id" is a field without that meaning.
var events = kept[revue.Event]{
	"event", func(v *revue.Event) *string { return &v.Ref }, func(v *revue.Event) *revue.Seq { return &v.Seq },
	func(tx revue.Tx, v revue.Event) error { return tx.Append(v) },
	func(tx revue.Tx, id string) (revue.Event, error) {
		all, err := tx.Events(0, 1000)
		for _, e := range all {
			if e.Ref == id {
				return e, err
			}
		}
		return revue.Event{}, errors.Join(err, revue.ErrNotFound)
	},
	func(tx revue.Tx) ([]revue.Event, error) { return tx.Events(0, 1000) },
}

// hostile is text that has broken somebody's storage, each in another way. NUL and invalid UTF-8 are
// not among it: revue takes none in.
func hostile() []string {
	return []string{
		"plain",
		" leading, trailing and double  spaces \t\n",
		"line\nline\r\nline\rline\u2028line\u2029line\u0085",
		`back\slash "quote" 'single' ` + "`tick` </script><!-- & &amp; %s %00 $1 ? :a @b {{.}} ${x}",
		`\u0041\ufffd\\ufffd {"a":null}` + "\x01\x1b[31m\x7f",
		"“typographic” ‘quotes’ — … №",
		"漢字かな交じり 한국어 ไทย हिन्दी",
		"שלום ‏עולם ‮reversed‬ مرحبا",
		"👩‍👩‍👧‍👦🏴‍☠️ e\u0301 é a\u030a\u0323 \u200b\u00a0\ufeff",
		"replacement \ufffd, private \ue000, noncharacter \uffff, astral \U0010ffff",
		"null", "NULL", "true", "0123", "1e400", "0x1F", "2026-01-02T03:04:05Z", "[]",
		strings.Repeat("64 KiB of ü. ", revue.MaxContext/14),
	}
}

// roundTrip puts values whose every field is set, in several ways, and reads them back.
func (k kept[T]) roundTrip(e *env) error {
	s := e.open()
	var want []T
	add := func(v T) {
		*k.id(&v) = fmt.Sprintf("%d %s", len(want), *k.id(&v))
		*k.seq(&v) = revue.Seq(len(want) + 1)
		want = append(want, v)
	}
	for _, text := range hostile() {
		add(filled[T](filler{text: text, lists: 2}))
	}
	add(filled[T](filler{text: "t", lists: 0, empty: true}))
	add(filled[T](filler{text: "t", lists: 33}))
	for _, t := range []time.Time{
		time.Unix(0, 0), time.Unix(-1, 999_999_999), time.Unix(1_800_000_000, 123_456_789),
		time.Date(1, 1, 1, 0, 0, 1, 1000, time.UTC), time.Date(9999, 12, 31, 12, 0, 0, 1999, time.UTC),
		time.Date(2026, 3, 29, 2, 30, 0, 5, time.FixedZone("east", 5*3600+1800)),
		time.Now(), // with a monotonic reading
	} {
		add(filled[T](filler{text: "t", lists: 1, time: t}))
	}
	var zero T
	add(zero)

	err := e.update(s, "ws", func(tx revue.Tx) error {
		for _, v := range want {
			if err := k.put(tx, v); err != nil {
				return fmt.Errorf("put %s %.40q: %w", k.what, *k.id(&v), err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		found, err := k.find(tx)
		if err != nil {
			return fmt.Errorf("find %ss: %w", k.what, err)
		}
		if len(found) != len(want) {
			return fmt.Errorf("%d %ss were put, %d are found", len(want), k.what, len(found))
		}
		for i, v := range want {
			id := *k.id(&v)
			got, err := k.get(tx, id)
			if err != nil {
				return fmt.Errorf("get %s %.40q: %w", k.what, id, err)
			}
			if d := differs(reflect.ValueOf(v), reflect.ValueOf(got)); d != "" {
				return fmt.Errorf("a %s came back with another %s%s", k.what, reflect.TypeFor[T]().Name(), d)
			}
			if d := differs(reflect.ValueOf(v), reflect.ValueOf(found[i])); d != "" {
				return fmt.Errorf("a %s was found with another %s%s", k.what, reflect.TypeFor[T]().Name(), d)
			}
		}
		return nil
	})
}

// filler says what to fill a value with.
type filler struct {
	text  string
	lists int       // the length of lists
	empty bool      // lists are empty rather than nil
	time  time.Time // default: another one for each field
}

// filled returns a T in which every field that a store keeps is set, each to another value. New fields
// are covered the day they are added.
func filled[T any](f filler) T {
	var v T
	n := 0
	f.fill(reflect.ValueOf(&v).Elem(), &n)
	return v
}

// stored reports whether a field is kept: one that JSON leaves out is input, not state, and the asks of
// a lot are kept apart.
func storedField(t reflect.Type, i int) bool {
	f := t.Field(i)
	return f.IsExported() && f.Tag.Get("json") != "-" && (t != reflect.TypeFor[revue.Lot]() || f.Name != "Asks")
}

// words are values of the types that are enumerations: a store may know them.
var words = map[reflect.Type]string{
	reflect.TypeFor[revue.Kind]():      string(revue.KindApproval),
	reflect.TypeFor[revue.Status]():    string(revue.StatusDismissed),
	reflect.TypeFor[revue.Remember]():  string(revue.RememberRule),
	reflect.TypeFor[revue.Verb]():      string(revue.VerbTooBroad),
	reflect.TypeFor[revue.Verdict]():   string(revue.VerdictLikely),
	reflect.TypeFor[revue.Guidance]():  string(revue.Confirm),
	reflect.TypeFor[revue.Freshness](): string(revue.Aging),
	reflect.TypeFor[revue.EventKind](): string(revue.EventAskJoined),
}

func (f filler) fill(v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		t := f.time
		if t.IsZero() {
			t = time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.FixedZone("west", -7*3600)).Add(time.Duration(*n) * 1_234_567)
		}
		v.Set(reflect.ValueOf(t))
		return
	}
	switch v.Kind() {
	case reflect.String:
		switch word, known := words[v.Type()]; {
		case known:
			v.SetString(word)
		case v.Type() != reflect.TypeFor[string]():
			v.SetString("word")
		default:
			v.SetString(f.text + strconv.Itoa(*n))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1<<60 + 1 + int64(*n%200)) // no float64 holds it
	case reflect.Int8, reflect.Int16, reflect.Int32:
		v.SetInt(int64(*n % 100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n % 200)) //nolint:gosec // small
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1 / float64(*n+2))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if storedField(v.Type(), i) {
				f.fill(v.Field(i), n)
			}
		}
	case reflect.Slice:
		if f.lists == 0 && !f.empty {
			return
		}
		inner := f
		if len(inner.text) > 100 {
			inner.lists = 1 // large text need not be there hundreds of times
		}
		v.Set(reflect.MakeSlice(v.Type(), f.lists, f.lists))
		for i := range v.Len() {
			inner.fill(v.Index(i), n)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, n)
		f.fill(elem, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	default:
		panic(fmt.Sprintf("storagetest: cannot fill a %v", v.Type()))
	}
}

// differs says where two values are not the same by the rules of the contract, "" for nowhere.
func differs(want, got reflect.Value) string {
	not := func(w, g any) string { return fmt.Sprintf(": put %.80q, got %.80q", fmt.Sprint(w), fmt.Sprint(g)) }
	if want.Type() == reflect.TypeFor[time.Time]() {
		w, g := want.Interface().(time.Time), got.Interface().(time.Time)
		if w.IsZero() != g.IsZero() {
			return not(w, g)
		}
		if cut := w.UTC().Truncate(time.Microsecond); !g.Equal(cut) {
			return not(cut.Format(time.RFC3339Nano), g.Format(time.RFC3339Nano))
		}
		if g.Location() != time.UTC {
			return fmt.Sprintf(": the time is in %v, not in UTC", g.Location())
		}
		return ""
	}
	switch want.Kind() {
	case reflect.Struct:
		for i := range want.NumField() {
			if storedField(want.Type(), i) {
				if d := differs(want.Field(i), got.Field(i)); d != "" {
					return "." + want.Type().Field(i).Name + d
				}
			}
		}
	case reflect.Pointer:
		if want.IsNil() != got.IsNil() {
			return not(want, got)
		}
		if !want.IsNil() {
			return differs(want.Elem(), got.Elem())
		}
	case reflect.Slice:
		if want.Len() != got.Len() {
			return fmt.Sprintf(": put %d elements, got %d", want.Len(), got.Len())
		}
		for i := range want.Len() {
			if d := differs(want.Index(i), got.Index(i)); d != "" {
				return fmt.Sprintf("[%d]%s", i, d)
			}
		}
	case reflect.Map:
		if want.Len() != got.Len() {
			return fmt.Sprintf(": put %d entries, got %d", want.Len(), got.Len())
		}
		for it := want.MapRange(); it.Next(); {
			g := got.MapIndex(it.Key())
			if !g.IsValid() {
				return fmt.Sprintf("[%v]: missing", it.Key())
			}
			if d := differs(it.Value(), g); d != "" {
				return fmt.Sprintf("[%v]%s", it.Key(), d)
			}
		}
	default:
		if w, g := want.Interface(), got.Interface(); w != g {
			return not(w, g)
		}
	}
	return ""
}

func lotWithoutAsks(e *env) error {
	s := e.open()
	err := e.update(s, "ws", func(tx revue.Tx) error {
		return tx.PutLot(revue.Lot{ID: "x", Seq: 1, AskCount: 1, Asks: []revue.AskRecord{{ID: "a", Seq: 1, LotID: "x"}}})
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		lot, err := tx.Lot("x")
		if err != nil {
			return err
		}
		found, err := tx.FindLots(revue.LotQuery{})
		if err != nil {
			return err
		}
		if len(lot.Asks) != 0 || len(at(found, 0).Asks) != 0 {
			return errors.New("a lot came back with the Asks it was put with")
		}
		if _, err := tx.Ask("a"); !errors.Is(err, revue.ErrNotFound) {
			return fmt.Errorf("PutLot stored an ask of its Asks: %w", errOr(err))
		}
		return nil
	})
}

func replaces(e *env) error {
	s := e.open()
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for round, status := range []revue.Status{revue.StatusOpen, revue.StatusAnswered} {
		tag := strconv.Itoa(round)
		err := e.update(s, "ws", func(tx revue.Tx) error {
			expires := now.Add(time.Duration(round) * time.Hour)
			return first(
				func() error {
					return tx.PutLot(revue.Lot{ID: "x", Seq: 5, Status: status, Kind: revue.Kind("kind" + tag), Stream: tag, Key: tag, ExpiresAt: expires})
				},
				func() error {
					return tx.PutAsk(revue.AskRecord{ID: "x", Seq: 5, LotID: tag, Key: tag, Thread: tag, Credential: tag, DecisionID: tag})
				},
				func() error { return tx.PutDecision(revue.Decision{ID: "x", Seq: 5, Key: tag}) },
				func() error {
					return tx.PutContext(revue.ContextItem{ID: "x", Seq: 5, Credential: tag, ExpiresAt: expires, Removed: round == 1})
				},
			)
		})
		if err != nil {
			return fmt.Errorf("put: %w", err)
		}
	}
	// Every query that the replaced values would match, and then those that the new ones do.
	counts := func(tx revue.Tx, round int) (string, error) {
		tag, status := strconv.Itoa(round), []revue.Status{revue.StatusOpen, revue.StatusAnswered}[round]
		var out []string
		var errs []error
		note := func(n int, err error) {
			out = append(out, strconv.Itoa(n))
			errs = append(errs, err)
		}
		for _, q := range []revue.LotQuery{{Status: status}, {Kind: revue.Kind("kind" + tag)}, {Stream: tag}, {Key: tag}} {
			found, err := tx.FindLots(q)
			note(len(found), err)
		}
		for _, q := range []revue.AskQuery{{Lot: tag}, {Key: tag}, {Thread: tag}, {Credential: tag}, {Decision: tag}} {
			found, err := tx.FindAsks(q)
			note(len(found), err)
		}
		found, err := tx.FindDecisions(revue.DecisionQuery{Key: tag})
		note(len(found), err)
		items, err := tx.FindContexts(revue.ContextQuery{Credential: tag})
		note(len(items), err)
		return strings.Join(out, " "), errors.Join(errs...)
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		for round, want := range []string{"0 0 0 0 0 0 0 0 0 0 0", "1 1 1 1 1 1 1 1 1 1 1"} {
			got, err := counts(tx, round)
			if err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("after a replacement each query of the value of round %d finds %s, want %s "+
					"(lots by status, kind, stream, key; asks by lot, key, thread, credential, decision; decisions by key; context by credential)", round, got, want)
			}
		}
		lots, err1 := tx.FindLots(revue.LotQuery{ExpiresBefore: now})
		live, err2 := tx.FindContexts(revue.ContextQuery{Live: now.Add(-time.Hour)})
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if len(lots) != 0 || len(live) != 0 {
			return errors.New("a replaced expiry is still found")
		}
		return nil
	})
}

func notFound(e *env) error {
	s := e.open()
	if err := e.update(s, "ws", func(tx revue.Tx) error {
		return first(
			func() error { return tx.PutLot(revue.Lot{ID: "lot", Seq: 1}) },
			func() error { return tx.PutAsk(revue.AskRecord{ID: "ask", Seq: 1}) },
			func() error { return tx.PutRecord("kind", "key", nil) },
		)
	}); err != nil {
		return err
	}
	check := func(tx revue.Tx) error {
		_, lot := tx.Lot("ask")
		_, lot2 := tx.Lot("LOT")
		_, ask := tx.Ask("lot")
		_, dec := tx.Decision("lot")
		_, item := tx.Context("")
		_, rec := tx.Record("kind", "other")
		_, rec2 := tx.Record("other", "key")
		for what, err := range map[string]error{
			"Lot": lot, "Lot of another case": lot2, "Ask": ask, "Decision": dec, "Context": item, "Record of another key": rec, "Record of another kind": rec2,
		} {
			if !errors.Is(err, revue.ErrNotFound) {
				return fmt.Errorf("%s of what is not there returned %#v", what, err)
			}
		}
		return nil
	}
	return first(
		func() error { return e.view(s, "ws", check) },
		func() error { return e.update(s, "ws", check) },
		func() error { return e.view(s, "never used", check) },
	)
}

func aliasing(e *env) error {
	s := e.open()
	lot := filled[revue.Lot](filler{text: "t", lists: 2})
	ask := filled[revue.AskRecord](filler{text: "t", lists: 2})
	dec := filled[revue.Decision](filler{text: "t", lists: 2})
	item := filled[revue.ContextItem](filler{text: "t", lists: 2})
	event := filled[revue.Event](filler{text: "t", lists: 2})
	event.Seq = 1
	value := []byte("value")
	state := func(tx revue.Tx, scramble bool) (string, error) {
		l, err1 := tx.Lot(lot.ID)
		ls, err2 := tx.FindLots(revue.LotQuery{})
		a, err3 := tx.Ask(ask.ID)
		d, err4 := tx.Decision(dec.ID)
		c, err5 := tx.Context(item.ID)
		h, err6 := tx.Head()
		es, err7 := tx.Events(0, 10)
		r, err8 := tx.Record("test", "k")
		rs, err9 := tx.ListRecords("test")
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9); err != nil {
			return "", err
		}
		all := []any{&l, ls, &a, &d, &c, &h, es, r, rs}
		var out strings.Builder
		for _, v := range all {
			describe(&out, reflect.ValueOf(v))
			if scramble {
				spoil(reflect.ValueOf(v))
			}
		}
		return out.String(), nil
	}
	var before string
	err := e.update(s, "ws", func(tx revue.Tx) error {
		err := first(
			func() error { return tx.PutLot(lot) },
			func() error { return tx.PutAsk(ask) },
			func() error { return tx.PutDecision(dec) },
			func() error { return tx.PutContext(item) },
			func() error { return tx.Append(event) },
			func() error { return tx.PutRecord("test", "k", value) },
		)
		if err != nil {
			return err
		}
		if before, err = state(tx, true); err != nil {
			return err
		}
		again, err := state(tx, true)
		if err == nil && again != before {
			err = errors.New("what an Update read, changed and read again was changed in the store")
		}
		return err
	})
	if err != nil {
		return err
	}
	ids := []*string{&lot.ID, &ask.ID, &dec.ID, &item.ID}
	saved := make([]string, len(ids))
	for i, id := range ids {
		saved[i] = *id
	}
	for _, v := range []any{&lot, &ask, &dec, &item, &event, value} {
		spoil(reflect.ValueOf(v))
	}
	for i, id := range ids {
		*id = saved[i]
	}
	for _, who := range []string{"what was put", "what was read"} {
		var after string
		err := e.view(s, "ws", func(tx revue.Tx) error {
			var err error
			after, err = state(tx, true)
			return err
		})
		if err != nil {
			return err
		}
		if after != before {
			return fmt.Errorf("a change that the caller made to %s changed what is stored", who)
		}
	}
	return nil
}

// spoil changes everything that can be reached through v.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				spoil(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("spoilt")
	case reflect.Uint8:
		v.SetUint('!')
	}
}

// describe writes all that can be reached through v.
func describe(out *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			describe(out, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			describe(out, v.Index(i))
		}
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			fmt.Fprint(out, t.UnixMicro(), ";")
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				describe(out, v.Field(i))
			}
		}
	default:
		fmt.Fprintf(out, "%v;", v.Interface())
	}
}
