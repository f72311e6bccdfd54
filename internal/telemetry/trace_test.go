package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/internal/telemetry"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// collector is a fake OTLP receiver.
type collector struct {
	*httptest.Server
	status int
	hang   chan struct{} // nil: answer at once

	mu     sync.Mutex
	types  []string
	bodies []string
}

func newCollector(t *testing.T, status int, hang bool) *collector {
	t.Helper()
	c := &collector{status: status}
	if hang {
		c.hang = make(chan struct{})
	}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			in, _ = gzip.NewReader(r.Body)
		}
		b, _ := io.ReadAll(in)
		c.mu.Lock()
		c.types = append(c.types, r.Header.Get("Content-Type"))
		c.bodies = append(c.bodies, string(b))
		c.mu.Unlock()
		if c.hang != nil {
			<-c.hang
		}
		w.WriteHeader(c.status)
	}))
	t.Cleanup(func() {
		if c.hang != nil {
			close(c.hang)
		}
		c.Close()
	})
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	return c
}

func (c *collector) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.bodies, "\n")
}

// sent is what is read of an OTLP request in JSON.
type sent struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []attr }
		ScopeSpans []struct{ Spans []span }
	}
}

type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Attributes                          []attr
	Status                              struct{ Message string }
	Events                              []json.RawMessage
}

type attr struct {
	Key   string
	Value map[string]any
}

func texts(attrs []attr) map[string]any {
	out := map[string]any{}
	for _, a := range attrs {
		for _, v := range a.Value {
			out[a.Key] = v
		}
	}
	return out
}

func TestTracing(t *testing.T) {
	c := newCollector(t, http.StatusOK, false)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_SERVICE_NAME", "revue-of-ops")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	tracing, err := telemetry.NewTracing(t.Context(), &telemetry.TraceOptions{Version: "v9"})
	require.NoError(t, err)

	const question = "Which database holds the orders?"
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	p := telemetry.Plane(desk, nil, tracing)
	lot := ""
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		httpguard.SetRoute(r, "POST /v1/things/{id}")
		d := p.Decider(agent("w", "t1"))
		o, err := d.Request(r.Context(), revue.Ask{Question: question})
		require.NoError(t, err)
		lot = o.LotID
		_, err = d.Lookup(r.Context(), revue.Query{Text: question})
		require.NoError(t, err)
		_, err = d.Share(r.Context(), revue.ContextItem{Kind: "note", Body: question})
		require.NoError(t, err)
		_, err = p.Reviewer(human("w")).Answer(r.Context(), lot, revue.Answer{Text: "the elephant"})
		require.NoError(t, err)
		_, err = p.Reviewer(human("w")).Answer(r.Context(), lot, revue.Answer{Text: "another elephant"})
		require.ErrorIs(t, err, revue.ErrConflict)
		gone, cancel := context.WithCancel(r.Context())
		cancel()
		_, err = d.Request(gone, revue.Ask{Question: question})
		require.ErrorIs(t, err, context.Canceled)
	})
	r := httptest.NewRequest(http.MethodPost, "/v1/things/elephant?q=elephant", nil)
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	r.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
	r.Header.Set("Authorization", "Bearer rvu_a_elephant")
	r.Header.Set("User-Agent", "elephant")
	r.Header.Set("X-Forwarded-For", "elephant")
	r.Host = "elephant.example.com"
	httpguard.Logged(slog.New(slog.DiscardHandler), tracing.Handler(h)).ServeHTTP(httptest.NewRecorder(), r)
	require.NoError(t, tracing.Shutdown(t.Context()))

	var got sent
	require.NoError(t, json.Unmarshal([]byte(c.all()), &got))
	require.Equal(t, []string{"application/json"}, c.types)
	resource := texts(got.ResourceSpans[0].Resource.Attributes)
	require.Equal(t, "revue-of-ops", resource["service.name"])
	require.Equal(t, "v9", resource["service.version"])
	require.Equal(t, "test", resource["deployment.environment"])
	spans := map[string][]span{}
	for _, s := range got.ResourceSpans {
		for _, s := range s.ScopeSpans {
			for _, s := range s.Spans {
				require.Equal(t, trace, strings.ToLower(s.TraceID))
				require.Empty(t, s.Events)
				spans[s.Name] = append(spans[s.Name], s)
			}
		}
	}
	root := spans["POST /v1/things/{id}"][0]
	require.Equal(t, parent, strings.ToLower(root.ParentSpanID))
	attrs := texts(root.Attributes)
	require.Equal(t, "/v1/things/{id}", attrs["http.route"])
	require.Equal(t, "POST", attrs["http.request.method"])
	require.EqualValues(t, "200", attrs["http.response.status_code"])
	for name, want := range map[string][]map[string]any{
		"request": {
			{"revue.workspace": "w", "revue.status": "pending", "revue.lot": lot},
			{"revue.workspace": "w", "revue.status": "cancelled"},
		},
		"lookup": {{"revue.workspace": "w"}},
		"share":  {{"revue.workspace": "w"}},
		"answer": {
			{"revue.workspace": "w", "revue.status": "answered", "revue.lot": lot},
			{"revue.workspace": "w", "revue.status": "conflict", "revue.lot": ""},
		},
	} {
		require.Len(t, spans[name], len(want), name)
		for i, s := range spans[name] {
			require.Equal(t, root.SpanID, s.ParentSpanID, name)
			have := texts(s.Attributes)
			for key, v := range want[i] {
				if v != "" {
					require.Equal(t, v, have[key], name)
				}
			}
		}
	}
	for _, secret := range []string{"elephant", "orders", "rvu_", "Bearer"} {
		require.NotContains(t, c.all(), secret)
	}
}

