package revue_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/internal/testneed"
)

// block is one fenced block of a Markdown file.
type block struct {
	file string
	line int
	lang string
	text string
}

func (b block) where() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// markdown splits a file into its prose and its fenced blocks.
func markdown(file, text string) (prose string, blocks []block) {
	var b strings.Builder
	var open *block
	var body []string
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open == nil:
			open = &block{file: file, line: i + 1, lang: strings.TrimPrefix(strings.TrimSpace(line), "```")}
			body = nil
		case fence:
			open.text = strings.Join(body, "\n") + "\n"
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			body = append(body, line)
		default:
			b.WriteString(line + "\n")
		}
	}
	return b.String(), blocks
}

func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, name := range treeFiles(t) {
		if filepath.Ext(name) == ".md" && !strings.Contains(name, "testdata/") {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			docs[name] = string(text)
		}
	}
	require.Contains(t, docs, "README.md")
	return docs
}

// TestDocsGo runs each Go program in the documents. A block of Go is a whole program; where one has a
// line "// Output:" at its end, that is what it must print.
func TestDocsGo(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles programs: left out by -short")
	}
	programs := 0
	for name, text := range documents(t) {
		_, blocks := markdown(name, text)
		for _, b := range blocks {
			if b.lang != "go" {
				continue
			}
			programs++
			t.Run(b.where(), func(t *testing.T) {
				require.True(t, strings.HasPrefix(b.text, "package main\n"), "a block of Go in a document is a whole program, so that a test can run it")
				file := filepath.Join(t.TempDir(), "main.go")
				require.NoError(t, os.WriteFile(file, []byte(b.text), 0o600))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, "go", "run", file)
				var out, diag bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &diag
				require.NoError(t, cmd.Run(), "%s", diag.String())
				if _, want, ok := strings.Cut(b.text, "// Output:"); ok {
					want = strings.ReplaceAll(want, "\n// ", "\n")
					require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(out.String()))
				}
			})
		}
	}
	require.Positive(t, programs, "README.md opens with a Go program")
}

// TestDocsLinks checks that each relative link of the documents leads somewhere, to the heading too.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	docs := documents(t)
	for name, text := range docs {
		prose, _ := markdown(name, text)
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			path, anchor, _ := strings.Cut(target, "#")
			full := name
			if path != "" {
				full = filepath.Join(filepath.Dir(name), path)
				if _, err := os.Stat(full); err != nil {
					t.Errorf("%s links to %s, which is not there", name, target)
					continue
				}
			}
			if anchor != "" && !hasHeading(docs[full], anchor) {
				t.Errorf("%s links to %s, and there is no such heading", name, target)
			}
		}
	}
}

func hasHeading(text, anchor string) bool {
	drop := regexp.MustCompile(`[^\w\- ]`)
	prose, _ := markdown("", text)
	for line := range strings.SplitSeq(prose, "\n") {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			slug := strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
			if slug == anchor {
				return true
			}
		}
	}
	return false
}

// commands returns what the documents tell a reader to type: code spans, and lines of shell blocks.
func commands(t *testing.T) map[string][]string {
	t.Helper()
	code := regexp.MustCompile("`([^`\n]+)`")
	out := map[string][]string{}
	for name, text := range documents(t) {
		prose, blocks := markdown(name, text)
		for _, m := range code.FindAllStringSubmatch(prose, -1) {
			out[name] = append(out[name], m[1])
		}
		for _, b := range blocks {
			if b.lang == "sh" || b.lang == "sh run" {
				out[name] = append(out[name], strings.Split(b.text, "\n")...)
			}
		}
	}
	return out
}

// TestDocsCommands checks that the make targets and the packages that documents name exist.
func TestDocsCommands(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	run := regexp.MustCompile(`^make ([a-z -]+)`)
	pkg := regexp.MustCompile(`go (?:run|test|build|install) (?:-\S+ )*(\./\S+)`)
	for name, list := range commands(t) {
		for _, c := range list {
			if m := run.FindStringSubmatch(c); m != nil {
				for _, target := range strings.Fields(m[1]) {
					if !targets[target] {
						t.Errorf("%s says %q: the Makefile has no target %s", name, c, target)
					}
				}
			}
			if m := pkg.FindStringSubmatch(c); m != nil && m[1] != "./..." {
				if _, err := os.Stat(strings.TrimSuffix(m[1], "/...")); err != nil {
					t.Errorf("%s says %q: there is no such package", name, c)
				}
			}
		}
	}
}

