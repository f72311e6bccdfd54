package revue

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// updating reports whether the golden files are to be rewritten; the flag is declared in the external tests.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

type keyVector struct {
	Name string `json:"name"`
	Ask  Ask    `json:"ask"`
	Key  string `json:"key"`
}

// keyVectors are asks whose keys were fixed once and for all: a key that changes loses every ask that
// waits for an answer.
func keyVectors() []keyVector {
	opts := []Option{{Value: "postgres"}, {Value: "sqlite", Label: "SQLite", Consequence: "one file"}}
	return []keyVector{
		{Name: "plain", Ask: Ask{Question: "Which database?"}},
		{Name: "options", Ask: Ask{Question: "Which database?", Options: opts}},
		{Name: "options in another order", Ask: Ask{Question: "Which database?", Options: []Option{opts[1], opts[0]}}},
		{Name: "recommendation", Ask: Ask{Question: "Which database?", Options: opts, Recommendation: "sqlite"}},
		{Name: "scope", Ask: Ask{Question: "Which database?", Concepts: []string{"billing", "storage"}, Files: []string{"a.go", "b.go"}}},
		{Name: "unicode", Ask: Ask{Question: "Sollen wir „übermorgen“ ausliefern? 🚀 你好 שלום", Options: []Option{{Value: "ja"}, {Value: "nein"}}}},
		{Name: "approval", Ask: Ask{Kind: KindApproval, Question: "Delete 4 branches?", Context: "stale", Affected: []Affected{{Label: "a", Meta: "old"}, {Label: "b"}}}},
	}
}

func TestKeyGolden(t *testing.T) {
	path := filepath.Join("testdata", "keys.golden.json")
	got := keyVectors()
	for i := range got {
		var err error
		got[i].Key, err = got[i].Ask.Key()
		require.NoError(t, err)
	}
	if updating() {
		b, err := json.MarshalIndent(got, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(b, '\n'), 0o600))
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var want []keyVector
	require.NoError(t, json.Unmarshal(b, &want))
	require.Len(t, got, len(want))
	seen := map[string]string{}
	for i := range want {
		require.Equal(t, want[i].Key, got[i].Key, "the key of %q changed", want[i].Name)
		require.NotContains(t, seen, got[i].Key, "%q has the key of another", want[i].Name)
		seen[got[i].Key] = want[i].Name
	}
}

func TestKeyIgnores(t *testing.T) {
	base := Ask{
		Question: "Which database?", Options: []Option{{Value: "a"}, {Value: "b"}}, Recommendation: "a",
		Concepts: []string{"x", "y"}, Files: []string{"f", "g"},
	}
	want, err := base.Key()
	require.NoError(t, err)
	for name, change := range map[string]func(*Ask){
		"wait":                  func(a *Ask) { a.Wait = time.Hour },
		"stream":                func(a *Ask) { a.Stream = "web" },
		"expires":               func(a *Ask) { a.Expires = time.Hour },
		"context of a decision": func(a *Ask) { a.Context = "because" },
		"ref":                   func(a *Ask) { a.DecisionRef = "ask_x" },
		"order of concepts":     func(a *Ask) { a.Concepts = []string{"y", "x", "y", " x "} },
		"order of files":        func(a *Ask) { a.Files = []string{"g", "f"} },
		"labels spelled out":    func(a *Ask) { a.Options = []Option{{Value: "a", Label: "a"}, {Label: "b"}} },
		"line ends":             func(a *Ask) { a.Question = "Which database?\r\n" },
		"white space around":    func(a *Ask) { a.Question = "  Which database? " },
	} {
		a := base
		change(&a)
		got, err := a.Key()
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	for name, change := range map[string]func(*Ask){
		"case":            func(a *Ask) { a.Question = "which database?" },
		"option order":    func(a *Ask) { a.Options = []Option{{Value: "b"}, {Value: "a"}} },
		"label":           func(a *Ask) { a.Options = []Option{{Value: "a", Label: "A"}, {Value: "b"}} },
		"consequence":     func(a *Ask) { a.Options = []Option{{Value: "a", Consequence: "slow"}, {Value: "b"}} },
		"recommendation":  func(a *Ask) { a.Recommendation = "b" },
		"another concept": func(a *Ask) { a.Concepts = []string{"x"} },
		"concept to file": func(a *Ask) { a.Concepts, a.Files = []string{"x", "y", "f"}, []string{"g"} },
	} {
		a := base
		change(&a)
		got, err := a.Key()
		require.NoError(t, err, name)
		require.NotEqual(t, want, got, name)
	}
}
