package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/revuehq/revue"
)

// TestMain lets the test binary run as the programs of the scripts, so that tests start real processes
// without building anything.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"revue": main,
		"ask":   askMain,
		"park":  parkMain,
	})
}

// askMain asks as an agent would, on the database REVUE_DB, and prints the outcome.
func askMain() {
	var (
		agent = revue.Agent{Workspace: defaultWorkspace, Credential: "local", Name: "agent@test", Via: "library"}
		ask   revue.Ask
		wait  time.Duration
	)
	flag.StringVar(&agent.Thread, "thread", "t1", "")
	flag.StringVar(&agent.Name, "agent", agent.Name, "")
	flag.StringVar(&agent.Repo, "repo", "", "")
	flag.StringVar(&ask.Question, "q", "", "")
	flag.StringVar(&ask.Context, "context", "", "")
	flag.StringVar(&ask.Recommendation, "recommend", "", "")
	flag.StringVar(&ask.Stream, "stream", "", "")
	flag.Func("affected", "", func(s string) error {
		ask.Affected = append(ask.Affected, revue.Affected{Label: s})
		return nil
	})
	share := flag.String("share", "", "share a note instead of asking")
	approval := flag.Bool("approval", false, "")
	flag.DurationVar(&wait, "wait", 0, "")
	flag.Func("o", "VALUE|LABEL|CONSEQUENCE", func(s string) error {
		part := append(strings.Split(s, "|"), "", "")
		ask.Options = append(ask.Options, revue.Option{Value: part[0], Label: part[1], Consequence: part[2]})
		return nil
	})
	flag.Parse()
	ask.Wait = wait
	if *approval {
		ask.Kind = revue.KindApproval
	}
	unquote := func(s *string) { // lets a script write any character
		if u, err := strconv.Unquote(`"` + *s + `"`); err == nil {
			*s = u
		}
	}
	unquote(&ask.Question)
	unquote(&ask.Context)
	unquote(&ask.Recommendation)
	unquote(share)
	for i := range ask.Affected {
		unquote(&ask.Affected[i].Label)
	}
	unquote(&agent.Name)
	for i := range ask.Options {
		unquote(&ask.Options[i].Label)
		unquote(&ask.Options[i].Consequence)
	}

	ctx, cancel := newContext()
	defer cancel()
	p, err := openPlane(ctx, os.Getenv("REVUE_DB"), nil)
	if err == nil && *share != "" {
		var n revue.ContextItem
		if n, err = p.Decider(agent).Share(ctx, revue.ContextItem{Kind: "finding", Body: *share}); err == nil {
			err = writeJSON(os.Stdout, n)
		}
	} else if err == nil {
		var o revue.Outcome
		if o, err = p.Decider(agent).Request(ctx, ask); err == nil {
			err = writeJSON(os.Stdout, o)
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "ask:", err)
		os.Exit(1)
	}
	_ = p.close()
}

// TestScripts runs the scripts in testdata/script. Beside the commands of testscript they have:
//
//	exits N COMMAND…      run it and require this exit code
//	field PATH VALUE      require a value in the JSON of the last output
//	has PATH KEY…         require exactly these keys, or with a last "..." at least these
//	count PATH N          require so many elements
//	grab NAME PATH        set a variable to a value
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("USER", "ada")
			e.Setenv("REVUE_KEYRING", "off") // the one of who runs the tests is none of theirs
			name, value, _ := strings.Cut(goRace, "=")
			e.Setenv(name, value)
			e.Setenv("DB", filepath.Join(e.WorkDir, "data", "revue.db"))
			e.Setenv("REVUE_DB", filepath.Join(e.WorkDir, "data", "revue.db"))
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits,
			"field": func(ts *testscript.TestScript, neg bool, args []string) {
				got := fmt.Sprint(lookUp(ts, args[0]))
				if want := args[1]; (got == want) == neg {
					ts.Fatalf("%s is %q, compared with %q", args[0], got, want)
				}
			},
			"grab": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], fmt.Sprint(lookUp(ts, args[1])))
			},
			"count": func(ts *testscript.TestScript, _ bool, args []string) {
				list, ok := lookUp(ts, args[0]).([]any)
				if !ok || strconv.Itoa(len(list)) != args[1] {
					ts.Fatalf("%s has %d elements, not %s", args[0], len(list), args[1])
				}
			},
			"has": func(ts *testscript.TestScript, _ bool, args []string) {
				object, _ := lookUp(ts, args[0]).(map[string]any)
				want := args[1:]
				atLeast := want[len(want)-1] == "..."
				if atLeast {
					want = want[:len(want)-1]
				}
				for _, k := range want {
					if _, ok := object[k]; !ok {
						ts.Fatalf("%s has no %s", args[0], k)
					}
				}
				if !atLeast && len(object) != len(want) {
					ts.Fatalf("%s has the keys %v, not %v alone", args[0], slices.Sorted(maps.Keys(object)), want)
				}
			},
		},
	})
}

func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// lookUp returns what is at a path like 0.options.1.value of the last output; "." is all of it.
func lookUp(ts *testscript.TestScript, path string) any {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("the output is no JSON: %v", err)
	}
	if path == "." {
		return v
	}
	for _, step := range strings.Split(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(in) {
				ts.Fatalf("nothing at %s in %s", step, path)
			}
			v = in[i]
		default:
			ts.Fatalf("nothing at %s in %s", step, path)
		}
	}
	return v
}
