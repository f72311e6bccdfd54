package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// TestRun has a hook that is out of order at first: each notice arrives in the end, under one id.
func TestRun(t *testing.T) {
	type posted struct{ ID, Kind, Lot, Question string }
	var mu sync.Mutex
	var got []posted
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var p posted
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			t.Error(err)
		}
		if got = append(got, p); len(got) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer hook.Close()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lines strings.Builder
	require.NoError(t, run(ctx, map[string]revue.Notifier{"lines": Lines(&lines), "hook": Hook{URL: hook.URL}}))
	require.NoError(t, ctx.Err())

	require.Len(t, got, 3)
	require.Equal(t, got[0], got[1], "the first notice was tried again")
	require.Equal(t, []string{"asked", "answered"}, []string{got[1].Kind, got[2].Kind})
	require.NotEqual(t, got[1].ID, got[2].ID)
	require.Equal(t, "Which queue do we use?", got[1].Question)
	require.Equal(t, "asked: \"Which queue do we use?\"\nanswered: \"Which queue do we use?\"\n", lines.String())
}
