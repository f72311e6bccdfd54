package revuehttp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// Defaults of [ClientOptions].
const (
	// DefaultConnectTimeout leaves time for a first packet that got lost: it is sent again after a second.
	DefaultConnectTimeout = 1200 * time.Millisecond
	DefaultTimeout        = 15 * time.Second
	DefaultTries          = 10
	DefaultRetryFor       = 5 * time.Second
	DefaultMaxResponse    = 32 << 20 // bytes
)

// ClientOptions configure a [Client]. Nil is the default of everything.
type ClientOptions struct {
	// Workspace is the name of the workspace that is meant; a plane where the token is for another one
	// denies each call. Default: that of the token.
	Workspace string
	// Thread is one agent session, up to 200 bytes. Default: one thread a token.
	Thread string
	// Repo is the repository the agent works in; what [revue.NormalizeRepo] makes nothing of is left out.
	Repo string
	// AnyThread says that Thread was made up for this process: approvals then belong to the credential alone.
	AnyThread bool
	// Via says through what the caller works, as in HeaderVia. Default: "api".
	Via string

	// Insecure allows a token to be sent over plain http to a host that is not loopback: anyone on the way can
	// read and use it.
	Insecure bool
	// HTTP makes the connections. Its Transport is used, its CheckRedirect, Jar and Timeout are not. The default
	// transport may hold any number of connections to the plane, speaks HTTP/2 where the
	// plane does, and goes through the proxy that the environment of the process names, as Go programs do.
	HTTP *http.Client
	// ConnectTimeout bounds how long it may take to connect, TLS included. 0 is DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Timeout bounds how long an answer may take beyond what it waits for. 0 is DefaultTimeout.
	Timeout time.Duration
	// Tries is how often a call is sent in all where it fails; 0 is DefaultTries, 1 is never again. Waiting for an
	// answer that was asked for, and following events, goes on regardless.
	Tries int
	// RetryFor bounds how long a call is tried again; 0 is DefaultRetryFor.
	RetryFor time.Duration
	// MaxResponse bounds a response in bytes; 0 is DefaultMaxResponse.
	MaxResponse int64
	// Log gets what goes wrong without failing a call; nil drops it.
	Log *slog.Logger
}

// Client is a [revue.Decider], a [revue.Returner] and a [revue.Reviewer] over the API of a plane elsewhere. What its
// token may do decides which of their methods succeed; the others are ErrDenied. It is safe for concurrent use.
//
// Errors are those of the plane: errors.Is works as it does there. A plane that can't be reached is
// ErrUnavailable. Every call is safe to send again, and is, with growing random pauses, where a connection breaks or
// the plane is busy: for RetryFor, or as long as Retry-After says within that. A plane to which no connection comes
// about in the first place is reported at once.
type Client struct {
	link      *link
	workspace string      // the one that is meant, "" for the token's
	agent     revue.Agent // how to route; who it is the token says
	call      string      // the id of a human's call, "" for one each
	human     string      // through what a human works
}

var (
	_ revue.Decider  = (*Client)(nil)
	_ revue.Returner = (*Client)(nil)
	_ revue.Reviewer = (*Client)(nil)
)

// NewClient returns a client of the plane at baseURL, which is http or https and has no credentials, query or
// fragment. It checks its arguments and sends nothing. Close it when it is done with.
func NewClient(baseURL, token string, opts *ClientOptions) (*Client, error) {
	var o ClientOptions
	if opts != nil {
		o = *opts
	}
	base, err := planeURL(baseURL, o.Insecure)
	if err != nil {
		return nil, err
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }) {
		return nil, invalid("token", "is missing or is no bearer token; set REVUE_API_KEY to one that the plane made")
	}
	if o.ConnectTimeout < 0 || o.Timeout < 0 || o.Tries < 0 || o.RetryFor < 0 || o.MaxResponse < 0 {
		return nil, invalid("options", "a time, a size or a count is negative; 0 is the default")
	}
	l := &link{
		base: base, token: token,
		connectTimeout: cmp.Or(o.ConnectTimeout, DefaultConnectTimeout),
		timeout:        cmp.Or(o.Timeout, DefaultTimeout),
		tries:          cmp.Or(o.Tries, DefaultTries),
		retryFor:       cmp.Or(o.RetryFor, DefaultRetryFor),
		maxResponse:    cmp.Or(o.MaxResponse, DefaultMaxResponse),
		log:            cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
	}
	if o.HTTP != nil && o.HTTP.Transport != nil {
		l.http.Transport = o.HTTP.Transport
	} else {
		l.own = transport(l.connectTimeout)
		l.http.Transport = l.own
	}
	// A token goes to the plane it is for and nowhere else.
	l.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	agent := revue.Agent{Thread: o.Thread, Repo: o.Repo, AnyThread: o.AnyThread, Via: o.Via}
	c := &Client{link: l, workspace: o.Workspace, agent: agent, human: o.Via}
	if _, err := c.headers(o.Via); err != nil {
		return nil, err
	}
	return c, nil
}

