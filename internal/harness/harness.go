// Package harness knows how coding agents are told of an MCP server: in which file, in which shape, and how a
// variable of the environment is named there. It is data and pure functions; nothing here reads or writes a file.
//
// No snippet ever holds a token: where a harness can read a variable, the snippet names [KeyVar]; where it
// can't, it has [Placeholder] for a human to replace, or leaves the token to "revue login".
package harness

import (
	"fmt"
	"slices"
	"strings"
)

// Way is how a harness reaches the plane.
type Way string

// The ways.
const (
	HTTP  Way = "http"  // Streamable HTTP at /mcp of the plane
	Stdio Way = "stdio" // the program "revue mcp" on the machine of the harness
)

// Format is the notation of a configuration file.
type Format string

// The formats.
const (
	JSON Format = "json"
	TOML Format = "toml"
	YAML Format = "yaml"
)

const (
	// Server is what the entry is called.
	Server = "revue"
	// KeyVar is the variable that holds the token of the agent.
	KeyVar = "REVUE_API_KEY"
	// URLVar is the variable from which "revue mcp" has the address of the plane.
	URLVar = "REVUE_API_URL"
	// Placeholder stands for the token of an agent where no variable can.
	Placeholder = "YOUR_AGENT_TOKEN"

	// waitSeconds is the limit on one call that is written where a harness has a setting for it. A call waits 55 s at
	// most, and several harnesses give up after 60 s, the start of the server included.
	waitSeconds = 900
	// zedSeconds is the most that Zed takes.
	zedSeconds = 600
)

// File is where an entry can be put.
type File struct {
	Scope string // "you" or "the project"
	Path  string
}

// Harness is one program that runs agents.
type Harness struct {
	ID     string // for a command line
	Name   string
	Files  []File
	Format Format
	Root   []string // keys from the top of the file to the table, or list, of servers
	Notes  []string // for humans, one sentence or two each

	// Reference is how a value names the variable KeyVar; "" where the harness reads none.
	Reference string

	list  bool   // Root is a list, whose entries have a name
	first fields // members at the top of the file that the entry needs
	last  fields // as well, after Root
	http  fields // nil where the harness has no HTTP
	stdio fields

	httpNotes, stdioNotes []string
}

// Snippet is one entry, as it stands in a file of its own.
type Snippet struct {
	Way    Way
	Format Format
	Text   string
	Notes  []string
	// Typed says that the text has [Placeholder], which its human replaces.
	Typed bool
}

// fields is an object whose members keep their order. A value is a string, an int, a bool, a []string, or fields.
type fields []field

type field struct {
	key   string
	value any
}

// What is put into the texts of the table.
const (
	atPlane = "{plane}" // the address of the plane
	atMCP   = "{mcp}"   // of its MCP endpoint
	key     = "{key}"   // a reference to the variable, or the placeholder
)

// Ways returns the ways in which the harness can reach a plane.
func (h Harness) Ways() []Way {
	var out []Way
	if h.http != nil {
		out = append(out, HTTP)
	}
	if h.stdio != nil {
		out = append(out, Stdio)
	}
	return out
}

// Snippet renders the entry for a plane at this address, which has no slash at its end.
func (h Harness) Snippet(w Way, plane string) (Snippet, error) {
	if !slices.Contains(h.Ways(), w) {
		return Snippet{}, fmt.Errorf("%s has no %s", h.Name, w)
	}
	entry, notes := h.http, h.httpNotes
	if w == Stdio {
		entry, notes = h.stdio, h.stdioNotes
	}
	ref := h.Reference
	if ref == "" {
		ref = Placeholder
	}
	fill := strings.NewReplacer(atPlane, plane, atMCP, plane+"/mcp", key, ref)
	doc := slices.Concat(h.first, h.under(entry), h.last)
	text := doc.filled(fill).render(h.Format)
	return Snippet{Way: w, Format: h.Format, Text: text, Notes: notes, Typed: strings.Contains(text, Placeholder)}, nil
}

// under returns the entry below the keys of Root.
func (h Harness) under(entry fields) fields {
	var v any = fields{{Server, entry}}
	if h.list {
		v = []fields{slices.Concat(fields{{"name", Server}}, entry)}
	}
	for _, k := range slices.Backward(h.Root) {
		v = fields{{k, v}}
	}
	out, _ := v.(fields)
	return out
}

// filled returns the fields with what is put into their texts.
func (f fields) filled(r *strings.Replacer) fields {
	out := make(fields, len(f))
	for i, m := range f {
		out[i] = field{m.key, filled(m.value, r)}
	}
	return out
}

func filled(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case fields:
		return v.filled(r)
	case []fields:
		out := make([]fields, len(v))
		for i, f := range v {
			out[i] = f.filled(r)
		}
		return out
	default:
		return v
	}
}

// Find returns the harness of an id.
func Find(id string) (Harness, bool) {
	all := All()
	i := slices.IndexFunc(all, func(h Harness) bool { return h.ID == id })
	if i < 0 {
		return Harness{}, false
	}
	return all[i], true
}
