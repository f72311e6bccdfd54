package revuemcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/revuehq/revue"
)

// ClientOptions configure a [Client].
type ClientOptions struct {
	// Approvals is a session of the approvals profile, for asks of [revue.KindApproval]. Without one
	// such asks are invalid. It may be the only session.
	Approvals *mcp.ClientSession
}

// Client is a [revue.Decider] over a session with the tools of this package: what a Go program uses that
// is an agent of a plane elsewhere. It is safe for concurrent use.
//
// A wait longer than one call may be is made of several calls. An approval waits on the server until a
// human decides; where ask.Wait (at least a second, for the card to be made) ends before, the call is
// given up and the outcome is pending, and the same ask later waits on the same card.
type Client struct {
	decisions *mcp.ClientSession
	approvals *mcp.ClientSession
}

// NewClient returns a client over a session of the decisions profile, which may be nil where
// ClientOptions name one of approvals. The caller closes the sessions.
func NewClient(session *mcp.ClientSession, opts *ClientOptions) *Client {
	c := &Client{decisions: session}
	if opts != nil {
		c.approvals = opts.Approvals
	}
	return c
}

var _ revue.Decider = (*Client)(nil)

// Lookup implements [revue.Decider].
func (c *Client) Lookup(ctx context.Context, q revue.Query) (revue.Findings, error) {
	args := map[string]any{"query": q.Text, "concepts": list(q.Concepts), "files": list(q.Files)}
	if q.Limit > 0 {
		args["limit"] = q.Limit
	}
	var got lookupResult
	if err := callInto(ctx, c.decisions, toolLookup, args, &got); err != nil {
		return revue.Findings{}, err
	}
	var f revue.Findings
	for _, m := range got.Matches {
		if m.DecidedBy != nil {
			m.Match.DecidedBy = revue.Who{Name: m.DecidedBy.Name, Via: m.DecidedBy.Via}
		}
		f.Matches = append(f.Matches, m.Match)
	}
	for _, n := range got.Context {
		f.Context = append(f.Context, revue.ContextItem{
			ID: n.ItemID, Kind: n.Kind, Body: n.Body, Concepts: n.Concepts,
			Agent: n.Agent, Repo: n.Repo, CreatedAt: n.CreatedAt,
		})
	}
	return f, nil
}

// Share implements [revue.Decider]. The item that comes back has its id and what was sent.
func (c *Client) Share(ctx context.Context, item revue.ContextItem) (revue.ContextItem, error) {
	var got shareResult
	args := map[string]any{"kind": item.Kind, "body": item.Body, "concepts": list(item.Concepts)}
	if err := callInto(ctx, c.decisions, toolShare, args, &got); err != nil {
		return revue.ContextItem{}, err
	}
	item.ID = got.ItemID
	return item, nil
}

// Request implements [revue.Decider].
func (c *Client) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	if ask.Kind == revue.KindApproval {
		return c.approve(ctx, ask)
	}
	args := map[string]any{
		"question": ask.Question, "recommendation": ask.Recommendation, "context": ask.Context,
		"concepts": list(ask.Concepts), "files": list(ask.Files),
		"stream": ask.Stream, "decisionRef": ask.DecisionRef,
	}
	if len(ask.Options) > 0 {
		args["options"] = ask.Options
	}
	wait := min(max(ask.Wait, 0), revue.MaxWait)
	for began := time.Now(); ; {
		left := max(0, wait-time.Since(began))
		window := min(left, DefaultWait)
		args["waitSeconds"] = window.Seconds()
		called := time.Now()
		var got outcomeResult
		if err := callInto(ctx, c.decisions, toolRequest, args, &got); err != nil {
			return revue.Outcome{}, err
		}
		o := got.outcome()
		left = wait - time.Since(began)
		if o.Status != revue.OutcomePending || left <= 0 {
			return o, nil
		}
		if time.Since(called) >= window {
			continue
		}
		// The plane returned early, since it restarts say: calling again at once would only spin.
		pause := time.NewTimer(min(left, max(o.RetryAfter, time.Second)))
		select {
		case <-ctx.Done():
			pause.Stop()
			return revue.Outcome{}, ctx.Err()
		case <-pause.C:
		}
	}
}

