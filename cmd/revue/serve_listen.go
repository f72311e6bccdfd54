package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/credentials"
	"github.com/revuehq/revue/internal/httpguard"
)

// endpoint is where to listen, as a flag says it.
type endpoint struct {
	flag, addr string
	safe       bool   // it may be reached from beyond this machine
	remedy     string // what to do where it may not
}

func (e endpoint) beyond() error {
	return misuse(fmt.Sprintf("%s %s is reached from beyond this machine: %s", e.flag, e.addr, e.remedy))
}

// check says what is wrong with it, without opening it.
func (e endpoint) check(ctx context.Context) error {
	host, port, err := net.SplitHostPort(e.addr)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port)
	}
	if err != nil || port == "" {
		return misuse(fmt.Sprintf("%s %s: it is HOST:PORT", e.flag, e.addr))
	}
	if !e.safe && !httpguard.Loopback(host) {
		return e.beyond()
	}
	return nil
}

// listen opens the socket.
func (e endpoint) listen(ctx context.Context) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", e.addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); !e.safe && (!ok || !tcp.IP.IsLoopback()) { // "localhost" may resolve to anything
		_ = ln.Close()
		return nil, e.beyond()
	}
	return ln, nil
}

// hostName reports whether s is what a Host header can hold: a name or an address, perhaps with a port.
func hostName(s string) bool {
	u, err := url.Parse("http://" + s)
	return err == nil && s != "" && u.Host == s && u.Hostname() != "" && !strings.ContainsAny(s, " \t*,")
}

// url is how this server is reached: by the name that was allowed where it listens beyond this machine.
func (s *serve) url(ln net.Listener) string {
	scheme := "http"
	if s.tlsCert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return scheme + "://" + ln.Addr().String()
	}
	if !httpguard.Loopback(host) && len(s.hosts) > 0 {
		host = s.hosts[0]
		if _, _, err := net.SplitHostPort(host); err == nil {
			return scheme + "://" + host
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// ownBase checks --base-url, and allows its host.
func (s *serve) ownBase() error {
	if s.baseURL == "" {
		return nil
	}
	address, _, err := credentials.ParseURL(s.baseURL)
	if err != nil {
		return misuse("--base-url: " + message(err))
	}
	u, err := url.Parse(address)
	if err != nil || u.Path != "" {
		return misuse("--base-url: it is an address like https://revue.example.com, without a path")
	}
	s.baseURL = address
	s.hosts = append(slices.Clone(s.hosts), u.Host)
	return nil
}

// names are the hosts this server goes by: those that were allowed, and the address it listens on where
// that is one.
func (s *serve) names(ln net.Listener, log *slog.Logger) []string {
	tcp, ok := ln.Addr().(*net.TCPAddr)
	switch {
	case !ok:
	case !tcp.IP.IsUnspecified():
		return append(slices.Clone(s.hosts), tcp.IP.String())
	case len(s.hosts) == 0:
		log.Warn("requests from beyond this machine will be refused: give the name they use with --allow-host")
	}
	return s.hosts
}

// metricsGuard stands before the listener that asks for no token. A web page that resolves its own name to this machine
// is turned away: the host of a request is a loopback name, an address, which no page can make its own, or an allowed name.
func metricsGuard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil && !httpguard.Loopback(host) && !slices.Contains(hosts, host) && !slices.Contains(hosts, r.Host) || r.Header.Get("Origin") != "" {
			httpguard.Problem(w, http.StatusForbidden, string(revue.CodeDenied), "this listener does not go by the host name of the request, and is for no web page")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// unusedConns are the connections on which no request has come yet. Clients open them in advance, and a
// server that shuts down would wait five seconds for each.
type unusedConns struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	shut  bool
}

func (u *unusedConns) track(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(u.conns, c)
	case u.shut:
		_ = c.Close()
	default:
		if u.conns == nil {
			u.conns = map[net.Conn]struct{}{}
		}
		u.conns[c] = struct{}{}
	}
}

func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shut = true
	for c := range u.conns {
		_ = c.Close()
	}
}
