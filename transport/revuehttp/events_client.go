package revuehttp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/revuehq/revue"
)

// silentFor is how long a stream may be silent: three of the heartbeats that a plane sends by default.
const silentFor = 3 * DefaultHeartbeat

// Events implements [revue.Reviewer]. A stream that breaks, or is silent for too long, is taken up after the last event
// that was yielded, for as long as it takes: only the end of ctx, and what trying again can't change, end it. FromNow
// asks the plane for the head of the journal before Events returns. A plane that is down from the first is an error.
func (c *Client) Events(ctx context.Context, after revue.Seq) iter.Seq2[revue.Event, error] {
	var err error
	if after < 0 {
		_, after, err = c.Journal(ctx, revue.FromNow, 0)
	}
	return func(yield func(revue.Event, error) bool) {
		if err != nil {
			yield(revue.Event{}, err)
			return
		}
		f := &following{client: c, after: after, yield: yield} // a second range starts over
		if err := f.run(ctx); err != nil {
			yield(revue.Event{}, err)
		}
	}
}

// Journal implements [revue.Reviewer].
func (c *Client) Journal(ctx context.Context, after revue.Seq, limit int) ([]revue.Event, revue.Seq, error) {
	query := url.Values{"after": {"now"}}
	if after >= 0 {
		query.Set("after", formatSeq(after))
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var got revue.Page[revue.Event]
	if err := c.get(ctx, "/v1/events", query, &got); err != nil {
		return nil, 0, err
	}
	n, err := strconv.ParseInt(got.NextCursor, 10, 64)
	next := revue.Seq(n)
	for i, e := range got.Items {
		if after < 0 || e.Seq != after+1+revue.Seq(i) || e.Seq > next {
			return nil, 0, c.link.malformed(errors.New("events that do not follow what was asked for"))
		}
	}
	if err != nil || next < max(after, 0) {
		return nil, 0, c.link.malformed(err)
	}
	return list(got.Items), next, nil
}

// following is one consumer of events.
type following struct {
	client  *Client
	after   revue.Seq // the last one that was yielded
	yield   func(revue.Event, error) bool
	stopped bool // the consumer has enough
	reached bool // the plane has been there
	moved   bool // the last stream had news
}

// run follows until the consumer stops (nil), ctx ends, or trying again makes no sense.
func (f *following) run(ctx context.Context) error {
	for failed := 0; ; failed++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.moved = false
		lost := f.stream(ctx)
		if f.stopped {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		f.reached = f.reached || !lost.away
		if !lost.again || !f.reached {
			return lost.err
		}
		if f.moved {
			failed = 0
		}
		d := pause(failed, lost.after)
		f.client.link.log.DebugContext(ctx, "events are taken up again", "after", f.after, "err", lost.err, "in", d)
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// stream reads one stream to its end. It holds no more than the request and one buffer, and leaves nothing behind.
func (f *following) stream(ctx context.Context) *failure {
	c := f.client
	h, err := c.headers(c.human)
	if err != nil {
		return &failure{err: err}
	}
	h.Set("Accept", eventStream)
	h.Set("Accept-Encoding", "identity") // a compressed stream may come late
	h.Set("Cache-Control", "no-store")
	h.Set(headerLastEvent, formatSeq(f.after))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watchdog := time.AfterFunc(c.link.timeout, func() { stop(errLate) })
	defer watchdog.Stop()
	res, lost := c.link.open(ctx, stop, exchange{method: http.MethodGet, path: "/v1/events", header: h})
	if lost != nil {
		return lost
	}
	defer func() { _ = res.Body.Close() }()
	if !watchdog.Stop() {
		return c.link.lost(ctx, errLate, false)
	}
	if mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); mediaType != eventStream {
		return &failure{err: c.link.malformed(fmt.Errorf("a stream of %q", clipped(mediaType, maxID)))}
	}

	silent := time.AfterFunc(silentFor, func() { stop(errSilent) })
	defer silent.Stop()
	r := newEventReader(readerFunc(func(p []byte) (int, error) {
		silent.Reset(silentFor)
		defer silent.Stop() // a consumer may take its time
		return res.Body.Read(p)
	}))
	for {
		m, err := r.next()
		switch {
		case errors.Is(err, errTooLong):
			return &failure{err: c.link.malformed(err)}
		case err != nil:
			if errors.Is(context.Cause(ctx), errSilent) {
				err = errSilent
			}
			return c.link.lost(ctx, err, false)
		case len(m.data) == 0:
			continue
		}
		var e revue.Event
		if err := json.Unmarshal(m.data, &e); err != nil || e.Seq <= 0 {
			return &failure{err: c.link.malformed(err)}
		}
		switch {
		case e.Seq <= f.after:
			continue // it was yielded
		case e.Seq != f.after+1:
			return &failure{err: c.link.malformed(fmt.Errorf("event %d after %d", e.Seq, f.after))}
		}
		f.after, f.moved = e.Seq, true
		if !f.yield(e, nil) {
			f.stopped = true
			return nil
		}
		if ctx.Err() != nil { // what is in the buffer comes after its end
			return c.link.lost(ctx, ctx.Err(), false)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 1 << 20

var errTooLong = fmt.Errorf("an event of more than %d bytes", maxEvent)

// message is one server-sent event. What a plane sends is all in its data.
type message struct {
	id, event string
	data      []byte
}

// eventReader reads server-sent events (WHATWG HTML, "Server-sent events"). An event counts once the empty line
// after it is there: what a broken stream ends in is dropped.
type eventReader struct {
	r        *bufio.Reader
	began    bool
	returned bool // the last line ended in a carriage return, to which a line feed may belong
	line     []byte
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReaderSize(r, 8<<10)} }

// next returns the next event, or the error of the reader.
func (r *eventReader) next() (message, error) {
	var m message
	size, hasData := 0, false
	for {
		line, err := r.readLine(maxEvent - size)
		if err != nil {
			return message{}, err
		}
		size += len(line)
		if len(line) == 0 {
			if hasData {
				return m, nil
			}
			m, size = message{}, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if hasData {
				m.data = append(m.data, '\n')
			}
			m.data, hasData = append(m.data, value...), true
		case "event":
			m.event = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				m.id = string(value)
			}
		}
		if len(name) == 0 { // a comment: it is no part of an event
			size -= len(line)
		}
	}
}

// readLine returns the next line without its end, valid until the next call. A line ends in LF, CR, or both.
func (r *eventReader) readLine(limit int) ([]byte, error) {
	r.line = r.line[:0]
	for {
		b, err := r.r.ReadByte()
		if err != nil {
			return nil, err
		}
		if b == '\n' && r.returned {
			r.returned = false
			continue // the second half of the line end before
		}
		r.returned = b == '\r'
		if b == '\n' || b == '\r' {
			line := r.line
			if !r.began {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			r.began = true
			return line, nil
		}
		if len(r.line) >= limit {
			return nil, errTooLong
		}
		r.line = append(r.line, b)
	}
}
