package memory_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

func ExampleMemory_Same() {
	m := memory.New(nil)
	asked := revue.Question{Text: "Which DB should the billing service use?"}
	for _, text := range []string{
		"what database should billing service use",
		"Which database should the billing service use in staging?",
		"Which database should the billing service not use?",
		"Should we lint on every commit?",
	} {
		c := m.Same(asked, revue.Question{Text: text})
		fmt.Printf("%q: %q\n", c.Verdict, c.Differs)
	}
	// Output:
	// "same": ""
	// "related": "environment: (nothing) / staging"
	// "related": "negation: (nothing) / not"
	// "": ""
}

func ExampleMemory_Recall() {
	s := newSource() // a desk hands its store to the memory as a revue.Source
	s.make(revue.Decision{
		Question: "Which database should the billing service use?",
		Options:  []revue.Option{{Value: "postgres", Label: "Postgres"}, {Value: "mysql", Label: "MySQL"}},
		Answer:   "postgres",
	})
	m := memory.New(nil)
	for _, text := range []string{
		"What DB should the billing service use?",
		"Which database should the search service use?",
		"billing database",
	} {
		r, err := m.Recall(context.Background(), s, revue.Query{Text: text})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, match := range r.Matches {
			fmt.Printf("%s %s: %s\n", match.ReuseGuidance, match.Answer, match.Reason)
		}
	}
	// Output:
	// apply postgres: The same question.
	// confirm postgres: Alike (database, service, use), but differs in words: search / billing.
	// confirm postgres: Found by keywords (billing, database).
}

func ExampleCanonical() {
	fmt.Printf("%q\n", memory.Canonical("What's the size of the repo for “Profile pictures”, please?"))
	fmt.Printf("%q\n", memory.Canonical("Should UserService use C++ for -5, not 5?"))
	// Output:
	// ["which" "is" "the" "size" "of" "the" "repo" "for" "\"Profile pictures\""]
	// ["should" "UserService" "use" "C++" "for" "-5" "," "not" "5"]
}

// meanings is a toy for a model: it takes the words of one list for the same.
type meanings [][]string

func (t meanings) ID() string { return "meanings 1" }

func (t meanings) Dim() int { return len(t) + 1 }

func (t meanings) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, t.Dim())
		out[i][len(t)] = 0.1 // no vector may be all zero
		for j, words := range t {
			for _, w := range words {
				if strings.Contains(text, w) {
					out[i][j] = 1
				}
			}
		}
	}
	return out, nil
}

// What is found by words is ordered by meaning too. Guidance stays what the words make it.
func ExampleEmbedder() {
	s := newSource()
	s.make(revue.Decision{Question: "How long do we keep profile pictures of deleted accounts?", Answer: "30 days"})
	s.make(revue.Decision{Question: "How long do we keep the invoices of deleted users in the archive?", Answer: "10 years"})
	for _, o := range []*memory.Options{nil, {Embedder: meanings{{"avatar", "picture"}, {"invoice", "bill"}}}} {
		r, err := memory.New(o).Recall(context.Background(), s, revue.Query{Text: "How long do we keep avatars of deleted users?"})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, match := range r.Matches {
			fmt.Println(match.ReuseGuidance, match.Question)
		}
	}
	// Output:
	// confirm How long do we keep the invoices of deleted users in the archive?
	// confirm How long do we keep profile pictures of deleted accounts?
	// confirm How long do we keep profile pictures of deleted accounts?
	// confirm How long do we keep the invoices of deleted users in the archive?
}