// planeURL checks the address of a plane and returns it without a slash at its end.
func planeURL(s string, insecure bool) (string, error) {
	const remedy = "; set REVUE_API_URL to one such as https://revue.example.com"
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil: // what it says may quote a password
		return "", invalid("url", "is no URL"+remedy)
	case u.User != nil:
		return "", invalid("url", "has a name or a password in it; the token alone says who calls")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", invalid("url", "is neither http nor https"+remedy)
	case u.Hostname() == "" || u.Opaque != "":
		return "", invalid("url", "names no host"+remedy)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#"):
		return "", invalid("url", "has a query or a fragment"+remedy)
	case u.Scheme == "http" && !insecure && !loopback(u.Hostname()):
		return "", invalid("url", "is plain http to another machine, where anyone on the way could read the token; use https")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// loopback reports whether what is sent to a host stays on the machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// transport is the default one. Most of its connections are parked calls, so there is no limit to them.
func transport(connect time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    128,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		// A parked call is silent for most of a minute: pings find out that its connection is dead.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
}

// For returns the client bound to another agent session: with a's Thread, Repo, AnyThread and Via. Where a
// Acknowledges, its outcomes count as returned only when Returned says so. A Call of a is used as the id of each
// of its calls. Who a is does not matter: that is the token's to say. Closing one closes both.
func (c *Client) For(a revue.Agent) *Client {
	bound := *c
	bound.agent = a
	return &bound
}

// as returns the client bound to a human, for the way they work and the id of their call.
func (c *Client) as(h revue.Human) *Client {
	bound := *c
	bound.call = h.Call
	bound.human = cmp.Or(h.Via, c.human)
	return &bound
}

// Close gives up the idle connections of the client. Calls under way go on.
func (c *Client) Close() error {
	if c.link.own != nil {
		c.link.own.CloseIdleConnections()
	}
	return nil
}

// Plane returns the client as a plane, for transports that take one. All that it binds acts with the token of the
// client, so it authenticates that token alone.
func (c *Client) Plane() revue.Plane { return clientPlane{c} }

type clientPlane struct{ client *Client }

// Authenticate implements [revue.Plane]: any other token than the client's own is ErrDenied, since what is
// bound would not act with it.
func (p clientPlane) Authenticate(ctx context.Context, bearer string) (revue.Principal, error) {
	if subtle.ConstantTimeCompare([]byte(bearer), []byte(p.client.link.token)) != 1 {
		return revue.Principal{}, &revue.Error{Code: revue.CodeDenied, Message: "this credential is not valid here; use the one that this program was given"}
	}
	id, err := p.client.Whoami(ctx)
	if err != nil {
		return revue.Principal{}, err
	}
	out := revue.Principal{TokenID: id.Token, Kind: id.Kind, Workspace: id.Workspace, ExpiresAt: id.ExpiresAt}
	if id.Kind == revue.TokenHuman {
		out.Human = &revue.Human{Workspace: id.Workspace, ID: id.Token, Name: id.Name}
	} else {
		out.Agent = &revue.Agent{Workspace: id.Workspace, Credential: id.Token, Name: id.Name, Thread: id.Token}
	}
	return out, nil
}

func (p clientPlane) Decider(a revue.Agent) revue.Decider   { return p.client.For(a) }
func (p clientPlane) Reviewer(h revue.Human) revue.Reviewer { return p.client.as(h) }
func (p clientPlane) Admin(h revue.Human) revue.Admin       { return p.client.as(h).Admin() }
func (p clientPlane) Keys(ctx context.Context) (revue.KeySet, error) {
	return p.client.Keys(ctx)
}

// Whoami returns who the token stands for.
func (c *Client) Whoami(ctx context.Context) (Identity, error) {
	var id Identity
	err := c.get(ctx, "/v1/whoami", nil, &id)
	if err == nil && id.Token == "" {
		err = c.link.malformed(nil)
	}
	return id, err
}

// Keys returns the public keys that receipts of the plane verify with, the newest first.
func (c *Client) Keys(ctx context.Context) (revue.KeySet, error) {
	var keys revue.KeySet
	err := c.link.do(ctx, exchange{method: http.MethodGet, path: "/.well-known/jwks.json", public: true}, &keys)
	return keys, err
}

// headers are those of a request of the client, but for its token. Via is through what its caller works.
func (c *Client) headers(via string) (http.Header, error) {
	h := http.Header{}
	caller := ""
	if c.agent.AnyThread {
		caller = callerCredential
	}
	for _, f := range []struct{ name, value string }{
		{HeaderThread, c.agent.Thread},
		{HeaderRepo, revue.NormalizeRepo(c.agent.Repo)},
		{HeaderVia, via},
		{HeaderWorkspace, c.workspace},
		{HeaderCaller, caller},
	} {
		if f.value == "" {
			continue
		}
		if strings.ContainsFunc(f.value, unicode.IsControl) || !utf8.ValidString(f.value) {
			return nil, invalid(f.name, "must be UTF-8 text without control characters")
		}
		h.Set(f.name, f.value)
	}
	return h, nil
}

// newCall returns the id of a new call.
func newCall() string { return rand.Text() }

// link is what the clients that were made from one another share.
type link struct {
	base  string
	token string
	http  http.Client
	own   *http.Transport // the default transport, where it is used

	connectTimeout time.Duration
	timeout        time.Duration
	tries          int
	retryFor       time.Duration
	maxResponse    int64
	log            *slog.Logger

	ended endedCalls
}
