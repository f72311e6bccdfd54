package revuehttp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/revuehq/revue"
)

// asAgent is a request of an agent.
func (c *Client) asAgent(path string, body any) (exchange, error) {
	h, err := c.headers(c.agent.Via)
	if err != nil {
		return exchange{}, err
	}
	b, err := encoded(body)
	return exchange{method: http.MethodPost, path: path, header: h, body: b}, err
}

// Lookup implements [revue.Decider].
func (c *Client) Lookup(ctx context.Context, q revue.Query) (revue.Findings, error) {
	var got lookupResult
	x, err := c.asAgent("/v1/decisions/lookup", lookupBody{Query: q.Text, Concepts: q.Concepts, Files: q.Files, Limit: q.Limit})
	if err == nil {
		err = c.link.do(ctx, x, &got)
	}
	if err != nil {
		return revue.Findings{}, err
	}
	return revue.Findings{Matches: got.Matches, Context: got.Context}, nil
}

// Share implements [revue.Decider]. The same note again is the one that exists, so it may be sent again.
func (c *Client) Share(ctx context.Context, item revue.ContextItem) (revue.ContextItem, error) {
	var got revue.ContextItem
	x, err := c.asAgent("/v1/context", contextBody{Kind: item.Kind, Body: item.Body, Concepts: item.Concepts})
	if err == nil {
		err = c.link.do(ctx, x, &got)
	}
	if err == nil && got.ID == "" {
		err = c.link.malformed(nil)
	}
	return got, err
}

// pollGrace is how long an answer may be late in a wait. What it would have said is there for the next call.
const pollGrace = 3 * time.Second

// Request implements [revue.Decider]. It first places the ask, without a wait, and fails where that does: at once where
// the plane is down, after RetryFor where it is busy or the connection keeps breaking. From then on it waits, by as
// many requests as it takes. A plane that goes away meanwhile is waited for; where it does not come back within the
// wait, the outcome is pending. All requests of one call have the same id, so that none of them is answered twice.
//
// An outcome counts as returned when Request has all of it, unless the client is bound to an agent that
// Acknowledges.
func (c *Client) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	began := time.Now()
	if err := ctx.Err(); err != nil {
		return revue.Outcome{}, err
	}
	wait := min(max(ask.Wait, 0), revue.MaxWait)
	w := &waiting{client: c, body: bodyOf(ask), call: cmp.Or(c.agent.Call, newCall())}
	if ask.Kind == revue.KindApproval {
		if err := c.link.settleOwed(ctx, c); err != nil {
			return revue.Outcome{}, err
		}
	}
	if err := w.place(ctx); err != nil {
		return revue.Outcome{}, err
	}
	err := w.follow(ctx, began.Add(wait))
	if w.unsure && (err != nil || w.last.Status == revue.OutcomePending) {
		c.giveBack(ctx, w)
	}
	if err != nil {
		return revue.Outcome{}, err
	}
	o := w.last.Outcome
	o.RetryAfter = w.last.retryAfter()
	if !c.agent.Acknowledges && toReturn(o.Status) {
		c.acknowledge(ctx, o)
	}
	return o, nil
}

// bodyOf is an ask as it is sent.
func bodyOf(ask revue.Ask) requestBody {
	b := requestBody{
		Kind: ask.Kind, Question: ask.Question, Recommendation: ask.Recommendation, Context: ask.Context,
		Concepts: ask.Concepts, Files: ask.Files, Affected: ask.Affected, Stream: ask.Stream,
		DecisionRef: ask.DecisionRef, Acknowledge: true,
	}
	if ask.Kind == revue.KindApproval {
		b.Title, b.Question = ask.Question, ""
	}
	for _, o := range ask.Options {
		b.Options = append(b.Options, optionBody(o))
	}
	if ask.Expires != 0 {
		s := ask.Expires.Seconds()
		b.ExpiresInSeconds = &s
	}
	return b
}

// retryAfter is when calling again makes sense, within an hour whatever is said.
func (o outcomeBody) retryAfter() time.Duration {
	return time.Duration(min(max(o.RetryAfterSeconds, 0), 3600) * float64(time.Second))
}

// toReturn reports whether a plane is told that an outcome was returned.
func toReturn(s revue.OutcomeStatus) bool {
	return s != revue.OutcomePending && s != revue.OutcomeReused
}

// waiting is one call of Request.
type waiting struct {
	client *Client
	body   requestBody
	call   string
	last   outcomeBody // what the plane said last
	unsure bool        // it may have said more since, which got lost
	until  time.Time   // when the last request ends at the plane, where that does not notice before
}

// exchange is the request that waits for so long.
func (w *waiting) exchange(window time.Duration) (exchange, error) {
	s := window.Seconds()
	w.body.WaitSeconds = &s
	x, err := w.client.asAgent("/v1/decisions/request", w.body)
	x.call, x.wait = w.call, window
	return x, err
}

// place makes the ask exist.
func (w *waiting) place(ctx context.Context) error {
	x, err := w.exchange(0)
	if err != nil {
		return err
	}
	var got outcomeBody
	if err := w.client.link.do(ctx, x, &got); err != nil {
		return err
	}
	return w.heard(got)
}

