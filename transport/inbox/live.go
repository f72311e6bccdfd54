package inbox

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

const (
	maxStreams = 16               // live views of one session
	heartbeat  = 20 * time.Second // so that a view which is cut off is noticed
	lookEvery  = time.Minute      // how often the session of a live view is looked at
	writeIn    = 10 * time.Second // a browser that takes in nothing for so long is cut off; it comes back
)

// streams are the live views, counted by session.
type streams struct {
	mu       sync.Mutex
	ended    bool
	count    map[string]int // by token id; none has zero
	watching sync.WaitGroup // added to with the lock held and before ended
}

// enter counts a live view, until leave is called. It refuses one where the server stops, or the session has too many.
func (s *streams) enter(session string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, &revue.Error{Code: revue.CodeUnavailable, Message: "the plane is stopping; try again in a moment"}
	}
	if s.count[session] >= maxStreams {
		return nil, &revue.Error{Code: revue.CodeRateLimited, Message: "this session has too many live views; close some"}
	}
	if s.count == nil {
		s.count = map[string]int{}
	}
	s.count[session]++
	s.watching.Add(1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.count[session]--; s.count[session] <= 0 {
			delete(s.count, session)
		}
		s.watching.Done()
	}, nil
}

// end lets no more live views in.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// change is what a live view is told of an event: what it is about, no text.
type change struct {
	Kind     revue.EventKind `json:"kind"`
	Lot      string          `json:"lot,omitempty"`
	Decision string          `json:"decision,omitempty"`
}

// live tells a page what is committed after the number that it was rendered at (?after=), or after the last event that it
// has heard of, as server-sent events. It ends with the session and with the server.
func (s *Server) live(v *visit) error {
	leave, err := s.streams.enter(v.principal.TokenID)
	if err != nil {
		return err
	}
	defer leave()
	after, err := liveAfter(v.r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(v.r.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	_, head, err := v.reviewer.Journal(ctx, revue.FromNow, 0)
	if err != nil {
		return err
	}
	if after < 0 || after > head {
		after = head
	}
	journal := v.reviewer.Events(ctx, after)
	events := make(chan revue.Event)
	failed := make(chan error, 1)
	if v.r.Method != http.MethodHead {
		reading.Go(func() {
			for e, err := range journal {
				if err != nil {
					failed <- err
					return
				}
				select {
				case events <- e:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	st := eventWriter{w: v.w, conn: http.NewResponseController(v.w)}
	defer st.free()
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no") // a proxy must not keep events to itself
	v.w.WriteHeader(http.StatusOK)
	if v.r.Method == http.MethodHead || st.write(": open\n\n") != nil {
		return nil
	}
	if err := s.feed(ctx, v, st, events, failed); err != nil && v.r.Context().Err() == nil {
		s.log.ErrorContext(ctx, "a live view failed", "err", err)
	}
	return nil
}

// liveAfter reads where a live view begins: what a browser that comes back has heard of is newer than the address it keeps.
func liveAfter(r *http.Request) (revue.Seq, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return revue.FromNow, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &revue.Error{Code: revue.CodeInvalid, Message: "after: must be the number of an event"}
	}
	return revue.Seq(n), nil
}

// feed writes events until the browser leaves, the session ends or the server does.
func (s *Server) feed(ctx context.Context, v *visit, st eventWriter, events <-chan revue.Event, failed <-chan error) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var expired <-chan time.Time
	if at := v.principal.ExpiresAt; !at.IsZero() {
		t := time.NewTimer(time.Until(at))
		defer t.Stop()
		expired = t.C
	}
	for {
		var err error
		select {
		case e := <-events:
			if s.mayEnd(v, e) && !s.stands(ctx, v) {
				return st.end()
			}
			err = st.event(e)
		case err := <-failed:
			return err
		case <-beat.C:
			err = st.write("event: beat\ndata: {}\n\n")
		case <-look.C:
			if !s.stands(ctx, v) {
				return st.end()
			}
		case <-expired:
			return st.end()
		case <-s.ending:
			return nil
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return nil //nolint:nilerr // the browser is gone or stuck; it comes back
		}
	}
}

// mayEnd reports whether an event may have ended the session of a live view.
func (s *Server) mayEnd(v *visit, e revue.Event) bool {
	return e.Kind == revue.EventMemberRemoved || e.Kind == revue.EventTokenRevoked && (e.Ref == v.principal.TokenID || e.Ref == v.human.ID)
}

// stands looks at the session again. A store that is out of reach says nothing against it.
func (s *Server) stands(ctx context.Context, v *visit) bool {
	_, err := s.sessions.Session(ctx, v.secret)
	return revue.CodeOf(err) != revue.CodeDenied
}

// eventWriter writes server-sent events.
type eventWriter struct {
	w    http.ResponseWriter
	conn *http.ResponseController
}

// write sends a text at once, or fails in a bounded time.
func (st eventWriter) write(text string) error {
	_ = st.conn.SetWriteDeadline(time.Now().Add(writeIn)) // a writer without deadlines is not one of a network
	if _, err := st.w.Write([]byte(text)); err != nil {
		return err
	}
	return st.conn.Flush()
}

func (st eventWriter) event(e revue.Event) error {
	data, err := json.Marshal(change{Kind: e.Kind, Lot: e.Lot, Decision: e.Decision})
	if err != nil {
		return err
	}
	return st.write("id: " + strconv.FormatInt(int64(e.Seq), 10) + "\nevent: change\ndata: " + string(data) + "\n\n")
}

// end says that the session has ended: the page then leads to the one to sign in.
func (st eventWriter) end() error {
	_ = st.write("event: end\ndata: {}\n\n") // where it can't be written, coming back tells
	return nil
}

// free takes the deadline off the connection, which may be used again.
func (st eventWriter) free() { _ = st.conn.SetWriteDeadline(time.Time{}) }
