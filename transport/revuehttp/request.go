package revuehttp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// instruction is what a pending outcome tells the agent, always the same.
const instruction = "No human has decided yet. Make the identical request again to wait on; do not guess the answer, do not rephrase the question."

// ask returns what is asked. Over MCP the same fields give an ask of the same key.
func (b *requestBody) ask() (revue.Ask, error) {
	ask := revue.Ask{
		Kind: b.Kind, Question: b.Question, Recommendation: b.Recommendation, Context: b.Context,
		Concepts: b.Concepts, Files: b.Files, Affected: b.Affected, Stream: b.Stream, DecisionRef: b.DecisionRef,
		Wait: seconds(b.WaitSeconds, DefaultWait, 0, MaxWait),
	}
	for _, o := range b.Options {
		ask.Options = append(ask.Options, revue.Option(o))
	}
	switch b.Kind {
	case "", revue.KindDecision:
		if b.Title != "" {
			return ask, invalid("title", "only an approval has a title; send question, or kind approval")
		}
		if b.ExpiresInSeconds != nil {
			return ask, invalid("expiresInSeconds", "only an approval expires; leave it out, or send kind approval")
		}
		if strings.TrimSpace(b.Question) == "" {
			return ask, invalid("question", "is missing or blank; send what is to be decided")
		}
	case revue.KindApproval:
		if b.Question != "" && b.Title != "" {
			return ask, invalid("question", "an approval has a title; leave question out")
		}
		if ask.Question = b.Title; b.Title == "" {
			ask.Question = b.Question
		}
		ask.Expires = seconds(b.ExpiresInSeconds, revue.DefaultExpiry, revue.MinExpiry, revue.MaxExpiry)
	default:
		return ask, invalid("kind", "is neither decision nor approval")
	}
	return ask, nil
}

var errGone = errors.New("the client is gone")

// request puts an ask to the plane and waits with it. What is on the stack while it waits is little: the body was read
// and dropped, and nothing of the answer is there yet.
func (s *Server) request(w http.ResponseWriter, r *http.Request, c *call) {
	body, _ := c.body.(*requestBody)
	ask, err := body.ask()
	if err != nil {
		httpguard.Fail(w, err)
		return
	}
	acknowledged := body.Acknowledge
	c.body = nil // and body is not used below: what was decoded need not wait
	c.agent.Acknowledges = true
	decider := s.plane.Decider(c.agent)
	o, err := s.wait(r.Context(), c, decider, ask)
	switch {
	case expired(err):
		httpguard.TokenEnded(w)
		return
	case err != nil:
		s.fail(w, r, err)
		return
	}
	wrote, err := s.writeOutcome(w, r, o, acknowledged)
	if acknowledged && wrote {
		return // the caller says whether it got it
	}
	s.returned(r.Context(), decider, o, err)
}

// errExpired is why a wait ends whose token does.
var errExpired = &revue.Error{Code: revue.CodeDenied, Message: "the token has expired"}

// expired reports whether an error is errExpired itself.
func expired(err error) bool {
	var e *revue.Error
	return errors.As(err, &e) && e == errExpired
}

// wait returns what the ask came to. It ends with the client, with the server, and with the token of the call.
func (s *Server) wait(ctx context.Context, c *call, decider revue.Decider, ask revue.Ask) (revue.Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if at := c.principal.ExpiresAt; !at.IsZero() {
		late := time.AfterFunc(time.Until(at), func() { cancel(errExpired) })
		defer late.Stop()
	}
	defer s.park(cancel)()
	o, err := decider.Request(ctx, ask)
	if cause := context.Cause(ctx); err != nil && (closing(cause) || expired(cause)) {
		return o, cause
	}
	return o, err
}

