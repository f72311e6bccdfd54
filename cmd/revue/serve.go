package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/internal/telemetry"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/transport/inbox"
	"github.com/revuehq/revue/transport/revuehttp"
	"github.com/revuehq/revue/transport/revuemcp"
)

// serve is the options of the command.
type serve struct {
	*app
	config, metricsAddr string
	printSettings       bool
	noTokens            bool
	addr                string
	insecure            bool
	tlsCert, tlsKey     string
	hosts               []string
	baseURL             string
	profile             string
	drainDelay          string
	rate                int
	logFlags            logFlags
}

func (a *app) serveCmd() *cobra.Command {
	s := &serve{app: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the plane over HTTP",
		Long: `Run the plane: humans open its inbox at / in a browser; agents reach it at /mcp (decisions) and
/mcp/approvals (approve or decline) with an agent token, programs at /v1, which /openapi.json
describes. The first start makes the
database, a workspace and two tokens, and prints them with a one-time link into the inbox and
what to do next; with --no-first-tokens it makes none, since where its output is logged they
would be in the log.

It listens on this machine alone unless told otherwise. Elsewhere it wants TLS, or
--insecure-listen where something before it has TLS. /healthz says that it runs, /readyz
that it can work, /metrics what it counts, to who has a token of the workspace that it is
started for.

A setting is that of the flag, else of its variable (REVUE_ADDR for --addr), else of the
file of --config, else the default; --print-config shows them all.

SIGTERM and SIGINT stop it: each waiting agent is told that its decision is pending, and
takes it up again after the next start. A second signal ends it at once.`,
		Example: `  revue serve
  revue serve --addr 0.0.0.0:7433 --tls-cert cert.pem --tls-key key.pem --allow-host revue.example.com
  revue serve --config revue.toml --print-config`,
		Args: takes(0, 0),
		RunE: does(s.run),
	}
	f := cmd.Flags()
	f.StringVar(&a.db, "db", "", "the database file (default $REVUE_DB, else revue/revue.db in the data folder of the user)")
	f.StringVar(&a.workspace, "workspace", "", "the workspace of the first tokens (default $REVUE_WORKSPACE_ID, else \"default\")")
	f.StringVar(&s.config, "config", "", "a TOML file of settings; its keys are the names of the flags (default $REVUE_CONFIG)")
	f.BoolVar(&s.printSettings, "print-config", false, "print the settings and where each comes from, and end")
	f.StringVar(&s.addr, "addr", "127.0.0.1:7433", "the address to listen on")
	f.StringVar(&s.metricsAddr, "metrics-addr", "", "another address to listen on for /metrics, without a token")
	f.BoolVar(&s.insecure, "insecure-listen", false, "listen beyond this machine without TLS: tokens travel readable")
	f.StringVar(&s.tlsCert, "tls-cert", "", "the file of the TLS certificate chain; a renewed one is taken up within a minute")
	f.StringVar(&s.tlsKey, "tls-key", "", "the file of its key")
	f.StringArrayVar(&s.hosts, "allow-host", nil, "a host name that this server is reached by, besides those of this machine (may be repeated)")
	f.StringVar(&s.baseURL, "base-url", "", "the address that browsers and agents reach it at, where something before it has TLS, such as https://revue.example.com; allows that host too")
	f.StringVar(&s.profile, "profile", string(revuemcp.Decisions), "which tools /mcp has: decisions or approvals")
	f.IntVar(&s.rate, "rate-limit", revuehttp.DefaultRate, "requests a second of one token at /v1, and as many at /mcp and /metrics together, with bursts of ten times that; 0 sets no limit")
	f.BoolVar(&s.noTokens, "no-first-tokens", false, "make and print no tokens and no link at the first start, where the output is kept in a log")
	f.StringVar(&s.drainDelay, "drain-delay", "0s", "how long /readyz says 503 before a stopping server ends what waits")
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

const (
	// stopWait bounds how long a stopping server waits for its answers to be written.
	stopWait = 10 * time.Second
	// flushWait bounds how long it waits for its traces to be sent.
	flushWait = time.Second
	// maxDelay bounds --drain-delay.
	maxDelay = 10 * time.Minute
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 64 << 10
	// maxStreams bounds the requests under way on one connection of HTTP/2, nearly all of which wait.
	maxStreams = 1000
)

// planned is what the settings say, checked.
type planned struct {
	log     *slog.Logger
	profile revuemcp.Profile
	certs   *certificates // nil without TLS
	path    string        // of the database
	delay   time.Duration

	addr, metrics endpoint
}

func (s *serve) run(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	if s.config == "" {
		s.config = s.env("REVUE_CONFIG")
	}
	settings, err := s.configure(cmd, s.config)
	if err != nil {
		return err
	}
	plan, err := s.plan(ctx)
	if err != nil {
		return err
	}
	if s.printSettings {
		return s.printConfig(settings)
	}
	ln, err := plan.addr.listen(ctx)
	if err != nil {
		return err
	}
	defer ln.Close() //nolint:errcheck // Serve has closed it already, unless the start failed
	var metricsLn net.Listener
	if s.metricsAddr != "" {
		if metricsLn, err = plan.metrics.listen(ctx); err != nil {
			return err
		}
		defer metricsLn.Close() //nolint:errcheck // as above
	}

	// The first signal stops in order. After it the default is back: a second one ends the process.
	sigCtx, restore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer restore()
	p, err := openPlane(ctx, plan.path, plan.log)
	if err != nil {
		return err
	}
	err = s.serve(sigCtx, restore, p, ln, metricsLn, plan)
	if cerr := p.close(); err == nil {
		err = cerr
	}
	return err
}

// requests is --rate-limit as the API has it.
func (s *serve) requests() float64 {
	if s.rate == 0 {
		return -1
	}
	return float64(s.rate)
}

// plan checks the settings.
func (s *serve) plan(ctx context.Context) (plan planned, err error) {
	if plan.log, err = s.logFlags.logger(s.stderr); err != nil {
		return plan, err
	}
	if plan.profile, err = parseProfile(s.profile); err != nil {
		return plan, err
	}
	if plan.delay, err = time.ParseDuration(s.drainDelay); err != nil || plan.delay < 0 || plan.delay > maxDelay {
		return plan, misuse(fmt.Sprintf("--drain-delay %s: it is a duration like 5s, up to %s", s.drainDelay, maxDelay))
	}
	if s.rate < 0 {
		return plan, misuse("--rate-limit is negative: 0 sets no limit")
	}
	for _, h := range s.hosts {
		if !hostName(h) {
			return plan, misuse(fmt.Sprintf("--allow-host %q: it is a name like revue.example.com, perhaps with a port", h))
		}
	}
	if err = s.ownBase(); err != nil {
		return plan, err
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		return plan, misuse("--tls-cert and --tls-key go together")
	}
	if s.tlsCert != "" {
		if plan.certs, err = loadCertificates(s.tlsCert, s.tlsKey, plan.log); err != nil {
			return plan, err
		}
	}
	plan.addr = endpoint{
		flag: "--addr", addr: s.addr, safe: plan.certs != nil || s.insecure,
		remedy: "give --tls-cert and --tls-key, or --insecure-listen where something before it has TLS",
	}
	if err = plan.addr.check(ctx); err != nil {
		return plan, err
	}
	if s.metricsAddr != "" {
		plan.metrics = endpoint{
			flag: "--metrics-addr", addr: s.metricsAddr, safe: s.insecure,
			remedy: "it asks for no token; give --insecure-listen where only those who may can reach it",
		}
		if err = plan.metrics.check(ctx); err != nil {
			return plan, err
		}
	}
	plan.path, _, err = s.dbPath() // a plane has its own data, whatever plane the environment names
	return plan, err
}

// backend is the plane as it is served: measured, and with its background work.
type backend struct {
	*plane
	metrics *telemetry.Metrics
	own     string      // the workspace whose tokens may read the metrics
	outer   revue.Plane // for transports
	ready   *readiness
	stop    func() // ends the background work and waits for it
}

// start measures the plane and starts its background work.
func (s *serve) start(ctx context.Context, p *plane, tracing *telemetry.Tracing, log *slog.Logger) (*backend, error) {
	m := telemetry.New(&telemetry.Options{Version: version(), Log: log, Parked: func() int { return p.Parked() }})
	store := m.Store(p.store)
	// The desk anew, over what is measured. The other one has done nothing yet.
	p.Desk = revue.New(store, m.Memory(memory.New(nil)), &revue.Options{Log: log})
	b := &backend{
		plane: p, metrics: m, own: s.workspaceName(), outer: telemetry.Plane(p.Desk, m, tracing),
		ready: &readiness{store: p.store, watching: store.Watching, log: log},
	}
	if err := s.ownWorkspace(ctx, p, s.human()); err != nil { // before it is followed
		return nil, err
	}
	follower, err := m.Follow(ctx, p.Desk, p.store, s.human())
	if err != nil {
		return nil, err
	}
	runCtx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		if err := p.Run(runCtx); err != nil {
			log.Error("the work in the background failed", "error", err)
		}
	})
	work.Go(func() { follower.Run(runCtx) })
	b.stop = func() {
		cancel()
		work.Wait()
	}
	return b, nil
}

