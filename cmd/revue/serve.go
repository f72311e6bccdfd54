package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/transport/revuemcp"
)

// serve is the options of the command.
type serve struct {
	*app
	addr            string
	insecure        bool
	tlsCert, tlsKey string
	hosts           []string
	profile         string
	logFlags        logFlags
}

func (a *app) serveCmd() *cobra.Command {
	s := &serve{app: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the plane over HTTP",
		Long: `Run the plane: agents reach it at /mcp (decisions) and /mcp/approvals (approve or decline) with
an agent token. The first start makes the database, a workspace and two tokens, and
prints them with what to do next.

It listens on this machine alone unless told otherwise. Elsewhere it wants TLS, or
--insecure-listen where something before it has TLS. /healthz says that it runs,
/readyz that its database answers.

SIGTERM and SIGINT stop it: each waiting agent is told that its decision is pending, and
takes it up again after the next start.`,
		Example: `  revue serve
  revue serve --addr 0.0.0.0:7433 --tls-cert cert.pem --tls-key key.pem --allow-host revue.example.com
  revue serve --profile approvals`,
		Args: takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) }),
	}
	f := cmd.Flags()
	f.StringVar(&s.addr, "addr", "127.0.0.1:7433", "the address to listen on")
	f.BoolVar(&s.insecure, "insecure-listen", false, "listen beyond this machine without TLS: tokens travel readable")
	f.StringVar(&s.tlsCert, "tls-cert", "", "the file of the TLS certificate chain")
	f.StringVar(&s.tlsKey, "tls-key", "", "the file of its key")
	f.StringArrayVar(&s.hosts, "allow-host", nil, "a host name that this server is reached by, besides those of this machine (may be repeated)")
	f.StringVar(&s.profile, "profile", string(revuemcp.Decisions), "which tools /mcp has: decisions or approvals")
	s.logFlags.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(profileNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func profileNames() []string {
	return []string{string(revuemcp.Decisions), string(revuemcp.Approvals)}
}

func parseProfile(s string) (revuemcp.Profile, error) {
	for _, p := range profileNames() {
		if s == p {
			return revuemcp.Profile(p), nil
		}
	}
	return "", misuse(fmt.Sprintf("--profile %s: it is one of %v", s, profileNames()))
}

// stopWait bounds how long a stopping server waits for its answers to be written.
const stopWait = 10 * time.Second

func (s *serve) run(ctx context.Context) error {
	log, err := s.logFlags.logger(s.stderr)
	if err != nil {
		return err
	}
	profile, err := parseProfile(s.profile)
	if err != nil {
		return err
	}
	cert, err := s.certificate()
	if err != nil {
		return err
	}
	for _, h := range s.hosts {
		if !hostName(h) {
			return misuse(fmt.Sprintf("--allow-host %q: it is a name like revue.example.com, perhaps with a port", h))
		}
	}
	path, _, err := s.dbPath() // a plane has its own data, whatever plane the environment names
	if err != nil {
		return err
	}
	ln, err := s.listen(ctx, cert)
	if err != nil {
		return err
	}
	defer ln.Close() //nolint:errcheck // Serve has closed it already, unless the start failed

	// The first signal stops in order. After it the default is back: a second one ends the process.
	sigCtx, restore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer restore()
	p, err := openPlane(ctx, path, log)
	if err != nil {
		return err
	}
	err = s.serve(sigCtx, restore, p, ln, profile, log)
	if cerr := p.close(); err == nil {
		err = cerr
	}
	return err
}

// serve runs the plane on ln until sigCtx ends.
func (s *serve) serve(sigCtx context.Context, restore func(), p *plane, ln net.Listener, profile revuemcp.Profile, log *slog.Logger) error {
	base := context.WithoutCancel(sigCtx)
	runCtx, stopRun := context.WithCancel(base)
	ran := make(chan error, 1)
	go func() { ran <- p.Run(runCtx) }()
	defer func() {
		stopRun()
		if err := <-ran; err != nil {
			log.Error("the work in the background failed", "error", err)
		}
	}()

	tools := []*revuemcp.Server{
		revuemcp.NewServer(p, &revuemcp.Options{Profile: profile, Version: version(), Log: log}),
		revuemcp.NewServer(p, &revuemcp.Options{Profile: revuemcp.Approvals, Version: version(), Log: log}),
	}
	srv := &http.Server{
		Handler: httpguard.New(&httpguard.Options{Hosts: s.names(ln, log), Log: log})(routes(p, tools[0], tools[1], log)),
		// No WriteTimeout: a call waits for a human.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	var unused unusedConns
	srv.ConnState = unused.track
	if err := s.greet(sigCtx, p, s.url(ln)); err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()

	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-sigCtx.Done():
	}
	restore()
	log.Info("stopping", "waiting", p.Parked())
	p.Drain()
	stopCtx, cancel := context.WithTimeout(base, stopWait)
	defer cancel()
	unused.close()
	for _, t := range tools {
		if err := t.Shutdown(stopCtx); err != nil {
			log.Warn("an MCP session did not end in time", "error", err)
		}
	}
	if err := srv.Shutdown(stopCtx); err != nil {
		log.Warn("closing connections that did not end in time", "after", stopWait)
		_ = srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	log.Info("stopped")
	return nil
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

func (s *serve) certificate() (*tls.Certificate, error) {
	if s.tlsCert == "" && s.tlsKey == "" {
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	if s.tlsCert == "" || s.tlsKey == "" {
		return nil, misuse("--tls-cert and --tls-key go together")
	}
	cert, err := tls.LoadX509KeyPair(s.tlsCert, s.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("load the TLS certificate: %w", err)
	}
	return &cert, nil
}

// listen opens the socket. An address beyond this machine needs TLS or the word of the user: tokens go over it.
func (s *serve) listen(ctx context.Context, cert *tls.Certificate) (net.Listener, error) {
	host, _, err := net.SplitHostPort(s.addr)
	if err != nil {
		return nil, misuse(fmt.Sprintf("--addr %s: it is HOST:PORT", s.addr))
	}
	safe := cert != nil || s.insecure
	beyond := misuse(fmt.Sprintf("--addr %s is reached from beyond this machine: give --tls-cert and --tls-key, or --insecure-listen where something before it has TLS", s.addr))
	if !safe && !httpguard.Loopback(host) {
		return nil, beyond
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); !safe && (!ok || !tcp.IP.IsLoopback()) { // "localhost" may resolve to anything
		_ = ln.Close()
		return nil, beyond
	}
	if cert != nil {
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
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

// routes is the whole surface of the server.
func routes(p *plane, tools, approvals *revuemcp.Server, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", httpguard.Bearer(p, tools.Handler(), revue.TokenAgent))
	mux.Handle("/mcp/approvals", httpguard.Bearer(p, approvals.Handler(), revue.TokenAgent))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		if err := p.store.View(ctx, "", func(revue.Tx) error { return nil }); err != nil {
			log.WarnContext(ctx, "not ready", "error", err)
			plain(w, http.StatusServiceUnavailable, "the database does not answer\n")
			return
		}
		plain(w, http.StatusOK, "ready\n")
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "revue runs here. On this machine, see what agents ask with \"revue inbox\" and answer with \"revue answer LOT VALUE\".\n")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		httpguard.Problem(w, http.StatusNotFound, string(revue.CodeNotFound), "there is nothing at this address")
	})
	return mux
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a caller that is gone needs no answer
}
