package matcheval

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

// Month is how the month of all teams went.
type Month struct {
	Name     string
	Asks     int
	Cards    int    // that a human had to answer
	Weeks    [4]int // cards of each week
	WeekAsks [4]int
	Reused   int // asks that were answered from memory
	Joined   int // asks that were put on an open card
	Wrong    int // asks that were given the answer to another decision
	Outdated int // asks that were given an answer that its human had taken back, under another wording
	Unticked int // wordings that the human took off a card
	Learned  int // wordings that the human accepted by "same decision"
}

// Per100 is cards for 100 asks.
func (m Month) Per100() float64 { return 100 * float64(m.Cards) / float64(max(1, m.Asks)) }

func (m *Month) add(o Month) {
	m.Asks += o.Asks
	m.Cards += o.Cards
	m.Reused += o.Reused
	m.Joined += o.Joined
	m.Wrong += o.Wrong
	m.Outdated += o.Outdated
	m.Unticked += o.Unticked
	m.Learned += o.Learned
	for w := range m.Weeks {
		m.Weeks[w] += o.Weeks[w]
		m.WeekAsks[w] += o.WeekAsks[w]
	}
}

// An arm is a way to spend the month.
type arm struct {
	name     string
	memory   bool // decisions are recalled
	aliases  bool // wordings that a human accepted count
	confirms bool // the human says "same decision" to a precedent that is it; else they answer anew
	once     bool // an answer to a question that is decided in other words is for once: its wording is not learned
	noRules  bool // the human makes no answer a standing rule
}

// The five arms; [Report.Months] has them in this order.
func arms() []arm {
	return []arm{
		{name: "no memory"},
		{name: "memory, no wording learned", memory: true, once: true},
		{name: "memory, each wording a decision of its own", memory: true},
		{name: "memory, wordings learned", memory: true, aliases: true, confirms: true},
		{name: "memory, wordings learned, nothing made a rule", memory: true, aliases: true, confirms: true, noRules: true},
	}
}

// subject is one decision that the team has to make.
type subject struct {
	wordings []string
}

// step is what happens next: an ask, a look of the human at the inbox, or a change of mind.
type step struct {
	kind    byte // 'a', 'h' or 'c'
	subject int
	text    string
	agent   int
	at      time.Time
}

const (
	workdays = 20

	shareNew  = 0.08 // asks that nobody asked before
	shareNear = 0.07 // asks that differ from a decision in one crucial word
	shareMess = 0.30 // asks whose spelling is changed trivially
)

// script returns the decisions of a team's month and its steps: the same for each arm.
//
// Of 100 asks, 8 are new and asked once, 7 are near misses of a decision and decisions of their own, and 85 are about
// the topics of the gold set, the popular ones most (by Zipf's law; which are popular is another draw for each team). Of
// these, [Options.Own] percent use the words of the question or a trivial variant, the others one of the paraphrases. The human looks
// after one to three asks. Twice a week the human changes their mind about a popular decision.
func (e *evaluation) script(team int) ([]subject, []step) {
	rng := e.rng(fmt.Sprint("month of team ", team))
	var subjects []subject
	order := rng.Perm(len(e.Gold))
	var near []int
	for _, n := range order {
		subjects = append(subjects, subject{wordings: e.Gold[n].Wordings()})
	}
	for _, n := range order {
		for _, c := range e.Gold[n].Changes {
			near = append(near, len(subjects))
			subjects = append(subjects, subject{wordings: []string{c.Text}})
		}
	}
	fresh := len(subjects)
	for _, q := range nuisance(rng, e.Asks/5+10, e.known) {
		subjects = append(subjects, subject{wordings: []string{q}})
	}
	popular := zipf(len(order))
	var steps []step
	made := 0
	for day := range workdays {
		// Four weeks of five days.
		at := epoch().AddDate(0, 0, day/5*7+day%5)
		asks := e.Asks*(day+1)/workdays - made
		batch := 0
		for i := range asks {
			at = at.Add(4 * time.Minute)
			s := step{kind: 'a', agent: rng.IntN(8), at: at}
			switch x := rng.Float64(); {
			case x < shareNew && fresh < len(subjects):
				s.subject, fresh = fresh, fresh+1
			case x < shareNew+shareNear && len(near) > 0:
				s.subject = near[rng.IntN(len(near))]
			default:
				s.subject = popular(rng)
			}
			s.text = e.wording(rng, subjects[s.subject], s.subject, order)
			steps = append(steps, s)
			if batch--; batch <= 0 || i == asks-1 {
				steps = append(steps, step{kind: 'h', at: at})
				batch = 1 + rng.IntN(3)
			}
		}
		made += asks
		if day%5 == 1 || day%5 == 3 {
			steps = append(steps, step{kind: 'c', subject: popular(rng), at: at.Add(time.Minute)})
		}
	}
	return subjects, steps
}

