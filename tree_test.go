package revue_test

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// treeFiles returns the files of the project: what git knows or would add, or without git all but the
// folders that make writes.
func treeFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if out, err := cmd.Output(); err == nil {
		var files []string
		for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				files = append(files, name)
			}
		}
		require.NotEmpty(t, files)
		return files
	}
	var files []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (path == ".git" || path == "bin" || path == "dist" || path == ".cache"):
			return filepath.SkipDir
		case d.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}

// foreign says what ties a text to one machine or one network: "" for nothing. Hosts are those of the
// package registries in use where the test runs. Tests may make up home folders.
func foreign(name string, text []byte, hosts []string) string {
	if m := machinePath().Find(text); m != nil {
		return "the path of somebody's machine: " + string(m)
	}
	test := strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/")
	if m := homePath().Find(text); m != nil && !test {
		return "the path of somebody's machine: " + string(m)
	}
	if m := lockedURL().Find(text); m != nil {
		return "the address of a package registry: " + string(m)
	}
	for _, h := range hosts {
		if bytes.Contains(text, []byte(h)) {
			return "the host of a package registry: " + h
		}
	}
	return ""
}

func machinePath() *regexp.Regexp {
	return regexp.MustCompile(`(?m)(?:^|[^\w.~/])(?:/[r]oot/|/[w]ork/)[^\s"']*`)
}

func homePath() *regexp.Regexp {
	return regexp.MustCompile(`(?m)(?:^|[^\w.~/])(?:/[h]ome/[a-z][\w-]*/|/[U]sers/\w|[A-Z]:\\[U]sers\\)[^\s"']*`)
}

func lockedURL() *regexp.Regexp { return regexp.MustCompile(`"[r]esolved"\s*:\s*"https?://[^"]*"`) }

// registryHosts returns the hosts from which this machine takes packages.
func registryHosts(t *testing.T) []string {
	t.Helper()
	var hosts []string
	add := func(text string) {
		for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '|' || r == '\n' }) {
			if u, err := url.Parse(strings.TrimSpace(part)); err == nil && u.Hostname() != "" {
				hosts = append(hosts, u.Hostname())
			}
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOPROXY").Output()
	require.NoError(t, err)
	add(string(out))
	if npm, err := exec.LookPath("npm"); err == nil {
		if out, err := exec.CommandContext(t.Context(), npm, "config", "get", "registry").Output(); err == nil {
			add(string(out))
		}
	}
	return hosts
}

func TestTreeIsPortable(t *testing.T) {
	hosts := registryHosts(t)
	here, err := os.Getwd()
	require.NoError(t, err)
	for _, name := range treeFiles(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if bytes.IndexByte(text, 0) >= 0 {
			continue // not text
		}
		if why := foreign(name, text, hosts); why != "" {
			t.Errorf("%s has %s", name, why)
		}
		if bytes.Contains(text, []byte(here+"/")) {
			t.Errorf("%s has the path of this checkout", name)
		}
	}
}

func TestTreeForeign(t *testing.T) {
	require.Empty(t, foreign("x_test.go", []byte("open /"+"home/ann/src"), nil), "a test may make up a home folder")
	for _, c := range []struct{ text, want string }{
		{"see /" + "root/x/y", "somebody's machine"},
		{"cd /" + "home/ann/src", "somebody's machine"},
		{"/" + "Users/ann", "somebody's machine"},
		{`{"` + `resolved": "https://r.example/x.tgz"}`, "package registry"},
		{"fetch https://packages.example/x", "packages.example"},
		{"https://example.com/root/x, a/" + "work/b, ~/" + "work/x and $HOME/src", ""},
	} {
		got := foreign("x.go", []byte(c.text), []string{"packages.example"})
		if c.want == "" {
			require.Empty(t, got, c.text)
		} else {
			require.Contains(t, got, c.want, c.text)
		}
	}
}
