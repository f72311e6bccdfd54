package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/revuehq/revue"
)

// The attributes of spans. These, and those of HTTP that [Tracing] lets through, are all that leaves the process.
const (
	attrWorkspace = "revue.workspace"
	attrStatus    = "revue.status" // of an outcome or a lot; "cancelled"; else the code of an error
	attrLot       = "revue.lot"
	attrRoute     = "http.route"
)

// plane is a plane whose calls are counted and traced.
type plane struct {
	revue.Plane
	metrics *Metrics
	tracer  trace.Tracer
}

// Plane wraps a plane: requests, lookups, shared notes and answers get a span, and calls that end before there is an
// answer are counted. Who calls is passed on untouched. Metrics and tracing may each be nil.
func Plane(p revue.Plane, m *Metrics, t *Tracing) revue.Plane {
	return &plane{Plane: p, metrics: m, tracer: t.Tracer()}
}

// Decider implements [revue.Plane]. The Decider is a [revue.Returner] where that of the wrapped plane is one.
func (p *plane) Decider(a revue.Agent) revue.Decider {
	inner := p.Plane.Decider(a)
	d := &decider{Decider: inner, plane: p, workspace: a.Workspace}
	if r, ok := inner.(revue.Returner); ok {
		return &returner{decider: d, Returner: r}
	}
	return d
}

// Reviewer implements [revue.Plane].
func (p *plane) Reviewer(h revue.Human) revue.Reviewer {
	return &reviewer{Reviewer: p.Plane.Reviewer(h), plane: p, workspace: h.Workspace}
}

// span starts a span; the function that is returned ends it.
func (p *plane) span(ctx context.Context, name, workspace string) (context.Context, func(status, lot string, err error)) {
	ctx, span := p.tracer.Start(ctx, name, trace.WithAttributes(attribute.String(attrWorkspace, workspace)))
	return ctx, func(status, lot string, err error) {
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			status = "cancelled"
		case err != nil:
			status = codeName(revue.CodeOf(err))
			span.SetStatus(codes.Error, status) // never the message: it may quote what was sent
		}
		if status != "" {
			span.SetAttributes(attribute.String(attrStatus, status))
		}
		if lot != "" {
			span.SetAttributes(attribute.String(attrLot, lot))
		}
		span.End()
	}
}

type decider struct {
	revue.Decider
	plane     *plane
	workspace string
}

// returner is a decider that is told which outcomes reached their callers.
type returner struct {
	*decider
	revue.Returner
}

// Lookup implements [revue.Decider].
func (d *decider) Lookup(ctx context.Context, q revue.Query) (revue.Findings, error) {
	ctx, end := d.plane.span(ctx, "lookup", d.workspace)
	got, err := d.Decider.Lookup(ctx, q)
	end("", "", err)
	return got, err
}

// Request implements [revue.Decider].
func (d *decider) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	ctx, end := d.plane.span(ctx, "request", d.workspace)
	o, err := d.Decider.Request(ctx, ask)
	if err == nil && o.Status == revue.OutcomePending && d.plane.metrics != nil {
		d.plane.metrics.outcomes.WithLabelValues(string(revue.OutcomePending)).Inc()
	}
	end(string(o.Status), o.LotID, err)
	return o, err
}

// Share implements [revue.Decider].
func (d *decider) Share(ctx context.Context, item revue.ContextItem) (revue.ContextItem, error) {
	ctx, end := d.plane.span(ctx, "share", d.workspace)
	got, err := d.Decider.Share(ctx, item)
	end("", "", err)
	return got, err
}

type reviewer struct {
	revue.Reviewer
	plane     *plane
	workspace string
}

// Answer implements [revue.Reviewer].
func (r *reviewer) Answer(ctx context.Context, lotID string, a revue.Answer) (revue.Lot, error) {
	ctx, end := r.plane.span(ctx, "answer", r.workspace)
	lot, err := r.Reviewer.Answer(ctx, lotID, a)
	end(string(lot.Status), lot.ID, err)
	return lot, err
}
