package inboxtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// What an inbox of many lots may need, on a machine that has nothing else to do.
const (
	manyLots   = 1000
	paintLimit = 300 * time.Millisecond
	bytesLimit = 150_000
)

// busy returns a plane in which many different questions wait.
func busy(tb testing.TB) *plane {
	tb.Helper()
	p := newPlane(tb)
	streams := []string{"api", "web", "infra", "data", "agents"}
	for i := range manyLots {
		ask := numbered(i)
		ask.Stream = streams[i%len(streams)]
		p.ask([]string{claude, cursor, codex, gemini, ci}[i%5], []string{repoAPI, repoWeb, repoInfra, repoData}[i%4], ask)
	}
	require.Len(tb, p.open(), manyLots)
	return p
}

// paints is when a page was first and fully painted after it was asked for, in milliseconds, and when its first byte came.
type paints struct{ First, Largest, Byte float64 }

// painted waits for the paint of a page.
func painted(tab *browser.Tab) paints {
	return browser.Eval[paints](tab, `new Promise((done) => {
		const seen = {Byte: performance.getEntriesByType("navigation")[0].responseStart};
		const look = (type, name) => new PerformanceObserver((list) => {
			for (const e of list.getEntries()) if (e.entryType === type && (type !== "paint" || e.name === "first-contentful-paint")) seen[name] = e.startTime;
			if (seen.First && seen.Largest) requestAnimationFrame(() => requestAnimationFrame(() => done(seen)));
		}).observe({type, buffered: true});
		look("paint", "First");
		look("largest-contentful-paint", "Largest");
	})`)
}

// weight is how many bytes came over the wire for a page, once everything has.
func weight(tb testing.TB, tab *browser.Tab) (total int64) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		total = 0
		for _, r := range tab.Requests() {
			if r.Type == "EventSource" {
				continue // it never ends
			}
			if r.Status == 0 || r.Bytes == 0 {
				return false
			}
			total += r.Bytes
		}
		return total > 0
	}, browser.Patience, 10*time.Millisecond)
	return total
}

// TestManyLotsWeigh opens an inbox of 1,000 lots with nothing in the cache.
func TestManyLotsWeigh(t *testing.T) {
	p := busy(t)
	signed := p.profile(browser.Options{})
	p.signIn(signed.Tab(), "Ada")
	tab := signed.Tab()
	tab.NoCache()
	tab.ForgetRequests()
	tab.Open("/")
	require.Equal(t, "(1000) Inbox · revue", tab.Title())
	bytes := weight(t, tab)
	for _, r := range tab.Requests() {
		t.Logf("%7d %s", r.Bytes, r.URL)
	}
	t.Logf("%d bytes over the wire, of %d", bytes, bytesLimit)
	require.Less(t, bytes, int64(bytesLimit))

	// The last question is as near as the first.
	page, err := p.reviewer("test").Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen, Newest: true, Limit: 1})
	require.NoError(t, err)
	tab.Open("/?sort=newest")
	tab.Wait(row(page.Items[0]))
}

// BenchmarkInbox opens an inbox of 1,000 lots again and again, with nothing in the cache. The ratios are to the limits: below
// 1 is within them.
func BenchmarkInbox(b *testing.B) {
	p := busy(b)
	signed := p.profile(browser.Options{})
	p.signIn(signed.Tab(), "Ada")
	tab := signed.Tab()
	tab.NoCache()
	var sum paints
	var bytes int64
	n := 0
	for b.Loop() {
		tab.ForgetRequests()
		tab.Open("/")
		at := painted(tab)
		sum.First += at.First
		sum.Largest += at.Largest
		sum.Byte += at.Byte
		bytes += weight(b, tab)
		n++
	}
	mean := func(v float64) float64 { return v / float64(n) }
	limit := float64(paintLimit.Milliseconds())
	b.ReportMetric(mean(sum.Byte), "first-byte-ms")
	b.ReportMetric(mean(sum.First), "first-paint-ms")
	b.ReportMetric(mean(sum.Largest), "largest-paint-ms")
	b.ReportMetric(mean(sum.Largest)/limit, "paint/limit")
	b.ReportMetric(float64(bytes)/float64(n), "wire-bytes")
	b.ReportMetric(float64(bytes)/float64(n)/bytesLimit, "bytes/limit")
}