// heard takes in what the plane said.
func (w *waiting) heard(got outcomeBody) error {
	ok := got.AskID != ""
	switch got.Status {
	case revue.OutcomeAnswered, revue.OutcomeReused:
		ok = ok && got.Answer != ""
	case revue.OutcomeDismissed, revue.OutcomeExpired, revue.OutcomePending:
		ok = ok && got.Answer == "" // an answer that does not say it is one is none
	default:
		ok = false
	}
	if !ok {
		return w.client.link.malformed(errors.New("an outcome that is none"))
	}
	w.last, w.unsure = got, false
	return nil
}

// follow waits until there is an outcome, or the deadline.
func (w *waiting) follow(ctx context.Context, deadline time.Time) error {
	failed, early := 0, 0 // in a row
	for w.last.Status == revue.OutcomePending {
		left := time.Until(deadline)
		if left <= 0 {
			return nil
		}
		window := min(left, MaxWait)
		x, err := w.exchange(window)
		if err != nil {
			return err
		}
		x.grace = min(pollGrace, w.client.link.timeout)
		var got outcomeBody
		asked := time.Now()
		w.until = asked.Add(window + x.grace)
		f := w.client.link.try(ctx, x, &got)
		w.unsure = w.unsure || f != nil && !f.away
		if err := ctx.Err(); err != nil && f != nil {
			return err
		}
		var d time.Duration
		switch {
		case f == nil:
			failed = 0
			if err := w.heard(got); err != nil {
				return err
			}
			if got.Status != revue.OutcomePending || time.Since(asked) >= window {
				early = 0
				continue
			}
			// The plane did not wait, since it is about to restart say. Asking again at once would only spin.
			d = pause(early, max(earlyPause, got.retryAfter()))
			early++
		case !f.again:
			return f.err
		default:
			d = pause(failed, f.after)
			failed++
			w.client.link.log.DebugContext(ctx, "a wait goes on", "decisionRef", w.last.AskID, "err", f.err, "in", d)
		}
		if err := sleep(ctx, min(d, max(time.Until(deadline), 0))); err != nil {
			return err
		}
	}
	return nil
}

// earlyPause is the shortest pause after a plane that did not wait.
const earlyPause = 250 * time.Millisecond

// Returned implements [revue.Returner].
func (c *Client) Returned(ctx context.Context, o revue.Outcome, err error) error {
	if !toReturn(o.Status) {
		return nil
	}
	return c.returned(ctx, returnedBody{DecisionRef: o.AskID, Status: o.Status, Claim: o.Claim, Failed: err != nil})
}

func (c *Client) returned(ctx context.Context, body returnedBody) error {
	x, err := c.asAgent("/v1/decisions/returned", body)
	if err != nil {
		return err
	}
	return c.link.do(ctx, x, nil)
}

// ackFor bounds how long a caller is kept from an outcome by telling the plane that it has it.
const ackFor = 2 * time.Second

// acknowledge says that an outcome is with its caller. It is so whether or not the plane hears of it: then a
// restarted agent may get it once more.
func (c *Client) acknowledge(ctx context.Context, o revue.Outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackFor)
	defer cancel()
	if err := c.Returned(ctx, o, nil); err != nil {
		c.link.log.WarnContext(ctx, "the plane was not told that an outcome was returned", "decisionRef", o.AskID, "err", err)
	}
}

// maxOwed bounds how many calls are remembered that the plane has to take back.
const maxOwed = 1000

// debt is an approval that the plane may have given to a call that is over, and did not get it. Nobody has it then, and
// the next call must be able to collect it, so the plane has to hear of it.
type debt struct {
	body  returnedBody
	until time.Time // it may yet be given
}

// giveBack notes that a call ends without knowing whether the plane has just given it an outcome. The plane is told at
// once, and again, where it is out of reach or may not have noticed yet, before the next approval is asked for.
func (c *Client) giveBack(ctx context.Context, w *waiting) {
	if w.body.Kind != revue.KindApproval {
		return // an answer that did not arrive is simply there for the next call
	}
	l := c.link
	l.mu.Lock()
	if len(l.owed) < maxOwed {
		l.owed[w.call] = debt{until: w.until, body: returnedBody{
			DecisionRef: w.last.AskID, Status: revue.OutcomeAnswered, Claim: w.call, Failed: true,
		}}
	}
	l.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	l.background(func() {
		ctx, cancel := context.WithTimeout(ctx, ackFor)
		defer cancel()
		if err := l.settleOwed(ctx, c); err != nil {
			l.log.WarnContext(ctx, "the plane was not told that a call is over; it will be with the next one", "decisionRef", w.last.AskID, "err", err)
		}
	})
}

// settleOwed tells the plane which calls ended without their outcome. Saying so twice changes nothing.
func (l *link) settleOwed(ctx context.Context, c *Client) error {
	l.mu.Lock()
	owed := maps.Clone(l.owed)
	l.mu.Unlock()
	for call, d := range owed {
		asked := time.Now()
		err := c.returned(ctx, d.body)
		if ctx.Err() != nil || errors.Is(err, revue.ErrUnavailable) || errors.Is(err, revue.ErrRateLimited) {
			return err
		}
		if asked.Before(d.until) {
			continue // it is told again
		}
		l.mu.Lock()
		delete(l.owed, call)
		l.mu.Unlock()
	}
	return nil
}
