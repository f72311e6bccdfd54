package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// serveWith runs "revue serve" with --print-config and returns its settings by name, its output and its exit code.
func serveWith(t *testing.T, env map[string]string, args ...string) (settings map[string]string, out, diag string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), &world{
		args: append([]string{"serve", "--print-config"}, args...), env: func(key string) string { return env[key] },
		stdin: io.NopCloser(strings.NewReader("")), stdout: &stdout, stderr: &stderr,
	})
	settings = map[string]string{}
	for line := range strings.Lines(stdout.String()) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), " = ")
		require.True(t, ok, line)
		settings[name] = rest
	}
	return settings, stdout.String(), stderr.String(), code
}

func configFileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "revue.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestConfigPrecedence has each setting come from where it should.
func TestConfigPrecedence(t *testing.T) {
	path := configFileOf(t, "# ours\naddr = '127.0.0.1:1'\nprofile = \"approvals\"\n\nallow-host = [\n  \"a.example.com\",\n  \"b.example.com\",\n]\ninsecure-listen = true\nlog-level = \"debug\"\nworkspace = \"from-file\"\ndb = \"file.db\"\n")
	got, out, diag, code := serveWith(t, map[string]string{
		"REVUE_CONFIG": path, "REVUE_PROFILE": "decisions", "REVUE_ADDR": "127.0.0.1:2", "REVUE_LOG_FORMAT": "json", "REVUE_DB": "env.db",
	}, "--addr", "127.0.0.1:3")
	require.Equal(t, exitDone, code, diag)
	for name, want := range map[string]string{
		"addr":            `"127.0.0.1:3"  # flag`,
		"profile":         `"decisions"  # environment: REVUE_PROFILE`,
		"log-format":      `"json"  # environment: REVUE_LOG_FORMAT`,
		"log-level":       `"debug"  # file: ` + path + `:10`,
		"insecure-listen": `true  # file: ` + path + `:9`,
		"allow-host":      `["a.example.com", "b.example.com"]  # file: ` + path + `:5`,
		"workspace":       `"from-file"  # file: ` + path + `:11`,
		"db":              `"env.db"  # environment: REVUE_DB`,
		"tls-cert":        `""  # default`,
		"drain-delay":     `"0s"  # default`,
	} {
		require.Equal(t, want, got[name], name)
	}

	// What is printed is a config file that says the same.
	again, _, diag, code := serveWith(t, nil, "--config", configFileOf(t, out))
	require.Equal(t, exitDone, code, diag)
	for name, value := range got {
		want, _, _ := strings.Cut(value, "  # ")
		have, _, _ := strings.Cut(again[name], "  # ")
		require.Equal(t, want, have, name)
	}

	where, _, _, _ := serveWith(t, map[string]string{"HOME": "/srv/revue"})
	require.Equal(t, `"/srv/revue/.local/share/revue/revue.db"  # default`, where["db"])
	require.Equal(t, `"default"  # default`, where["workspace"])
	hosts, _, _, _ := serveWith(t, map[string]string{"HOME": "/srv/revue", "REVUE_ALLOW_HOST": "a.example.com, b.example.com", "REVUE_INSECURE_LISTEN": "1"})
	require.Equal(t, `["a.example.com", "b.example.com"]  # environment: REVUE_ALLOW_HOST`, hosts["allow-host"])
	require.Equal(t, `true  # environment: REVUE_INSECURE_LISTEN`, hosts["insecure-listen"])
}

