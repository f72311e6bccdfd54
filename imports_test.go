package revue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

const module = "github.com/revuehq/revue"

// An importRule says what the non-test files of a package may import besides the standard library.
type importRule struct {
	own      []string // our packages: exact paths below the module ("" is the root), or "internal/..."
	modules  []string // other modules, by path prefix
	anything bool
}

// importRules gives each package its rule. A key that ends in "/..." holds for what is below it and has
// no rule of its own. Direction: cmd, examples → transport, storage, notify, memory → revue → std.
// Siblings are strangers: no rule names a package of the same or a higher layer.
func importRules() map[string]importRule {
	contracts := []string{"", "internal/..."}
	return map[string]importRule{
		"":          {modules: []string{"golang.org/x/sync"}},
		"revuetest": {own: []string{""}},

		"memory":           {own: contracts, modules: []string{"golang.org/x/text", "github.com/kljensen/snowball"}},
		"memory/embedhttp": {own: []string{""}},

		"storage/memstore":    {own: contracts},
		"storage/sqlite":      {own: contracts, modules: []string{"github.com/mattn/go-sqlite3", "modernc.org/sqlite", "github.com/fsnotify/fsnotify"}},
		"storage/storagetest": {own: []string{""}},

		"transport/revuemcp": {own: contracts, modules: []string{"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go"}},

		"transport/revuehttp": {own: contracts},
		"transport/inbox":     {own: contracts, modules: []string{"golang.org/x/text", "github.com/yuin/goldmark"}},

		"internal/...":       {own: contracts},
		"internal/browser":   {own: contracts, modules: []string{"github.com/chromedp"}},
		"internal/inboxtest": {own: []string{"", "internal/...", "memory", "storage/memstore", "storage/sqlite", "transport/inbox"}},
		"internal/httpguard": {own: contracts, modules: []string{"golang.org/x/time"}},
		"internal/telemetry": {own: contracts, modules: []string{"github.com/prometheus/client_golang", "go.opentelemetry.io"}},
		"cmd/...":            {anything: true},
		"examples/...":       {anything: true},

		// Programs that measure package memory and count words for it.
		"internal/matcheval/eval":   {own: []string{"", "internal/...", "memory", "storage/memstore"}},
		"internal/matcheval/idfgen": {modules: []string{"github.com/kljensen/snowball"}},
	}
}

// goSDK may be imported by one transport, by programs and by tests.
const goSDK = "github.com/modelcontextprotocol/go-sdk"

// testsMayImport is what test files may import beyond the rule of their package.
func testsMayImport() importRule {
	return importRule{
		own: []string{"", "internal/...", "memory", "revuetest", "storage/memstore", "storage/sqlite", "storage/storagetest"},
		modules: []string{
			"github.com/stretchr/testify", "go.uber.org/goleak", "pgregory.net/rapid",
			"github.com/rogpeppe/go-internal", "github.com/go-jose/go-jose", "golang.org/x/net/html", goSDK, "github.com/google/jsonschema-go", "github.com/BurntSushi/toml",
		},
	}
}

// listed is what "go list -json" says of a package.
type listed struct {
	ImportPath   string
	Module       *struct{ Path string }
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// ruleOf returns the rule of the package at this path below the module: its own, else that of the
// nearest "/..." above it.
func ruleOf(rules map[string]importRule, rel string) (importRule, bool) {
	if r, ok := rules[rel]; ok {
		return r, true
	}
	for dir := rel; dir != ""; {
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			break
		}
		dir = dir[:i]
		if r, ok := rules[dir+"/..."]; ok {
			return r, true
		}
	}
	return importRule{}, false
}

// allows reports whether the rule lets a package import this path.
func (r importRule) allows(path string) bool {
	if r.anything {
		return true
	}
	if rel, ours := ownPath(path); ours {
		return slices.ContainsFunc(r.own, func(o string) bool {
			if tree, ok := strings.CutSuffix(o, "/..."); ok {
				return strings.HasPrefix(rel, tree+"/")
			}
			return o == rel
		})
	}
	return standard(path) || slices.ContainsFunc(r.modules, func(m string) bool {
		return path == m || strings.HasPrefix(path, m+"/")
	})
}

// ownPath returns a path below the module, "" for the root package.
func ownPath(path string) (rel string, ours bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// violations says what a package imports against the rules.
func violations(rules map[string]importRule, p listed) []string {
	rel, ours := ownPath(p.ImportPath)
	if !ours {
		return []string{p.ImportPath + " is outside " + module}
	}
	rule, ok := ruleOf(rules, rel)
	if !ok {
		return []string{p.ImportPath + " has no import rule: add one to importRules in imports_test.go and to .golangci.yml"}
	}
	var out []string
	for _, path := range p.Imports {
		switch {
		case !rule.allows(path):
			out = append(out, p.ImportPath+" must not import "+path)
		case strings.HasPrefix(path, goSDK) && !mayUseSDK(rel):
			out = append(out, p.ImportPath+" must not import "+path+": the MCP SDK is for transport/revuemcp alone")
		}
	}
	tests := testsMayImport()
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		own, ours := ownPath(path)
		if (ours && own == rel) || rule.allows(path) || tests.allows(path) {
			continue
		}
		out = append(out, "tests of "+p.ImportPath+" must not import "+path)
	}
	return out
}

