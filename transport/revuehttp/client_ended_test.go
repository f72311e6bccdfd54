package revuehttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuehttp"
)

// approve answers the one open lot.
func (s *site) approve(t testing.TB) revue.Lot {
	t.Helper()
	lot, err := s.reviewer().Answer(t.Context(), s.openLot(t).ID, revue.Answer{Value: revue.Approved})
	require.NoError(t, err)
	return lot
}

// An approval that was given to a call which never got it, wherever in the call that was, is given to the next same call
// of the client, and to one.
func TestApprovalLostWhileItIsPlaced(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		t.Run(fmt.Sprint("cancelled ", cancelled), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, w := newSite(t), &wire{}
				var bad atomic.Bool
				w.serve(t, losing{s.server.Handler(), func(r *http.Request, answer string) bool {
					lose := bad.Load() && strings.Contains(answer, `"answered"`)
					if lose && cancelled {
						<-r.Context().Done()
					}
					return lose
				}})
				c := s.agent(t, w)
				first, err := c.Request(t.Context(), deploy())
				require.NoError(t, err)
				require.Equal(t, revue.OutcomePending, first.Status)
				lot := s.approve(t)
				<-time.After(10 * time.Second)

				bad.Store(true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if cancelled {
					ctx, cancel = context.WithTimeout(t.Context(), time.Second)
					defer cancel()
				}
				_, err = c.Request(ctx, deploy())
				require.Error(t, err)
				bad.Store(false)
				<-time.After(10 * time.Second)

				o, err := c.Request(t.Context(), deploy())
				require.NoError(t, err)
				require.Equal(t, revue.Approved, o.Answer)
				require.Equal(t, lot.ID, o.LotID)
				for range 2 {
					o, err = c.Request(t.Context(), deploy())
					require.NoError(t, err)
					require.Equal(t, revue.OutcomePending, o.Status)
					require.NotEqual(t, lot.ID, o.LotID)
				}
			})
		})
	}
}

// A call with an id of its own that was cancelled and made again takes its approval for good: nothing that was said of
// it before gives it to another call.
func TestApprovalOfACallThatWasMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := newSite(t), &wire{}
		w.serve(t, s.server.Handler())
		c := s.agent(t, w)
		ask := deploy()
		ask.Wait = time.Minute
		named := c.For(revue.Agent{Thread: "t", Call: "K"})
		ctx, cancel := context.WithCancel(t.Context())
		a := startRequest(ctx, named, ask)
		<-time.After(time.Second)
		cancel()
		<-a.done
		require.ErrorIs(t, a.err, context.Canceled)
		<-time.After(time.Second)
		lot := s.approve(t)
		o, err := named.Request(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, revue.Approved, o.Answer)
		<-time.After(10 * time.Second)
		ask.Wait = 0
		for _, call := range []string{"L", "M", ""} {
			o, err := c.For(revue.Agent{Thread: "t", Call: call}).Request(t.Context(), ask)
			require.NoError(t, err)
			require.Equal(t, revue.OutcomePending, o.Status, call)
			require.NotEqual(t, lot.ID, o.LotID)
		}
	})
}