// serve runs the plane on ln, and its metrics on metricsLn where that is not nil, until sigCtx ends.
func (s *serve) serve(sigCtx context.Context, restore func(), p *plane, ln, metricsLn net.Listener, plan planned) error {
	log := plan.log
	base := context.WithoutCancel(sigCtx)
	tracing, err := s.tracing(base, log)
	if err != nil {
		return fmt.Errorf("start the traces: %w", err)
	}
	defer flush(base, tracing, log)
	b, err := s.start(base, p, tracing, log)
	if err != nil {
		return err
	}
	defer b.stop()

	hosts := s.names(ln, log)
	t := &transports{
		tools: []*revuemcp.Server{
			revuemcp.NewServer(b.outer, &revuemcp.Options{Profile: plan.profile, Version: version(), Log: log}),
			revuemcp.NewServer(b.outer, &revuemcp.Options{Profile: revuemcp.Approvals, Version: version(), Log: log}),
		},
		inbox: inbox.New(b.outer, p.Desk, &inbox.Options{Version: version(), Log: log, BaseURL: s.baseURL}),
		api:   revuehttp.NewServer(b.outer, &revuehttp.Options{Version: version(), Log: log, Hosts: hosts, Rate: s.requests(), Burst: 10 * s.rate}),

		limiter: httpguard.NewLimiter(float64(s.rate), 10*s.rate),
	}
	guarded := httpguard.New(&httpguard.Options{Hosts: hosts, Log: log})(b.routes(t))
	srv := newServer(base, httpguard.Logged(log, tracing.Handler(b.metrics.HTTP(guarded))), log)
	var unused unusedConns
	srv.ConnState = unused.track
	if err := s.greet(sigCtx, p, s.url(ln), cmp.Or(s.baseURL, s.url(ln))); err != nil {
		return err
	}
	served := make(chan error, 2)
	go func() {
		if plan.certs != nil {
			srv.TLSConfig = plan.certs.config()
			served <- srv.ServeTLS(ln, "", "")
			return
		}
		served <- srv.Serve(ln)
	}()
	running := 1
	var metricsSrv *http.Server
	if metricsLn != nil {
		running++
		metricsSrv = newServer(base, metricsGuard(s.hosts, b.metricsRoutes()), log)
		go func() { served <- metricsSrv.Serve(metricsLn) }()
		log.Info("metrics are served without a token", "addr", metricsLn.Addr().String())
	}

	var failed error
	select {
	case err := <-served:
		running--
		failed = fmt.Errorf("serve: %w", err)
	case <-sigCtx.Done():
	}
	restore()
	b.ready.draining.Store(true)
	log.Info("stopping", "waiting", p.Parked(), "delay", plan.delay)
	if failed == nil && plan.delay > 0 {
		<-time.After(plan.delay) // a second signal ends the process
	}
	p.Drain()
	stopCtx, cancel := context.WithTimeout(base, stopWait)
	defer cancel()
	unused.close()
	t.shutdown(stopCtx, log)
	if err := srv.Shutdown(stopCtx); err != nil {
		log.Warn("closing connections that did not end in time", "after", stopWait)
		_ = srv.Close()
	}
	if metricsSrv != nil {
		_ = metricsSrv.Close() // a scrape that is cut off is made again
	}
	for range running {
		if err := <-served; failed == nil && !errors.Is(err, http.ErrServerClosed) {
			failed = fmt.Errorf("serve: %w", err)
		}
	}
	log.Info("stopped")
	return failed
}

