package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// render writes a document.
func (f fields) render(format Format) string {
	var b strings.Builder
	switch format {
	case TOML:
		f.toml(&b, nil)
	case YAML:
		f.yaml(&b, "")
	case JSON:
		writeJSON(&b, f, "")
		b.WriteByte('\n')
	}
	return b.String()
}

// quote writes a text as all three notations read it: a double-quoted JSON string.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// scalar writes a text, a number, a truth value, or a list of texts, which looks the same in all three notations.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	default:
		panic(fmt.Sprintf("harness: a %T can't be written", v)) // a fault of the table, which the tests render whole
	}
}

func writeJSON(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case fields:
		b.WriteString("{\n")
		for i, m := range v {
			b.WriteString(indent + "  " + quote(m.key) + ": ")
			writeJSON(b, m.value, indent+"  ")
			b.WriteString(comma(i, len(v)))
		}
		b.WriteString(indent + "}")
	case []fields:
		b.WriteString("[\n")
		for i, f := range v {
			b.WriteString(indent + "  ")
			writeJSON(b, f, indent+"  ")
			b.WriteString(comma(i, len(v)))
		}
		b.WriteString(indent + "]")
	default:
		b.WriteString(scalar(v))
	}
}

func comma(i, n int) string {
	if i < n-1 {
		return ",\n"
	}
	return "\n"
}

// toml writes tables down to the one that has values, and objects below that on one line.
func (f fields) toml(b *strings.Builder, path []string) {
	if len(f) == 1 && len(path) < 2 {
		if below, ok := f[0].value.(fields); ok {
			below.toml(b, append(path, f[0].key))
			return
		}
	}
	fmt.Fprintf(b, "[%s]\n", strings.Join(path, "."))
	for _, m := range f {
		fmt.Fprintf(b, "%s = %s\n", m.key, tomlValue(m.value))
	}
}

func tomlValue(v any) string {
	f, ok := v.(fields)
	if !ok {
		return scalar(v)
	}
	members := make([]string, len(f))
	for i, m := range f {
		members[i] = m.key + " = " + tomlValue(m.value)
	}
	return "{ " + strings.Join(members, ", ") + " }"
}

func (f fields) yaml(b *strings.Builder, indent string) {
	for i, m := range f {
		if i > 0 || !strings.HasSuffix(b.String(), "- ") {
			b.WriteString(indent)
		}
		switch v := m.value.(type) {
		case fields:
			b.WriteString(m.key + ":\n")
			v.yaml(b, indent+"  ")
		case []fields:
			b.WriteString(m.key + ":\n")
			for _, item := range v {
				b.WriteString(indent + "  - ")
				item.yaml(b, indent+"    ")
			}
		default:
			b.WriteString(m.key + ": " + scalar(v) + "\n")
		}
	}
}
