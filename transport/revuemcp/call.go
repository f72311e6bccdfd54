package revuemcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/revuehq/revue"
)

// caller is who makes a tool call, and the way back. Each transport puts one into the context.
type caller struct {
	agent revue.Agent
	// begun is told of each call, before anything else; nil where the transport counts them itself.
	begun func()
	// carry takes what to call once the response of this call was written (nil) or could not be.
	carry func(req *mcp.CallToolRequest, returned func(error))
	// comment writes a sign of life that is no message; nil where there is no such thing.
	comment func()
}

type (
	callerKey struct{}
	goneKey   struct{}
)

// withCaller returns a context for the SDK. The SDK cuts its handlers off from the cancellation of the
// context it is given, so gone, which ends when the client has left, travels as a value.
func withCaller(ctx, gone context.Context, c *caller) context.Context {
	return context.WithValue(context.WithValue(ctx, callerKey{}, c), goneKey{}, gone)
}

// call is one tool call.
type call struct {
	*caller
	server  *Server
	req     *mcp.CallToolRequest
	args    arguments
	decider revue.Decider
	cancel  context.CancelCauseFunc
}

type handler func(ctx context.Context, c *call) (*mcp.CallToolResult, error)

var (
	errGone    = errors.New("the client is gone")
	errClosing = &revue.Error{Code: revue.CodeUnavailable, Message: "revue is restarting and nothing was decided; make the identical call again in a few seconds"}
)

// tool makes a handler one of the SDK. Errors become results that a model can read.
func (s *Server) tool(h handler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		who, ok := ctx.Value(callerKey{}).(*caller)
		if !ok {
			return failed(&revue.Error{Code: revue.CodeDenied, Message: "nobody is authenticated for this session"}), nil
		}
		if who.begun != nil {
			who.begun()
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if gone, ok := ctx.Value(goneKey{}).(context.Context); ok {
			defer context.AfterFunc(gone, func() { cancel(context.Cause(gone)) })()
		}
		args, err := readArguments(req.Params.Arguments)
		if err != nil {
			return failed(err), nil
		}
		agent := who.agent
		agent.Acknowledges = true
		c := &call{caller: who, server: s, req: req, args: args, decider: s.plane.Decider(agent), cancel: cancel}
		res, err := h(ctx, c)
		if err != nil {
			return failed(s.shown(ctx, req.Params.Name, err)), nil
		}
		return res, nil
	}
}

// shown is what a caller gets to see of an error; the log gets the rest.
func (s *Server) shown(ctx context.Context, tool string, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		if errors.Is(cause, errClosing) {
			return errClosing
		}
		return &revue.Error{Code: revue.CodeUnavailable, Message: "the call was cancelled and nothing was decided; make the identical call again", Err: err}
	}
	if e := (*revue.Error)(nil); errors.As(err, &e) && e == errClosing {
		return err // no failure
	}
	if code := revue.CodeOf(err); code == revue.CodeInternal || code == revue.CodeUnavailable {
		s.log.ErrorContext(ctx, "a tool call failed", "tool", tool, "error", err)
	}
	return err
}

func (s *Server) lookup(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
	query, err := c.args.needText("query")
	if err != nil {
		return nil, err
	}
	concepts, err := c.args.texts("concepts")
	if err != nil {
		return nil, err
	}
	files, err := c.args.texts("files")
	if err != nil {
		return nil, err
	}
	limit, err := c.args.count("limit", 10, 1, 100)
	if err != nil {
		return nil, err
	}
	found, err := c.decider.Lookup(ctx, revue.Query{Text: query, Concepts: concepts, Files: files, Limit: limit})
	if err != nil {
		return nil, err
	}
	return result(shownFindings(found)), nil
}

func (s *Server) share(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
	kind, err := c.args.needText("kind")
	if err != nil {
		return nil, err
	}
	body, err := c.args.needText("body")
	if err != nil {
		return nil, err
	}
	concepts, err := c.args.texts("concepts")
	if err != nil {
		return nil, err
	}
	item, err := c.decider.Share(ctx, revue.ContextItem{Kind: kind, Body: body, Concepts: concepts})
	if err != nil {
		return nil, err
	}
	return result(shareResult{Status: statusOK, ItemID: item.ID}), nil
}

func (s *Server) request(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
	ask, err := readAsk(c.args)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, ask, shownDecision)
}

// shownDecision is an outcome as a result. One without an answer is never shown as answered.
func shownDecision(o revue.Outcome) (*mcp.CallToolResult, error) {
	switch o.Status {
	case revue.OutcomePending, revue.OutcomeDismissed:
		return result(shownOutcome(o)), nil
	case revue.OutcomeAnswered, revue.OutcomeReused:
		if o.Answer != "" {
			return result(shownOutcome(o)), nil
		}
	}
	return nil, &revue.Error{Code: revue.CodeInternal, Message: "the request came to no answer; report this and don't guess", Err: fmt.Errorf("outcome %q of lot %s", o.Status, o.LotID)}
}

