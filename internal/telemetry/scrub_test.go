package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/internal/telemetry"
)

const (
	agentToken = "rvu_a_" + "kq7wmzt4hxnp2rv6bcyd"
	humanToken = "rvu_h_" + "zt4hxkq7wmbcyd2rv6np"
	cookie     = "revue_session=wmzt4hxnpkq7"
)

type valuer struct{ v any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.v) }

type hidden struct{ token string }

func (h hidden) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]string{"t": h.token}) }

func (h hidden) String() string { return "a thing" }

type broken struct{}

func (broken) Error() string { panic("no") }

func logged(json bool, log func(*slog.Logger)) string {
	var buf bytes.Buffer
	opts := &slog.HandlerOptions{Level: slog.LevelDebug}
	var h slog.Handler = slog.NewTextHandler(telemetry.ScrubWriter(&buf), opts)
	if json {
		h = slog.NewJSONHandler(telemetry.ScrubWriter(&buf), opts)
	}
	log(slog.New(telemetry.Scrub(h)))
	return buf.String()
}

func TestScrub(t *testing.T) {
	ctx := context.Background()
	for name, log := range map[string]func(*slog.Logger){
		"message":        func(l *slog.Logger) { l.Info("token " + agentToken + " came") },
		"glued":          func(l *slog.Logger) { l.Info("x" + humanToken + "/y") },
		"attribute":      func(l *slog.Logger) { l.Info("m", "a", humanToken) },
		"key":            func(l *slog.Logger) { l.Info("m", agentToken, 1) },
		"error":          func(l *slog.Logger) { l.Error("m", "err", fmt.Errorf("no: %w", errors.New(agentToken))) },
		"group":          func(l *slog.Logger) { l.Info("m", slog.Group("g", slog.Group("h", "a", agentToken))) },
		"with":           func(l *slog.Logger) { l.With("a", agentToken).Info("m") },
		"with group":     func(l *slog.Logger) { l.WithGroup("g").With("a", agentToken).Info("m") },
		"group's name":   func(l *slog.Logger) { l.WithGroup(agentToken).Info("m", "a", 1) },
		"valuer":         func(l *slog.Logger) { l.Info("m", "a", valuer{valuer{humanToken}}) },
		"valuer's error": func(l *slog.Logger) { l.Info("m", "a", valuer{errors.New(humanToken)}) },
		"bytes":          func(l *slog.Logger) { l.Info("m", "a", []byte("Bearer "+agentToken)) },
		"raw JSON":       func(l *slog.Logger) { l.Info("m", "a", json.RawMessage(`{"t":"`+agentToken+`"}`)) },
		"struct":         func(l *slog.Logger) { l.Info("m", "a", struct{ Token string }{agentToken}) },
		"pointer": func(l *slog.Logger) {
			l.Info("m", "a", &struct{ Inner *struct{ T string } }{&struct{ T string }{agentToken}})
		},
		"only in JSON": func(l *slog.Logger) { l.Info("m", "a", hidden{agentToken}) },
		"map":          func(l *slog.Logger) { l.Info("m", "a", map[string][]string{"x": {agentToken}}) },
		"header": func(l *slog.Logger) {
			l.Info("m", "a", http.Header{"Authorization": {"Basic wmzt4hxnpkq7"}, "Cookie": {cookie}})
		},
		"authorization":  func(l *slog.Logger) { l.Info("m", "Authorization", "Basic wmzt4hxnpkq7") },
		"cookie":         func(l *slog.Logger) { l.Info("m", slog.Group("g", "set-cookie", cookie)) },
		"cookies below":  func(l *slog.Logger) { l.WithGroup("cookie").Info("m", "revue_session", "wmzt4hxnpkq7") },
		"in a message":   func(l *slog.Logger) { l.Info("sent Authorization: Basic wmzt4hxnpkq7") },
		"bearer":         func(l *slog.Logger) { l.Info("sent bearer wmzt4hxnpkq7") },
		"cookie in text": func(l *slog.Logger) { l.InfoContext(ctx, "Cookie: a=b; "+cookie) },
		"dumped header":  func(l *slog.Logger) { l.Info("map[Authorization:[Basic wmzt4hxnpkq7] Cookie:[" + cookie + "]]") },
	} {
		for _, json := range []bool{false, true} {
			out := logged(json, log)
			require.Contains(t, out, "[redacted]", "%s: %s", name, out)
			for _, secret := range []string{agentToken[6:], humanToken[6:], "wmzt4hxnpkq7"} {
				require.NotContains(t, out, secret, name)
			}
		}
	}
}

