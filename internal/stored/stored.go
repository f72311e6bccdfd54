// Package stored holds what the drivers of revue.Store have in common: copies that share nothing with
// their source, times cut to what is kept, and the JSON in which a value's body is written.
package stored

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

// Time returns t as it is kept: in UTC, cut to microseconds, without a monotonic reading.
func Time(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Clone returns a copy of v that shares no memory with it apart from strings and what unexported fields
// point to. Each time in it is as [Time] returns it.
func Clone[T any](v T) T {
	r := reflect.ValueOf(&v).Elem()
	if p := planOf(r.Type()); p.own != nil {
		p.own(r)
	}
	return v
}

// plan is how values of a type get to own what they point to: own replaces it by copies. It is nil where there
// is nothing to replace.
type plan struct{ own func(reflect.Value) }

// plans holds the plan of each type that was ever copied. They are made once: to look at a type costs more
// than to copy most values of it.
var plans sync.Map //nolint:gochecknoglobals // of reflect.Type to *plan: what is found out of a type never changes

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p, _ := plans.LoadOrStore(t, newPlan(t))
	return p.(*plan)
}

func newPlan(t reflect.Type) *plan {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &plan{func(v reflect.Value) {
			at := v.Addr().Interface().(*time.Time)
			*at = Time(*at)
		}}
	case t == reflect.TypeFor[[]string]():
		return &plan{func(v reflect.Value) {
			l := v.Addr().Interface().(*[]string)
			*l = slices.Clone(*l)
		}}
	}
	switch t.Kind() {
	case reflect.Struct:
		return &plan{ownFields(t)}
	case reflect.Pointer:
		return &plan{func(v reflect.Value) {
			if v.IsNil() {
				return
			}
			n := reflect.New(t.Elem())
			n.Elem().Set(v.Elem())
			if p := planOf(t.Elem()); p.own != nil {
				p.own(n.Elem())
			}
			v.Set(n)
		}}
	case reflect.Slice:
		return &plan{func(v reflect.Value) {
			if v.IsNil() {
				return
			}
			n := reflect.MakeSlice(t, v.Len(), v.Len())
			reflect.Copy(n, v)
			if p := planOf(t.Elem()); p.own != nil {
				for i := range n.Len() {
					p.own(n.Index(i))
				}
			}
			v.Set(n)
		}}
	case reflect.Map:
		return &plan{func(v reflect.Value) {
			if v.IsNil() {
				return
			}
			n := reflect.MakeMapWithSize(t, v.Len())
			p := planOf(t.Elem())
			for it := v.MapRange(); it.Next(); {
				e := reflect.New(t.Elem()).Elem()
				e.Set(it.Value())
				if p.own != nil {
					p.own(e)
				}
				n.SetMapIndex(it.Key(), e)
			}
			v.Set(n)
		}}
	default:
		return &plan{}
	}
}

// ownFields is the plan of a struct: its exported fields that have one.
func ownFields(t reflect.Type) func(reflect.Value) {
	type field struct {
		i   int
		own func(reflect.Value)
	}
	var fields []field
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			if p := planOf(f.Type); p.own != nil { // a struct cannot hold itself but through one of the others
				fields = append(fields, field{i, p.own})
			}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return func(v reflect.Value) {
		for _, f := range fields {
			f.own(v.Field(f.i))
		}
	}
}

// Encode returns v as JSON, its times as [Time] returns them. Text that is not valid UTF-8 is refused,
// because JSON would change it without a word.
func Encode[T any](v T) ([]byte, error) { return EncodeClone(Clone(v)) }

// EncodeClone is [Encode] for a value that [Clone] returned.
func EncodeClone[T any](v T) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&v); err != nil {
		return nil, &revue.Error{Code: revue.CodeInvalid, Message: "this cannot be stored", Err: err}
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if replaced(b) {
		return nil, &revue.Error{Code: revue.CodeInvalid, Message: "this cannot be stored: a text in it is not valid UTF-8"}
	}
	return b, nil
}

// Decode reads what [Encode] wrote.
func Decode[T any](b []byte) (T, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return v, &revue.Error{Code: revue.CodeInternal, Message: "what is stored cannot be read", Err: fmt.Errorf("decode %T: %w", v, err)}
	}
	return v, nil
}

// replaced reports whether the encoder put \ufffd where a byte was no UTF-8. It writes that escape for
// nothing else: a replacement character of the text itself stays as it is.
func replaced(b []byte) bool {
	escape := []byte(`\ufffd`)
	for {
		i := bytes.Index(b, escape)
		if i < 0 {
			return false
		}
		slashes := 0
		for j := i - 1; j >= 0 && b[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		b = b[i+len(escape):]
	}
}
