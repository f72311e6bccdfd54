package revue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// SignIn is a one-time code that opens a session in the web inbox as the human who made it. A link may carry the code in
// its fragment, which no server and no log sees.
type SignIn struct {
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// How long a code can be used, and how long a session lasts at most.
const (
	SignInFor  = 15 * time.Minute
	SessionFor = 30 * 24 * time.Hour
)

// MaxSessions is how many sessions of one human stand at a time.
const MaxSessions = 20

// keptSignIn is a code as it is kept, under its digest.
type keptSignIn struct {
	Workspace string    `json:"workspace"`
	Owner     string    `json:"owner"`
	Member    string    `json:"member,omitempty"`
	Under     string    `json:"under,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// SignIn implements [Admin]. A human who is at the machine signs in as the member of their name, who is made where there
// is none. What anybody else opens ends with the token that they came with: in a session, with that of the session.
func (a *admin) SignIn(ctx context.Context) (SignIn, error) {
	workspace, err := a.in("")
	if err != nil {
		return SignIn{}, err
	}
	if err := a.listed(ctx, workspace); err != nil {
		return SignIn{}, err
	}
	kept := keptSignIn{Workspace: workspace}
	if a.human.Local {
		name, err := text("name", strings.TrimSpace(a.human.Name), 200, false)
		if err == nil && (name == "" || !shownWhole(name)) {
			err = invalid("name", "of who signs in is missing, or has a control or bidirectional character")
		}
		if err != nil {
			return SignIn{}, err
		}
		member, err := a.member(ctx, workspace, name, true)
		if err != nil {
			return SignIn{}, err
		}
		kept.Owner, kept.Member = member.Name, member.ID
	} else if err := a.self(ctx, &kept); err != nil {
		return SignIn{}, err
	}
	code := newSecret()
	out := SignIn{Code: code}
	err = a.desk.update(ctx, "", func(t *tx) error {
		kept.ExpiresAt = t.now.Add(SignInFor)
		out.ExpiresAt = kept.ExpiresAt
		return putJSON(t, recordSignIn, textDigest(code), kept)
	})
	return out, err
}

// self fills in the member that the human is, the token that they came with, and the name that goes with it. Anyone else
// has no credential that could end, and no session either.
func (a *admin) self(ctx context.Context, kept *keptSignIn) error {
	if a.human.Token != "" {
		return a.holder(ctx, kept, a.human.Token)
	}
	err := a.desk.view(ctx, kept.Workspace, func(t *tx) error {
		var m Member
		err := readJSON(t, recordMember, a.human.ID, &m)
		if err == nil && m.RemovedAt.IsZero() {
			kept.Owner, kept.Member = m.Name, m.ID
		}
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return err
	})
	if err != nil || kept.Member != "" {
		return err
	}
	return a.holder(ctx, kept, a.human.ID)
}

// holder fills in whose token it is that the human came with, and the token: what it opens ends with it.
func (a *admin) holder(ctx context.Context, kept *keptSignIn, token string) error {
	err := a.desk.view(ctx, "", func(t *tx) error {
		var tok keptToken
		err := readJSON(t, recordToken, token, &tok)
		other := tok.Workspace != kept.Workspace || tok.Kind != TokenHuman || cmp.Or(tok.Member, tok.ID) != a.human.ID
		if errors.Is(err, ErrNotFound) || err == nil && (other || tok.ended(t.now)) {
			return errDenied()
		}
		kept.Owner, kept.Member, kept.Under = cmp.Or(tok.Owner, tok.name()), tok.Member, tok.ID
		return err
	})
	if err == nil {
		err = a.desk.belongs(ctx, Token{Workspace: kept.Workspace, Member: kept.Member})
	}
	return err
}

func errCodeUsed() error {
	return &Error{Code: CodeDenied, Message: "this link was used, or is too old: make another, with \"revue inbox --web\" say"}
}

// OpenSession trades the code of a one-time link for a session: a [Token] of kind [TokenSession] whose Secret is in the
// result and nowhere else. A code that is unknown, used or too old is ErrDenied, whatever the reason. Of many calls with
// one code at most one succeeds. The session is among the tokens of the workspace, where it can be revoked; it ends after
// [SessionFor], and with the member that it is of and the token that the code was made with. Of one member, or of one token
// that belongs to none, the newest [MaxSessions] stand: the others are revoked. The label says where it is used, a browser
// for example: up to 200 bytes, from which what can't be shown is dropped.
func (d *Desk) OpenSession(ctx context.Context, code, label string) (Token, error) {
	if len(code) > 256 {
		return Token{}, errCodeUsed()
	}
	var from keptSignIn
	err := d.view(ctx, "", func(t *tx) (err error) {
		from, err = t.signIn(code)
		return err
	})
	if err == nil {
		err = d.sessionStands(ctx, Token{Workspace: from.Workspace, Member: from.Member, Under: from.Under})
	}
	if err != nil {
		return Token{}, codeUsed(err)
	}
	label = plainLabel(label)
	secret := sessionPrefix + newSecret()
	var out keptToken
	err = d.update(ctx, "", func(t *tx) error {
		out = keptToken{}
		id, hash := t.ids.new("tok_"), textDigest(secret)
		if err := readJSON(t, recordToken, id, &out); err == nil && out.Hash == hash {
			return nil // this very call did it, and could not tell
		} else if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		from, err := t.signIn(code)
		if err != nil {
			return err
		}
		ends := t.now.Add(SessionFor)
		if from.Under != "" {
			var under keptToken
			if err := readJSON(t, recordToken, from.Under, &under); err != nil {
				return err
			}
			if !under.ExpiresAt.IsZero() && under.ExpiresAt.Before(ends) {
				ends = under.ExpiresAt
			}
		}
		out = keptToken{Token: Token{
			ID: id, Kind: TokenSession, Hash: hash, Workspace: from.Workspace,
			Owner: from.Owner, Member: from.Member, Under: from.Under, Label: label,
			CreatedAt: t.now, ExpiresAt: ends,
		}}
		if err := t.DeleteRecord(recordSignIn, textDigest(code)); err != nil {
			return err
		}
		return putJSON(t, recordToken, out.ID, out)
	})
	if err != nil {
		return Token{}, err
	}
	// As with tokens: it lets nobody in before the journal has it.
	who := &admin{desk: d, human: Human{Workspace: out.Workspace, ID: cmp.Or(out.Member, out.Under), Via: "web"}}
	if err := who.note(ctx, out.Workspace, EventTokenCreated, out.ID, out.digest()); err != nil {
		return Token{}, err
	}
	if err := who.revokeOlder(ctx, out.Token); err != nil {
		return Token{}, err
	}
	err = d.update(ctx, "", func(t *tx) error {
		return t.PutRecord(recordSecret, out.Hash, []byte(out.ID))
	})
	if err != nil {
		return Token{}, err
	}
	// Whoever is removed meanwhile keeps no session.
	if err := d.sessionStands(ctx, out.Token); err != nil {
		if errors.Is(err, ErrDenied) {
			if _, rerr := who.RevokeToken(ctx, out.ID); rerr != nil {
				return Token{}, rerr
			}
		}
		return Token{}, codeUsed(err)
	}
	out.Secret, out.Hash = secret, ""
	return out.Token, nil
}

// revokeOlder revokes the oldest sessions of whose the newest is, so that MaxSessions stand. Where it is cut short, the next
// session completes it.
func (a *admin) revokeOlder(ctx context.Context, newest Token) error {
	var stand []Token
	err := a.desk.view(ctx, "", func(t *tx) error {
		stand = nil
		all, err := listJSON[Token](t, recordToken)
		for _, s := range all {
			same := s.Kind == TokenSession && s.Workspace == newest.Workspace && cmp.Or(s.Member, s.Under) == cmp.Or(newest.Member, newest.Under)
			if same && s.ID != newest.ID && !s.ended(t.now) {
				stand = append(stand, s)
			}
		}
		return err
	})
	if err != nil || len(stand) < MaxSessions {
		return err
	}
	slices.SortFunc(stand, func(a, b Token) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID)) })
	for _, s := range stand[MaxSessions-1:] {
		if _, err := a.RevokeToken(ctx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// signIn returns what a code stands for, unless it is unknown, used or too old.
func (t *tx) signIn(code string) (from keptSignIn, err error) {
	err = readJSON(t, recordSignIn, textDigest(code), &from)
	if errors.Is(err, ErrNotFound) || err == nil && !t.now.Before(from.ExpiresAt) {
		err = errCodeUsed()
	}
	return from, err
}

// codeUsed makes every refusal of a code the same one.
func codeUsed(err error) error {
	if errors.Is(err, ErrDenied) {
		return errCodeUsed()
	}
	return err
}

// plainLabel is what can be shown of a text that a browser sent.
func plainLabel(s string) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() >= 190 {
			break
		}
		if r != utf8.RuneError && shownWhole(string(r)) {
			b.WriteRune(r)
		}
	}
	if blank(b.String()) {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// Session returns whose session a secret is of, as [Desk.Authenticate] does for tokens; that refuses sessions, and this
// refuses tokens. Anything that is not a session that stands is ErrDenied, whatever the reason.
func (d *Desk) Session(ctx context.Context, secret string) (Principal, error) {
	if len(secret) > 256 || !strings.HasPrefix(secret, sessionPrefix) {
		return Principal{}, errDenied()
	}
	tok, err := d.bearerOf(ctx, secret)
	if err != nil {
		return Principal{}, err
	}
	if err := d.sessionStands(ctx, tok); err != nil {
		return Principal{}, err
	}
	d.noteUse(ctx, tok)
	return Principal{
		TokenID: tok.ID, Kind: tok.Kind, Workspace: tok.Workspace, ExpiresAt: tok.ExpiresAt,
		Human: &Human{Workspace: tok.Workspace, ID: cmp.Or(tok.Member, tok.Under, tok.ID), Name: cmp.Or(tok.Owner, tok.name()), Token: tok.Under},
	}, nil
}

// sessionStands reports ErrDenied for a session whose member is there no more, or whose token has ended.
func (d *Desk) sessionStands(ctx context.Context, tok Token) error {
	if tok.Under != "" {
		err := d.view(ctx, "", func(t *tx) error {
			var under keptToken
			err := readJSON(t, recordToken, tok.Under, &under)
			if errors.Is(err, ErrNotFound) || err == nil && under.ended(t.now) {
				return errDenied()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return d.belongs(ctx, tok)
}

// forgetSignIns removes the codes that nobody used in time.
func (d *Desk) forgetSignIns(ctx context.Context) error {
	return forget(ctx, d, "", recordSignIn, func(kept keptSignIn, now time.Time) bool { return !now.Before(kept.ExpiresAt) })
}
