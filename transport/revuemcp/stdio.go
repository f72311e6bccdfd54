package revuemcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/revuehq/revue"
)

// maxMessage is the largest message in bytes, on stdio and over HTTP.
const maxMessage = 4 << 20

// Serve speaks MCP over in and out, one message a line, for one agent. It returns nil when the client
// closes in, an error when out can't be written, and ctx's error when ctx ends; calls under way get the grace of Options to be answered, so
// drain the desk before ctx ends. Serve closes in. A line that is no message is answered with an error
// and ends nothing.
func (s *Server) Serve(ctx context.Context, agent revue.Agent, in io.ReadCloser, out io.Writer) error {
	if s.profile == Approvals {
		agent.AnyThread = true // the thread is this process, and a restarted agent has another
	}
	gone, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	conn := newLines(s, in, out, leave)
	who := &caller{agent: agent, carry: conn.carry}
	session, err := s.mcp.Connect(withCaller(context.WithoutCancel(ctx), gone, who), conn, nil)
	if err != nil {
		return fmt.Errorf("revuemcp: connecting: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()

	select {
	case err = <-ended:
		if conn.inputDone.Load() {
			err = nil // a client that has left need not read the rest
		}
	case <-ctx.Done():
		conn.answered(s.grace, errClosing)
		go func() { _ = session.Close() }() // Wait tells what there is to tell
		select {
		case <-ended:
		case <-time.After(s.grace): // the client does not read what is written to it
		}
		err = ctx.Err()
	}
	conn.finish()
	return err
}

// lines is a connection of the SDK that carries one message a line. Unlike the one of the SDK it
// outlives lines that are no messages, knows when the response to a call was written, and lets calls
// under way end before it reports the end of its input.
type lines struct {
	server *Server
	in     io.ReadCloser
	out    io.Writer
	leave  context.CancelCauseFunc // ends parked calls

	incoming chan line
	closed   chan struct{}
	closing  func() error // once

	inputDone atomic.Bool

	queue []jsonrpc.Message // the rest of a batch; Read alone uses it

	mu      sync.Mutex // guards what follows, and the order of what is written
	pending map[string]*exchanged
	idle    chan struct{} // closed when pending gets empty; nil while nobody waits for that
}

type line struct {
	text []byte
	err  error
}

// exchanged is a call that was read and not yet responded to.
type exchanged struct {
	batch    *batch
	returned func(error)
}

// batch collects the responses to the calls of a batch.
type batch struct {
	left      int
	responses []json.RawMessage
	told      []func(error)
}

// callHeader carries the key of a call from the connection to its handler. It exists inside the process
// alone.
const callHeader = "Revue-Call"

func newLines(s *Server, in io.ReadCloser, out io.Writer, leave context.CancelCauseFunc) *lines {
	c := &lines{
		server: s, in: in, out: out, leave: leave,
		incoming: make(chan line), closed: make(chan struct{}),
		pending: map[string]*exchanged{},
	}
	c.closing = sync.OnceValue(func() error {
		close(c.closed)
		return in.Close()
	})
	go c.scan()
	return c
}

// Connect makes the connection its own transport.
func (c *lines) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is empty: the process is the session.
func (c *lines) SessionID() string { return "" }

var errTooLong = errors.New("line too long")

// scan reads lines until the input ends. It is a goroutine of its own because a read of standard input
// can't be interrupted.
func (c *lines) scan() {
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		text, err := readLine(r)
		select {
		case c.incoming <- line{text, err}:
		case <-c.closed:
			return
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
	}
}

// readLine reads up to a line end or the end of the input. What is over the limit is skipped.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(text)+len(part) > maxMessage; !long {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && err == nil:
			return nil, errTooLong
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(text)) > 0 && !long:
			return text, nil // the next read reports the end again
		}
		return text, err
	}
}

// Read returns the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			next := c.queue[0]
			c.queue = c.queue[1:]
			return next, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.incoming:
			switch {
			case errors.Is(l.err, errTooLong):
				c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is over the limit of %d bytes", maxMessage))
			case l.err != nil:
				// A client that closes its end and still reads gets its answers.
				c.inputDone.Store(true)
				c.answered(c.server.grace, errGone)
				return nil, io.EOF
			default:
				c.take(bytes.TrimSpace(l.text))
			}
		}
	}
}

// answered lets what is under way be answered; what is parked on a human ends after the time, for the
// reason given, and that is answered too.
func (c *lines) answered(within time.Duration, why error) {
	if !c.settled(within) {
		c.leave(why)
		c.settled(within)
	}
}

// take queues the messages of a line.
func (c *lines) take(text []byte) {
	if len(text) == 0 {
		return
	}
	if !json.Valid(text) {
		c.refuse(nil, jsonrpc.CodeParseError, "the line is not JSON; send one JSON-RPC message a line")
		return
	}
	if text[0] != '[' {
		if msg, ok := c.decode(text); ok {
			c.accept(msg, nil)
		}
		return
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) == 0 {
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
		return
	}
	b := &batch{}
	for _, p := range parts {
		if msg, ok := c.decode(p); ok {
			c.accept(msg, b)
		}
	}
}