// newServer returns a server with the limits that every listener has. It has no WriteTimeout, since a call waits for a
// human, and no limit of connections, since each waiting call has one: that limit is what the system gives the process.
func newServer(base context.Context, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
}

// flush sends the traces that are left.
func flush(ctx context.Context, t *telemetry.Tracing, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, flushWait)
	defer cancel()
	if err := t.Shutdown(ctx); err != nil {
		log.Warn("the last traces were not delivered", "err", err)
	}
}

// transports are what calls come in by.
type transports struct {
	tools []*revuemcp.Server // of /mcp and of /mcp/approvals
	api   *revuehttp.Server
	inbox *inbox.Server

	limiter *httpguard.Limiter // of requests at /mcp and /metrics
}

// shutdown ends what waits and what streams, all at once.
func (t *transports) shutdown(ctx context.Context, log *slog.Logger) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if err := t.api.Shutdown(ctx); err != nil {
			log.Warn("a call of the API did not end in time", "error", err)
		}
	})
	wg.Go(func() {
		if err := t.inbox.Shutdown(ctx); err != nil {
			log.Warn("a page of the inbox that is live did not end in time", "error", err)
		}
	})
	for _, tools := range t.tools {
		wg.Go(func() {
			if err := tools.Shutdown(ctx); err != nil {
				log.Warn("an MCP session did not end in time", "error", err)
			}
		})
	}
}

