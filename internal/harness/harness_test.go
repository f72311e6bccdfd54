package harness_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/assert/yaml"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/internal/harness"
)

var update = flag.Bool("update", false, "write the golden files anew")

const plane = "https://revue.example.com"

func parse(t *testing.T, s harness.Snippet) map[string]any {
	t.Helper()
	var doc map[string]any
	switch s.Format {
	case harness.JSON:
		dec := json.NewDecoder(strings.NewReader(s.Text))
		require.NoError(t, dec.Decode(&doc), s.Text)
		require.False(t, dec.More(), "one document")
	case harness.TOML:
		_, err := toml.Decode(s.Text, &doc)
		require.NoError(t, err, s.Text)
	case harness.YAML:
		require.NoError(t, yaml.Unmarshal([]byte(s.Text), &doc), s.Text)
	default:
		require.Fail(t, "a format without a parser", s.Format)
	}
	return doc
}

// entry returns what the file says of the server.
func entry(t *testing.T, h harness.Harness, doc map[string]any) map[string]any {
	t.Helper()
	var v any = doc
	for _, k := range h.Root {
		m, ok := v.(map[string]any)
		require.True(t, ok, k)
		v = m[k]
	}
	if list, ok := v.([]any); ok {
		require.Len(t, list, 1)
		m, ok := list[0].(map[string]any)
		require.True(t, ok)
		require.Equal(t, harness.Server, m["name"])
		return m
	}
	servers, ok := v.(map[string]any)
	require.True(t, ok)
	require.Len(t, servers, 1)
	m, ok := servers[harness.Server].(map[string]any)
	require.True(t, ok)
	return m
}

// Each snippet parses in the notation of its file, is what was reviewed, reaches the plane that was named, and holds no
// token: a reference to the variable, the placeholder, or nothing.
func TestSnippets(t *testing.T) {
	ids := map[string]bool{}
	for _, h := range harness.All() {
		require.False(t, ids[h.ID], "%s is there twice", h.ID)
		ids[h.ID] = true
		require.NotEmpty(t, h.Ways(), h.ID)
		for _, way := range h.Ways() {
			t.Run(h.ID+"/"+string(way), func(t *testing.T) {
				s, err := h.Snippet(way, plane)
				require.NoError(t, err)
				doc := parse(t, s)
				e := entry(t, h, doc)

				golden := filepath.Join("testdata", h.ID+"."+string(way)+"."+string(s.Format))
				if *update {
					require.NoError(t, os.WriteFile(golden, []byte(s.Text), 0o600))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				require.Equal(t, string(want), s.Text)

				flat, err := json.Marshal(e)
				require.NoError(t, err)
				switch way {
				case harness.HTTP:
					require.Contains(t, string(flat), `"`+plane+`/mcp"`)
				case harness.Stdio:
					require.Contains(t, string(flat), `"`+plane+`"`)
					require.Contains(t, string(flat), `"mcp"`)
					require.NotContains(t, string(flat), "/mcp")
				}
				require.NotContains(t, s.Text, "{key}")
				require.NotContains(t, s.Text, "rvu_")
				require.Equal(t, strings.Contains(s.Text, harness.Placeholder), s.Typed)
				if h.Reference != "" {
					require.Contains(t, s.Text, h.Reference)
					require.False(t, s.Typed)
				}
				if s.Typed {
					require.NotEmpty(t, s.Notes, "a token in a file wants a word of caution")
				}
			})
		}
	}
	for _, id := range []string{
		"claude-code", "codex", "cursor", "opencode", "vscode", "gemini", "qwen", "copilot", "cline", "continue", "crush",
		"zed", "windsurf", "claude-desktop", "mcp.json",
	} {
		h, ok := harness.Find(id)
		require.True(t, ok, id)
		require.Equal(t, id, h.ID)
	}
	_, ok := harness.Find("none")
	require.False(t, ok)
}

// What is named has to be possible.
func TestNoSuchWay(t *testing.T) {
	h, ok := harness.Find("claude-desktop")
	require.True(t, ok)
	_, err := h.Snippet(harness.HTTP, plane)
	require.ErrorContains(t, err, "Claude Desktop")
}

// A call waits up to 55 s. Where a harness has a limit on calls that can be written down, the snippet leaves room for that.
func TestTimeouts(t *testing.T) {
	for id, want := range map[string]struct {
		key     string
		seconds float64 // that one of it is
	}{
		"claude-code": {"timeout", 0.001}, "codex": {"tool_timeout_sec", 1}, "opencode": {"timeout", 0.001}, "gemini": {"timeout", 0.001},
		"qwen": {"timeout", 0.001}, "copilot": {"timeout", 0.001}, "cline": {"timeout", 1}, "zed": {"timeout", 1},
	} {
		h, ok := harness.Find(id)
		require.True(t, ok, id)
		for _, way := range h.Ways() {
			s, err := h.Snippet(way, plane)
			require.NoError(t, err)
			var v float64
			switch n := entry(t, h, parse(t, s))[want.key].(type) {
			case float64:
				v = n
			case int64:
				v = float64(n)
			}
			require.Greater(t, v*want.seconds, 60.0, "%s over %s", id, way)
			require.LessOrEqual(t, v*want.seconds, 3600.0, "%s over %s", id, way)
		}
	}
}

// An address is text: whatever is in it, the snippet parses and has it whole.
func FuzzSnippets(f *testing.F) {
	for _, s := range []string{plane, "http://127.0.0.1:7433", `https://a"b\c`, "https://h/ü: {x}", "#", "'\n- x", "{mcp}{key}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, at string) {
		if !utf8.ValidString(at) || strings.ContainsFunc(at, func(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }) {
			t.Skip("no address has this")
		}
		for _, h := range harness.All() {
			for _, way := range h.Ways() {
				s, err := h.Snippet(way, at)
				require.NoError(t, err)
				flat, err := json.Marshal(parse(t, s))
				require.NoError(t, err)
				want, err := json.Marshal(at)
				require.NoError(t, err)
				require.Contains(t, string(flat), string(want[1:len(want)-1]))
			}
		}
	})
}
