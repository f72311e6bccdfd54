package revuemcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// The schemas that are advertised are strict; what is read is not. Models send lists as JSON strings or
// as one string with commas, numbers as text, options with half their fields. Each of these has one
// meaning, so it is taken; what could mean two things is refused with the field and the remedy.

// arguments are the fields of one tool call, still as JSON. Unknown fields are ignored.
type arguments map[string]json.RawMessage

func invalid(field, problem string) *revue.Error {
	return &revue.Error{Code: revue.CodeInvalid, Message: field + ": " + problem}
}

// readArguments reads the arguments object. One that was encoded twice, as a JSON string, is read too.
func readArguments(raw json.RawMessage) (arguments, error) {
	raw = bytes.TrimSpace(raw)
	if !utf8.Valid(raw) {
		return nil, invalid("arguments", "not valid UTF-8; send the text as UTF-8, nothing was changed")
	}
	if loneSurrogate(raw) {
		return nil, invalid("arguments", `half of a surrogate pair (\ud800 to \udfff) is no character; send whole characters, nothing was changed`)
	}
	if absent(raw) {
		return arguments{}, nil
	}
	if s, ok := asString(raw); ok {
		raw = json.RawMessage(strings.TrimSpace(s))
	}
	var args arguments
	if err := json.Unmarshal(raw, &args); err != nil || args == nil {
		return nil, invalid("arguments", "must be a JSON object of the tool's fields")
	}
	return args, nil
}

// loneSurrogate reports whether JSON text has an escape that names half a character. Decoders replace it
// silently, so that two different texts would become one.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		r, ok := escapedRune(raw, i)
		switch {
		case !ok || r < 0xD800 || r > 0xDFFF:
		case r >= 0xDC00:
			return true
		default:
			if i+5 >= len(raw) || raw[i+5] != '\\' {
				return true
			}
			low, ok := escapedRune(raw, i+6)
			if !ok || low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 10
		}
	}
	return false
}

// escapedRune reads uXXXX at i.
func escapedRune(raw []byte, i int) (rune, bool) {
	if i+5 > len(raw) || raw[i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
	return rune(n), err == nil
}

func absent(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

func asString(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// asScalar is a string as it is, and a number or a boolean as it was written.
func asScalar(raw json.RawMessage) (string, bool) {
	if s, ok := asString(raw); ok {
		return s, true
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || strings.IndexByte(`{["n`, raw[0]) >= 0 || !json.Valid(raw) {
		return "", false
	}
	return string(raw), true
}

// text reads an optional text.
func (a arguments) text(field string) (string, error) {
	raw := a[field]
	if absent(raw) {
		return "", nil
	}
	s, ok := asString(raw)
	if !ok {
		return "", invalid(field, "must be a string")
	}
	return s, nil
}

// needText reads a text that must be there.
func (a arguments) needText(field string) (string, error) {
	s, err := a.text(field)
	if err == nil && strings.TrimSpace(s) == "" {
		return "", invalid(field, "is missing or blank; send it as a string")
	}
	return s, err
}

// choice reads an option that is named: its text, or an option object.
func (a arguments) choice(field string) (string, error) {
	raw := a[field]
	if absent(raw) {
		return "", nil
	}
	if s, ok := asScalar(raw); ok {
		return s, nil
	}
	if o, err := readOption(field, raw); err == nil {
		return o.Value, nil
	}
	return "", invalid(field, "must be a string: the value of one option")
}

// number reads an optional number. One written as a string is read as the number; what is beyond the
// range of a float64 is an infinity, which the callers clamp.
func (a arguments) number(field string) (n float64, ok bool, err error) {
	raw := a[field]
	if absent(raw) {
		return 0, false, nil
	}
	s, isString := asString(raw)
	if !isString {
		s = string(raw)
	}
	s = strings.TrimSpace(s)
	problem := invalid(field, "must be a number")
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false, problem
	}
	n, perr := strconv.ParseFloat(s, 64)
	if perr != nil && !errors.Is(perr, strconv.ErrRange) {
		return 0, false, problem
	}
	return n, true, nil
}

// seconds reads a number of seconds, clamped to the range.
func (a arguments) seconds(field string, def, low, high time.Duration) (time.Duration, error) {
	n, ok, err := a.number(field)
	if err != nil || !ok {
		return def, err
	}
	return time.Duration(math.Round(min(max(n, low.Seconds()), high.Seconds())*1e6)) * time.Microsecond, nil
}

// count reads a whole number, clamped to the range; a fraction is cut off.
func (a arguments) count(field string, def, low, high int) (int, error) {
	n, ok, err := a.number(field)
	if err != nil || !ok {
		return def, err
	}
	return int(min(max(n, float64(low)), float64(high))), nil
}

// items reads a list: an array, a JSON string of one, or one string that separators divide. A single
// object is a list of one.
func items(field string, raw json.RawMessage, separators string) ([]json.RawMessage, error) {
	return itemsWithin(field, raw, separators, 3)
}

func itemsWithin(field string, raw json.RawMessage, separators string, depth int) ([]json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if absent(raw) {
		return nil, nil
	}
	switch s, isString := asString(raw); {
	case raw[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, invalid(field, "must be an array")
		}
		return list, nil
	case raw[0] == '{':
		return []json.RawMessage{raw}, nil
	case isString:
		inner := strings.TrimSpace(s)
		if inner != "" && strings.IndexByte(`[{"`, inner[0]) >= 0 && json.Valid([]byte(inner)) && depth > 0 {
			return itemsWithin(field, json.RawMessage(inner), separators, depth-1)
		}
		if inner != "" && strings.IndexByte("[{", inner[0]) >= 0 {
			return nil, invalid(field, "looks like JSON but does not parse; send an array")
		}
		return split(inner, separators), nil
	default:
		if _, ok := asScalar(raw); ok {
			return []json.RawMessage{raw}, nil
		}
		return nil, invalid(field, "must be an array")
	}
}

// split divides a text at the first of the separators that occurs in it, and drops blank parts.
func split(s, separators string) []json.RawMessage {
	parts := []string{s}
	for _, sep := range separators {
		if strings.ContainsRune(s, sep) {
			parts = strings.Split(s, string(sep))
			break
		}
	}
	var list []json.RawMessage
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, quote(p))
		}
	}
	return list
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		panic(err)
	}
	return b
}

