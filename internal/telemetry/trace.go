package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Exporter says where spans go.
type Exporter string

// The exporters.
const (
	OTLP    Exporter = "otlp"    // to a collector, by OTLP over HTTP
	Console Exporter = "console" // to the log, one entry a span
)

// TraceOptions tune [Tracing]. The address of the collector, its headers and timeouts, the sampler, the limits, the name
// of the service and its attributes are what the standard variables say, which the OpenTelemetry SDK reads itself.
type TraceOptions struct {
	Exporter Exporter     // default OTLP
	Version  string       // of the program
	Log      *slog.Logger // default: discarded
}

// Tracing records spans and sends them in the background. What can't be sent is dropped: it never holds up a call. A nil
// *Tracing records nothing. It is safe for concurrent use.
type Tracing struct {
	provider *sdktrace.TracerProvider
	exporter *exporter
}

const scope = "github.com/revuehq/revue"

// NewTracing starts to record. It does not wait for the collector.
func NewTracing(ctx context.Context, opts *TraceOptions) (*Tracing, error) {
	var o TraceOptions
	if opts != nil {
		o = *opts
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "revue"), attribute.String("service.version", o.Version)),
		resource.WithFromEnv(), // the last one wins
	)
	if err != nil {
		return nil, err
	}
	var inner sdktrace.SpanExporter = console{o.Log}
	if o.Exporter != Console {
		if inner, err = otlptracehttp.New(ctx); err != nil {
			return nil, err
		}
	}
	e := &exporter{inner: inner, log: o.Log, stopped: make(chan struct{})}
	return &Tracing{
		provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithResource(res)),
		exporter: e,
	}, nil
}

// Tracer returns what makes spans.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return tracenoop.NewTracerProvider().Tracer(scope)
	}
	return t.provider.Tracer(scope)
}

// Handler gives each request a span, below the one its traceparent header names, called "METHOD route". It stands within
// [httpguard.Logged] or [httpguard.New], and whoever serves a request notes its pattern with [httpguard.SetRoute].
func (t *Tracing) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	named := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		span := trace.SpanFromContext(ctx)
		defer func() { // the route is known by now
			route := routeName(ctx)
			span.SetName(methodName(r.Method) + " " + route)
			span.SetAttributes(attribute.String(attrRoute, route))
		}()
		next.ServeHTTP(w, r)
	})
	return otelhttp.NewHandler(named, "",
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithSpanNameFormatter(spanName),
	)
}

func spanName(_ string, r *http.Request) string {
	return methodName(r.Method) + " " + routeName(r.Context())
}

// Shutdown sends what was recorded, at the longest until ctx ends; what is left then is dropped.
func (t *Tracing) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	err := t.provider.Shutdown(ctx)
	t.exporter.stop()
	return err
}

// letThrough are the attributes of a request that say nothing of who sent it.
func letThrough(key attribute.Key) bool {
	return slices.Contains([]attribute.Key{
		attrWorkspace, attrStatus, attrLot, attrRoute,
		"http.request.method", "http.response.status_code", "http.response.body.size", "network.protocol.version", "url.scheme",
	}, key)
}

// exporter lets through what may leave the process, and says once when it can't.
type exporter struct {
	inner   sdktrace.SpanExporter
	log     *slog.Logger
	stopped chan struct{} // closed by stop
	sending sync.WaitGroup

	mu      sync.Mutex
	over    bool // stopped is closed
	failing bool
}

// stop ends what is being sent, and waits for that.
func (e *exporter) stop() {
	e.mu.Lock()
	if !e.over {
		e.over = true
		close(e.stopped)
	}
	e.mu.Unlock()
	e.sending.Wait()
}

// ExportSpans implements [sdktrace.SpanExporter]. It never fails: the SDK would say so for every batch.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	if e.over {
		e.mu.Unlock()
		return nil
	}
	e.sending.Add(1)
	e.mu.Unlock()
	defer e.sending.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	e.sending.Go(func() {
		select {
		case <-e.stopped:
			cancel()
		case <-done:
		}
	})
	out := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		out[i] = clean(s)
	}
	err := e.inner.ExportSpans(ctx, out)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && !e.failing:
		e.log.WarnContext(ctx, "traces can't be delivered; they are dropped until they can", "err", err)
	case err == nil && e.failing:
		e.log.InfoContext(ctx, "traces are delivered again")
	}
	e.failing = err != nil
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (e *exporter) Shutdown(ctx context.Context) error { return e.inner.Shutdown(ctx) }

// cleanSpan is a span with what may leave the process.
type cleanSpan struct {
	sdktrace.ReadOnlySpan
	attributes []attribute.KeyValue
}

func clean(s sdktrace.ReadOnlySpan) sdktrace.ReadOnlySpan {
	all := s.Attributes()
	out := make([]attribute.KeyValue, 0, len(all))
	for _, a := range all {
		if letThrough(a.Key) {
			out = append(out, a)
		}
	}
	return cleanSpan{s, out}
}

// Attributes returns those that are let through.
func (s cleanSpan) Attributes() []attribute.KeyValue { return s.attributes }

// Events returns nothing: an event may hold an error whole.
func (s cleanSpan) Events() []sdktrace.Event { return nil }

// console writes spans to a log.
type console struct{ log *slog.Logger }

// ExportSpans implements [sdktrace.SpanExporter].
func (c console) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		args := []any{
			"name", s.Name(), "trace", s.SpanContext().TraceID().String(), "span", s.SpanContext().SpanID().String(),
			"start", s.StartTime(), "took", s.EndTime().Sub(s.StartTime()).Round(time.Microsecond),
		}
		if s.Parent().IsValid() {
			args = append(args, "parent", s.Parent().SpanID().String())
		}
		for _, a := range s.Attributes() {
			args = append(args, string(a.Key), a.Value.String())
		}
		c.log.InfoContext(ctx, "span", args...)
	}
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (console) Shutdown(context.Context) error { return nil }