// TestTracingRefused logs once however many batches a collector refuses, and slows nothing down.
func TestTracingRefused(t *testing.T) {
	c := newCollector(t, http.StatusBadRequest, false)
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")
	var log bytes.Buffer
	tracing, err := telemetry.NewTracing(t.Context(), &telemetry.TraceOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	for range 100 {
		_, s := tracing.Tracer().Start(t.Context(), "x")
		s.End()
	}
	require.NoError(t, tracing.Shutdown(t.Context()))
	require.GreaterOrEqual(t, len(c.types), 20)
	require.Equal(t, "application/x-protobuf", c.types[0])
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "traces can't be delivered")
}

// TestTracingHangs has a collector that never answers: spans end at once, and a shutdown ends when its time is over.
func TestTracingHangs(t *testing.T) {
	newCollector(t, http.StatusOK, true)
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")
	tracing, err := telemetry.NewTracing(t.Context(), nil)
	require.NoError(t, err)
	began := time.Now()
	for range 10_000 { // more than the queue holds
		_, s := tracing.Tracer().Start(t.Context(), "x")
		s.End()
	}
	require.Less(t, time.Since(began), 5*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began = time.Now()
	require.ErrorIs(t, tracing.Shutdown(ctx), context.DeadlineExceeded)
	require.Less(t, time.Since(began), 5*time.Second)
}

// TestTracingConsole writes spans to the log.
func TestTracingConsole(t *testing.T) {
	var log bytes.Buffer
	tracing, err := telemetry.NewTracing(t.Context(), &telemetry.TraceOptions{Exporter: telemetry.Console, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	p := telemetry.Plane(revue.New(memstore.New(nil), memory.New(nil), nil), nil, tracing)
	ask(t, p, agent("w", "t1"), "Which database holds the orders?")
	require.NoError(t, tracing.Shutdown(t.Context()))
	require.Contains(t, log.String(), "msg=span name=request")
	require.Contains(t, log.String(), "revue.status=pending")
	require.NotContains(t, log.String(), "orders")
}

// TestTracingOff is a tracing that is nil.
func TestTracingOff(t *testing.T) {
	var tracing *telemetry.Tracing
	_, s := tracing.Tracer().Start(t.Context(), "x")
	require.False(t, s.IsRecording())
	s.End()
	require.NoError(t, tracing.Shutdown(t.Context()))
	h := http.NewServeMux()
	require.Equal(t, http.Handler(h), tracing.Handler(h))
}
