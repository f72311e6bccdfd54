// Package telemetry is what a running plane tells about itself: metrics for Prometheus, traces for OpenTelemetry, an
// access log, and a log handler that no secret gets through.
//
// [Metrics] has a registry of its own. What was decided it learns from the journal, which every process on the same store
// writes, so that one process can tell about all of them; what calls and requests do, each process counts for itself.
// [Tracing] sends spans; without it nothing is recorded. [Plane], [Metrics.Store] and [Metrics.Memory] wrap what a plane
// is made of. [Scrub] wraps the handler of a log.
//
// A new ask is counted with the event that follows it, or after a second, since that event may say that it is none. Until then
// it is among the events of revue_journal_lag_events.
//
// No label and no attribute holds a question, an answer, a token, a header or a path as it was sent. Labels have few
// values, which are fixed: no workspace, lot or agent is among them.
package telemetry