// TestDocsTests checks that the tests which documents name exist.
func TestDocsTests(t *testing.T) {
	have := map[string]bool{}
	for _, name := range treeFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				have[m[1]] = true
			}
		}
	}
	for name, list := range commands(t) {
		for _, c := range list {
			if test := regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]\w*`).FindString(c); test != "" && !have[test] {
				t.Errorf("%s names %s, and there is no such test", name, c)
			}
		}
	}
}

// TestDocsProgram checks that the commands and flags of revue that documents name exist.
func TestDocsProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: left out by -short")
	}
	program := filepath.Join(t.TempDir(), "revue")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/revue").CombinedOutput()
	require.NoError(t, err, string(out))
	help := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, append(args, "--help")...)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`).FindAllStringSubmatch(help(), -1) {
		known[m[1]] = true
	}
	require.True(t, known["serve"], help())

	call := regexp.MustCompile(`^(?:go run \./cmd/)?revue ([a-z]+)(.*)`)
	flags := regexp.MustCompile(`--[a-z][a-z-]+`)
	for name, list := range commands(t) {
		for _, c := range list {
			m := call.FindStringSubmatch(c)
			if m == nil {
				continue
			}
			if !known[m[1]] {
				t.Errorf("%s says %q: revue has no such command", name, c)
				continue
			}
			args := []string{m[1]}
			if sub := strings.Fields(m[2]); (m[1] == "token" || m[1] == "stream") && len(sub) > 0 {
				args = append(args, strings.Split(sub[0], "|")[0])
			}
			for _, flag := range flags.FindAllString(m[2], -1) {
				if !strings.Contains(help(args...), flag) {
					t.Errorf("%s says %q: there is no flag %s", name, c, flag)
				}
			}
		}
	}
}

// TestDocsLibraries compares the table of libraries in docs/design.md with go.mod: each module that is required is named,
// and each version is one of those in use.
func TestDocsLibraries(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "design.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Libraries\n")
	require.True(t, found)
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	versions := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)( // indirect)?$`).FindAllStringSubmatch(string(mod), -1) {
		if m[3] != "" {
			continue
		}
		versions[m[2]] = true
		name := filepath.Base(regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], ""))
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(section) {
			t.Errorf("docs/design.md has nothing on the library %s", m[1])
		}
	}
	require.NotEmpty(t, versions)
	for _, v := range regexp.MustCompile(`\bv\d+\.\d+\.\d+\b`).FindAllString(section, -1) {
		if !versions[v] {
			t.Errorf("docs/design.md names the version %s, which go.mod has for no library", v)
		}
	}
}

// TestDocsShell runs the shell session of each document that has one: its blocks of "sh run", in order, in one sh,
// with the program in the PATH and a plane on an empty home. The block of JSON or text after one is what it must print,
// where "…" stands for anything.
func TestDocsShell(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: left out by -short")
	}
	testneed.Program(t, "sh")
	testneed.Program(t, "curl")
	bin := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "revue"), "./cmd/revue").CombinedOutput()
	require.NoError(t, err, string(out))
	sessions := 0
	for name, text := range documents(t) {
		_, blocks := markdown(name, text)
		var script strings.Builder
		var wants []string // by block
		for i, b := range blocks {
			if b.lang != "sh run" {
				continue
			}
			want := ""
			if i+1 < len(blocks) && (blocks[i+1].lang == "json" || blocks[i+1].lang == "text") {
				want = blocks[i+1].text
			}
			wants = append(wants, want)
			script.WriteString(b.text + "printf '\\n%s\\n' '-- block --'\n")
		}
		if len(wants) == 0 {
			continue
		}
		sessions++
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "USER=ann"}
			plane := servedPlane(t, filepath.Join(bin, "revue"), env)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-eux", "-c", strings.ReplaceAll(script.String(), "http://127.0.0.1:7433", plane))
			cmd.Dir, cmd.Env = t.TempDir(), env
			var out, diag bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &diag
			require.NoError(t, cmd.Run(), "%s%s", out.String(), diag.String())
			require.NotContains(t, diag.String(), "rvu_", "a token is in the arguments of a command, or in a variable")
			require.Contains(t, diag.String(), "+ curl ")
			onlyOwners(t, cmd.Dir)
			got := strings.Split(out.String(), "\n-- block --\n")
			require.Len(t, got, len(wants)+1)
			for i, want := range wants {
				if want == "" {
					continue
				}
				parts := strings.Split(strings.TrimSpace(want), "…")
				for j, p := range parts {
					parts[j] = regexp.QuoteMeta(p)
				}
				require.Regexp(t, "^(?s)"+strings.Join(parts, ".+")+"$", strings.TrimSpace(got[i]))
			}
		})
	}
	require.Positive(t, sessions, "README.md has a session")
}

// onlyOwners checks that no file with a token in it can be read by others.
func onlyOwners(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		if info, err := e.Info(); bytes.Contains(text, []byte("rvu_")) {
			require.NoError(t, err)
			require.Zero(t, info.Mode().Perm()&0o077, e.Name())
		}
	}
}

// servedPlane runs a plane and returns its address.
func servedPlane(t *testing.T, program string, env []string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, "serve", "--addr", "127.0.0.1:0")
	cmd.Env = env
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		if at := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(sc.Text()); at != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
			return at
		}
	}
	require.Fail(t, "the plane did not start")
	return ""
}
