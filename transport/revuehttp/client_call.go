package revuehttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/internal/term"
)

// exchange is one request of the API, however often it is sent.
type exchange struct {
	method string
	path   string // below the address of the plane, escaped
	query  url.Values
	body   []byte // JSON, nil for none
	header http.Header
	public bool          // it needs no token
	call   string        // its Idempotency-Key
	status int           // of success; 0 is 200
	lost   *bool         // set where a try may have been served, and what came of it is not known
	twice  string        // what a conflict means where an earlier try may have got through
	wait   time.Duration // how long the plane may take on purpose
	grace  time.Duration // how long it may take beyond that; 0 is the timeout of the link
}

// failure is what became of one try that failed.
type failure struct {
	err   error         // what the caller is told
	again bool          // it may succeed when it is sent again
	away  bool          // no connection came about
	lost  bool          // it may have been served
	after time.Duration // when, as the plane said
}

// Pauses before a call is sent again: random, up to a bound that doubles from one to the other.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// pause returns how long to wait after the nth failure in a row.
func pause(n int, after time.Duration) time.Duration {
	limit := maxPause
	if n < 6 {
		limit = min(limit, firstPause<<n)
	}
	return max(after, rand.N(limit)) //nolint:gosec // no secret: it keeps callers from coming all at once
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do sends a request until it succeeds, fails for good, or the tries or the time are used up. What it returns with is
// decoded into a pointer, nil to drop it.
func (l *link) do(ctx context.Context, x exchange, into any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	reached := false
	for n := 0; ; n++ {
		f := l.try(ctx, x, into)
		if f == nil {
			return nil
		}
		if x.lost != nil && f.lost {
			*x.lost = true
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		reached = reached || !f.away
		d := pause(n, f.after)
		if !f.again || !reached || n+1 >= l.tries || time.Since(began)+d > l.retryFor {
			return x.explained(f.err, n)
		}
		l.log.DebugContext(ctx, "a call is sent again", "path", x.path, "err", f.err, "in", d)
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// explained adds to a conflict that it may be one with the call's own earlier try.
func (x exchange) explained(err error, before int) error {
	var e *revue.Error
	if before == 0 || x.twice == "" || !errors.As(err, &e) || e.Code != revue.CodeConflict {
		return err
	}
	said := *e
	said.Message += "; " + x.twice
	return &said
}

// try sends a request once.
func (l *link) try(ctx context.Context, x exchange, into any) *failure {
	grace := x.grace
	if grace == 0 {
		grace = l.timeout
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late := time.AfterFunc(x.wait+grace, func() { stop(errLate) })
	defer late.Stop()
	res, f := l.open(ctx, stop, x)
	if f != nil {
		return f
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, l.maxResponse+1))
	switch {
	case err != nil:
		return l.lost(ctx, err, false)
	case int64(len(body)) > l.maxResponse:
		return &failure{lost: true, err: &revue.Error{
			Code: revue.CodeTooLarge, Message: fmt.Sprintf("the plane sent more than %d bytes; ask for less at once, with a lower limit", l.maxResponse),
		}}
	case into == nil:
		return nil
	case !isJSON(res.Header.Get("Content-Type")):
		return &failure{lost: true, err: l.malformed(errors.New("a success that is not JSON"))}
	}
	err = json.Unmarshal(body, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(body)) && res.ContentLength < 0 {
		return l.lost(ctx, io.ErrUnexpectedEOF, false) // a proxy ended the response where its own was cut
	}
	if err != nil {
		return &failure{lost: true, err: l.malformed(err)}
	}
	return nil
}

// Why a request was given up.
var (
	errLate      = errors.New("no answer in time")
	errNoConnect = errors.New("no connection in time")
	errSilent    = errors.New("no sign of life")
)

// open sends a request and returns the response to it where that is a success. Its body must be closed. It lives as
// long as ctx, which stop ends.
func (l *link) open(ctx context.Context, stop context.CancelCauseFunc, x exchange) (*http.Response, *failure) {
	address := l.base + x.path
	if len(x.query) > 0 {
		address += "?" + x.query.Encode()
	}
	// The time to connect is bounded here, whatever the transport does.
	var asked, got atomic.Bool
	slow := time.AfterFunc(time.Hour, func() { stop(errNoConnect) })
	slow.Stop()
	defer slow.Stop()
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true); slow.Reset(l.connectTimeout) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true); slow.Stop() },
	}), x.method, address, bytes.NewReader(x.body))
	if err != nil {
		return nil, &failure{err: &revue.Error{Code: revue.CodeInternal, Message: "the request can't be made", Err: err}}
	}
	if x.header != nil {
		req.Header = x.header.Clone()
	}
	req.Header.Set("User-Agent", "revue")
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if x.body != nil {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	if x.call != "" {
		req.Header.Set(HeaderCall, x.call)
	}
	if !x.public {
		req.Header.Set("Authorization", "Bearer "+l.token)
	}
	res, err := l.http.Do(req)
	if err != nil {
		var dial *net.OpError
		away := asked.Load() && !got.Load() || errors.As(err, &dial) && dial.Op == "dial"
		return nil, l.lost(ctx, err, away)
	}
	switch status := res.StatusCode; {
	case status == cmp.Or(x.status, http.StatusOK):
	case status >= 200 && status <= 299:
		_ = res.Body.Close()
		return nil, &failure{lost: true, err: l.malformed(fmt.Errorf("a success with status %d", status))}
	default:
		defer func() { _ = res.Body.Close() }()
		return nil, l.refused(ctx, res)
	}
	return res, nil
}

