package inbox

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// streamsOnPage is how many streams the settings show at once.
const streamsOnPage = 50

// settingsPage is what the settings show.
type settingsPage struct {
	Call     string // id of what a form on the page does
	Tokens   []shownToken
	Ended    []shownToken
	Sessions []shownToken
	Members  []shownMember
	Gone     int            // members who were removed
	Streams  []revue.Stream // of this page
	Part     int            // which page of the streams this is, from 1
	Parts    int
	Before   int // the pages around; 0 for none
	After    int
	Keys     []revue.PublicKey
	Where    string // the workspace
	URL      string // of the plane
}

// shownToken is a token or a session in the list.
type shownToken struct {
	revue.Token

	Name string
	This bool // the session that this page is shown in
	Mine bool
}

// shownMember is a person in the list.
type shownMember struct {
	revue.Member

	Self   bool
	Tokens int // that stand
}

func settingsDone(word string) string {
	switch word {
	case "revoked":
		return "That was revoked: it opens nothing any more."
	case "removed":
		return "That member is removed, and all their tokens and sessions are revoked."
	case "stream":
		return "The stream is set."
	default:
		return ""
	}
}

// showSettings shows the settings of the workspace.
func (s *Server) showSettings(v *visit) error {
	ctx, now := v.r.Context(), time.Now()
	data := settingsPage{Call: newCall(), Where: v.human.Workspace}
	tokens, err := v.admin.Tokens(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(tokens, func(a, b revue.Token) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	standing := map[string]int{}
	for _, tok := range tokens {
		shown := shownToken{Token: tok, Name: tokenName(tok), This: tok.ID == v.principal.TokenID, Mine: tok.Member != "" && tok.Member == v.human.ID}
		switch ended := !tok.RevokedAt.IsZero() || !tok.ExpiresAt.IsZero() && !now.Before(tok.ExpiresAt); {
		case ended && tok.Kind != revue.TokenSession:
			data.Ended = append(data.Ended, shown)
		case ended: // of a session nothing is left to tell
		case tok.Kind == revue.TokenSession:
			data.Sessions = append(data.Sessions, shown)
			standing[tok.Member]++
		default:
			data.Tokens = append(data.Tokens, shown)
			standing[tok.Member]++
		}
	}
	members, err := v.admin.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		if !m.RemovedAt.IsZero() {
			data.Gone++
			continue
		}
		data.Members = append(data.Members, shownMember{m, m.ID == v.human.ID, standing[m.ID]})
	}
	streams, err := v.admin.Streams(ctx)
	if err != nil {
		return err
	}
	data.pageStreams(streams, v.r.URL.Query().Get("part"))
	if data.Keys, err = s.plane.Keys(ctx); err != nil {
		return err
	}
	if data.URL, _, err = s.address(v); err != nil {
		return err
	}
	return s.render(v, http.StatusOK, "settings", page{
		Title: "Settings", Nav: "settings", Done: settingsDone(v.r.URL.Query().Get("done")), Data: data,
	})
}

// pageStreams takes the page of the streams that is asked for.
func (p *settingsPage) pageStreams(all []revue.Stream, part string) {
	p.Parts = max(1, (len(all)+streamsOnPage-1)/streamsOnPage)
	n, err := strconv.Atoi(part)
	if err != nil {
		n = 1
	}
	p.Part = min(max(n, 1), p.Parts)
	p.Streams = all[(p.Part-1)*streamsOnPage : min(len(all), p.Part*streamsOnPage)]
	if p.Before = p.Part - 1; p.Part < p.Parts {
		p.After = p.Part + 1
	}
}

// tokenName is what a token is told apart by.
func tokenName(t revue.Token) string {
	switch {
	case t.Label != "":
		return t.Label
	case t.Owner != "":
		return t.Owner
	default:
		return t.ID
	}
}

// tokenPage shows a token that was made just now, or why none was.
type tokenPage struct {
	Token revue.Token
	Agent bool
	Error string
}

// makeToken makes a token, and shows its secret in the very answer, once. The same form sent again makes no other.
func (s *Server) makeToken(v *visit) error {
	form := v.r.PostForm
	life, err := tokenLife(form.Get("life"))
	if err != nil {
		return err
	}
	s.once(v)
	tok, err := v.admin.CreateToken(v.r.Context(), revue.NewToken{
		Kind: revue.TokenKind(form.Get("kind")), Owner: form.Get("owner"), Label: form.Get("label"), Life: life,
	})
	data, status := tokenPage{Token: tok, Agent: tok.Kind == revue.TokenAgent}, http.StatusOK
	if revue.CodeOf(err) == revue.CodeConflict {
		data, status, err = tokenPage{Error: message(err)}, http.StatusConflict, nil
	}
	if err != nil {
		return err
	}
	return s.render(v, status, "token", page{Title: "New token", Nav: "settings", Data: data})
}

// tokenLife reads after how many days a token ends.
func tokenLife(days string) (time.Duration, error) {
	switch days {
	case "", "0":
		return 0, nil
	case "30", "90", "365":
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err
	default:
		return 0, &revue.Error{Code: revue.CodeInvalid, Message: "life: choose 30, 90 or 365 days, or no end"}
	}
}

// confirmed refuses a form whose box was not ticked.
func confirmed(v *visit, what string) error {
	if v.r.PostForm.Get("sure") == "" {
		return &revue.Error{Code: revue.CodeInvalid, Message: "nothing was done: tick the box to confirm that you want to " + what}
	}
	return nil
}

// revokeToken ends a token or a session.
func (s *Server) revokeToken(v *visit) error {
	id := v.r.PathValue("id")
	if id == v.principal.TokenID {
		return s.logout(v)
	}
	if err := confirmed(v, "revoke it"); err != nil {
		return err
	}
	if _, err := v.admin.RevokeToken(v.r.Context(), id); err != nil {
		return err
	}
	return v.redirect("/settings?done=revoked")
}

// removeMember ends the place of a member in the workspace.
func (s *Server) removeMember(v *visit) error {
	if err := confirmed(v, "remove them"); err != nil {
		return err
	}
	if _, err := v.admin.RemoveMember(v.r.Context(), v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/settings?done=removed")
}

// setStream names, orders and mutes a stream.
func (s *Server) setStream(v *visit) error {
	form := v.r.PostForm
	set := revue.StreamSettings{Slug: form.Get("slug"), Name: form.Get("name"), Muted: form.Get("muted") != ""}
	if at := strings.TrimSpace(form.Get("position")); at != "" {
		n, err := strconv.Atoi(at)
		if err != nil {
			return &revue.Error{Code: revue.CodeInvalid, Message: fmt.Sprintf("position: %q is no number; write one from 1 to 1000, or nothing", clip(at))}
		}
		set.Position = n
	}
	if _, err := v.admin.SetStream(v.r.Context(), set); err != nil {
		return err
	}
	part := ""
	if n, err := strconv.Atoi(form.Get("part")); err == nil && n > 1 {
		part = "&part=" + strconv.Itoa(n)
	}
	return v.redirect("/settings?done=stream" + part + "#streams")
}

// clip shortens what is repeated in an error.
func clip(s string) string {
	if len(s) > 20 {
		return strings.ToValidUTF8(s[:20], "") + "…"
	}
	return s
}
