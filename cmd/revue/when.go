package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// when is a point in time as a human says it: so long from now, or at a date.
type when struct {
	after time.Duration // 0 where at is set
	at    time.Time
}

// parseWhen reads a Go duration ("36h"), days ("30d"), or an RFC 3339 date or time. A date is its
// beginning in UTC.
func parseWhen(s string) (when, error) {
	bad := badWhen(s)
	notPositive := misuse(fmt.Sprintf("%q: a duration must be positive, like 36h or 30d", s))
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		if err == nil && n <= 0 {
			return when{}, notPositive
		}
		if err != nil || n > int64(math.MaxInt64/(24*time.Hour)) {
			return when{}, bad
		}
		return when{after: time.Duration(n) * 24 * time.Hour}, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		if d <= 0 {
			return when{}, notPositive
		}
		return when{after: d}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return when{at: t.UTC()}, nil
		}
	}
	return when{}, bad
}

func badWhen(s string) error {
	return misuse(fmt.Sprintf("%q is no time: say a duration like 36h or 30d, or a date like 2027-01-31 or 2027-01-31T12:00:00Z", s))
}

// life returns how long it is from now to w.
func (w when) life(now time.Time) (time.Duration, error) {
	if w.after > 0 {
		return w.after, nil
	}
	d := w.at.Sub(now)
	if d <= 0 {
		return 0, misuse(w.at.Format(time.RFC3339) + " is not in the future")
	}
	return d, nil
}