// Which calls go on as one, by the id that the plane sees: those that ask the same in the same place, one after the
// other, and were not given an id.
func TestWhichCallsGoOn(t *testing.T) {
	t.Parallel()
	other := func(change func(*revue.Ask)) revue.Ask {
		ask := deploy()
		change(&ask)
		return ask
	}
	here := revue.Agent{Thread: "t", Repo: "github.com/acme/shop"}
	for name, c := range map[string]struct {
		ask  revue.Ask
		as   revue.Agent
		same bool
	}{
		"the same":           {deploy(), here, true},
		"another wait":       {other(func(a *revue.Ask) { a.Wait = time.Second }), here, true},
		"the same repo":      {deploy(), revue.Agent{Thread: "t", Repo: "https://github.com/acme/shop.git"}, true},
		"another title":      {other(func(a *revue.Ask) { a.Question += "!" }), here, false},
		"another context":    {other(func(a *revue.Ask) { a.Context += "!" }), here, false},
		"another expiry":     {other(func(a *revue.Ask) { a.Expires = time.Hour }), here, false},
		"something affected": {other(func(a *revue.Ask) { a.Affected = []revue.Affected{{Label: "x"}} }), here, false},
		"another thread":     {deploy(), revue.Agent{Thread: "u", Repo: here.Repo}, false},
		"another repo":       {deploy(), revue.Agent{Thread: "t", Repo: "github.com/acme/till"}, false},
		"another caller":     {deploy(), revue.Agent{Thread: "t", Repo: here.Repo, AnyThread: true}, false},
		"an id of its own":   {deploy(), revue.Agent{Thread: "t", Repo: here.Repo, Call: "mine"}, false},
		"a decision":         {other(func(a *revue.Ask) { a.Kind = "" }), here, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ids []string
			client := over(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				ids = append(ids, r.Header.Get("Idempotency-Key"))
				if len(ids) == 1 {
					panic(http.ErrAbortHandler)
				}
				answerJSON(w, map[string]any{"status": "expired", "decisionRef": "ask_x"})
			}, &revuehttp.ClientOptions{Tries: 1})
			client = client.For(revue.Agent{Thread: here.Thread, Repo: here.Repo, AnyThread: here.AnyThread, Acknowledges: true})
			_, err := client.Request(t.Context(), deploy())
			require.ErrorIs(t, err, revue.ErrUnavailable)
			c.as.Acknowledges = true
			_, err = client.For(c.as).Request(t.Context(), c.ask)
			require.NoError(t, err)
			require.Equal(t, c.same, ids[0] == ids[1])
			_, err = client.Request(t.Context(), deploy())
			require.NoError(t, err)
			require.Equal(t, !c.same, ids[0] == ids[2], "it goes on once")
		})
	}
}

// A call that goes on as an earlier one and gets nowhere leaves it to the next; one that never reached the plane, or has
// its outcome, leaves nothing.
func TestCallThatGoesOnAndGetsNowhere(t *testing.T) {
	t.Parallel()
	var ids []string
	fail := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	client := over(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		ids = append(ids, r.Header.Get("Idempotency-Key"))
		fail(w)
	}, &revuehttp.ClientOptions{Tries: 1}).For(revue.Agent{Acknowledges: true})
	call := func(how func(http.ResponseWriter)) {
		fail = how
		_, _ = client.Request(t.Context(), deploy()) // the ids say what came of it
	}
	cut := fail
	pending := func(w http.ResponseWriter) { answerJSON(w, pendingBody()) }
	outcome := func(w http.ResponseWriter) {
		answerJSON(w, map[string]any{"status": "answered", "decisionRef": "ask_x", "answer": "declined"})
	}
	refused := func(w http.ResponseWriter) { sendProblem(w, 422, "invalid", "no") }
	junk := func(w http.ResponseWriter) { answerJSON(w, map[string]any{"status": "maybe"}) }
	for _, how := range []func(http.ResponseWriter){cut, pending, junk, refused, outcome} {
		call(how)
		require.Equal(t, ids[0], ids[len(ids)-1])
	}
	call(refused) // a new one, of which the plane wants nothing
	require.NotEqual(t, ids[0], ids[5])
	call(outcome)
	require.NotContains(t, ids[:6], ids[6])
}

// What is remembered of calls is bounded, makes no requests of its own, and costs later calls none.
func TestManyCancelledApprovals(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	var first, last string
	client := over(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		requests.Add(1)
		if last = r.Header.Get("Idempotency-Key"); first == "" {
			first = last
		}
		panic(http.ErrAbortHandler)
	}, &revuehttp.ClientOptions{Tries: 1})
	const n = 1001
	ask := func(i int) {
		_, err := client.Request(t.Context(), revue.Ask{Kind: revue.KindApproval, Question: fmt.Sprint("Approve step ", i)})
		require.ErrorIs(t, err, revue.ErrUnavailable)
	}
	for i := range n {
		ask(i)
	}
	newest := last
	ask(n - 1)
	require.Equal(t, newest, last)
	ask(0)
	require.NotEqual(t, first, last, "the oldest was dropped")
	require.EqualValues(t, n+2, requests.Load())
}

