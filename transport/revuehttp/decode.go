package revuehttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// What is read here is read strictly: each field under its own name, in its own type, once. A caller that misspells
// a field hears of it, and nothing changes.

// maxDepth bounds how deep JSON may be nested. No body needs more than four levels.
const maxDepth = 16

func invalid(field, problem string) *revue.Error {
	return &revue.Error{Code: revue.CodeInvalid, Message: field + ": " + problem}
}

// noJSON is an error of a body that can't be read as JSON at all.
type noJSON struct{ err *revue.Error }

func (e noJSON) Error() string { return e.err.Error() }
func (e noJSON) Unwrap() error { return e.err }

func unreadable(problem string) error { return noJSON{invalid("body", problem)} }

// decode reads the JSON object of a body into a struct.
func decode(raw []byte, into any) error {
	if !utf8.Valid(raw) {
		return unreadable("is not valid UTF-8; send the text as UTF-8")
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return unreadable("is empty; send a JSON object")
	case bytes.IndexByte(raw, 0) >= 0:
		return unreadable("has a NUL byte; send JSON text")
	case loneSurrogate(raw):
		return unreadable(`has half of a surrogate pair (\ud800 to \udfff), which is no character; send whole characters`)
	case tooDeep(raw):
		return unreadable("is nested too deep; no field needs that")
	}
	var syntax *json.SyntaxError
	var whole json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&whole); err != nil {
		at := ""
		if errors.As(err, &syntax) {
			at = " at byte " + strconv.FormatInt(syntax.Offset, 10)
		}
		return unreadable("is no JSON" + at + "; send a JSON object")
	}
	if dec.InputOffset() != int64(len(raw)) {
		return unreadable("has something after the JSON object; send that alone")
	}
	return decodeValue("", raw, reflect.ValueOf(into).Elem())
}

// tooDeep reports whether brackets outside of strings are nested deeper than maxDepth.
func tooDeep(raw []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// loneSurrogate reports whether JSON text has an escape that names half a character. Decoders replace it silently, so
// that two different texts would become one.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		switch r := escaped(raw, i); {
		case r < 0xD800 || r > 0xDFFF:
		case r >= 0xDC00 || i+5 >= len(raw) || raw[i+5] != '\\':
			return true
		default:
			if low := escaped(raw, i+6); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 10
		}
	}
	return false
}

// escaped reads uXXXX at i; -1 where there is none.
func escaped(raw []byte, i int) rune {
	if i+5 > len(raw) || raw[i] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// selfDecoder is a type that reads its own JSON. Field is its path in the body.
type selfDecoder interface {
	decodeJSON(field string, raw []byte) error
}

// decodeValue reads valid JSON text into a value. Field is its path in the body, "" for the body itself.
func decodeValue(field string, raw []byte, v reflect.Value) error {
	raw = bytes.TrimSpace(raw)
	if d, ok := v.Addr().Interface().(selfDecoder); ok {
		return d.decodeJSON(field, raw)
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if err := decodeValue(field, raw, p.Elem()); err != nil {
			return err
		}
		v.Set(p)
		return nil
	case reflect.Struct:
		return decodeObject(field, raw, v)
	case reflect.Slice:
		return decodeArray(field, raw, v)
	case reflect.String:
		if raw[0] != '"' {
			return invalid(field, "must be a string")
		}
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return invalid(field, "must be a string")
		}
		v.SetString(s)
	case reflect.Bool:
		if string(raw) != "true" && string(raw) != "false" {
			return invalid(field, "must be true or false")
		}
		v.SetBool(string(raw) == "true")
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return invalid(field, "must be a whole number")
		}
		v.SetInt(n)
	case reflect.Float64:
		n, err := number(field, raw)
		if err != nil {
			return err
		}
		v.SetFloat(n)
	default:
		return &revue.Error{Code: revue.CodeInternal, Message: field + ": can't be read", Err: errors.New("a body has a field of type " + v.Type().String())}
	}
	return nil
}

// number reads a number, or a string that is one. What is beyond the range of a float64 is an infinity, which the
// callers clamp.
func number(field string, raw []byte) (float64, error) {
	s := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &s); err != nil {
			return 0, invalid(field, "must be a number")
		}
	}
	s = strings.TrimSpace(s)
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, invalid(field, "must be a number")
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, invalid(field, "must be a number")
	}
	return n, nil
}

// seconds is a number of seconds as a duration within a range; nil is the default.
func seconds(n *float64, def, low, high time.Duration) time.Duration {
	if n == nil {
		return def
	}
	return time.Duration(math.Round(min(max(*n, low.Seconds()), high.Seconds())*1e6)) * time.Microsecond
}

