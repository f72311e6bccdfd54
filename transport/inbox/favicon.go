package inbox

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/revuehq/revue/internal/httpguard"
)

// favicon draws the mark of the inbox, with how many wait: ?n=3. It tells nothing that its address does not.
func favicon(w http.ResponseWriter, r *http.Request) {
	httpguard.SetRoute(r, r.Pattern)
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 0 {
		n = 0
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "public, max-age=86400")
	_, _ = io.WriteString(w, drawnMark(n)) // the browser may be gone
}

func drawnMark(n int) string {
	dot := ""
	if n > 0 {
		text, size := strconv.Itoa(n), 15
		if n > 9 {
			size = 13
		}
		if n > 99 {
			text, size = "99+", 10
		}
		dot = fmt.Sprintf(`<circle cx="22" cy="22" r="10" fill="#ffb938"/><text x="22" y="27" font-family="sans-serif" font-weight="700" font-size="%d" text-anchor="middle" fill="#14161a">%s</text>`, size, text)
	}
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="3" y="5" width="26" height="18" rx="5" fill="#2f5fd0"/><path d="M10 22v6l7-6z" fill="#2f5fd0"/><path d="M10 14.5l4 4 8-8" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/>` + dot + `</svg>` + "\n"
}
