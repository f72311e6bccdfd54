package memory

import (
	_ "embed"
	"sort"
	"strconv"
	"strings"
)

// backgroundTable has a line with a number of sentences, then in alphabetical order a line for each common stem of
// software decisions with how many of them have it. It is made by internal/matcheval/idfgen from the records of
// the repositories in idf.ATTRIBUTION.txt, and has none of their text.
//
//go:embed idf.txt
var backgroundTable string

// rarest is the share of a stem that is not in the table.
const rarest = 0.001

// backgroundShare is in which share of sentences about software decisions a stem occurs, so that a young store tells
// common words from telling ones. Nothing is read at start: the table is searched as it is.
func backgroundShare(stem string) float64 {
	head, lines, _ := strings.Cut(backgroundTable, "\n")
	sentences, err := strconv.Atoi(head)
	if err != nil || stem == "" {
		return rarest
	}
	// startOf is where the line begins that the byte at i is in.
	startOf := func(i int) int { return 1 + strings.LastIndexByte(lines[:i], '\n') }
	// The first byte that is in a line whose stem is not before the one that is looked for.
	at := sort.Search(len(lines), func(i int) bool {
		word, _, _ := strings.Cut(lines[startOf(i):], " ")
		return word >= stem
	})
	line, _, _ := strings.Cut(lines[startOf(at):], "\n")
	word, number, _ := strings.Cut(line, " ")
	if word != stem {
		return rarest
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return rarest
	}
	return max(rarest, float64(n)/float64(sentences))
}
