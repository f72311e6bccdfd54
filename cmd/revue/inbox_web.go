package main

import (
	"context"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/credentials"
	"github.com/revuehq/revue/internal/term"
)

// ownURL is where "revue serve" is reached unless it is told otherwise.
const ownURL = "http://127.0.0.1:7433"

// webLink is what scripts rely on.
type webLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// linkOf is the page that trades a code for a session. The code is in the fragment, which browsers keep to themselves.
func linkOf(address string, in revue.SignIn) webLink {
	return webLink{URL: address + "/login#code=" + in.Code, ExpiresAt: in.ExpiresAt}
}

// web prints a link that opens the inbox in a browser.
func (in *inboxOptions) web(ctx context.Context) error {
	at := ""
	if in.url != "" {
		address, _, err := credentials.ParseURL(in.url)
		if err != nil {
			return misuse("--url: " + message(err))
		}
		at = address
	}
	return in.seated(ctx, func(ctx context.Context, s *seat) error {
		made, err := s.admin.SignIn(ctx)
		if err != nil {
			return err
		}
		guessed := at == "" && s.local != nil
		switch {
		case at != "":
		case guessed:
			at = ownURL
		default:
			at = s.url
		}
		link := linkOf(at, made)
		if in.json {
			return writeJSON(in.stdout, link)
		}
		out := in.printer()
		out.own("%s\n\nIt opens the inbox as you, once, until %s: hand it to nobody.\n", term.Line(link.URL, 0), stamp(link.ExpiresAt))
		if guessed {
			out.own("\"revue serve\" has to run there on this database; with --url, say where else it does.\n")
		}
		return out.err
	})
}