// writeOutcome writes the response whole. It reports whether any of it may have reached the client, and what stood in
// the way.
func (s *Server) writeOutcome(w http.ResponseWriter, r *http.Request, o revue.Outcome, acknowledged bool) (wrote bool, err error) {
	if err := shownWhole(o); err != nil {
		s.fail(w, r, err)
		return false, err
	}
	out := outcomeBody{Outcome: o}
	if !acknowledged {
		out.Claim = "" // for the one who says that it was returned
	}
	if o.Status == revue.OutcomePending {
		out.RetryAfterSeconds, out.Instruction = max(0, math.Ceil(o.RetryAfter.Seconds())), instruction
	}
	body, err := encode(out)
	if err != nil {
		s.fail(w, r, err)
		return false, err
	}
	// Asked before the write and never after: a client may well leave as soon as it has read its answer, and an
	// approval that it has read must not be given to its next call.
	if r.Context().Err() != nil {
		return false, errGone
	}
	return true, httpguard.Send(w, r, http.StatusOK, "application/json", body)
}

// shownWhole refuses what no caller may take for an answer.
func shownWhole(o revue.Outcome) error {
	answered := o.Status == revue.OutcomeAnswered || o.Status == revue.OutcomeReused
	known := slices.Contains([]revue.OutcomeStatus{revue.OutcomePending, revue.OutcomeDismissed, revue.OutcomeExpired}, o.Status)
	if answered && o.Answer != "" || known && o.Answer == "" {
		return nil
	}
	return &revue.Error{Code: revue.CodeInternal, Message: "the request came to no answer; report this and don't guess", Err: fmt.Errorf("outcome %q of lot %s", o.Status, o.LotID)}
}

// returnedIn bounds how long noting a return may take.
const returnedIn = 5 * time.Second

// returned tells the plane what became of an outcome, once.
func (s *Server) returned(ctx context.Context, decider revue.Decider, o revue.Outcome, err error) {
	r, ok := decider.(revue.Returner)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnedIn)
	defer cancel()
	defer func() { // the answer is written: it must not be taken back by the connection's end
		if v := recover(); v != nil {
			s.log.ErrorContext(ctx, "recording a return panicked", "ask", o.AskID, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	if rerr := r.Returned(ctx, o, err); rerr != nil {
		s.log.WarnContext(ctx, "could not record whether an outcome was returned", "ask", o.AskID, "err", rerr)
	}
}

func (s *Server) handleReturned(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*returnedBody)
	switch b.Status {
	case revue.OutcomeReused, revue.OutcomeAnswered, revue.OutcomeDismissed, revue.OutcomePending, revue.OutcomeExpired:
	default:
		return nil, invalid("status", "is none of reused, answered, dismissed, pending and expired; send that of the outcome")
	}
	if strings.TrimSpace(b.DecisionRef) == "" {
		return nil, invalid("decisionRef", "is missing; send that of the outcome")
	}
	if len(b.DecisionRef) > maxID || len(b.Claim) > revue.MaxCall {
		return nil, invalid("decisionRef", "is none of ours; send decisionRef and claim of the outcome as they are")
	}
	c.agent.Acknowledges = true
	r, ok := s.plane.Decider(c.agent).(revue.Returner)
	if !ok {
		return nil, nil
	}
	var failed error
	if b.Failed {
		failed = errGone
	}
	return nil, r.Returned(ctx, revue.Outcome{Status: b.Status, AskID: b.DecisionRef, Claim: b.Claim}, failed)
}

func (s *Server) handleLookup(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*lookupBody)
	if strings.TrimSpace(b.Query) == "" {
		return nil, invalid("query", "is missing or blank; send a question or keywords")
	}
	if b.Limit < 0 {
		return nil, invalid("limit", "must be a whole number from 1 to 100")
	}
	found, err := s.plane.Decider(c.agent).Lookup(ctx, revue.Query{Text: b.Query, Concepts: b.Concepts, Files: b.Files, Limit: b.Limit})
	if err != nil {
		return nil, err
	}
	out := lookupResult{Matches: list(found.Matches), Context: list(found.Context)}
	for i := range out.Matches {
		out.Matches[i].Concepts, out.Matches[i].Files = list(out.Matches[i].Concepts), list(out.Matches[i].Files)
	}
	return out, nil
}

func (s *Server) handleShare(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*contextBody)
	return s.plane.Decider(c.agent).Share(ctx, revue.ContextItem{Kind: b.Kind, Body: b.Body, Concepts: b.Concepts})
}
