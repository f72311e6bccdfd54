package matcheval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/revuehq/revue"
)

// shelf is a [revue.Source] of decisions that don't change.
type shelf struct {
	decisions []revue.Decision // in the order of Seq, from 1
	now       time.Time
}

func epoch() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

// answers are what every decision here was chosen from.
func answers() []revue.Option {
	return []revue.Option{{Value: "one", Label: "one"}, {Value: "other", Label: "other"}}
}

// put adds a decision that is a standing rule, so that questions for leave may be applied too, and returns its id.
func (s *shelf) put(question string, aliases ...string) string {
	n := len(s.decisions) + 1
	at := epoch().Add(time.Duration(n) * time.Second)
	d := revue.Decision{
		ID: fmt.Sprintf("dec_%06d", n), Seq: revue.Seq(n), Key: fmt.Sprintf("key_%06d", n), Question: question, Options: answers(),
		Answer: "one", AnswerLabel: "one", Remember: revue.RememberRule, CreatedAt: at, ConfirmedAt: at,
	}
	for _, a := range aliases {
		d.Aliases = append(d.Aliases, revue.Alias{Text: a, At: at})
	}
	s.decisions = append(s.decisions, d)
	s.now = at.Add(time.Hour)
	return d.ID
}

// Workspace implements [revue.Source].
func (s *shelf) Workspace() string { return "shelf" }

// View implements [revue.Source].
func (s *shelf) View(_ context.Context, fn func(revue.Snapshot) error) error { return fn(shelfView{s}) }

type shelfView struct{ *shelf }

func (v shelfView) Now() time.Time { return v.now }

func (v shelfView) Head() (revue.Event, error) {
	n := len(v.decisions)
	return revue.Event{Seq: revue.Seq(n), Hash: fmt.Sprintf("head_%d", n)}, nil
}

func (v shelfView) Events(revue.Seq, int) ([]revue.Event, error) { return nil, nil }

func (v shelfView) FindDecisions(q revue.DecisionQuery) ([]revue.Decision, error) {
	if q.IDs != nil {
		return slices.DeleteFunc(slices.Clone(v.decisions), func(d revue.Decision) bool { return !slices.Contains(q.IDs, d.ID) }), nil
	}
	rest := v.decisions[min(int(q.After), len(v.decisions)):]
	if q.Limit > 0 {
		rest = rest[:min(q.Limit, len(rest))]
	}
	return slices.Clone(rest), nil
}

// request is the query of an agent that asks this.
func request(text string) revue.Query {
	return revue.Query{Text: text, Limit: 10, Request: true, Options: answers()}
}
