// Package stored holds what the drivers of revue.Store have in common: copies that share nothing with
// their source, times cut to what is kept, and the JSON in which a value's body is written.
package stored

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/revuehq/revue"
)

// Time returns t as it is kept: in UTC, cut to microseconds, without a monotonic reading.
func Time(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Clone returns a copy of v that shares no memory with it apart from strings and what unexported fields
// point to. Each time in it is as [Time] returns it.
func Clone[T any](v T) T {
	own(reflect.ValueOf(&v).Elem())
	return v
}

var timeType = reflect.TypeFor[time.Time]()

// own replaces what v points to by copies.
func own(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == timeType {
			t := v.Addr().Interface().(*time.Time)
			*t = Time(*t)
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); refers(f.Kind()) && f.CanSet() {
				own(f)
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		n := reflect.New(v.Type().Elem())
		n.Elem().Set(v.Elem())
		own(n.Elem())
		v.Set(n)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		n := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(n, v)
		if refers(v.Type().Elem().Kind()) {
			for i := range n.Len() {
				own(n.Index(i))
			}
		}
		v.Set(n)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		n := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(it.Value())
			own(e)
			n.SetMapIndex(it.Key(), e)
		}
		v.Set(n)
	}
}

// refers reports whether there may be something to copy in a value of this kind.
func refers(k reflect.Kind) bool {
	return k == reflect.Struct || k == reflect.Pointer || k == reflect.Slice || k == reflect.Map
}

// Encode returns v as JSON, its times as [Time] returns them. Text that is not valid UTF-8 is refused,
// because JSON would change it without a word.
func Encode[T any](v T) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Clone(v)); err != nil {
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