// TestScrubHarmless shows that what holds no secret is logged as without the handler.
func TestScrubHarmless(t *testing.T) {
	for name, log := range map[string]func(*slog.Logger){
		"kinds": func(l *slog.Logger) {
			l.Info("m", "i", 1, "f", 1.5, "b", true, "d", time.Second, "t", time.Unix(1, 0).UTC(), "n", nil, "u", uint64(7))
		},
		"advice":  func(l *slog.Logger) { l.Info("send the token as the header Authorization: Bearer TOKEN") },
		"cookies": func(l *slog.Logger) { l.Info("the cookie: it has expired", "cookies", 3) },
		"prefix":  func(l *slog.Logger) { l.Info("tokens begin with rvu_a_ or rvu_h_") },
		"structs": func(l *slog.Logger) {
			l.Info("m", "a", struct{ A, B int }{1, 2}, "err", errors.New("no"), "bytes", []byte("x"))
		},
		"groups": func(l *slog.Logger) { l.WithGroup("g").With("a", 1).Info("m", slog.Group("h", "b", "é\n")) },
		"panics": func(l *slog.Logger) { l.Info("m", "err", broken{}) },
		"header": func(l *slog.Logger) { l.Info("m", "h", http.Header{"Accept": {"text/html"}}) },
	} {
		for _, json := range []bool{false, true} {
			var buf bytes.Buffer
			opts := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}
			var h slog.Handler = slog.NewTextHandler(&buf, opts)
			if json {
				h = slog.NewJSONHandler(&buf, opts)
			}
			log(slog.New(h))
			plain := buf.String()
			buf.Reset()
			log(slog.New(telemetry.Scrub(h)))
			require.Equal(t, plain, buf.String(), name)
		}
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("before ", "kq7wmzt4hxnp2rv6bcyd", " after")
	f.Add("Authorization: Bearer ", "kq7wmzt4hxnp2rv6bcyd", "")
	f.Add("{\"a\":\"", "a-_Z09kq7wmzt4hxnp2r", "\"}")
	f.Add("rvu_a_rvu_", "h_rvu_a_kq7wmzt4hxnp", "rvu_")
	f.Add("cookie=", "kq7wmzt4hxnp2rv6bcyd", "\n")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		secret = strings.Map(func(r rune) rune {
			if r < 0x80 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
				return r
			}
			return 'q'
		}, secret)
		secret = (secret + "kq7wmzt4hxnp2rv6bcydzs")[:22]
		low := strings.ToLower(before + after)
		harmless := !strings.Contains(low, "rvu_") && !strings.Contains(low, "authorization") &&
			!strings.Contains(low, "bearer") && !strings.Contains(low, "basic") && !strings.Contains(low, "cookie")
		for _, prefix := range []string{"rvu_a_", "rvu_h_", "rvu_s_"} {
			text := before + prefix + secret + after
			for _, json := range []bool{false, true} {
				out := logged(json, func(l *slog.Logger) {
					l.With("w", text).WithGroup("g").Info(text, "a", text, "err", errors.New(text), "v", valuer{text}, "x", []string{text}, "b", []byte(text))
				})
				if strings.Contains(before+after, secret) {
					continue // it is said beside the token, too
				}
				require.NotContains(t, out, secret)
			}
		}
		if harmless {
			plain := before + "|" + after
			var buf bytes.Buffer
			record := func(h slog.Handler) string {
				buf.Reset()
				r := slog.NewRecord(time.Time{}, slog.LevelInfo, plain, 0)
				r.AddAttrs(slog.String("a", plain), slog.Any("err", errors.New(plain)))
				require.NoError(t, h.Handle(context.Background(), r))
				return buf.String()
			}
			h := slog.NewJSONHandler(&buf, nil)
			require.Equal(t, record(h), record(telemetry.Scrub(h)))
		}
	})
}
