package memory_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// askers puts questions of agents that know nothing of each other to one desk.
type askers struct {
	t    *testing.T
	desk *revue.Desk
	n    int
}

func newAskers(t *testing.T) *askers {
	return &askers{t: t, desk: revue.New(memstore.New(nil), memory.New(nil), nil)}
}

func (a *askers) ask(repo string, ask revue.Ask) revue.Outcome {
	a.t.Helper()
	a.n++
	if ask.Options == nil {
		ask.Options = options("yes", "no")
	}
	agent := revue.Agent{Workspace: "w", Credential: fmt.Sprint("c", a.n), Name: "agent", Thread: fmt.Sprint("t", a.n), Repo: repo, Via: "test"}
	o, err := a.desk.Decider(agent).Request(a.t.Context(), ask)
	require.NoError(a.t, err)
	return o
}

func (a *askers) lot(id string) revue.Lot {
	a.t.Helper()
	l, err := a.desk.Reviewer(revue.Human{Workspace: "w", ID: "h", Name: "Ada", Via: "test"}).Lot(a.t.Context(), id)
	require.NoError(a.t, err)
	return l
}

func (a *askers) answer(id, value string) {
	a.t.Helper()
	_, err := a.desk.Reviewer(revue.Human{Workspace: "w", ID: "h", Name: "Ada", Via: "test"}).
		Answer(a.t.Context(), id, revue.Answer{Value: value, Seen: a.lot(id).Revision})
	require.NoError(a.t, err)
}

// What points at something may be another thing for each who asks: the human sees that there are two.
func TestAsksThatPointJoinInPlainSight(t *testing.T) {
	for _, q := range []string{
		"Should we merge the PR into main?", "Should we pay the pending invoice from Acme?", "Should we merge the pull request into main?", "Should we delete the customer?",
		"Should billing be deployed on Friday?", "Should the invoice be paid by billing?", "Should this endpoint require TLS?", "Should the hotfix go to production?",
		"Should billing use option B?", "Databases?",
	} {
		a := newAskers(t)
		one := a.ask("h/a", revue.Ask{Question: q, Context: "PR 17"})
		two := a.ask("h/a", revue.Ask{Question: q, Context: "PR 18"})
		require.Equal(t, one.LotID, two.LotID, q)
		for _, m := range a.lot(one.LotID).Asks[1:] {
			require.Equal(t, revue.VerdictLikely, m.Verdict, q)
			require.NotEmpty(t, m.Differs, q)
		}
	}
	a := newAskers(t)
	one := a.ask("h/a", revue.Ask{Question: "Which database should billing use?"})
	two := a.ask("h/a", revue.Ask{Question: "which database should billing use"})
	require.Equal(t, one.LotID, two.LotID)
	require.Equal(t, revue.VerdictSame, a.lot(one.LotID).Asks[1].Verdict)
}

// A wording without an article does not make "a" and "the" one.
func TestArticlesAreNoChain(t *testing.T) {
	for _, of := range [][3]string{
		{"Should replica of orders serve reports?", "Should a replica of orders serve reports?", "Should the replica of orders serve reports?"},
		{"Should service of Acme be billed?", "Should a service of Acme be billed?", "Should the service of Acme be billed?"},
		{"Which plan has export of invoices?", "Which plan has an export of invoices?", "Which plan has the export of invoices?"},
	} {
		m := memory.New(nil)
		same := func(a, b string) bool {
			return m.Same(revue.Question{Text: a}, revue.Question{Text: b}).Verdict == revue.VerdictSame
		}
		require.False(t, same(of[1], of[2]), of)
		require.False(t, same(of[0], of[1]) && same(of[0], of[2]), of)
		a := newAskers(t)
		first := a.ask("", revue.Ask{Question: of[0]})
		require.NotEqual(t, first.LotID, a.ask("", revue.Ask{Question: of[1]}).LotID, of)
	}
}

// A consequence is part of what a human agrees to.
func TestConsequenceThatNobodySaw(t *testing.T) {
	const q = "How should expired sessions of billing be handled?"
	opts := func(purge, keep string) []revue.Option {
		return []revue.Option{{Value: "purge", Label: "Purge", Consequence: purge}, {Value: "keep", Label: "Keep", Consequence: keep}}
	}
	for _, c := range []struct {
		name        string
		seen, asked []revue.Option
		reused      bool
	}{
		{"none", opts("", ""), opts("", ""), true},
		{"the same", opts("deletes sessions", ""), opts("deletes sessions", ""), true},
		{"one that is told no more", opts("deletes sessions", ""), opts("", ""), true},
		{"one that is new", opts("", ""), opts("deletes all customers of the tenant", ""), false},
		{"another", opts("deletes sessions", ""), opts("deletes all customers of the tenant", ""), false},
		{"one of the option not chosen", opts("", ""), opts("", "costs 5 EUR a day"), false},
		{"swapped", opts("a", "b"), opts("b", "a"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.reused, revue.CompatibleOptions(c.seen, c.asked))
			a := newAskers(t)
			one := a.ask("h/a", revue.Ask{Question: q, Options: c.seen})
			two := a.ask("h/a", revue.Ask{Question: q, Options: c.asked})
			require.Equal(t, c.reused, one.LotID == two.LotID, "the open card")

			a = newAskers(t)
			a.answer(a.ask("h/a", revue.Ask{Question: q, Options: c.seen}).LotID, "purge")
			got := a.ask("h/a", revue.Ask{Question: q, Options: c.asked})
			require.Equal(t, c.reused, got.Status == revue.OutcomeReused)
		})
	}
}

// Files pin nothing while nobody knows of which repository they are.
func TestFilesOfUnknownRepositories(t *testing.T) {
	for _, c := range []struct {
		first, then string
		want        revue.OutcomeStatus
	}{
		{"", "", revue.OutcomePending},
		{"", "h/a", revue.OutcomePending},
		{"h/a", "", revue.OutcomePending},
		{"h/a", "h/b", revue.OutcomePending},
		{"h/a", "h/a", revue.OutcomeReused},
	} {
		a := newAskers(t)
		ask := revue.Ask{Question: "Should this file be kept in version control?", Files: []string{".env"}}
		a.answer(a.ask(c.first, ask).LotID, "yes")
		require.Equal(t, c.want, a.ask(c.then, ask).Status, "%q %q", c.first, c.then)
	}
}
