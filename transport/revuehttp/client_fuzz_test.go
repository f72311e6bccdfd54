package revuehttp

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// Whatever answers in place of a plane, its error has one of the codes, a message of a bounded length, and no more.
func FuzzProblem(f *testing.F) {
	f.Add(422, "application/problem+json", []byte(`{"status":422,"code":"invalid","detail":"question: is blank","id":"lot_x","requestId":"r"}`))
	f.Add(401, "application/problem+json; charset=utf-8", []byte(`{"code":"unauthenticated"}`))
	f.Add(409, "application/json", []byte(`{"code":"tea","detail":""}`))
	f.Add(502, "text/html", []byte("<h1>bad gateway</h1>"))
	f.Add(503, "", []byte(`{"code":7}`))
	f.Add(302, "application/problem+json", []byte(`[]`))
	codes := []revue.Code{
		revue.CodeInvalid, revue.CodeNotFound, revue.CodeConflict, revue.CodeDenied, revue.CodeTooLarge,
		revue.CodeRateLimited, revue.CodeUnavailable, revue.CodeInternal,
	}
	f.Add(422, "application/json", []byte(`{"code":"invalid","detail":"you sent rvu_h_\u0061bcdef1 and \u001b[31m\u202e\nmore","id":"rvu\u005fa_othersecret","requestId":"RVU_A_othersecret"}`))
	l := &link{base: "https://revue.example.com", token: "rvu_a_mysecretmysecret"}
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte) {
		e := l.problemOf(status, contentType, body)
		for _, shown := range []string{e.Message, e.ID, e.Error()} {
			require.NotContains(t, shown, l.token)
			require.NotRegexp(t, likeToken, shown)
			require.False(t, strings.ContainsFunc(shown, term.Acts), "%q", shown)
			require.NotContains(t, shown, "\n")
		}
		require.Contains(t, codes, e.Code)
		require.NotEmpty(t, e.Message)
		require.LessOrEqual(t, len(e.Message), maxDetail+len("…"))
		require.LessOrEqual(t, len(e.ID), maxID+len("…"))
		require.True(t, utf8.ValidString(e.Message))
		require.ErrorIs(t, e, &revue.Error{Code: e.Code})
	})
}

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, seed := range []string{"", "0", "7", "-1", "99999999999", "1.5", "soon", now.Add(time.Minute).Format(http.TimeFormat), now.Add(-time.Minute).Format(http.TimeFormat)} {
		f.Add(seed)
	}
	require.Equal(f, 7*time.Second, retryAfter("7", now))
	require.Equal(f, time.Minute, retryAfter(now.Add(time.Minute).Format(http.TimeFormat), now))
	f.Fuzz(func(t *testing.T, s string) {
		d := retryAfter(s, now)
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, 24*time.Hour)
	})
}

// Pauses grow, are never longer than the bound, and never shorter than what the plane says.
func TestPause(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		for range 20 {
			d := pause(n, 0)
			require.GreaterOrEqual(t, d, time.Duration(0))
			require.Less(t, d, maxPause)
			if n < 4 {
				require.Less(t, d, firstPause<<n)
			}
		}
		require.Equal(t, time.Minute, pause(n, time.Minute))
	}
}