// lost is a request that got no answer, or not all of it.
func (l *link) lost(ctx context.Context, err error, away bool) *failure {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // its text would name the URL once more
	}
	var message string
	var untrusted *tls.CertificateVerificationError
	switch cause := context.Cause(ctx); {
	case errors.As(err, &untrusted):
		message = "the certificate of the plane at " + l.base + " does not hold; check REVUE_API_URL, or trust the authority that signed it"
	case errors.Is(cause, errNoConnect):
		away, err = true, errNoConnect
		fallthrough
	case away:
		message = "the plane at " + l.base + " is out of reach; check REVUE_API_URL and that it runs"
	case errors.Is(cause, errLate):
		err = errLate
		message = "the plane at " + l.base + " did not answer in time; check that it runs, and try again"
	default:
		message = "the connection to the plane at " + l.base + " broke; try again"
	}
	return &failure{again: true, away: away, lost: !away, err: &revue.Error{Code: revue.CodeUnavailable, Message: message, Err: err}}
}

// malformed is the error of an answer that makes no sense.
func (l *link) malformed(err error) error {
	return &revue.Error{Code: revue.CodeInternal, Message: "what answers at " + l.base + " is no revue plane, or another version of it; check REVUE_API_URL", Err: err}
}

// maxProblem bounds what is read of an error response, maxDetail what is shown of it; both in bytes.
const (
	maxProblem = 64 << 10
	maxDetail  = 4 << 10
)

// refused is a response that is an error.
func (l *link) refused(ctx context.Context, res *http.Response) *failure {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	if err != nil {
		return l.lost(ctx, err, false) // what it says is lost: it says it again
	}
	f := &failure{err: l.problemOf(res.StatusCode, res.Header.Get("Content-Type"), body)}
	f.lost = res.StatusCode >= http.StatusInternalServerError // something in between may say so
	switch res.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.again = true
		f.after = retryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	return f
}

// isJSON reports whether a Content-Type is one of JSON.
func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && (mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"))
}

// likeToken is what could be a token in a text.
var likeToken = regexp.MustCompile(`(?i)rvu_[ahs]_[a-z0-9]+`)

// shown is a text of the plane as it may be shown and logged: without tokens and without characters that act, in at
// most so many bytes.
func (l *link) shown(s string, limit int) string {
	s = strings.ReplaceAll(s, l.token, "[token]")
	s = likeToken.ReplaceAllString(s, "[token]")
	return clipped(term.Line(clipped(s, limit), 0), limit)
}

