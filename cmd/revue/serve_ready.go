package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/revuehq/revue"
)

const (
	// readyWithin bounds one look at the store.
	readyWithin = 5 * time.Second
	// readyFor is how long the result of a look is told again: anybody may ask, and each look writes.
	readyFor = time.Second
)

// readiness says whether this server can do its work. It is safe for concurrent use.
type readiness struct {
	store    revue.Store
	watching func() bool
	log      *slog.Logger
	draining atomic.Bool

	mu  sync.Mutex
	at  time.Time
	why string // "" for ready
}

// errProbe takes back what a look wrote.
var errProbe = errors.New("taken back")

// problem says in plain words why the server is not ready, "" where it is.
func (r *readiness) problem(ctx context.Context) string {
	if r.draining.Load() {
		return "this server is about to stop"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) >= readyFor {
		r.why = r.look(ctx)
		r.at = time.Now()
	}
	return r.why
}

// look asks the store. What it writes is never committed: whether there is room left on the disk shows only then.
func (r *readiness) look(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := r.store.View(ctx, "", func(tx revue.Tx) error { _, err := tx.Head(); return err }); err != nil {
		r.log.WarnContext(ctx, "not ready: the database can't be read", "err", err)
		return "the database does not answer"
	}
	err := r.store.Update(ctx, "", func(tx revue.Tx) error {
		if err := tx.PutRecord("probe", "ready", []byte("{}")); err != nil {
			return err
		}
		return errProbe
	})
	if !errors.Is(err, errProbe) {
		r.log.WarnContext(ctx, "not ready: the database can't be written to", "err", err)
		return "the database can't be written to"
	}
	if !r.watching() {
		return "the database is not watched: what other processes commit is noticed late"
	}
	return ""
}

func (r *readiness) serve(w http.ResponseWriter, req *http.Request) {
	// A caller that goes away must not make the server look unready to the next.
	if why := r.problem(context.WithoutCancel(req.Context())); why != "" {
		w.Header().Set("Retry-After", "1")
		plain(w, http.StatusServiceUnavailable, why+"\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}