// TestConfigRefused names the place and the remedy, and never a secret.
func TestConfigRefused(t *testing.T) {
	const secret = "kq7wmzt4hxnp2rv6"
	for _, c := range []struct{ text, want string }{
		{"addr = '127.0.0.1:1'\nprofil = 'approvals'\n", `:2: there is no key "profil"; did you mean "profile"?`},
		{"\n[tls]\ncert = 'x'\n", `:2: there is no key "tls"; did you mean "tls-cert"?`},
		{"tls.cert = 'x'\n", `:1: there is no key "tls"`},
		{"config = 'x'\n", `:1: there is no key "config"`},
		{"addr = 7433\n", `:1: addr: it is a text, in quotes`},
		{"\naddr = ['a']\n", `:2: addr: it is a text, in quotes`},
		{"addr = ' '\n", `:1: addr: is blank; leave it out`},
		{"insecure-listen = 'perhaps'\n", `:1: insecure-listen: it is true or false`},
		{"insecure-listen = 1\n", `:1: insecure-listen: it is true or false`},
		{"allow-host = 'a'\n", `:1: allow-host: it is a list of texts, like ["a", "b"]`},
		{"allow-host = ['a', 1]\n", `:1: allow-host: it is a list`},
		{"addr = 'a'\naddr = 'b'\n", `:2: is no TOML`},
		{"addr = \n", `:1: is no TOML`},
		{"[addr]\nx = 1\n", `:1: addr: it is a text`},
		{"# " + strings.Repeat("x", maxConfig), "larger than"},
	} {
		_, out, diag, code := serveWith(t, nil, "--config", configFileOf(t, c.text))
		require.Equal(t, exitMisused, code, c.text)
		require.Empty(t, out)
		require.Contains(t, diag, c.want)
		require.Equal(t, 1, strings.Count(diag, "\n"), diag)
	}
	_, _, diag, code := serveWith(t, nil, "--config", filepath.Join(t.TempDir(), "none.toml"))
	require.Equal(t, exitMisused, code)
	require.Contains(t, diag, "no such file")
	_, _, diag, code = serveWith(t, map[string]string{"REVUE_INSECURE_LISTEN": "perhaps"})
	require.Equal(t, exitMisused, code)
	require.Contains(t, diag, "REVUE_INSECURE_LISTEN: it is true or false")

	for _, text := range []string{
		"db = 'postgres://ada:" + secret + "@db/revue'\n", "workspace = 'rvu_h_" + secret + "'\n", "allow-host = ['rvu_a_" + secret + "']\n",
		"# the agent has rvu_a_" + secret + "\n", "addr = '127.0.0.1:0' # rvu_h_" + secret + "\n", "# https://ada:" + secret + "@db/revue\n",
		"rvu_a_" + secret + " = 1\n", "[tls]\nx = 'rvu_a_" + secret + "'\n", "addr = rvu_a_" + secret + "\n",
	} {
		path := configFileOf(t, text)
		require.NoError(t, os.Chmod(path, 0o640))
		_, _, diag, code := serveWith(t, nil, "--config", path)
		require.Equal(t, exitMisused, code)
		require.Contains(t, diag, "holds a secret, and others can read the file: chmod 600 it")
		require.NotContains(t, diag, secret)
	}
	_, out, diag, code := serveWith(t, nil, "--config", configFileOf(t, "db = 'x.db'\nworkspace = 'rvu_h_"+secret+"'\n"))
	require.Equal(t, exitDone, code, diag)
	require.NotContains(t, out, secret)
	require.Contains(t, out, "[a secret]")
}

// TestConfigSecretMisplaced: a secret where none belongs, in a file that its owner alone can read, is not repeated.
func TestConfigSecretMisplaced(t *testing.T) {
	const secret = "kq7wmzt4hxnp2rv6"
	for text, want := range map[string]string{
		"\nrvu_a_" + secret + " = 'x'\n":                                  ":2: a secret stands where the name of a setting belongs",
		"['rvu_h_" + secret + "']\nx = 1\n":                               ":1: a secret stands where the name of a setting belongs",
		"'https://ada:" + secret + "@db' = 1\n":                           ":1: a secret stands where the name of a setting belongs",
		"rvu_a_" + secret + " = 1\nrvu_a_" + secret + " = 2\n":            ":2: is no TOML",
		"rvu_a_" + secret + "\n":                                          "is no TOML",
		"addr = rvu_a_" + secret + "\n":                                   "is no TOML",
		"log-level = 'rvu_a_" + secret + "'\n":                            "--log-level [token]",
		"addr = 'rvu_a_" + secret + "'\n":                                 "--addr [token]: it is HOST:PORT",
		"allow-host = ['https://rvu_a_" + secret + "']\n":                 "--allow-host",
		"drain-delay = 'rvu_a_" + secret + "'\n":                          "--drain-delay [token]",
		"db = 'x.db'\nprofile = 'rvu_h_" + secret + "'\n":                 "--profile [token]",
		"tls-cert = 'rvu_h_" + secret + "'\ntls-key = 'x'\ndb = 'x.db'\n": "[token]: no such file",
	} {
		_, out, diag, code := serveWith(t, nil, "--config", configFileOf(t, text))
		require.NotEqual(t, exitDone, code, text)
		require.Empty(t, out)
		require.Contains(t, diag, want, text)
		require.NotContains(t, diag, secret)
	}
}

