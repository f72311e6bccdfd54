package inbox

import (
	"net/http"
	"strings"

	"github.com/revuehq/revue/internal/credentials"
	"github.com/revuehq/revue/internal/harness"
)

// connectPage is what the page that connects agents shows.
type connectPage struct {
	URL       string
	Plain     bool // tokens would travel readable
	Harnesses []shownHarness
}

type shownHarness struct {
	harness.Harness

	Snippets []harness.Snippet
}

// address is where agents reach this plane: what it was told, else where this request reached it. plain says that tokens
// would travel readable there.
func (s *Server) address(v *visit) (address string, plain bool, err error) {
	base := s.opts.BaseURL
	if base == "" {
		scheme := "http://"
		if v.r.TLS != nil {
			scheme = "https://"
		}
		base = scheme + v.r.Host
	}
	return credentials.ParseURL(base)
}

// showConnect shows a snippet for each harness. None has a token in it: they name the variable that holds it.
func (s *Server) showConnect(v *visit) error {
	address, plain, err := s.address(v)
	if err != nil {
		return err
	}
	data := connectPage{URL: address, Plain: plain}
	for _, h := range harness.All() {
		shown := shownHarness{Harness: h}
		for _, w := range h.Ways() {
			sn, err := h.Snippet(w, address)
			if err != nil {
				return err
			}
			sn.Text = strings.TrimRight(sn.Text, "\n")
			shown.Snippets = append(shown.Snippets, sn)
		}
		data.Harnesses = append(data.Harnesses, shown)
	}
	return s.render(v, http.StatusOK, "connect", page{Title: "Connect an agent", Nav: "settings", Data: data})
}
