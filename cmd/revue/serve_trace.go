package main

import (
	"context"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"

	"github.com/revuehq/revue/internal/telemetry"
)

// tracing starts traces where the standard variables ask for them; else it is nil, which records nothing.
func (a *app) tracing(ctx context.Context, log *slog.Logger) (*telemetry.Tracing, error) {
	exporter := a.traceExporter(log)
	if exporter == "" {
		return nil, nil //nolint:nilnil // no traces is no error, and nil records none
	}
	// The SDK says what is wrong with a variable by printing it whole, and some hold credentials.
	otel.SetLogger(logr.FromSlogHandler(bare{log.Handler()}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces: something is lost", "err", err) }))
	return telemetry.NewTracing(ctx, &telemetry.TraceOptions{Exporter: exporter, Version: version(), Log: log})
}

// traceExporter is where the variables want traces to go, "" for nowhere.
func (a *app) traceExporter(log *slog.Logger) telemetry.Exporter {
	if strings.EqualFold(strings.TrimSpace(a.env("OTEL_SDK_DISABLED")), "true") {
		return ""
	}
	switch name := strings.ToLower(strings.TrimSpace(a.env("OTEL_TRACES_EXPORTER"))); name {
	case "otlp":
		return telemetry.OTLP
	case "console":
		return telemetry.Console
	case "none":
		return ""
	case "":
		if a.env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || a.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
			return telemetry.OTLP
		}
		return ""
	default:
		log.Warn("OTEL_TRACES_EXPORTER is none of otlp, console and none: there are no traces")
		return ""
	}
}

// bare hands on warnings and errors of the OpenTelemetry SDK without their attributes.
type bare struct{ slog.Handler }

// Enabled implements [slog.Handler]. What the SDK calls its first level are warnings.
func (b bare) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo-1 && b.Handler.Enabled(ctx, slog.LevelWarn)
}

// Handle implements [slog.Handler].
func (b bare) Handle(ctx context.Context, r slog.Record) error {
	return b.Handler.Handle(ctx, slog.NewRecord(r.Time, slog.LevelWarn, "OpenTelemetry: "+r.Message, 0))
}

// WithAttrs implements [slog.Handler].
func (b bare) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup implements [slog.Handler].
func (b bare) WithGroup(string) slog.Handler { return b }