// texts reads a list of texts. Blank entries say nothing and are dropped.
func (a arguments) texts(field string) ([]string, error) {
	list, err := items(field, a[field], "\n,")
	if err != nil {
		return nil, err
	}
	var out []string
	for i, raw := range list {
		if absent(raw) {
			continue
		}
		s, ok := asScalar(raw)
		if !ok {
			return nil, invalid(at(field, i), "must be a string")
		}
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out, nil
}

// options reads the options: texts, objects, or both. A null may be an option that got lost, and a human
// would not see that it is missing.
func (a arguments) options(field string) ([]revue.Option, error) {
	list, err := items(field, a[field], "\n,")
	if err != nil {
		return nil, err
	}
	var out []revue.Option
	for i, raw := range list {
		if absent(raw) {
			return nil, invalid(at(field, i), "is null; send each option as a string or an object, or no options at all")
		}
		o, err := readOption(at(field, i), raw)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func readOption(field string, raw json.RawMessage) (revue.Option, error) {
	if s, ok := asScalar(raw); ok {
		if o, ok := optionInText(s); ok {
			return o, nil
		}
		return revue.Option{Value: s, Label: s}, nil
	}
	fields, ok := object(raw)
	if !ok {
		return revue.Option{}, invalid(field, `must be a string or an object like {"label": "Blue", "value": "blue"}`)
	}
	var o revue.Option
	for name, to := range map[string]*string{"value": &o.Value, "label": &o.Label, "consequence": &o.Consequence} {
		if absent(fields[name]) {
			continue
		}
		if *to, ok = asScalar(fields[name]); !ok {
			return revue.Option{}, invalid(field+"."+name, "must be a string")
		}
	}
	switch {
	case o.Value == "" && o.Label == "":
		return revue.Option{}, invalid(field, "has neither a value nor a label; send both, or a string")
	case o.Value == "":
		o.Value = o.Label
	case o.Label == "":
		o.Label = o.Value
	}
	return o, nil
}

// optionInText reads an option object that was sent as a JSON string within the array.
func optionInText(s string) (revue.Option, bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") {
		return revue.Option{}, false
	}
	if _, ok := object(json.RawMessage(s)); !ok {
		return revue.Option{}, false
	}
	o, err := readOption("", json.RawMessage(s))
	return o, err == nil
}

// affected reads the list of what an approval touches: objects, texts, or both. Labels may have commas,
// so a plain text is divided at line ends alone.
func (a arguments) affected(field string) ([]revue.Affected, error) {
	list, err := items(field, a[field], "\n")
	if err != nil {
		return nil, err
	}
	var out []revue.Affected
	for i, raw := range list {
		if absent(raw) {
			continue
		}
		if s, ok := asScalar(raw); ok {
			out = append(out, revue.Affected{Label: s})
			continue
		}
		fields, ok := object(raw)
		if !ok {
			return nil, invalid(at(field, i), `must be an object like {"label": "feature/login", "meta": "3 weeks old"}`)
		}
		var item revue.Affected
		for name, to := range map[string]*string{"label": &item.Label, "meta": &item.Meta} {
			if absent(fields[name]) {
				continue
			}
			if *to, ok = asScalar(fields[name]); !ok {
				return nil, invalid(at(field, i)+"."+name, "must be a string")
			}
		}
		out = append(out, item)
	}
	return out, nil
}

func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(raw, &fields)
	return fields, err == nil && fields != nil
}

func at(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
