// Command idfgen counts in how many sentences of architecture decision records each word stem occurs, for a memory that
// has no statistics of its own yet. It writes a table and the list of the repositories that the sentences are from.
//
//	go run ./internal/matcheval/idfgen -data DIR [-table FILE] [-attribution FILE]
//
// DIR/adr-decisions.jsonl holds one object a line with repo, licence, title, context and decision. The table has a line
// with the number of sentences, then one for each stem: the stem and how many sentences have it. The table has none of
// the text.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

func main() {
	data := flag.String("data", "", "the folder with adr-decisions.jsonl")
	table := flag.String("table", "memory/idf.txt", "where the table goes")
	attribution := flag.String("attribution", "memory/idf.ATTRIBUTION.txt", "where the list of repositories goes")
	flag.Parse()
	if err := run(*data, *table, *attribution); err != nil {
		fmt.Fprintln(os.Stderr, "idfgen:", err)
		os.Exit(1) //nolint:forbidigo // the main function of a program
	}
}

// Limits of the table: what is rarer than minSentences, or of fewer repositories than minRepos, is as rare as a word
// that is not in it, and may be a name.
const (
	minSentences = 8
	minRepos     = 4
	maxStems     = 1500
)

type record struct {
	Repo     string `json:"repo"`
	Licence  string `json:"licence"`
	Title    string `json:"title"`
	Context  string `json:"context"`
	Decision string `json:"decision"`
}

func run(data, table, attribution string) error {
	f, err := os.Open(filepath.Join(data, "adr-decisions.jsonl")) //nolint:gosec // the folder is the caller's
	if err != nil {
		return err
	}
	defer f.Close()
	counts, repos, err := count(f)
	if err != nil {
		return err
	}
	if err := os.WriteFile(table, counts, 0o644); err != nil { //nolint:gosec // anyone may read it
		return err
	}
	return os.WriteFile(attribution, repos, 0o644) //nolint:gosec // anyone may read it
}

// count returns the table and the attribution, both in a fixed order.
func count(r io.Reader) (table, attribution []byte, err error) {
	df := map[string]int{}
	in := map[string]map[string]bool{} // repositories by stem
	licences := map[string]string{}
	sentences := 0
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		var rec record
		if err := json.Unmarshal(sc.Bytes(), &rec); err != nil {
			return nil, nil, fmt.Errorf("record %d: %w", n, err)
		}
		licences[rec.Repo] = rec.Licence
		for _, s := range sentencesOf(rec.Title + "\n" + rec.Context + "\n" + rec.Decision) {
			sentences++
			for stem := range s {
				df[stem]++
				if in[stem] == nil {
					in[stem] = map[string]bool{}
				}
				in[stem][rec.Repo] = true
			}
		}
	}
	if err := sc.Err(); err != nil {
		return nil, nil, err
	}
	stems := slices.DeleteFunc(slices.Sorted(maps.Keys(df)), func(s string) bool { return df[s] < minSentences || len(in[s]) < minRepos })
	slices.SortStableFunc(stems, func(a, b string) int { return cmp.Compare(df[b], df[a]) })
	stems = stems[:min(maxStems, len(stems))]
	slices.Sort(stems)
	var t, a bytes.Buffer
	fmt.Fprintf(&t, "%d\n", sentences)
	for _, s := range stems {
		fmt.Fprintf(&t, "%s %d\n", s, df[s])
	}
	fmt.Fprintln(&a, "The word counts of idf.txt are from architecture decision records of these public repositories, under the licences")
	fmt.Fprintln(&a, "that are named. None of their text is here.")
	fmt.Fprintln(&a)
	for _, repo := range slices.Sorted(maps.Keys(licences)) {
		fmt.Fprintf(&a, "github.com/%s (%s)\n", repo, licences[repo])
	}
	return t.Bytes(), a.Bytes(), nil
}

// sentencesOf returns the stems of each sentence that has two at least.
func sentencesOf(text string) []map[string]bool {
	// A paragraph that is broken over lines is one text; a line that is empty, a heading or an item of a list begins anew.
	text = strings.ReplaceAll(text, "[url]", " ") // what stands for an address in the records
	end := regexp.MustCompile(`[.!?;:](?:\s|$)|\n\s*\n|\n\s*[-*#>|\d]`)
	var out []map[string]bool
	for _, s := range end.Split(text, -1) {
		stems := map[string]bool{}
		for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if len(w) > 1 && len(w) < 30 && isASCII(w) && strings.ContainsFunc(w, unicode.IsLetter) {
				stems[stem(w)] = true
			}
		}
		if len(stems) > 1 {
			out = append(out, stems)
		}
	}
	return out
}

// stem is what package memory searches by: words of fewer than four letters are kept.
func stem(w string) string {
	if len(w) < 4 {
		return w
	}
	return english.Stem(w, false)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