// Two calls at once never go on as the same one.
func TestCallsAtOnceDoNotShareAnID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		seen := make(chan string, 3)
		client := over(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			seen <- r.Header.Get("Idempotency-Key")
			if broken.Load() {
				panic(http.ErrAbortHandler)
			}
			<-time.After(time.Second)
			answerJSON(w, map[string]any{"status": "answered", "decisionRef": "ask_x", "answer": "approved"})
		}, &revuehttp.ClientOptions{Tries: 1}).For(revue.Agent{Acknowledges: true})
		_, err := client.Request(t.Context(), deploy())
		require.Error(t, err)
		broken.Store(false)
		a, b := startRequest(t.Context(), client, deploy()), startRequest(t.Context(), client, deploy())
		<-a.done
		<-b.done
		lost, one, two := <-seen, <-seen, <-seen
		require.NotEqual(t, one, two)
		require.True(t, lost == one || lost == two)
	})
}

// What is no approval never passes for one, and what is no answer of a plane is no outcome.
func TestWhatIsNoConsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status          int
		mediaType, body string
		ok              bool
	}{
		"approved":             {200, "application/json", `{"status":"answered","decisionRef":"a","answer":"approved"}`, true},
		"with a charset":       {200, "application/json; charset=utf-8", `{"status":"answered","decisionRef":"a","answer":"approved"}`, true},
		"declined":             {200, "application/json", `{"status":"answered","decisionRef":"a","answer":"declined"}`, true},
		"expired":              {200, "application/json", `{"status":"expired","decisionRef":"a"}`, true},
		"dismissed":            {200, "application/json", `{"status":"dismissed","decisionRef":"a"}`, true},
		"pending":              {200, "application/json", `{"status":"pending","decisionRef":"a"}`, true},
		"reused":               {200, "application/json", `{"status":"reused","decisionRef":"a","answer":"approved"}`, false},
		"another word":         {200, "application/json", `{"status":"answered","decisionRef":"a","answer":"maybe"}`, false},
		"almost the word":      {200, "application/json", `{"status":"answered","decisionRef":"a","answer":"Approved"}`, false},
		"a page":               {200, "text/html", `{"status":"answered","decisionRef":"a","answer":"approved"}`, false},
		"of no type":           {200, "", `{"status":"answered","decisionRef":"a","answer":"approved"}`, false},
		"201":                  {201, "application/json", `{"status":"answered","decisionRef":"a","answer":"approved"}`, false},
		"202":                  {202, "application/json", `{"status":"answered","decisionRef":"a","answer":"approved"}`, false},
		"204":                  {204, "", ``, false},
		"206":                  {206, "application/json", `{"status":"answered","decisionRef":"a","answer":"approved"}`, false},
		"something after it":   {200, "application/json", `{"status":"answered","decisionRef":"a","answer":"approved"}<html>`, false},
		"a problem of success": {200, "application/problem+json", `{"status":200,"code":"invalid"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := over(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.mediaType != "" {
					w.Header().Set("Content-Type", c.mediaType)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}, nil).For(revue.Agent{Acknowledges: true})
			o, err := client.Request(t.Context(), deploy())
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, revue.ErrInternal)
			require.Zero(t, o)
		})
	}
}

// What a plane says in an error is shown without tokens and without what acts, however it is written, and not at any length.
func TestTextOfErrors(t *testing.T) {
	t.Parallel()
	escaped := strings.ReplaceAll(someToken, "_", `\u005f`)
	for name, text := range map[string]string{
		"as it is": someToken, "escaped": escaped, "of somebody else": "rvu_h_anothersecret", "in capitals": "RVU_A_ANOTHERSECRET", "of a session": "rvu_s_anothersecret",
		"acting": `evil \u001b[31mred\u202e\n next line\u0007\u200b`, "at length": strings.Repeat("x", 5000) + someToken,
		"cut within it": strings.Repeat("x", 4<<10-8) + someToken, "many": strings.Repeat(someToken+" ", 500),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := over(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = fmt.Fprintf(w, `{"code":"invalid","detail":"you sent %[1]s","id":"%[1]s","requestId":"%[1]s"}`, text)
			}, nil)
			_, err := client.Request(t.Context(), deploy())
			var e *revue.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, revue.CodeInvalid, e.Code)
			for _, shown := range []string{err.Error(), e.Message, e.ID, fmt.Sprint(e.Err)} {
				require.NotRegexp(t, `(?i)rvu_[ahs]_[a-z]`, shown)
				require.NotRegexp(t, `[\x00-\x1f\x7f\x{200b}\x{202e}]`, shown)
				require.Less(t, len(shown), 5<<10)
			}
		})
	}
}
