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

// Clone returns a copy of v that shares no memory with it apart from strings. Each time in it is as
// [Time] returns it. Fields that JSON leaves out are no part of what is kept: they are zero in the copy.
func Clone[T any](v T) T {
	var out T
	clone(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&v).Elem())
	return out
}

var timeType = reflect.TypeFor[time.Time]()

func clone(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Struct:
		if src.Type() == timeType {
			dst.Set(reflect.ValueOf(Time(src.Interface().(time.Time))))
			return
		}
		for i := range src.NumField() {
			if f := src.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				clone(dst.Field(i), src.Field(i))
			}
		}
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(src.Type().Elem()))
			clone(dst.Elem(), src.Elem())
		}
	case reflect.Slice:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		switch src.Type().Elem().Kind() {
		case reflect.String, reflect.Uint8:
			reflect.Copy(dst, src)
		default:
			for i := range src.Len() {
				clone(dst.Index(i), src.Index(i))
			}
		}
	case reflect.Map:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
		for it := src.MapRange(); it.Next(); {
			v := reflect.New(src.Type().Elem()).Elem()
			clone(v, it.Value())
			dst.SetMapIndex(it.Key(), v)
		}
	default:
		dst.Set(src)
	}
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