func decodeArray(field string, raw []byte, v reflect.Value) error {
	if raw[0] != '[' {
		return invalid(field, "must be an array")
	}
	if limit, ok := maxItems()[field]; ok && moreItems(raw, limit) {
		return invalid(field, "has more than "+strconv.Itoa(limit)+" items; send fewer, each once")
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return invalid(field, "must be an array")
	}
	out := reflect.MakeSlice(v.Type(), len(list), len(list))
	for i, item := range list {
		if err := decodeValue(field+"["+strconv.Itoa(i)+"]", item, out.Index(i)); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

// maxItems bounds the lists of bodies before anything is made of them. Repeats don't count later, so there may be some.
func maxItems() map[string]int {
	const repeats = 8
	return map[string]int{
		"concepts": repeats * revue.MaxConcepts, "files": repeats * revue.MaxFiles, "options": repeats * revue.MaxOptions,
		"affected": repeats * revue.MaxAffected, "members": maxMembersListed,
	}
}

// maxMembersListed bounds the asks of one lot that an answer names. Each is there once.
const maxMembersListed = 10_000

// moreItems reports whether a JSON array has more items than a limit.
func moreItems(raw []byte, limit int) bool {
	depth, commas, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 1:
			if commas++; commas >= limit {
				return true
			}
		}
	}
	return false
}

func decodeObject(field string, raw []byte, v reflect.Value) error {
	members, err := object(field, raw)
	if err != nil {
		return err
	}
	for _, m := range members {
		path := m.name
		if field != "" {
			path = field + "." + m.name
		}
		i, ok := fieldNamed(v.Type(), m.name)
		if !ok {
			known := "there are none"
			if names := fieldNames(v.Type()); len(names) > 0 {
				known = "the fields are " + strings.Join(names, ", ")
			}
			return invalid(shownName(path), "there is no such field; "+known)
		}
		if string(bytes.TrimSpace(m.value)) == "null" {
			continue // as if it were not there
		}
		if err := decodeValue(path, m.value, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// member is one name and its value in an object.
type member struct {
	name  string
	value []byte
}

// object reads the members of an object in order. A name that is there twice has no one meaning.
func object(field string, raw []byte) ([]member, error) {
	if field == "" {
		field = "body"
	}
	if raw[0] != '{' {
		return nil, invalid(field, "must be a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, invalid(field, "must be a JSON object")
	}
	var out []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, invalid(field, "must be a JSON object")
		}
		name, _ := key.(string)
		if slices.ContainsFunc(out, func(m member) bool { return m.name == name }) {
			return nil, invalid(field, "has the field "+shownName(name)+" twice; send it once")
		}
		if len(out) == maxMembers {
			return nil, invalid(field, "has too many fields")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, invalid(field, "must be a JSON object")
		}
		out = append(out, member{name, value})
	}
	return out, nil
}

// maxMembers bounds the fields of one object. No type has as many.
const maxMembers = 64

// fieldNamed returns the field with a JSON name. Names are compared as they are, capitals too.
func fieldNamed(t reflect.Type, name string) (int, bool) {
	for i := range t.NumField() {
		if jsonName(t.Field(i)) == name && name != "" {
			return i, true
		}
	}
	return 0, false
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// jsonName is the name of a field in JSON, "" for none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "-" || !f.IsExported():
		return ""
	case name == "":
		return f.Name
	default:
		return name
	}
}

// shownName is a name that a caller made up, short and harmless.
func shownName(s string) string {
	const limit = 80
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

// decodeJSON reads an option: a string, or an object with value, label and consequence. Either way it has the same key.
func (o *optionBody) decodeJSON(field string, raw []byte) error {
	switch raw[0] {
	case '"':
		if err := decodeValue(field, raw, reflect.ValueOf(&o.Value).Elem()); err != nil {
			return err
		}
		if strings.HasPrefix(strings.TrimSpace(o.Value), "{") && json.Valid([]byte(o.Value)) {
			return invalid(field, "is an object within a string; send the object itself")
		}
		o.Label = o.Value
		return nil
	case '{':
		if err := decodeObject(field, raw, reflect.ValueOf((*revue.Option)(o)).Elem()); err != nil {
			return err
		}
		switch {
		case o.Value == "" && o.Label == "":
			return invalid(field, "has neither a value nor a label; send both, or a string")
		case o.Value == "":
			o.Value = o.Label
		case o.Label == "":
			o.Label = o.Value
		}
		return nil
	default:
		return invalid(field, `must be a string or an object like {"value": "blue", "label": "Blue"}`)
	}
}