func (c *Client) approve(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	if c.approvals == nil {
		return revue.Outcome{}, invalid("kind", "this client has no session of the approvals profile")
	}
	args := map[string]any{"title": ask.Question, "context": ask.Context, "stream": ask.Stream}
	if len(ask.Affected) > 0 {
		args["affected"] = ask.Affected
	}
	if ask.Expires > 0 {
		args["expiresInSeconds"] = ask.Expires.Seconds()
	}
	callCtx, cancel := context.WithTimeout(ctx, min(max(ask.Wait, time.Second), revue.MaxWait))
	defer cancel()
	res, err := callTool(callCtx, c.approvals, toolRequest, args)
	switch {
	case err != nil && ctx.Err() == nil && callCtx.Err() != nil:
		return revue.Outcome{Status: revue.OutcomePending}, nil
	case err != nil:
		return revue.Outcome{}, err
	}
	var o revue.Outcome
	if meta, ok := res.Meta[metaOutcome]; ok {
		var details outcomeResult
		if err := remarshal(meta, &details); err != nil {
			return revue.Outcome{}, err
		}
		o = details.outcome()
	}
	switch word := textOf(res); word {
	case revue.Approved, revue.Declined:
		o.Status, o.Answer = revue.OutcomeAnswered, word
	case string(revue.OutcomeExpired):
		o.Status = revue.OutcomeExpired
	default:
		return revue.Outcome{}, &revue.Error{Code: revue.CodeInternal, Message: "the plane answered with none of its words; take it as not approved"}
	}
	return o, nil
}

// outcome is the way back from what a result shows.
func (r outcomeResult) outcome() revue.Outcome {
	o := revue.Outcome{
		Status: revue.OutcomeStatus(r.Status), FreeText: r.FreeText, Note: r.Note, AskID: r.DecisionRef,
		LotID: r.LotID, DecisionID: r.DecisionID, Reason: r.Reason,
		Receipt: r.Receipt, Correction: r.Correction, Trace: r.Trace,
	}
	if r.Answer != nil {
		o.Answer = *r.Answer
	}
	if r.DecidedBy != nil {
		o.DecidedBy = &revue.Who{Name: r.DecidedBy.Name, Via: r.DecidedBy.Via}
	}
	if r.RetryAfterSeconds != nil {
		o.RetryAfter = time.Duration(*r.RetryAfterSeconds) * time.Second
	}
	return o
}

// callInto calls a tool and reads its structured result.
func callInto(ctx context.Context, session *mcp.ClientSession, tool string, args map[string]any, to any) error {
	if session == nil {
		return invalid("kind", "this client has no session of the decisions profile")
	}
	res, err := callTool(ctx, session, tool, args)
	if err != nil {
		return err
	}
	return remarshal(res.StructuredContent, to)
}

func remarshal(from, to any) error {
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		return &revue.Error{Code: revue.CodeInternal, Message: "the plane sent a result that can't be read", Err: err}
	}
	return nil
}

// callTool calls a tool and maps its errors back.
func callTool(ctx context.Context, session *mcp.ClientSession, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	for name, v := range args {
		if v == "" {
			delete(args, name)
		}
		if !validText(v) { // encoding it would change it silently
			return nil, invalid(name, "is not valid UTF-8")
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, callError(ctx, err)
	}
	if !res.IsError {
		return res, nil
	}
	var failure errorResult
	if err := remarshal(res.StructuredContent, &failure); err != nil || failure.Code == "" {
		return nil, &revue.Error{Code: revue.CodeInternal, Message: textOf(res)}
	}
	return nil, &revue.Error{Code: failure.Code, Message: failure.Error}
}

// callError says what an error of the session means.
func callError(ctx context.Context, err error) error {
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) && wire.Code == jsonrpc.CodeInvalidParams {
		return &revue.Error{Code: revue.CodeInvalid, Message: wire.Message, Err: err}
	}
	// The SDK tells the status of a refusal in its text alone.
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		if strings.Contains(err.Error(), http.StatusText(status)) {
			return &revue.Error{Code: revue.CodeDenied, Message: "the plane refused the credential of this session", Err: err}
		}
	}
	return &revue.Error{Code: revue.CodeUnavailable, Message: "the plane could not be reached; try again", Err: fmt.Errorf("calling it: %w", err)}
}

// validText reports whether an argument is text that JSON can carry as it is.
func validText(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []string:
		return !slices.ContainsFunc(v, func(s string) bool { return !utf8.ValidString(s) })
	case []revue.Option:
		return !slices.ContainsFunc(v, func(o revue.Option) bool {
			return !utf8.ValidString(o.Value) || !utf8.ValidString(o.Label) || !utf8.ValidString(o.Consequence)
		})
	case []revue.Affected:
		return !slices.ContainsFunc(v, func(a revue.Affected) bool {
			return !utf8.ValidString(a.Label) || !utf8.ValidString(a.Meta)
		})
	default:
		return true
	}
}

func textOf(res *mcp.CallToolResult) string {
	var all []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}
