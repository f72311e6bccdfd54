package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/internal/testneed"
)

// What is installed. A change of version may bring new checks: look at what it says before it is taken.
const (
	suiteVersion = "0.2.0-alpha.12"
	nodeVersion  = "22.23.3"
)

// suite is the installed conformance suite.
type suite struct{ node, script string }

// install returns the suite, from the cache where it is there in the right version.
func install(t *testing.T, root string) suite {
	t.Helper()
	dir := filepath.Join(root, ".cache", "conformance")
	s := suite{
		node:   filepath.Join(dir, "node_modules", "node", "bin", "node"),
		script: filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
	}
	wanted := suiteVersion + " " + nodeVersion
	stamp := filepath.Join(dir, "installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == wanted {
		return s
	}
	if !testneed.MayInstall() {
		testneed.Need(t, "the MCP conformance suite", `not installed in .cache/conformance; "make conformance" does that`)
	}
	npm := testneed.Program(t, "npm")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"private\":true}\n"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error",
		"@modelcontextprotocol/conformance@"+suiteVersion, "node@"+nodeVersion)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		testneed.Need(t, "the npm registry", "npm install failed: "+strings.TrimSpace(string(out)))
	}
	require.NoError(t, os.WriteFile(stamp, []byte(wanted), 0o600))
	return s
}

// plane is a running "revue serve".
type plane struct {
	url   *url.URL
	token string
}

// serve builds revue and starts it on a new database and a free port, with one agent token.
func serve(t *testing.T, root string) plane {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "revue")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/revue")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	// A bare environment: nothing of the caller's may steer the plane.
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	db := filepath.Join(dir, "revue.db")
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // to learn a free port
	require.NoError(t, err)
	addr := listener.Addr().String()
	require.NoError(t, listener.Close())

	var log bytes.Buffer
	server := exec.CommandContext(t.Context(), program, "serve", "--addr", addr, "--db", db)
	server.Env, server.Stdout, server.Stderr = env, &log, &log
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 10 * time.Second
	require.NoError(t, server.Start())
	exited := make(chan struct{})
	go func() {
		_ = server.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		<-exited
		if t.Failed() {
			t.Logf("the server said:\n%s", log.String())
		}
	})
	require.Eventually(t, func() bool {
		conn, err := net.DialTimeout("tcp", addr, time.Second) //nolint:noctx // a probe of our own server
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, 30*time.Second, 20*time.Millisecond, "revue serve does not listen")

	create := exec.CommandContext(t.Context(), program, "token", "create", "--db", db, "--kind", "agent", "--json")
	create.Env = env
	out, err = create.Output()
	require.NoError(t, err, string(out))
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal(out, &made), string(out))
	require.NotEmpty(t, made.Token)
	return plane{url: &url.URL{Scheme: "http", Host: addr}, token: made.Token}
}

// proxy adds the credential to each request. A Host or Origin that names the proxy names the plane
// instead; any other is passed on as it came, since scenarios test what becomes of it.
func proxy(t *testing.T, p plane) string {
	t.Helper()
	var self string // set before the server starts
	reverse := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.url)
			r.Out.Host = r.In.Host
			if r.In.Host == self {
				r.Out.Host = p.url.Host
			}
			if r.In.Header.Get("Origin") == "http://"+self {
				r.Out.Header.Set("Origin", p.url.String())
			}
			r.Out.Header.Set("Authorization", "Bearer "+p.token)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The request is read whole first: an answer may come before its body was passed on, and net/http
		// then cuts the connection.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		reverse.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	self = server.Listener.Addr().String()
	server.Start()
	return server.URL + "/mcp"
}

// check is one result of the suite.
type check struct {
	ID           string
	Status       string
	ErrorMessage string
}

// run runs one scenario and returns its checks.
func (s suite) run(t *testing.T, target, scenario, version string) []check {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.node, s.script, "server", "--url", target, "--scenario", scenario, "--spec-version", version, "-o", dir)
	cmd.Dir = dir
	// The exit code is 1 for any failed check. What counts is in checks.json.
	out, _ := cmd.CombinedOutput()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	require.NoError(t, err)
	require.Len(t, files, 1, "%s", out)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var checks []check
	require.NoError(t, json.Unmarshal(text, &checks))
	require.NotEmpty(t, checks, "%s", out)
	return checks
}

// entries returns the lines of a file of testdata, without comments.
func entries(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var out []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	require.NotEmpty(t, out)
	return out
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and Node.js: left out by -short")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	s := install(t, root)
	target := proxy(t, serve(t, root))

	expected := map[string]string{} // "scenario check" → reason
	for _, line := range entries(t, "expected-failures.txt") {
		what, why, ok := strings.Cut(line, ": ")
		require.True(t, ok && why != "", "no reason: %s", line)
		expected[what] = why
	}
	seen := map[string]bool{}
	for _, line := range entries(t, "scenarios.txt") {
		scenario, version, ok := strings.Cut(line, " ")
		require.True(t, ok, line)
		t.Run(scenario+"@"+version, func(t *testing.T) {
			for _, c := range s.run(t, target, scenario, version) {
				key := scenario + " " + c.ID
				failed := c.Status == "FAILURE" || c.Status == "WARNING"
				why, allowed := expected[key]
				switch {
				case failed && allowed:
					seen[key] = true
					t.Logf("%s fails as expected: %s", c.ID, why)
				case failed:
					t.Errorf("%s: %s %s", c.ID, c.Status, c.ErrorMessage)
				case allowed && c.Status == "SUCCESS":
					t.Errorf("%s passes: take it off expected-failures.txt", c.ID)
				default:
					t.Logf("%s: %s", c.ID, c.Status)
				}
			}
		})
	}
	for key := range expected {
		if !seen[key] && !t.Failed() {
			t.Errorf("expected-failures.txt names %q, which no scenario ran", key)
		}
	}
}
