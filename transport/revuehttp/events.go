package revuehttp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

const (
	// headerLastEvent is where a reader of a stream says what it has seen.
	headerLastEvent = "Last-Event-ID"
	eventStream     = "text/event-stream"
	// retryIn is when a reader whose stream ended comes back.
	retryIn = 2 * time.Second
	// lookEvery is how often the token of a reader is looked at while events keep coming.
	lookEvery = time.Second
	// writeIn is how long a reader may take to take in one event. One that is stuck longer is cut off; it can take the
	// stream up where it was.
	writeIn = 10 * time.Second
)

// afterOf reads where events begin: after a number, or with what is committed from now on. The header of a reader that
// comes back is newer than the URL it keeps.
func afterOf(c *call) (revue.Seq, error) {
	if ids := c.header.Values(headerLastEvent); len(ids) > 0 && (len(ids) > 1 || ids[0] != "") {
		if len(ids) > 1 {
			return 0, invalid(headerLastEvent, "is there twice; send it once")
		}
		return seqOf(headerLastEvent, ids[0])
	}
	switch after := c.query.Get("after"); after {
	case "":
		return 0, nil
	case "now":
		return revue.FromNow, nil
	default:
		return seqOf("after", after)
	}
}

func seqOf(field, s string) (revue.Seq, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strings.Trim(s, "0123456789") != "" {
		return 0, invalid(field, "must be the number of an event; send the id of the last one you have seen")
	}
	return revue.Seq(n), nil
}

func formatSeq(n revue.Seq) string { return strconv.FormatInt(int64(n), 10) }

// events answers with a page of the journal, or follows it.
func (s *Server) events(w http.ResponseWriter, r *http.Request, c *call) {
	after, err := afterOf(c)
	if err != nil {
		httpguard.Fail(w, err)
		return
	}
	w.Header().Add("Vary", "Accept")
	if httpguard.Accepts(r.Header, eventStream) {
		s.follow(w, r, c, after)
		return
	}
	events, next, err := s.reviewer(c).Journal(r.Context(), after, limit(c.query))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, c, revue.Page[revue.Event]{Items: list(events), NextCursor: formatSeq(next)})
}

// followed is an event, or how following ended.
type followed struct {
	event revue.Event
	err   error
}

// follow writes the journal as server-sent events until the reader leaves, its token or its member ends, or the server
// does.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, c *call, after revue.Seq) {
	ctx, cancel := context.WithCancel(r.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	// Nothing that comes after the head is skipped, whatever the reader claims to have seen. The token is looked at
	// once the head is known: what ends it from then on comes on the stream.
	_, head, err := s.reviewer(c).Journal(ctx, revue.FromNow, 0)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if after < 0 || after > head {
		after = head
	}
	if !s.stillGood(r) {
		httpguard.TokenEnded(w)
		return
	}
	looked := time.Now()
	journal := s.reviewer(c).Events(ctx, after)
	events := make(chan followed)
	if r.Method != http.MethodHead {
		reading.Go(func() {
			for e, err := range journal {
				select {
				case events <- followed{e, err}:
				case <-ctx.Done():
					return
				}
			}
		})
	}

	st := stream{w: w, conn: http.NewResponseController(w)}
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must not keep events to itself
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead || st.write("retry: "+strconv.FormatInt(retryIn.Milliseconds(), 10)+"\n\n") != nil {
		return
	}
	defer st.free()
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	expired, stop := until(c.principal.ExpiresAt)
	defer stop()
	for {
		var err error
		select {
		case got := <-events:
			if got.err != nil {
				s.logEnd(r, got.err)
				return
			}
			if s.endedBy(r, c, got.event) {
				return
			}
			if time.Since(looked) >= lookEvery { // what ended the token may be far behind what is read
				if !s.stillGood(r) {
					return
				}
				looked = time.Now()
			}
			err = st.event(got.event)
		case <-beat.C:
			if !s.stillGood(r) {
				return
			}
			err = st.write(": heartbeat\n\n")
		case <-expired:
			return
		case <-s.streams:
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return // the reader is gone or stuck; it comes back with what it has seen
		}
	}
}

// until returns a channel that says when a time has come; never for the zero time.
func until(at time.Time) (<-chan time.Time, func()) {
	if at.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(at))
	return t.C, func() { t.Stop() }
}

func (s *Server) logEnd(r *http.Request, err error) {
	if r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "a stream of events failed", "requestId", httpguard.RequestID(r.Context()), "err", err)
	}
}

// endedBy reports whether an event ends the right of the reader to see more.
func (s *Server) endedBy(r *http.Request, c *call, e revue.Event) bool {
	switch e.Kind {
	case revue.EventTokenRevoked:
		return e.Ref == c.principal.TokenID
	case revue.EventMemberRemoved:
		return e.Ref == c.human.ID || !s.stillGood(r)
	default:
		return false
	}
}

// stillGood looks at the token again. A store that is out of reach says nothing against it.
func (s *Server) stillGood(r *http.Request) bool {
	token, ok := httpguard.BearerToken(r.Header)
	if !ok {
		return true // whoever let the request in without one answers for it
	}
	_, err := s.plane.Authenticate(r.Context(), token)
	code := revue.CodeOf(err)
	return code != revue.CodeDenied && code != revue.CodeNotFound && code != revue.CodeInvalid
}

// stream writes server-sent events.
type stream struct {
	w    http.ResponseWriter
	conn *http.ResponseController
}

// write sends a text at once, or fails in a bounded time.
func (st stream) write(text string) error {
	_ = st.conn.SetWriteDeadline(time.Now().Add(writeIn)) // a writer without deadlines is not one of a network
	if _, err := st.w.Write([]byte(text)); err != nil {
		return err
	}
	return st.conn.Flush()
}

func (st stream) event(e revue.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return st.write("id: " + formatSeq(e.Seq) + "\nevent: " + string(e.Kind) + "\ndata: " + string(data) + "\n\n")
}

// free takes the deadline off the connection, which may be used again.
func (st stream) free() { _ = st.conn.SetWriteDeadline(time.Time{}) }
