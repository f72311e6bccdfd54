package matcheval

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Topic is one decision of the gold set, in all the wordings that are known of it, and what is nearly it.
type Topic struct {
	Question    string
	Variants    []string // trivially the same
	Paraphrases []string // the same decision in other words
	Changes     []Change // other decisions, by one crucial difference
}

// Change is a question that differs from another in something crucial.
type Change struct {
	Text string
	Kind string // what differs: "number", "verb" and the like
}

// Pairs returns how many pairs of the question with another wording the topic has.
func (t Topic) Pairs() int { return len(t.Variants) + len(t.Paraphrases) + len(t.Changes) }

// Wordings returns the question, its variants and its paraphrases, in this order.
func (t Topic) Wordings() []string {
	out := append([]string{t.Question}, t.Variants...)
	return append(out, t.Paraphrases...)
}

// ReadGold reads a gold set: a line "Q: " with a question, then its wordings, one a line, behind "=" for a trivial
// variant, "~" for a paraphrase, and "!" for another decision with what differs in brackets at the end. Empty lines
// and those that begin with "#" are left out. An error names the line.
func ReadGold(r io.Reader) ([]Topic, error) {
	var topics []Topic
	seen := map[string]int{}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		kind, text, _ := strings.Cut(line, " ")
		text = strings.TrimSpace(text)
		if kind != "Q:" && len(topics) == 0 {
			return nil, fmt.Errorf("gold set, line %d: no question before it", n)
		}
		category := ""
		if kind == "!" {
			i := strings.LastIndex(text, " [")
			if i < 0 || !strings.HasSuffix(text, "]") {
				return nil, fmt.Errorf("gold set, line %d: a change names what differs in brackets at its end", n)
			}
			category, text = text[i+2:len(text)-1], text[:i]
		}
		if text == "" {
			return nil, fmt.Errorf("gold set, line %d: no wording", n)
		}
		if at, ok := seen[text]; ok && kind != "!" {
			return nil, fmt.Errorf("gold set, line %d: the wording of line %d again", n, at)
		}
		seen[text] = n
		last := len(topics) - 1
		switch kind {
		case "Q:":
			topics = append(topics, Topic{Question: text})
		case "=":
			topics[last].Variants = append(topics[last].Variants, text)
		case "~":
			topics[last].Paraphrases = append(topics[last].Paraphrases, text)
		case "!":
			topics[last].Changes = append(topics[last].Changes, Change{Text: text, Kind: category})
		default:
			return nil, fmt.Errorf("gold set, line %d: none of Q:, =, ~ and ! is in front", n)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("gold set: %w", err)
	}
	return topics, nil
}

// plain is a wording without what is trivially the same: case, spacing and marks at the ends of words.
func plain(text string) string {
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		words[i] = strings.Trim(w, "?.,!;:'\"`")
	}
	return strings.Join(words, " ")
}