func readAsk(a arguments) (revue.Ask, error) {
	ask := revue.Ask{Kind: revue.KindDecision}
	var err error
	read := func(f func() error) {
		if err == nil {
			err = f()
		}
	}
	read(func() (e error) { ask.Question, e = a.needText("question"); return })
	read(func() (e error) { ask.Options, e = a.options("options"); return })
	read(func() (e error) { ask.Recommendation, e = a.choice("recommendation"); return })
	read(func() (e error) { ask.Context, e = a.text("context"); return })
	read(func() (e error) { ask.Concepts, e = a.texts("concepts"); return })
	read(func() (e error) { ask.Files, e = a.texts("files"); return })
	read(func() (e error) { ask.Stream, e = a.text("stream"); return })
	read(func() (e error) { ask.DecisionRef, e = a.text("decisionRef"); return })
	read(func() (e error) { ask.Wait, e = a.seconds("waitSeconds", DefaultWait, 0, MaxWait); return })
	return ask, err
}

func (s *Server) approve(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
	ask, err := readApproval(c.args)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, ask, shownApproval)
}

func readApproval(a arguments) (revue.Ask, error) {
	ask := revue.Ask{Kind: revue.KindApproval, Wait: revue.MaxWait}
	var err error
	read := func(f func() error) {
		if err == nil {
			err = f()
		}
	}
	read(func() (e error) { ask.Question, e = a.needText("title"); return })
	read(func() (e error) { ask.Context, e = a.needText("context"); return })
	read(func() (e error) { ask.Affected, e = a.affected("affected"); return })
	read(func() (e error) { ask.Stream, e = a.text("stream"); return })
	read(func() (e error) {
		ask.Expires, e = a.seconds("expiresInSeconds", revue.DefaultExpiry, revue.MinExpiry, revue.MaxExpiry)
		return
	})
	return ask, err
}

// shownApproval is one word, or an error: nothing else may be taken for a word.
func shownApproval(o revue.Outcome) (*mcp.CallToolResult, error) {
	var word string
	switch {
	case o.Status == revue.OutcomeAnswered && (o.Answer == revue.Approved || o.Answer == revue.Declined):
		word = o.Answer
	case o.Status == revue.OutcomeDismissed:
		word = revue.Declined // a human ended it, and that was no consent
	case o.Status == revue.OutcomeExpired:
		word = string(revue.OutcomeExpired)
	case o.Status == revue.OutcomePending:
		return nil, errClosing
	default:
		return nil, &revue.Error{Code: revue.CodeInternal, Message: "the request did not end in approved, declined or expired; take it as not approved", Err: fmt.Errorf("outcome %q of lot %s", o.Status, o.LotID)}
	}
	details := shownOutcome(o)
	details.Status = word
	details.Answer = nil
	return &mcp.CallToolResult{
		// Clients may show structured content in place of the text; here the text is the word alone, so
		// what else there is to say goes where only programs look.
		Meta:    mcp.Meta{metaOutcome: details},
		Content: []mcp.Content{&mcp.TextContent{Text: word}},
	}, nil
}

// metaOutcome is the key of an approval's details in the result's _meta.
const metaOutcome = "revue/outcome"

// ask puts an ask to the decider, gives signs of life while it waits, and sees to it that the decider
// learns whether the outcome reached the caller.
func (c *call) ask(ctx context.Context, ask revue.Ask, show func(revue.Outcome) (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	stop := c.signs(ctx)
	o, err := c.decider.Request(ctx, ask)
	stop()
	if err != nil {
		return nil, err
	}
	returned := func(error) {}
	if r, ok := c.decider.(revue.Returner); ok {
		returned = func(err error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			defer func() { // a transport calls this where no middleware is around it
				if v := recover(); v != nil {
					c.server.log.ErrorContext(ctx, "recording a return panicked", "ask", o.AskID, "panic", v, "stack", string(debug.Stack()))
				}
			}()
			if rerr := r.Returned(ctx, o, err); rerr != nil {
				c.server.log.WarnContext(ctx, "could not record whether an outcome was returned", "ask", o.AskID, "error", rerr)
			}
		}
	}
	// A caller that has given up will not read this. One whose call ends since the server does will.
	if err := ctx.Err(); err != nil && !errors.Is(context.Cause(ctx), errClosing) {
		returned(context.Cause(ctx))
		return nil, err
	}
	res, err := show(o)
	if err != nil {
		returned(err)
		return nil, err
	}
	c.carry(c.req, returned)
	return res, nil
}

// signs starts the signs of life of a wait: a progress notification at once and at each interval where
// the caller asked for progress, and comments on the stream. They have ended when stop returns.
func (c *call) signs(ctx context.Context) (stop func()) {
	s := c.server
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		began := time.Now()
		token := c.req.Params.GetProgressToken()
		progress := func(message string) {
			if token == nil {
				return
			}
			// A client that does not get its progress does not get its answer either, and that is noticed.
			_ = c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: time.Since(began).Truncate(time.Millisecond).Seconds(), Message: message,
			})
		}
		comments := time.NewTimer(s.firstComment)
		defer comments.Stop()
		ticker := time.NewTicker(s.interval)
		defer ticker.Stop()
		progress("asking")
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-s.closing:
				c.cancel(errClosing)
				return
			case <-comments.C:
				if c.comment != nil {
					c.comment()
				}
				comments.Reset(s.interval)
			case <-ticker.C:
				progress("waiting for a human")
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
