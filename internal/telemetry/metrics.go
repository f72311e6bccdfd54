package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/revuehq/revue"
)

// Options tune [Metrics]. The zero value of each field is its default.
type Options struct {
	Version string       // of the program, in revue_build_info; default "unknown"
	Parked  func() int   // how many calls wait for a human now; default: none
	Log     *slog.Logger // default: discarded
}

// Metrics counts. It is safe for concurrent use.
type Metrics struct {
	log      *slog.Logger
	registry *prometheus.Registry

	asks         *prometheus.CounterVec
	outcomes     *prometheus.CounterVec
	joined       prometheus.Counter
	saved        *prometheus.CounterVec
	lots         *prometheus.CounterVec
	corrections  *prometheus.CounterVec
	toAnswer     *prometheus.HistogramVec
	recall       prometheus.Observer
	storeErrors  *prometheus.CounterVec
	requests     *prometheus.CounterVec
	requestTimes *prometheus.HistogramVec
	openLots     *prometheus.GaugeVec
	journalLag   prometheus.Gauge

	mu       sync.Mutex
	follower *Follower
}

// The values of labels. What is none of them is "other".
const other = "other"

func kindNames() []string {
	return []string{string(revue.KindDecision), string(revue.KindApproval)}
}

func verbNames() []string {
	return []string{
		string(revue.VerbWrong), string(revue.VerbTooBroad), string(revue.VerbOnlyThisRepo), string(revue.VerbAskNextTime),
		string(revue.VerbExpiresAfter), undoName,
	}
}

// undoName is the verb of a correction that takes back another.
const undoName = "undo"

func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return other
}

func known(names []string, name string) string {
	if slices.Contains(names, name) {
		return name
	}
	return other
}

// New returns metrics with a registry of their own.
func New(opts *Options) *Metrics {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Version == "" {
		o.Version = "unknown"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Parked == nil {
		o.Parked = func() int { return 0 }
	}
	m := &Metrics{log: o.Log, registry: prometheus.NewRegistry()}
	m.asks = m.counters("revue_asks_total", "Asks that were recorded. A call that takes up its earlier ask is none.", "kind")
	m.outcomes = m.counters("revue_outcomes_total", "Asks by what they came to. Pending counts calls of this process that ended before there was an answer.", "outcome")
	m.joined = m.counters("revue_asks_joined_total", "Asks that joined a card that was open.").WithLabelValues()
	m.saved = m.counters("revue_interruptions_saved_total", "Asks that were answered without a card of their own: grouped with another, or reused from memory.", "how")
	m.lots = m.counters("revue_lots_total", "Cards by what happened to them.", "kind", "change")
	m.corrections = m.counters("revue_corrections_total", "Corrections of decisions.", "verb")
	m.toAnswer = m.histograms("revue_time_to_answer_seconds", "Time from the making of a card to its answer.", []float64{
		1, 5, 15, 30, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600,
	}, "kind")
	m.openLots = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "revue_open_lots", Help: "Cards that wait for a human."}, []string{"kind"})
	m.journalLag = prometheus.NewGauge(prometheus.GaugeOpts{Name: "revue_journal_lag_events", Help: "Events that are committed and that this process has not seen yet, over all workspaces."})
	parked := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "revue_parked_calls", Help: "Calls of this process that wait for a human now."},
		func() float64 { return float64(o.Parked()) })
	m.recall = m.histograms("revue_memory_recall_seconds", "Time that memory took to find precedents, in this process.", []float64{
		.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5,
	}).WithLabelValues()
	m.storeErrors = m.counters("revue_store_errors_total", "Failures of the store, in this process.", "op", "code")
	m.requests = m.counters("revue_http_requests_total", "HTTP requests that this process has answered.", "route", "method", "status")
	m.requestTimes = m.histograms("revue_http_request_seconds", "Time that HTTP requests took, waits for a human and streams included.", []float64{
		.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600,
	}, "route", "method")
	build := m.gauge("revue_build_info", "1, with the version of the program and of Go.", "version", "go")
	build.WithLabelValues(o.Version, runtime.Version()).Set(1)
	m.registry.MustRegister(m.openLots, m.journalLag, parked,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.zero()
	return m
}

// zero makes the series that everybody has, so that a rate over them is known from the start.
func (m *Metrics) zero() {
	for _, kind := range kindNames() {
		m.asks.WithLabelValues(kind)
		m.toAnswer.WithLabelValues(kind)
		m.openLots.WithLabelValues(kind)
	}
	for kind, changes := range map[revue.Kind][]string{
		revue.KindDecision: {"opened", "answered", "dismissed", "reopened"},
		revue.KindApproval: {"opened", "answered", "expired"},
	} {
		for _, change := range changes {
			m.lots.WithLabelValues(string(kind), change)
		}
	}
	for _, outcome := range []revue.OutcomeStatus{
		revue.OutcomeReused, revue.OutcomeAnswered, revue.OutcomeDismissed, revue.OutcomeExpired, revue.OutcomePending,
	} {
		m.outcomes.WithLabelValues(string(outcome))
	}
	for _, how := range []string{"grouped", "reused"} {
		m.saved.WithLabelValues(how)
	}
	for _, verb := range verbNames() {
		m.corrections.WithLabelValues(verb)
	}
	for _, op := range []string{"view", "update", "watch"} {
		m.storeErrors.WithLabelValues(op, string(revue.CodeUnavailable))
	}
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

// scrapeLog gets what goes wrong with scrapes. One whose client leaves before it has everything is no fault of ours, and
// anyone who may scrape could fill the log with it.
type scrapeLog struct{ log *slog.Logger }

func (l scrapeLog) Println(v ...any) {
	level := slog.LevelDebug
	if strings.HasPrefix(fmt.Sprint(v...), "error gathering") {
		level = slog.LevelWarn
	}
	l.log.Log(context.Background(), level, strings.TrimSpace(fmt.Sprintln(v...)))
}

// scrapeWithin bounds what a scrape reads from the store.
const scrapeWithin = 2 * time.Second

// Handler serves the metrics in the formats of Prometheus. It asks for no credential. At most four scrapes run at once;
// more are answered with 503.
func (m *Metrics) Handler() http.Handler {
	served := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, // one that fails must not hide the others
		ErrorLog:      scrapeLog{m.log},
	})
	running := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
		default:
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
			return
		}
		m.refresh(r.Context())
		served.ServeHTTP(w, r)
	})
}

// maxScrapes is how many scrapes run at once.
const maxScrapes = 4

func (m *Metrics) refresh(ctx context.Context) {
	m.mu.Lock()
	f := m.follower
	m.mu.Unlock()
	if f != nil {
		ctx, cancel := context.WithTimeout(ctx, scrapeWithin)
		defer cancel()
		f.refresh(ctx)
	}
}

func (m *Metrics) request(route, method string, status int, took time.Duration) {
	method = methodName(method)
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.requestTimes.WithLabelValues(route, method).Observe(took.Seconds())
}
