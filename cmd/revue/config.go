package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/revuehq/revue/internal/term"
)

// A setting of "revue serve" comes from the first of these that has it: the flag, the environment, the config file, the
// default. A key of the file is the name of the flag; its variable is envName.

// maxConfig bounds a config file, in bytes.
const maxConfig = 1 << 20

// setting is one setting and where it comes from.
type setting struct {
	name   string
	value  any    // as TOML has it
	source string // "flag", "environment: NAME", "file: PATH:LINE" or "default"
}

// envName is the variable of a flag: REVUE_ and its name in capitals. The workspace has an older one.
func envName(flag string) string {
	if flag == "workspace" {
		return "REVUE_WORKSPACE_ID"
	}
	return "REVUE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configurable reports whether a flag can be set by the environment and the config file.
func configurable(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "config" && f.Name != "print-config"
}

// readsEnv reports whether every command reads the variable of a flag for itself. The flag then stays unset: what a command
// repeats of its flags is what the user typed.
func readsEnv(flag string) bool { return flag == "db" || flag == "workspace" }

// configure gives each flag that is not on the command line its value from the environment or the file at path ("": none),
// and returns all settings by name.
func (a *app) configure(cmd *cobra.Command, path string) ([]setting, error) {
	file, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	if err := file.check(cmd.Flags()); err != nil {
		return nil, err
	}
	var out []setting
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err != nil || !configurable(f) {
			return
		}
		s := setting{name: f.Name, source: "default"}
		env := a.env(envName(f.Name))
		value, in := file.values[f.Name]
		switch {
		case f.Changed:
			s.source = "flag"
		case env != "":
			s.source = "environment: " + envName(f.Name)
			if readsEnv(f.Name) {
				s.value = env
				break
			}
			if serr := setFlag(f, fromEnv(f, env)); serr != nil {
				err = misuse(envName(f.Name) + ": " + serr.Error())
			}
		case in:
			where := fmt.Sprintf("%s:%d", path, file.line(f.Name))
			s.source = "file: " + where
			if serr := setFlag(f, value); serr != nil {
				err = misuse(where + ": " + f.Name + ": " + serr.Error())
			}
		}
		if s.value == nil {
			s.value = flagValue(f)
		}
		if s.source == "default" {
			s.value = a.effective(f.Name, s.value)
		}
		out = append(out, s)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// effective is the default of a setting that depends on where the program runs.
func (a *app) effective(name string, value any) any {
	switch name {
	case "db":
		if path, _, err := a.dbPath(); err == nil {
			return path
		}
	case "workspace":
		return a.workspaceName()
	}
	return value
}

// configFile is a config file that was read.
type configFile struct {
	path   string
	text   []byte
	open   bool // others than its owner can read it
	values map[string]any
}

// readConfig reads a config file; without a path it is an empty one.
func readConfig(path string) (*configFile, error) {
	c := &configFile{path: path}
	if path == "" {
		return c, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, misuse("--config: " + err.Error())
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, misuse("--config: " + err.Error())
	}
	if c.text, err = io.ReadAll(io.LimitReader(f, maxConfig+1)); err != nil {
		return nil, misuse("--config: " + err.Error())
	}
	if len(c.text) > maxConfig {
		return nil, misuse(fmt.Sprintf("%s: is larger than %d bytes, and no config file is", path, maxConfig))
	}
	c.open = runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
	if at := secretText.FindIndex(c.text); c.open && at != nil { // in a comment, too
		return nil, misuse(fmt.Sprintf("%s:%d: holds a secret, and others can read the file: chmod 600 it", path, 1+bytes.Count(c.text[:at[0]], []byte("\n"))))
	}
	if _, err := toml.Decode(string(c.text), &c.values); err != nil {
		var bad toml.ParseError
		if errors.As(err, &bad) {
			return nil, misuse(fmt.Sprintf("%s:%d: is no TOML: %s", path, bad.Position.Line, secretText.ReplaceAllString(bad.Message, "[a secret]")))
		}
		return nil, misuse(path + ": is no TOML")
	}
	return c, nil
}

// line is where a key is set, 0 where that can't be told.
func (c *configFile) line(key string) int {
	at := regexp.MustCompile(`^\s*\[{0,2}\s*["']?` + regexp.QuoteMeta(key) + `["']?\s*[.=\]]`)
	n := 0
	for l := range bytes.Lines(c.text) {
		if n++; at.Match(l) {
			return n
		}
	}
	return 0
}

// check refuses keys that there are not, and secrets that others can read.
func (c *configFile) check(flags *pflag.FlagSet) error {
	var names, keys []string
	flags.VisitAll(func(f *pflag.Flag) {
		if configurable(f) {
			names = append(names, f.Name)
		}
	})
	for key := range c.values {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return c.line(a) - c.line(b) })
	for _, key := range keys {
		switch known := slices.Contains(names, key); {
		case !known && secretValue(key):
			return misuse(fmt.Sprintf("%s:%d: a secret stands where the name of a setting belongs: take it out, no setting needs one", c.path, c.line(key)))
		case !known:
			return misuse(fmt.Sprintf("%s:%d: there is no key %q; did you mean %q?", c.path, c.line(key), key, nearest(key, names)))
		}
		for _, v := range texts(c.values[key]) {
			if c.open && secretValue(v) {
				return misuse(fmt.Sprintf("%s:%d: %s holds a secret, and others can read the file: chmod 600 it", c.path, c.line(key), key))
			}
		}
	}
	return nil
}

// secretText is a token or the password of an address, anywhere in a file.
var secretText = regexp.MustCompile(secretArg.String() + `|://[^\s/:@"']*:[^\s/@"']+@`)

// secretValue reports whether a value has a token or a password in it.
func secretValue(v string) bool {
	if secretArg.MatchString(v) {
		return true
	}
	u, err := url.Parse(v)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// texts are the strings of a value.
func texts(v any) []string {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		var out []string
		for _, e := range x {
			out = append(out, texts(e)...)
		}
		return out
	}
	return nil
}

// fromEnv is the text of a variable as the file would have it: a flag that may be repeated takes values with commas
// between.
func fromEnv(f *pflag.Flag, text string) any {
	if _, many := f.Value.(pflag.SliceValue); !many {
		return text
	}
	var out []any
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// setFlag sets a flag to a value of the file, or to the text of a variable.
func setFlag(f *pflag.Flag, value any) error {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		list, ok := value.([]any)
		all := texts(value)
		if !ok || len(all) != len(list) {
			return errors.New(`it is a list of texts, like ["a", "b"]`)
		}
		return many.Replace(all)
	}
	switch x := value.(type) {
	case string:
		switch f.Value.Type() {
		case "string":
			if isBlank(x) {
				return errors.New("is blank; leave it out")
			}
			return f.Value.Set(x)
		case "bool":
			if _, err := strconv.ParseBool(x); err == nil {
				return f.Value.Set(x)
			}
		case "int":
			if _, err := strconv.Atoi(x); err == nil {
				return f.Value.Set(x)
			}
		}
	case int64:
		if f.Value.Type() == "int" {
			return f.Value.Set(strconv.FormatInt(x, 10))
		}
	case bool:
		if f.Value.Type() == "bool" {
			return f.Value.Set(strconv.FormatBool(x))
		}
	}
	switch f.Value.Type() {
	case "bool":
		return errors.New("it is true or false")
	case "int":
		return errors.New("it is a whole number")
	}
	return errors.New(`it is a text, in quotes`)
}

func flagValue(f *pflag.Flag) any {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		return many.GetSlice()
	}
	switch f.Value.Type() {
	case "bool":
		return f.Value.String() == "true"
	case "int":
		if n, err := strconv.Atoi(f.Value.String()); err == nil {
			return n
		}
	}
	return f.Value.String()
}

// nearest is the name that takes the fewest changes to get to.
func nearest(key string, names []string) string {
	best, least := "", len(key)+64
	for _, n := range names {
		d := distance(key, n)
		if key != "" && strings.HasPrefix(n, key) {
			d = 1
		}
		if d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is how many characters must be put in, taken out or changed to make one text of the other.
func distance(a, b string) int {
	if len(a) > 64 {
		a = a[:64]
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// printConfig writes the settings as a config file, with where each comes from. Settings without a value are comments.
func (a *app) printConfig(settings []setting) error {
	var b strings.Builder
	for _, s := range settings {
		value := s.value
		if text, ok := value.(string); ok && secretValue(text) {
			value = "[a secret]"
		}
		line, err := toml.Marshal(map[string]any{s.name: value})
		if err != nil {
			return err
		}
		off := ""
		if text, ok := value.(string); ok && text == "" {
			off = "# "
		}
		fmt.Fprintf(&b, "%s%s  # %s\n", off, bytes.TrimSpace(line), term.Line(s.source, 0))
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