// TestConfigPrintChecks: what serve would refuse, --print-config refuses with the same words.
func TestConfigPrintChecks(t *testing.T) {
	for _, args := range [][]string{
		{"--log-level", "loud"},
		{"--log-format", "xml"},
		{"--drain-delay", "soon"},
		{"--drain-delay", "-1s"},
		{"--drain-delay", "11m"},
		{"--profile", "nonsense"},
		{"--rate-limit", "-1"},
		{"--allow-host", "https://revue.example.com/"},
		{"--base-url", "revue.example.com"},
		{"--base-url", "https://revue.example.com/inbox"},
		{"--addr", "7433"},
		{"--addr", "127.0.0.1:"},
		{"--addr", "127.0.0.1:99999"},
		{"--addr", "127.0.0.1:no-such-port"},
		{"--addr", "0.0.0.0:7433"},
		{"--metrics-addr", "7433"},
		{"--metrics-addr", "0.0.0.0:9464"},
		{"--tls-cert", "cert.pem"},
		{"--tls-cert", "none.pem", "--tls-key", "none.pem"},
		{"--db", "postgres://db/revue"},
	} {
		env := map[string]string{"HOME": t.TempDir()}
		_, out, printed, code := serveWith(t, env, args...)
		require.NotEqual(t, exitDone, code, "%v", args)
		require.Empty(t, out)
		require.Contains(t, strings.ToLower(printed), args[0][2:4], "%v", args)
		var diag bytes.Buffer
		require.Equal(t, code, run(t.Context(), &world{
			args: append([]string{"serve"}, args...), env: func(key string) string { return env[key] },
			stdin: io.NopCloser(strings.NewReader("")), stdout: io.Discard, stderr: &diag,
		}), "%v", args)
		require.Equal(t, diag.String(), printed, "%v", args)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"addr", "allow-host", "log-level", "log-format", "tls-cert", "tls-key"}
	for key, want := range map[string]string{
		"adr": "addr", "allow_host": "allow-host", "loglevel": "log-level", "tls-certificate": "tls-cert", "TLS-KEY": "tls-key", strings.Repeat("é", 999): "addr",
	} {
		require.NotEmpty(t, nearest(key, names))
		if len(key) < 99 && key != "TLS-KEY" {
			require.Equal(t, want, nearest(key, names), key)
		}
	}
	require.Equal(t, 3, distance("kitten", "sitting"))
	require.Equal(t, 0, distance("", ""))
}

func FuzzReadConfig(f *testing.F) {
	for _, s := range []string{"addr = 'x'\n", "allow-host = ['a']", "[a]\nb=1", "a.b = 1", "\"addr\" = 'x'", "insecure-listen = true", "addr = '''\nprofile = 1\n'''"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		home := map[string]string{"HOME": "/srv/revue"}
		settings, out, diag, code := serveWith(t, home, "--config", configFileOf(t, text))
		if code != exitDone {
			require.Empty(t, out)
			require.Equal(t, 1, strings.Count(diag, "\n"), diag)
			return
		}
		again, _, diag, code := serveWith(t, home, "--config", configFileOf(t, out))
		require.Equal(t, exitDone, code, "%s: %s", out, diag)
		require.Len(t, again, len(settings))
	})
}

// TestConfigReference compares docs/operations.md with the flags there are.
func TestConfigReference(t *testing.T) {
	a := &app{world: &world{}}
	cmd, _, err := a.root().Find([]string{"serve"})
	require.NoError(t, err)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlagSet(cmd.InheritedFlags())
	flags.AddFlagSet(cmd.LocalFlags())
	var table strings.Builder
	table.WriteString("| flag and key | variable | default | what |\n|---|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if !configurable(f) {
			return
		}
		def := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			def = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | %s |\n", f.Name, envName(f.Name), def, f.Usage)
	})
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	require.NoError(t, err)
	_, _, found := strings.Cut(string(doc), table.String())
	require.True(t, found, "the table of settings in docs/operations.md should be\n%s", table.String())
}
