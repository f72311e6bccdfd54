package revuehttp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/revuehttp"
)

// The tests of the server call its handler as net/http would: without a network where none is needed.

// ours and theirs are two workspaces of one plane.
const (
	ours   = "main"
	theirs = "other"
)

// api is a plane with two workspaces, and its API.
type api struct {
	t       testing.TB
	store   *memstore.Store
	ahead   atomic.Int64 // by how much the clock of the store is ahead
	desk    *revue.Desk
	server  *revuehttp.Server
	handler http.Handler
}

func newAPI(t testing.TB, opts *revuehttp.Options) *api {
	t.Helper()
	a := &api{t: t}
	a.store = memstore.New(&memstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(a.ahead.Load())) }})
	a.desk = revue.New(a.store, memory.New(nil), nil)
	if opts == nil {
		opts = &revuehttp.Options{Rate: -1}
	}
	a.server = revuehttp.NewServer(a.desk, opts)
	a.handler = a.server.Handler()
	for _, ws := range []string{ours, theirs} {
		_, err := a.admin(ws).CreateWorkspace(context.Background(), ws)
		require.NoError(t, err)
	}
	return a
}

func (a *api) admin(workspace string) revue.Admin {
	return a.desk.Admin(revue.Human{Workspace: workspace, ID: "local", Name: "local", Via: revue.LocalVia, Local: true})
}

// token makes a token of a workspace.
func (a *api) token(workspace string, n revue.NewToken) revue.Token {
	a.t.Helper()
	tok, err := a.admin(workspace).CreateToken(context.Background(), n)
	require.NoError(a.t, err)
	return tok
}

func (a *api) agent(workspace string) revue.Token {
	return a.token(workspace, revue.NewToken{Kind: revue.TokenAgent, Label: "builder"})
}

func (a *api) human(workspace string) revue.Token {
	return a.token(workspace, revue.NewToken{Kind: revue.TokenHuman, Owner: "ada"})
}

// decider is an agent that needs no token.
func (a *api) decider(workspace string) revue.Decider { return a.deciderAs(workspace, "embedded") }

// deciderAs is an agent as a token makes it.
func (a *api) deciderAs(workspace, token string) revue.Decider {
	return a.desk.Decider(revue.Agent{Workspace: workspace, Credential: token, Name: "embedded", Thread: "one", Via: "library"})
}

func (a *api) reviewer(workspace string) revue.Reviewer {
	return a.desk.Reviewer(revue.Human{Workspace: workspace, ID: "local", Name: "local", Via: revue.LocalVia, Local: true})
}

// lot opens a lot.
func (a *api) lot(workspace, question string) revue.Lot {
	a.t.Helper()
	o, err := a.decider(workspace).Request(context.Background(), revue.Ask{
		Question: question, Options: []revue.Option{{Value: "yes"}, {Value: "no"}}, Concepts: []string{"ledger"},
	})
	require.NoError(a.t, err)
	lot, err := a.reviewer(workspace).Lot(context.Background(), o.LotID)
	require.NoError(a.t, err)
	return lot
}

// answered opens a lot and answers it.
func (a *api) answered(workspace, question string) revue.Lot {
	a.t.Helper()
	lot, err := a.reviewer(workspace).Answer(context.Background(), a.lot(workspace, question).ID, revue.Answer{Value: "yes"})
	require.NoError(a.t, err)
	return lot
}

// head is the number of the last event of a workspace.
func (a *api) head(workspace string) (head revue.Seq) {
	a.t.Helper()
	require.NoError(a.t, a.store.View(context.Background(), workspace, func(tx revue.Tx) error {
		e, err := tx.Head()
		head = e.Seq
		return err
	}))
	return head
}

// request makes a request as it comes from this machine, with a token where there is one.
func request(method, target, token, body string) *http.Request {
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, target, r)
	req.Host = "127.0.0.1:7433"
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

func (a *api) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w
}

func (a *api) do(method, target, token, body string) *httptest.ResponseRecorder {
	return a.serve(request(method, target, token, body))
}

// problem is what an error is.
type problem struct {
	Type, Title, Code, Detail, ID, RequestID string
	Status                                   int
}

// problemOf reads the problem document of a response.
func problemOf(t testing.TB, w *httptest.ResponseRecorder) problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	var p problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, w.Code, p.Status)
	require.Equal(t, http.StatusText(w.Code), p.Title)
	require.Equal(t, w.Header().Get("X-Request-Id"), p.RequestID)
	require.NotEmpty(t, p.RequestID)
	return p
}

// refused checks a status and a code.
func refused(t testing.TB, w *httptest.ResponseRecorder, status int, code string, says ...string) {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	p := problemOf(t, w)
	require.Equal(t, code, p.Code, p.Detail)
	for _, s := range says {
		require.Contains(t, p.Detail, s)
	}
}

// read reads the JSON of a response of success.
func read[T any](t testing.TB, w *httptest.ResponseRecorder) T {
	t.Helper()
	require.Less(t, w.Code, 300, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var v T
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
	return v
}