// problemOf reads an error response: the problem document that a plane sends, or else what its status says.
func (l *link) problemOf(status int, contentType string, body []byte) *revue.Error {
	var p problemBody
	if !isJSON(contentType) || json.Unmarshal(body, &p) != nil {
		p = problemBody{}
	}
	e := &revue.Error{Code: revue.Code(p.Code), ID: l.shown(p.ID, maxID), Message: l.shown(p.Detail, maxDetail)}
	switch e.Code {
	case revue.CodeInvalid, revue.CodeNotFound, revue.CodeConflict, revue.CodeDenied, revue.CodeTooLarge,
		revue.CodeRateLimited, revue.CodeUnavailable, revue.CodeInternal:
	case httpguard.CodeUnauthenticated:
		e.Code = revue.CodeDenied
	default:
		e.Code = codeOfStatus(status)
		if e.Message == "" {
			e.Message = fmt.Sprintf("what answers at %s says %d %s, and not why; check REVUE_API_URL, and what is in between",
				l.base, status, http.StatusText(status))
		}
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("the plane says %d %s", status, http.StatusText(status))
	}
	if p.RequestID != "" {
		e.Err = fmt.Errorf("request %q: status %d", l.shown(p.RequestID, maxID), status)
	}
	return e
}

// codeOfStatus is the code of an error response that has none of its own.
func codeOfStatus(status int) revue.Code {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return revue.CodeDenied
	case http.StatusNotFound, http.StatusGone:
		return revue.CodeNotFound
	case http.StatusConflict:
		return revue.CodeConflict
	case http.StatusRequestEntityTooLarge:
		return revue.CodeTooLarge
	case http.StatusTooManyRequests:
		return revue.CodeRateLimited
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return revue.CodeUnavailable
	}
	if status >= 400 && status < 500 {
		return revue.CodeInvalid
	}
	return revue.CodeInternal
}

// clipped cuts a text to a length in bytes, between two characters.
func clipped(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// retryAfter reads the header of that name: seconds, or a date. 0 where it says nothing.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Duration(min(max(n, 0), 24*3600)) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(at.Sub(now), 0), 24*time.Hour)
	}
	return 0
}

// encoded returns the JSON of a body. Text that is no UTF-8 is invalid: JSON would carry it changed.
func encoded(body any) ([]byte, error) {
	if field := notText("", reflect.ValueOf(body)); field != "" {
		return nil, invalid(field, "is not valid UTF-8; send text")
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, &revue.Error{Code: revue.CodeInternal, Message: "the request can't be written as JSON", Err: err}
	}
	return b, nil
}

// notText returns the field of a body whose text is no UTF-8, "" for none.
func notText(field string, v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return field
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if field != "" {
				name = field + "." + name
			}
			if bad := notText(name, v.Field(i)); bad != "" {
				return bad
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if bad := notText(field+"["+strconv.Itoa(i)+"]", v.Index(i)); bad != "" {
				return bad
			}
		}
	default:
	}
	return ""
}

// get reads from a path.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) error {
	h, err := c.headers(c.human)
	if err != nil {
		return err
	}
	return c.link.do(ctx, exchange{method: http.MethodGet, path: path, query: query, header: h}, into)
}

// write is what a human changes: once, however often it is sent.
func (c *Client) write(ctx context.Context, method, path string, body, into any) error {
	return c.writeOnce(ctx, exchange{method: method, path: path}, body, into)
}

func (c *Client) writeOnce(ctx context.Context, x exchange, body, into any) (err error) {
	if x.header, err = c.headers(c.human); err != nil {
		return err
	}
	x.call = cmp.Or(c.call, newCall())
	if body != nil {
		if x.body, err = encoded(body); err != nil {
			return err
		}
	}
	return c.link.do(ctx, x, into)
}

// below returns the path of a thing. What can't be its id names nothing.
func below(path, id, what, rest string) (string, error) {
	if _, ok := pathID(url.PathEscape(id)); !ok {
		return "", &revue.Error{Code: revue.CodeNotFound, ID: clipped(id, maxID), Message: "there is no such " + what + " in this workspace"}
	}
	return path + "/" + id + rest, nil
}
