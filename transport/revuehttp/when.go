package revuehttp

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// parseWhen reads a Go duration ("36h"), days ("30d"), or an RFC 3339 date (its beginning in UTC) or time. Either the
// duration or the time is set.
func parseWhen(field, s string) (time.Duration, time.Time, error) {
	none := invalid(field, "must be a duration like 36h or 30d, or a date like 2027-01-31 or 2027-01-31T12:00:00Z")
	after, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, perr := strconv.ParseInt(days, 10, 64)
		if perr != nil || n > int64(math.MaxInt64/(24*time.Hour)) {
			return 0, time.Time{}, none
		}
		after, err = time.Duration(max(n, 0))*24*time.Hour, nil
	}
	if err == nil {
		if after <= 0 {
			return 0, time.Time{}, invalid(field, "a duration must be positive, like 36h or 30d")
		}
		return after, time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, s); err == nil {
			return 0, at.UTC(), nil
		}
	}
	return 0, time.Time{}, none
}