func mayUseSDK(rel string) bool {
	return rel == "transport/revuemcp" || strings.HasPrefix(rel, "cmd/") || strings.HasPrefix(rel, "examples/")
}

// goList runs "go list" with and without cgo, since build tags choose drivers, and returns what both say.
func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	var all []listed
	for _, cgo := range []string{"0", "1"} {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Module,Imports,TestImports,XTestImports"}, args...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "GOOS=linux", "GOARCH=amd64")
		var diag bytes.Buffer
		cmd.Stderr = &diag
		out, err := cmd.Output()
		require.NoError(t, err, diag.String())
		dec := json.NewDecoder(bytes.NewReader(out))
		for {
			var p listed
			err := dec.Decode(&p)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			all = append(all, p)
		}
	}
	return all
}

func TestImports(t *testing.T) {
	packages := goList(t, "./...")
	require.NotEmpty(t, packages)
	rules := importRules()
	for _, p := range packages {
		for _, v := range violations(rules, p) {
			t.Error(v)
		}
	}
}

// TestImportRules shows the rules imports that break them.
func TestImportRules(t *testing.T) {
	pkg := func(rel string, imports ...string) listed {
		return listed{ImportPath: strings.TrimSuffix(module+"/"+rel, "/"), Imports: imports}
	}
	test := func(rel string, imports ...string) listed {
		return listed{ImportPath: strings.TrimSuffix(module+"/"+rel, "/"), XTestImports: imports}
	}
	for _, c := range []struct {
		name string
		pkg  listed
		want string // "" for nothing wrong
	}{
		{"the root imports std and x/sync", pkg("", "context", "encoding/json", "golang.org/x/sync/errgroup"), ""},
		{"the root imports another module", pkg("", "golang.org/x/text/cases"), "must not import golang.org/x/text/cases"},
		{"the root imports what is above it", pkg("", module+"/memory"), "must not import " + module + "/memory"},
		{"the root imports internal", pkg("", module+"/internal/x"), "must not import " + module + "/internal/x"},
		{"a driver imports the root", pkg("storage/sqlite", module, "github.com/mattn/go-sqlite3"), ""},
		{"a driver imports its sibling", pkg("storage/sqlite", module+"/storage/memstore"), "must not import"},
		{"a driver imports another driver's module", pkg("storage/memstore", "github.com/mattn/go-sqlite3"), "must not import"},
		{"a transport imports a store", pkg("transport/revuemcp", module+"/storage/sqlite"), "must not import"},
		{"a transport imports memory", pkg("transport/revuemcp", module+"/memory"), "must not import"},
		{"the transport imports the SDK", pkg("transport/revuemcp", goSDK+"/mcp"), ""},
		{"memory imports the SDK", pkg("memory", goSDK+"/mcp"), "must not import"},
		{"internal imports the SDK", pkg("internal/x", goSDK+"/mcp"), "must not import"},
		{"a suite imports a test library", pkg("revuetest", "github.com/stretchr/testify/require"), "must not import"},
		{"a suite imports internal", pkg("storage/storagetest", module+"/internal/x"), "must not import"},
		{"a module whose name only begins alike", pkg("", "golang.org/x/synctest"), "must not import"},
		{"cmd imports anything", pkg("cmd/revue", module+"/storage/sqlite", goSDK+"/mcp", "github.com/spf13/cobra"), ""},
		{"an example imports anything", pkg("examples/stdio", module+"/memory", goSDK+"/mcp"), ""},
		{"a package without a rule", pkg("storage/etcd"), "has no import rule"},
		{"a new folder at the top", pkg("plugins"), "has no import rule"},
		{"another module", listed{ImportPath: "example.com/x"}, "is outside"},
		{"tests reach the stores", test("transport/revuemcp", module+"/storage/memstore", module+"/storage/sqlite", module+"/memory", module+"/revuetest"), ""},
		{"tests reach the suites", test("storage/sqlite", module+"/storage/storagetest", "github.com/stretchr/testify/require"), ""},
		{"tests reach their own package", test("transport/revuemcp", module+"/transport/revuemcp"), ""},
		{"tests reach another transport", test("memory", module+"/transport/revuemcp"), "tests of"},
		{"tests reach an unknown module", test("memory", "example.com/x"), "tests of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(violations(importRules(), c.pkg), "\n")
			if c.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.want)
			}
		})
	}
}

// TestDependencies compares what each public package makes its user download with a golden list, so that
// no module slips in. "go test -run TestDependencies -update ." writes it anew.
func TestDependencies(t *testing.T) {
	modules := map[string]map[string]bool{}
	for _, p := range goList(t, "./...") {
		if rel, _ := ownPath(p.ImportPath); strings.HasPrefix(rel, "internal/") || strings.HasPrefix(rel, "examples/") {
			continue
		}
		modules[p.ImportPath] = map[string]bool{}
	}
	for path, found := range modules {
		for _, dep := range goList(t, "-deps", path) {
			if dep.Module != nil && dep.Module.Path != module {
				found[dep.Module.Path] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString("# The modules that each package brings along, tests aside. Written by: go test -run TestDependencies -update .\n")
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		fmt.Fprintf(&b, "%s\n", path)
		for _, m := range slices.Sorted(maps.Keys(modules[path])) {
			fmt.Fprintf(&b, "\t%s\n", m)
		}
	}
	golden := filepath.Join("testdata", "dependencies.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "the dependencies changed; if that is meant, say why in CHANGELOG.md and run with -update")
}