// routes is the whole surface of the server.
func (b *backend) routes(t *transports) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h http.Handler) { mux.Handle(pattern, noted(h)) }
	handle("/mcp", httpguard.Bearer(b.outer, httpguard.Limited(t.limiter, t.tools[0].Handler()), revue.TokenAgent))
	handle("/mcp/approvals", httpguard.Bearer(b.outer, httpguard.Limited(t.limiter, t.tools[1].Handler()), revue.TokenAgent))
	api := t.api.Handler() // notes its routes itself
	handle("GET /healthz", http.HandlerFunc(healthy))
	handle("GET /readyz", http.HandlerFunc(b.ready.serve))
	handle("GET /metrics", httpguard.Bearer(b.outer, httpguard.Limited(t.limiter, b.ownOnly(b.metrics.Handler()))))
	mux.HandleFunc("/", nothingHere)
	pages := t.inbox.Handler() // as the API does
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/v1/"), path == "/v1", path == "/openapi.json", path == "/.well-known/jwks.json":
			api.ServeHTTP(w, r) // a mux would answer some paths with a redirect that repeats them
		case forPrograms(path):
			mux.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// forPrograms reports whether a path is none that a browser shows: what is not there is then told to a program.
func forPrograms(path string) bool {
	for _, root := range []string{"/mcp", "/.well-known", "/healthz", "/readyz", "/metrics"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// ownOnly lets through the tokens of the workspace that the server was started for: the metrics are numbers over all
// workspaces, which is no business of the others.
func (b *backend) ownOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := httpguard.PrincipalFrom(r.Context()); !ok || p.Workspace != b.own {
			httpguard.Problem(w, http.StatusForbidden, string(revue.CodeDenied), "the metrics are over all workspaces: a token of the workspace that the server was started for reads them, and \"revue serve --metrics-addr\" needs none")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// metricsRoutes is the surface of the listener that asks for no token.
func (b *backend) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", b.metrics.Handler())
	mux.HandleFunc("/", nothingHere)
	return mux
}

// noted tells the log, the metrics and the traces which route a request is for.
func noted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpguard.SetRoute(r, r.Pattern)
		h.ServeHTTP(w, r)
	})
}

func healthy(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") }

func nothingHere(w http.ResponseWriter, _ *http.Request) {
	httpguard.Problem(w, http.StatusNotFound, string(revue.CodeNotFound), "there is nothing at this address")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a caller that is gone needs no answer
}
