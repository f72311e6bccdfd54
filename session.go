package revue

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
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

// keptSignIn is a code as it is kept, under its digest.
type keptSignIn struct {
	Workspace string    `json:"workspace"`
	Owner     string    `json:"owner"`
	Member    string    `json:"member,omitempty"`
	Under     string    `json:"under,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// SignIn implements [Admin]. A human who is at the machine signs in as the member of their name, who is made where there
// is none.
func (a *admin) SignIn(ctx context.Context) (SignIn, error) {
	workspace, err := a.in("")
	if err != nil {
		return SignIn{}, err
	}
	if err := a.listed(ctx, workspace); err != nil {
		return SignIn{}, err
	}
	kept := keptSignIn{Workspace: workspace, Owner: a.human.Name}
	if a.human.Local {
		if kept.Owner, err = text("name", strings.TrimSpace(kept.Owner), 200, false); err == nil && (kept.Owner == "" || !shownWhole(kept.Owner)) {
			err = invalid("name", "of who signs in is missing, or has a control or bidirectional character")
		}
		if err != nil {
			return SignIn{}, err
		}
		member, err := a.member(ctx, workspace, kept.Owner, true)
		if err != nil {
			return SignIn{}, err
		}
		kept.Member = member.ID
	} else if kept.Member, kept.Under, err = a.self(ctx, workspace); err != nil {
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

// self returns the member that the human is, or the token where it belongs to none. Anyone else has no credential that
// could end, and no session either.
func (a *admin) self(ctx context.Context, workspace string) (member, token string, err error) {
	err = a.desk.view(ctx, workspace, func(t *tx) error {
		var m Member
		err := readJSON(t, recordMember, a.human.ID, &m)
		if err == nil && m.RemovedAt.IsZero() {
			member = m.ID
		}
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return err
	})
	if err != nil || member != "" {
		return member, "", err
	}
	err = a.desk.view(ctx, "", func(t *tx) error {
		var tok keptToken
		err := readJSON(t, recordToken, a.human.ID, &tok)
		if errors.Is(err, ErrNotFound) || err == nil && (tok.Workspace != workspace || tok.Kind != TokenHuman || tok.ended(t.now)) {
			return errDenied()
		}
		token = tok.ID
		return err
	})
	return "", token, err
}

func errCodeUsed() error {
	return &Error{Code: CodeDenied, Message: "this link was used, or is too old: make another, with \"revue inbox --web\" say"}
}

// OpenSession trades the code of a one-time link for a session: a [Token] of kind [TokenSession] whose Secret is in the
// result and nowhere else. A code that is unknown, used or too old is ErrDenied, whatever the reason. Of many calls with
// one code at most one succeeds. The session is among the tokens of the workspace, where it can be revoked; it ends after
// [SessionFor], and with the member or the token that it is of. The label says where it is used, a browser for example: up
// to 200 bytes, from which what can't be shown is dropped.
func (d *Desk) OpenSession(ctx context.Context, code, label string) (Token, error) {
	if len(code) > 256 {
		return Token{}, errCodeUsed()
	}
	label = plainLabel(label)
	secret := sessionPrefix + newSecret()
	var out keptToken
	var from keptSignIn
	err := d.update(ctx, "", func(t *tx) error {
		from = keptSignIn{}
		key := textDigest(code)
		if err := readJSON(t, recordSignIn, key, &from); err != nil {
			if errors.Is(err, ErrNotFound) {
				err = errCodeUsed()
			}
			return err
		}
		if !t.now.Before(from.ExpiresAt) {
			return errCodeUsed()
		}
		if err := t.DeleteRecord(recordSignIn, key); err != nil {
			return err
		}
		out = keptToken{Token: Token{
			ID: t.ids.new("tok_"), Kind: TokenSession, Hash: textDigest(secret), Workspace: from.Workspace,
			Owner: from.Owner, Member: from.Member, Under: from.Under, Label: label,
			CreatedAt: t.now, ExpiresAt: t.now.Add(SessionFor),
		}}
		return putJSON(t, recordToken, out.ID, out)
	})
	if err != nil {
		return Token{}, err
	}
	if err := d.sessionStands(ctx, out.Token); err != nil {
		return Token{}, err // its member or token ended meanwhile; the record opens nothing
	}
	// As with tokens: it lets nobody in before the journal has it.
	who := &admin{desk: d, human: Human{Workspace: from.Workspace, ID: cmp.Or(from.Member, from.Under), Via: "web"}}
	if err := who.note(ctx, from.Workspace, EventTokenCreated, out.ID, out.digest()); err != nil {
		return Token{}, err
	}
	err = d.update(ctx, "", func(t *tx) error {
		return t.PutRecord(recordSecret, out.Hash, []byte(out.ID))
	})
	if err != nil {
		return Token{}, err
	}
	out.Secret, out.Hash = secret, ""
	return out.Token, nil
}

// plainLabel is what can be shown of a text that a browser sent.
func plainLabel(s string) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() >= 190 {
			break
		}
		if r != '�' && shownWhole(string(r)) {
			b.WriteRune(r)
		}
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
		Human: &Human{Workspace: tok.Workspace, ID: cmp.Or(tok.Member, tok.Under, tok.ID), Name: cmp.Or(tok.Owner, tok.name())},
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
	var old []string
	err := d.view(ctx, "", func(t *tx) error {
		old = nil
		all, err := t.ListRecords(recordSignIn)
		if err != nil {
			return err
		}
		for _, r := range all {
			var kept keptSignIn
			if err := decodeRecord(r.Value, &kept); err != nil {
				return err
			}
			if !t.now.Before(kept.ExpiresAt) {
				old = append(old, r.Key)
			}
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return err
	}
	return d.update(ctx, "", func(t *tx) error {
		for _, key := range old {
			if err := t.DeleteRecord(recordSignIn, key); err != nil {
				return err
			}
		}
		return nil
	})
}
