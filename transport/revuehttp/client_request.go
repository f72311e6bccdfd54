package revuehttp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
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
// An approval whose call ends without its outcome, since it was cancelled say, while the plane may have given it one, is
// not lost: the next identical call of the same client goes on as that call, and gets it. A client that is bound to an
// agent with a Call does not do so: who gives ids keeps them.
//
// An outcome counts as returned when Request has all of it, unless the client is bound to an agent that
// Acknowledges.
func (c *Client) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	began := time.Now()
	if err := ctx.Err(); err != nil {
		return revue.Outcome{}, err
	}
	wait := min(max(ask.Wait, 0), revue.MaxWait)
	w := &waiting{client: c, body: bodyOf(ask), call: c.agent.Call}
	var taken, same string
	var err error
	if w.body.Kind == revue.KindApproval && w.call == "" {
		if same, err = c.same(w.body); err != nil {
			return revue.Outcome{}, err
		}
		taken = c.link.ended.take(same)
	}
	w.call = cmp.Or(w.call, taken, newCall())
	if err = w.place(ctx); err == nil {
		err = w.follow(ctx, began.Add(wait))
	}
	pending := w.last.Status == revue.OutcomePending
	if same != "" && (err != nil || pending) && (taken != "" || w.unsure || pending) {
		c.link.ended.put(same, w.call)
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
	unsure bool        // it may have said more, which got lost
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
	x.lost = &w.unsure
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
		if w.body.Kind == revue.KindApproval { // two words alone are one, and nothing else is consent
			ok = ok && got.Status == revue.OutcomeAnswered && (got.Answer == revue.Approved || got.Answer == revue.Declined)
		}
	case revue.OutcomeDismissed, revue.OutcomeExpired, revue.OutcomePending:
		ok = ok && got.Answer == "" // an answer that does not say it is one is none
	default:
		ok = false
	}
	if !ok {
		w.unsure = true
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
		f := w.client.link.try(ctx, x, &got)
		w.unsure = w.unsure || f != nil && f.lost
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
	x.status = http.StatusNoContent
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

// same returns what tells an approval from all that the plane would take for another.
func (c *Client) same(body requestBody) (string, error) {
	body.WaitSeconds = nil
	b, err := encoded(body)
	if err != nil {
		return "", err
	}
	key, err := json.Marshal([]any{c.workspace, c.agent.Thread, revue.NormalizeRepo(c.agent.Repo), c.agent.AnyThread, json.RawMessage(b)})
	if err != nil {
		return "", &revue.Error{Code: revue.CodeInternal, Message: "the request can't be written as JSON", Err: err}
	}
	sum := sha256.Sum256(key)
	return string(sum[:]), nil
}

// maxEnded bounds how many calls are remembered that ended without an outcome.
const maxEnded = 1000

// endedCalls are the ids of approval calls that ended without an outcome, and for which the plane may have one. They
// are told from each other by what was asked. It is safe for concurrent use.
type endedCalls struct {
	mu    sync.Mutex
	calls []endedCall // the oldest first
}

type endedCall struct{ same, call string }

// put remembers a call; beyond the bound the oldest is dropped.
func (e *endedCalls) put(same, call string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.calls) >= maxEnded {
		e.calls = slices.Delete(e.calls, 0, len(e.calls)-maxEnded+1)
	}
	e.calls = append(e.calls, endedCall{same, call})
}

// take returns the id of the first of these calls, and forgets it: two don't go on as one. It is "" for none.
func (e *endedCalls) take(same string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.calls, func(c endedCall) bool { return c.same == same })
	if i < 0 {
		return ""
	}
	call := e.calls[i].call
	e.calls = slices.Delete(e.calls, i, i+1)
	return call
}