func (c *lines) decode(text []byte) (jsonrpc.Message, bool) {
	msg, err := jsonrpc.DecodeMessage(text)
	id := idOf(text)
	switch {
	case err != nil:
		c.refuse(id, jsonrpc.CodeInvalidRequest, "this is no JSON-RPC 2.0 message")
	case !idKept(id):
		c.refuse(id, jsonrpc.CodeInvalidRequest, idProblem)
	default:
		return msg, true
	}
	return nil, false
}

// idOf returns the id of a message as it was sent; nil where there is none.
func idOf(text []byte) json.RawMessage {
	var head struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(text, &head) // what has no id is answered without one
	return head.ID
}

const idProblem = "id: must be a string or a whole number up to 2^53"

// idKept reports whether the SDK gives an id back as it is. It reads a number as a float64 and cuts off what
// an int64 can't have, so the answer to another one would find nobody.
func idKept(id json.RawMessage) bool {
	const most = 1 << 53 // up to here a float64 has each whole number
	text := string(bytes.TrimSpace(id))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return -most <= n && n <= most
	}
	n, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return true // no number
	}
	return n == math.Trunc(n) && math.Abs(n) <= most
}

// accept queues a message, and keeps count of a call until its response is written. A second call of an id
// that is under way is refused here: the SDK would never answer it.
func (c *lines) accept(msg jsonrpc.Message, b *batch) {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && !c.count(req, b) {
		c.refuse(encode(req.ID.Raw()), jsonrpc.CodeInvalidRequest, "id: a call with this id is under way; give each call an id of its own")
		return
	}
	c.queue = append(c.queue, msg)
}

// count counts a call in. It returns false where there is one of its id.
func (c *lines) count(req *jsonrpc.Request, b *batch) bool {
	key := keyOf(req.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[key] != nil {
		return false
	}
	if req.Method == "subscriptions/listen" { // that one ends with the session
		return true
	}
	req.Extra = &mcp.RequestExtra{Header: http.Header{callHeader: {key}}}
	c.pending[key] = &exchanged{batch: b}
	c.server.begin()
	if b != nil {
		b.left++
	}
	return true
}

func keyOf(id jsonrpc.ID) string { return fmt.Sprintf("%T %[1]v", id.Raw()) }

// refuse answers what is no message.
func (c *lines) refuse(id json.RawMessage, code int64, message string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b := encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   any             `json:"error"`
	}{"2.0", id, struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}{code, message}})
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.write(b) // the next response fails in the same way
}

func (c *lines) write(b []byte) error {
	_, err := c.out.Write(append(b, '\n'))
	return err
}

// Write writes a message, and tells what waits for it.
func (c *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("revuemcp: encoding a message: %w", err)
	}
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.write(b)
	}
	told, err := c.respond(keyOf(resp.ID), b)
	for _, f := range told {
		f(err)
	}
	return err
}

// respond writes a response, or keeps it until its batch is whole. It returns whom to tell.
func (c *lines) respond(key string, b []byte) (told []func(error), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[key]
	if p == nil {
		return nil, c.write(b)
	}
	delete(c.pending, key)
	defer c.counted()
	if p.batch == nil {
		if p.returned != nil {
			told = append(told, p.returned)
		}
		return told, c.write(b)
	}
	p.batch.responses = append(p.batch.responses, b)
	if p.returned != nil {
		p.batch.told = append(p.batch.told, p.returned)
	}
	if p.batch.left--; p.batch.left > 0 {
		return nil, nil
	}
	return p.batch.told, c.write(encode(p.batch.responses))
}

// counted takes one call off the count. The mutex is held.
func (c *lines) counted() {
	c.server.end()
	if len(c.pending) == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// settled waits for the calls under way to be answered, up to a time.
func (c *lines) settled(within time.Duration) bool {
	c.mu.Lock()
	if len(c.pending) == 0 {
		c.mu.Unlock()
		return true
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	case <-c.closed:
		return false
	}
}

func (c *lines) carry(req *mcp.CallToolRequest, returned func(error)) {
	if extra := req.Extra; extra != nil {
		c.mu.Lock()
		p := c.pending[extra.Header.Get(callHeader)]
		if p != nil {
			p.returned = returned
		}
		c.mu.Unlock()
		if p != nil {
			return
		}
	}
	returned(errNotWritten)
}

// Close ends the connection.
func (c *lines) Close() error {
	if err := c.closing(); err != nil {
		return fmt.Errorf("revuemcp: closing the input: %w", err)
	}
	return nil
}

// finish tells what was never written.
func (c *lines) finish() {
	c.mu.Lock()
	pending := c.pending
	c.pending = map[string]*exchanged{}
	var told []func(error)
	for _, p := range pending {
		c.server.end()
		if p.returned != nil {
			told = append(told, p.returned)
		}
		if p.batch != nil {
			told = append(told, p.batch.told...)
			p.batch.told = nil
		}
	}
	c.mu.Unlock()
	for _, f := range told {
		f(errNotWritten)
	}
}
