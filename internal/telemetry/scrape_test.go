package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/telemetry"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// The lag is of what was counted: an ask that is held back is behind, and once nothing is behind all is counted.
func TestLagOfWhatIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := revue.New(store, memory.New(nil), nil)
		_, err := desk.Admin(human("w")).CreateWorkspace(t.Context(), "w")
		require.NoError(t, err)
		m := telemetry.New(nil)
		f, err := m.Follow(t.Context(), desk, store, human("w"))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{}, 2)
		go func() { f.Run(ctx); done <- struct{}{} }()
		go func() { _ = desk.Run(ctx); done <- struct{}{} }()
		defer func() { cancel(); <-done; <-done }()
		synctest.Wait()
		ask(t, desk, agent("w", "t1"), "Which colour has the door?")
		<-time.After(100 * time.Millisecond)
		synctest.Wait()
		expect(t, m, counts{`revue_asks_total{kind="decision"}`: 0, `revue_journal_lag_events`: 1})
		ask(t, desk, agent("w", "t2"), "Which colour has the door?")
		<-time.After(100 * time.Millisecond)
		synctest.Wait()
		expect(t, m, counts{`revue_asks_total{kind="decision"}`: 1, `revue_journal_lag_events`: 1})
		<-time.After(time.Second)
		expect(t, m, counts{`revue_asks_total{kind="decision"}`: 2, `revue_journal_lag_events`: 0})
	})
}

// cutWriter is the connection of a client that has left.
type cutWriter struct{ http.ResponseWriter }

func (cutWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// Whoever may scrape can't fill the log by leaving.
func TestScrapeThatIsCut(t *testing.T) {
	var log strings.Builder
	m := telemetry.New(&telemetry.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 10 {
		m.Handler().ServeHTTP(cutWriter{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
	require.Empty(t, log.String())
}