// zipf draws numbers below n, the low ones most.
func zipf(n int) func(*rand.Rand) int {
	sum := make([]float64, n)
	total := 0.0
	for i := range sum {
		total += 1 / float64(i+1)
		sum[i] = total
	}
	return func(rng *rand.Rand) int {
		i, _ := slices.BinarySearch(sum, rng.Float64()*total)
		return min(i, n-1)
	}
}

// wording draws the words that an agent uses.
func (e *evaluation) wording(rng *rand.Rand, s subject, n int, order []int) string {
	text := s.wordings[0]
	if n < len(order) {
		t := e.Gold[order[n]]
		if own := t.Wordings()[:1+len(t.Variants)]; rng.IntN(100) < e.Own || len(t.Paraphrases) == 0 {
			text = own[rng.IntN(len(own))]
		} else {
			text = t.Paraphrases[rng.IntN(len(t.Paraphrases))]
		}
	}
	if rng.Float64() < shareMess {
		switch rng.IntN(3) {
		case 0:
			text = strings.TrimSuffix(text, "?")
		case 1:
			text = strings.ToLower(text[:1]) + text[1:]
		case 2:
			text = strings.Replace(text, " ", "  ", 1)
		}
	}
	return text
}

// months plays the month of each team once for each arm.
func (e *evaluation) months(ctx context.Context, r *Report) error {
	if e.Teams < 0 {
		return nil
	}
	for _, a := range e.arms {
		r.Months = append(r.Months, Month{Name: a.name})
	}
	for n := range e.Teams {
		subjects, steps := e.script(n)
		// The arms share nothing, so they are played side by side.
		played := make([]Month, len(e.arms))
		errs := make([]error, len(e.arms))
		var wg sync.WaitGroup
		for i, a := range e.arms {
			wg.Go(func() {
				if played[i], errs[i] = e.month(ctx, a, subjects, steps); errs[i] != nil {
					errs[i] = fmt.Errorf("the month with %s: %w", a.name, errs[i])
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for i := range played {
			r.Months[i].add(played[i])
		}
	}
	return nil
}

// team is a month while it is played.
type team struct {
	arm
	Month

	desk     *revue.Desk
	human    revue.Reviewer
	now      time.Time
	truth    []string         // by subject: its right answer
	ofAsk    map[string]int   // subject by ask
	of       map[string]int   // subject by decision
	live     map[int][]string // decisions by subject, in the order in which they were made
	waiting  []waiting        // for a human
	messages int
}

type waiting struct {
	step  step
	agent revue.Agent
}

func (e *evaluation) month(ctx context.Context, a arm, subjects []subject, steps []step) (_ Month, err error) {
	t := &team{arm: a, Month: Month{Name: a.name}, ofAsk: map[string]int{}, of: map[string]int{}, live: map[int][]string{}, truth: make([]string, len(subjects))}
	for i := range t.truth {
		t.truth[i] = answers()[i%2].Value
	}
	store := e.NewStore(func() time.Time { return t.now })
	defer func() { err = errors.Join(err, store.Close()) }()
	t.desk = revue.New(store, armed{e.NewMemory(), a}, nil)
	t.human = t.desk.Reviewer(revue.Human{Workspace: "team", ID: "ann", Name: "Ann", Via: "web"})
	for _, s := range steps {
		t.now = s.at
		switch s.kind {
		case 'a':
			err = t.ask(ctx, s)
		case 'h':
			err = t.look(ctx)
		case 'c':
			err = t.changeMind(ctx, s.subject)
		}
		if err != nil {
			return t.Month, err
		}
	}
	return t.Month, nil
}

func (t *team) week() int { return min(3, int(t.now.Sub(epoch())/(7*24*time.Hour))) }

// ask puts one question of an agent, each in a session of its own.
func (t *team) ask(ctx context.Context, s step) error {
	t.messages++
	agent := revue.Agent{
		Workspace: "team", Credential: fmt.Sprintf("tok_%d", s.agent), Name: fmt.Sprintf("agent %d", s.agent),
		Thread: fmt.Sprintf("session %d", t.messages), Repo: "github.com/acme/api", Via: "library",
	}
	o, err := t.desk.Decider(agent).Request(ctx, revue.Ask{Question: s.text, Options: answers()})
	if err != nil {
		return err
	}
	t.Asks++
	t.WeekAsks[t.week()]++
	t.ofAsk[o.AskID] = s.subject
	if o.Status == revue.OutcomePending {
		t.waiting = append(t.waiting, waiting{s, agent})
		return nil
	}
	t.Reused++
	t.given(s, o)
	return nil
}

// given looks at an answer that an agent got.
func (t *team) given(s step, o revue.Outcome) {
	switch {
	case t.of[o.DecisionID] != s.subject && o.Status == revue.OutcomeReused:
		t.Wrong++
	case o.Answer != t.truth[s.subject] && o.Status == revue.OutcomeReused:
		t.Outdated++
	case o.Answer != t.truth[s.subject]:
		t.Wrong++ // by a card that settled it together with another
	}
}

// look is the human who answers every open card, until there are none.
func (t *team) look(ctx context.Context) error {
	asked := len(t.waiting)
	cards := 0
	for {
		page, err := t.human.Lots(ctx, revue.LotFilter{Status: revue.StatusOpen})
		if err != nil {
			return err
		}
		if len(page.Items) == 0 {
			break
		}
		for _, l := range page.Items {
			if err := t.answer(ctx, l.ID); err != nil {
				return err
			}
			cards++
		}
	}
	t.Cards += cards
	t.Weeks[t.week()] += cards
	t.Joined += max(0, asked-cards)
	for _, w := range t.waiting {
		o, err := t.desk.Decider(w.agent).Request(ctx, revue.Ask{Question: w.step.text, Options: answers()})
		if err != nil {
			return err
		}
		if o.Status != revue.OutcomeAnswered {
			return fmt.Errorf("%q was answered, and its agent was told %q", w.step.text, o.Status)
		}
		t.given(w.step, o)
	}
	t.waiting = t.waiting[:0]
	return nil
}

// answer reads a card as a careful human does: they untick the wordings that ask something else, say "same decision"
// to a precedent that is it, and make leave a rule.
func (t *team) answer(ctx context.Context, id string) error {
	lot, err := t.human.Lot(ctx, id)
	if err != nil {
		return err
	}
	subject := t.ofAsk[lot.Asks[0].ID]
	a := revue.Answer{Value: t.truth[subject], Seen: lot.Revision}
	for _, ask := range lot.Asks {
		if t.ofAsk[ask.ID] == subject {
			a.Members = append(a.Members, ask.ID)
		} else {
			t.Unticked++
		}
		if ask.Permission && !t.noRules {
			a.Remember = revue.RememberRule
		}
	}
	if t.once && len(t.live[subject]) > 0 {
		a.Remember = revue.RememberOnce
	}
	if t.confirms {
		for _, m := range lot.Pinned {
			if n, ok := t.of[m.DecisionID]; ok && n == subject && m.Answer == a.Value {
				a.Confirms = m.DecisionID
				break
			}
		}
	}
	lot, err = t.human.Answer(ctx, id, a)
	if err != nil {
		return err
	}
	if a.Confirms != "" && lot.DecisionID == a.Confirms {
		t.Learned++
	}
	if lot.Answer.Remember != revue.RememberOnce && !slices.Contains(t.live[subject], lot.DecisionID) {
		t.live[subject] = append(t.live[subject], lot.DecisionID)
	}
	t.of[lot.DecisionID] = subject
	return nil
}

// changeMind takes the first decision on a subject back, and wants the other answer from now on.
func (t *team) changeMind(ctx context.Context, subject int) error {
	if len(t.live[subject]) == 0 {
		return nil
	}
	id := t.live[subject][0]
	t.live[subject] = t.live[subject][1:]
	if _, err := t.human.Correct(ctx, revue.Correction{DecisionID: id, Verb: revue.VerbWrong}); err != nil {
		return err
	}
	for _, o := range answers() {
		if o.Value != t.truth[subject] {
			t.truth[subject] = o.Value
			break
		}
	}
	return nil
}

// armed is a memory without what its arm has not.
type armed struct {
	revue.Memory

	arm arm
}

// Recall implements [revue.Memory].
func (m armed) Recall(ctx context.Context, src revue.Source, q revue.Query) (revue.Recalled, error) {
	if !m.arm.aliases {
		src = withoutAliases{src}
	}
	got, err := m.Memory.Recall(ctx, src, q)
	if !m.arm.memory {
		got.Matches = nil
	}
	return got, err
}

// withoutAliases is a source whose decisions have no aliases.
type withoutAliases struct{ revue.Source }

func (s withoutAliases) View(ctx context.Context, fn func(revue.Snapshot) error) error {
	return s.Source.View(ctx, func(v revue.Snapshot) error { return fn(viewWithoutAliases{v}) })
}

type viewWithoutAliases struct{ revue.Snapshot }

func (v viewWithoutAliases) FindDecisions(q revue.DecisionQuery) ([]revue.Decision, error) {
	got, err := v.Snapshot.FindDecisions(q)
	for i := range got {
		got[i].Aliases = nil
	}
	return got, err
}
