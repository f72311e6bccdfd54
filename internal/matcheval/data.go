package matcheval

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/revuehq/revue"
)

// Labelled counts pairs of which people said whether they ask the same. Such labels are noisy.
type Labelled struct {
	Name        string
	Pairs       int
	Same        int // said to be the same
	SameRight   int // of these, labelled as duplicates
	Likely      int
	LikelyRight int
	Found       Found // of the duplicates, among all second questions
}

// maxSearched bounds how many labelled pairs are searched for.
const maxSearched = 2000

// data measures the texts of a folder.
func (e *evaluation) data(ctx context.Context, r *Report) error {
	if e.Data == "" {
		return nil
	}
	titles, err := readTitles(filepath.Join(e.Data, "adr-decisions.jsonl"))
	if err != nil {
		return err
	}
	if len(titles) > 0 {
		if err := e.titles(ctx, r, titles); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name              string
		label, one, other int
		head              bool
	}{{"qqp-dev", 0, 1, 2, false}, {"paws-qqp-dev", 3, 1, 2, true}} {
		rows, err := readTSV(filepath.Join(e.Data, "eval-only", f.name+".tsv"), f.head)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		l, err := e.labelled(ctx, f.name, rows, f.label, f.one, f.other)
		if err != nil {
			return err
		}
		r.Labelled = append(r.Labelled, l)
	}
	return nil
}

// titles measures one-token changes of titles.
func (e *evaluation) titles(ctx context.Context, r *Report, titles []string) error {
	m, s := e.NewMemory(), &shelf{}
	for _, t := range titles {
		s.put(t)
	}
	r.Titles = &adversary{}
	r.TitleCount = len(titles)
	c := newChanger(e.rng("titles"), titles)
	for _, t := range titles {
		for _, change := range c.of(t) {
			if err := r.Titles.judge(ctx, m, s, change.op, t, change.text, true); err != nil {
				return err
			}
		}
	}
	r.Titles.Wrong = nil // none of the text is printed
	return nil
}

func (e *evaluation) labelled(ctx context.Context, name string, rows [][]string, label, one, other int) (Labelled, error) {
	l := Labelled{Name: name, Pairs: len(rows)}
	m, s := e.NewMemory(), &shelf{}
	ids := make([]string, len(rows))
	for i, row := range rows {
		duplicate := row[label] == "1"
		switch m.Same(revue.Question{Text: row[one]}, revue.Question{Text: row[other]}).Verdict {
		case revue.VerdictSame:
			l.Same++
			if duplicate {
				l.SameRight++
			}
		case revue.VerdictLikely:
			l.Likely++
			if duplicate {
				l.LikelyRight++
			}
		}
		ids[i] = s.put(row[other])
	}
	for i, row := range rows {
		if row[label] != "1" || l.Found.Tried == maxSearched {
			continue
		}
		got, err := m.Recall(ctx, s, request(row[one]))
		if err != nil {
			return l, err
		}
		l.Found.add(got.Matches, ids[i])
	}
	return l, nil
}

// lines reads the lines of a file; none where there is no such file.
func lines(file string) ([]string, error) {
	f, err := os.Open(file) //nolint:gosec // the folder is the caller's
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if sc.Text() != "" {
			out = append(out, sc.Text())
		}
	}
	return out, sc.Err()
}

// readTitles returns the different titles, in order.
func readTitles(file string) ([]string, error) {
	all, err := lines(file)
	if err != nil {
		return nil, err
	}
	var out []string
	seen := map[string]bool{}
	for _, line := range all {
		var d struct {
			Title string `json:"title"`
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return nil, err
		}
		if t := strings.TrimSpace(d.Title); t != "" && !seen[plain(t)] {
			seen[plain(t)] = true
			out = append(out, t)
		}
	}
	return out, nil
}

// readTSV returns the rows that have four fields.
func readTSV(file string, head bool) ([][]string, error) {
	all, err := lines(file)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if head {
		all = all[1:]
	}
	var out [][]string
	for _, line := range all {
		if row := strings.Split(line, "\t"); len(row) == 4 {
			out = append(out, row)
		}
	}
	return out, nil
}
