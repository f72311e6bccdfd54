package inbox

import (
	"net/http"

	"github.com/revuehq/revue"
)

// inboxPage is what the inbox shows.
type inboxPage struct {
	Lots []revue.Lot
}

func (s *Server) showInbox(v *visit) error {
	lots, err := v.reviewer.Lots(v.r.Context(), revue.LotFilter{Status: revue.StatusOpen})
	if err != nil {
		return err
	}
	return s.render(v, http.StatusOK, "inbox", page{Title: "Inbox", Nav: "inbox", Open: len(lots.Items), Data: inboxPage{Lots: lots.Items}})
}
