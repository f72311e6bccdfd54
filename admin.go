package revue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// admin is a Desk bound to one human, for what concerns the plane itself.
type admin struct {
	desk  *Desk
	human Human
}

// in returns the workspace an act is for: the named one, or the human's own. Only a local human may name
// another than their own.
func (a *admin) in(workspace string) (string, error) {
	if workspace == "" {
		workspace = a.human.Workspace
	}
	if workspace == "" {
		return "", invalid("workspace", "is missing; name one")
	}
	if workspace != a.human.Workspace && !a.human.Local {
		return "", &Error{Code: CodeDenied, Message: "your credential is for another workspace"}
	}
	return workspace, nil
}

// CreateWorkspace implements [Admin].
func (a *admin) CreateWorkspace(ctx context.Context, name string) (Workspace, error) {
	if !a.human.Local {
		return Workspace{}, &Error{Code: CodeDenied, Message: "workspaces are made on the machine of the plane"}
	}
	name, err := workspaceName(name)
	if err != nil {
		return Workspace{}, err
	}
	var out Workspace
	err = a.desk.update(ctx, "", func(t *tx) error {
		id := t.ids.new("ws_")
		ws, err := t.ensureWorkspace(name, id)
		if err == nil && ws.ID != id {
			err = &Error{Code: CodeConflict, ID: name, Message: "there is a workspace " + name + " already"}
		}
		out = ws
		return err
	})
	return out, err
}

func workspaceName(s string) (string, error) {
	name, err := normalizeStream(s)
	if err != nil || strings.TrimSpace(s) == "" {
		return "", invalid("workspace", fmt.Sprintf("a name has up to %d of a-z, 0-9, '-', '_' and '.'", MaxStream))
	}
	return name, nil
}

// ensureWorkspace lists a workspace under a new id, unless it is listed.
func (t *tx) ensureWorkspace(name, id string) (ws Workspace, err error) {
	err = readJSON(t, recordWorkspace, name, &ws)
	if !errors.Is(err, ErrNotFound) {
		return ws, err
	}
	ws = Workspace{ID: id, Name: name, CreatedAt: t.now}
	return ws, putJSON(t, recordWorkspace, name, ws)
}

// Workspaces implements [Admin].
func (a *admin) Workspaces(ctx context.Context) ([]Workspace, error) {
	all, err := a.desk.workspaces(ctx)
	if a.human.Local || err != nil {
		return all, err
	}
	for _, ws := range all {
		if ws.Name == a.human.Workspace {
			return []Workspace{ws}, nil
		}
	}
	return nil, nil
}

func (d *Desk) workspaces(ctx context.Context) ([]Workspace, error) {
	var out []Workspace
	err := d.view(ctx, "", func(t *tx) (err error) {
		out, err = listJSON[Workspace](t, recordWorkspace)
		return err
	})
	return out, err
}

func listJSON[T any](r Records, kind string) ([]T, error) {
	records, err := r.ListRecords(kind)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(records))
	for i, rec := range records {
		if err := decodeRecord(rec.Value, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Prefixes of bearer tokens, so that a leaked one is recognized for what it is.
const (
	agentPrefix   = "rvu_a_"
	humanPrefix   = "rvu_h_"
	sessionPrefix = "rvu_s_" // in a cookie, never in a header
)

// CreateToken implements [Admin].
func (a *admin) CreateToken(ctx context.Context, n NewToken) (Token, error) {
	prefix := agentPrefix
	switch n.Kind {
	case TokenAgent:
	case TokenHuman:
		prefix = humanPrefix
	default:
		return Token{}, invalid("kind", "is neither agent nor human")
	}
	workspace, err := a.in(n.Workspace)
	if err != nil {
		return Token{}, err
	}
	if workspace, err = workspaceName(workspace); err != nil {
		return Token{}, err
	}
	for _, f := range []struct {
		name string
		text *string
	}{{"owner", &n.Owner}, {"label", &n.Label}} {
		if *f.text, err = text(f.name, strings.TrimSpace(*f.text), 200, false); err != nil {
			return Token{}, err
		}
		if !shownWhole(*f.text) {
			return Token{}, invalid(f.name, "has a control or bidirectional character; use plain text")
		}
	}
	switch {
	case n.Life < 0:
		return Token{}, invalid("expires", "is in the past")
	case n.Life > maxTokenLife:
		return Token{}, invalid("expires", "is more than 100 years away; name an earlier end, or leave it out for a token without one")
	}
	if err := a.unused(ctx, n); err != nil {
		return Token{}, err
	}
	var member Member
	if n.Owner != "" {
		if err := a.listed(ctx, workspace); err != nil {
			return Token{}, err
		}
		if member, err = a.member(ctx, workspace, n.Owner, n.Kind == TokenHuman); err != nil {
			return Token{}, err
		}
	}
	// A token lets nobody in before the journal has it: one that no event knows is then nobody's.
	secret := prefix + newSecret()
	var out keptToken
	err = a.desk.update(ctx, "", func(t *tx) error {
		if err := readJSON(t, recordWorkspace, workspace, &Workspace{}); err != nil {
			return notFound(err, workspace, "workspace")
		}
		made := keptToken{Token: Token{
			ID: t.ids.new("tok_"), Kind: n.Kind, Hash: textDigest(secret), Workspace: workspace,
			Owner: n.Owner, Member: member.ID, Label: n.Label, CreatedAt: t.now,
		}}
		if n.Life > 0 {
			made.ExpiresAt = t.now.Add(n.Life).Truncate(time.Microsecond)
		}
		ref, before, err := a.human.once(t, "token", n, func() (string, error) {
			return made.ID, putJSON(t, recordToken, made.ID, made)
		})
		if before && ref != made.ID { // else this very call did it, and could not tell
			err = usedForToken(ref)
		}
		out = made
		return err
	})
	if err != nil {
		return Token{}, err
	}
	if err := a.note(ctx, workspace, EventTokenCreated, out.ID, out.digest()); err != nil {
		return Token{}, err
	}
	err = a.desk.update(ctx, "", func(t *tx) error {
		return t.PutRecord(recordSecret, out.Hash, []byte(out.ID))
	})
	if err != nil {
		return Token{}, err
	}
	if member.ID != "" {
		// Whoever is removed meanwhile keeps no token.
		if gone, err := a.desk.removed(ctx, workspace, member.ID); err != nil || gone {
			if _, rerr := a.RevokeToken(ctx, out.ID); err == nil {
				err = rerr
			}
			return Token{}, cmp.Or(err, error(&Error{Code: CodeConflict, ID: member.ID, Message: n.Owner + " was removed from the workspace meanwhile"}))
		}
	}
	out.Secret, out.Hash = secret, ""
	return out.Token, nil
}

// maxTokenLife bounds how far away the end of a token may be: 100 years.
const maxTokenLife = 36525 * 24 * time.Hour

// keptToken is a token as it is kept.
type keptToken struct {
	Token

	// Print is the digest of Hash where that stayed behind in an export: by it the token is known, and opens nothing.
	Print string `json:"print,omitempty"`
}

// print is the digest of the hash of the secret, "" where nothing is known of it.
func (t keptToken) print() string {
	if t.Hash != "" {
		return textDigest("revue-token " + t.Hash)
	}
	return t.Print
}

// unused reports the error that a call gets whose id was used before, so that nothing comes of it.
func (a *admin) unused(ctx context.Context, n NewToken) error {
	if a.human.Call == "" {
		return nil
	}
	return a.desk.view(ctx, "", func(t *tx) error {
		ref, before, err := a.human.before(t, "token", n)
		if err == nil && before {
			err = usedForToken(ref)
		}
		return err
	})
}

func usedForToken(id string) error {
	return &Error{Code: CodeConflict, ID: id, Message: "this call has made the token " + id + ", whose secret was shown once; revoke it and make another with a new call"}
}

// listed reports ErrNotFound for a workspace that is not there.
func (a *admin) listed(ctx context.Context, workspace string) error {
	return a.desk.view(ctx, "", func(t *tx) error {
		return notFound(readJSON(t, recordWorkspace, workspace, &Workspace{}), workspace, "workspace")
	})
}

// note writes an act on a token into the journal of its workspace.
func (a *admin) note(ctx context.Context, workspace string, kind EventKind, id, digest string) error {
	return a.desk.update(ctx, workspace, func(t *tx) error {
		key := string(kind) + " " + id
		_, err := t.Record(recordNoted, key)
		if !errors.Is(err, ErrNotFound) {
			return err // noted already
		}
		if _, err := t.append(Event{Kind: kind, Ref: id, Actor: a.human.ID, Via: a.human.Via, Digest: digest}); err != nil {
			return err
		}
		return t.PutRecord(recordNoted, key, []byte{'1'})
	})
}

// Tokens implements [Admin].
func (a *admin) Tokens(ctx context.Context) ([]Token, error) {
	workspace, err := a.in("")
	if err != nil {
		return nil, err
	}
	out := []Token{}
	err = a.desk.view(ctx, "", func(t *tx) error {
		all, err := listJSON[Token](t, recordToken)
		for _, tok := range all {
			if tok.Workspace == workspace {
				tok.Hash = ""
				out = append(out, tok)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = a.desk.view(ctx, workspace, func(t *tx) error {
		for i := range out {
			err := readJSON(t, recordUsed, out[i].ID, &out[i].UsedAt)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return out, err
}

// RevokeToken implements [Admin].
func (a *admin) RevokeToken(ctx context.Context, id string) (Token, error) {
	var out keptToken
	err := a.desk.update(ctx, "", func(t *tx) error {
		var tok keptToken
		if err := readJSON(t, recordToken, id, &tok); err != nil {
			return notFound(err, id, "token")
		}
		if tok.Workspace != a.human.Workspace && !a.human.Local {
			return notFound(ErrNotFound, id, "token")
		}
		if tok.RevokedAt.IsZero() {
			tok.RevokedAt = t.now
		}
		out = tok
		return putJSON(t, recordToken, id, tok)
	})
	if err != nil {
		return Token{}, err
	}
	digest := out.digest()
	out.Hash = ""
	if err := a.note(ctx, out.Workspace, EventTokenRevoked, id, digest); err != nil {
		return Token{}, err
	}
	return out.Token, a.revokeUnder(ctx, out.Token)
}

// revokeUnder revokes the sessions that stand under a token. They open nothing from when it ended; where this is cut
// short, revoking it again completes it.
func (a *admin) revokeUnder(ctx context.Context, tok Token) error {
	if tok.Kind != TokenHuman {
		return nil
	}
	var under []string
	err := a.desk.view(ctx, "", func(t *tx) error {
		under = nil
		all, err := listJSON[Token](t, recordToken)
		for _, s := range all {
			if s.Under == tok.ID && s.Workspace == tok.Workspace && s.RevokedAt.IsZero() {
				under = append(under, s.ID)
			}
		}
		return err
	})
	for _, id := range under {
		if err == nil {
			_, err = a.RevokeToken(ctx, id)
		}
	}
	return err
}

// errDenied is what every bad credential gets: it tells nothing of why.
func errDenied() error {
	return &Error{Code: CodeDenied, Message: "this credential is not valid; ask for a new token"}
}

func (t Token) ended(now time.Time) bool {
	return !t.RevokedAt.IsZero() || !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt)
}

// is reports whether the token is the one of this secret, whatever else the store may say: the secret itself tells of
// which kind it is.
func (t Token) is(bearer string) bool {
	prefix := map[TokenKind]string{TokenAgent: agentPrefix, TokenHuman: humanPrefix, TokenSession: sessionPrefix}[t.Kind]
	return prefix != "" && strings.HasPrefix(bearer, prefix) && t.Hash == textDigest(bearer)
}

// Authenticate implements [Plane].
func (d *Desk) Authenticate(ctx context.Context, bearer string) (Principal, error) {
	if len(bearer) > 256 || !strings.HasPrefix(bearer, agentPrefix) && !strings.HasPrefix(bearer, humanPrefix) {
		return Principal{}, errDenied()
	}
	tok, err := d.bearerOf(ctx, bearer)
	if err != nil {
		return Principal{}, err
	}
	if err := d.belongs(ctx, tok); err != nil {
		return Principal{}, err
	}
	d.noteUse(ctx, tok)
	p := Principal{TokenID: tok.ID, Kind: tok.Kind, Workspace: tok.Workspace, ExpiresAt: tok.ExpiresAt}
	name := tok.name()
	if tok.Kind == TokenHuman {
		p.Human = &Human{Workspace: tok.Workspace, ID: cmp.Or(tok.Member, tok.ID), Name: cmp.Or(tok.Owner, name), Token: tok.ID}
	} else {
		p.Agent = &Agent{Workspace: tok.Workspace, Credential: tok.ID, Name: name, Thread: tok.ID}
	}
	return p, nil
}

// bearerOf returns the token of a secret, unless it has ended.
func (d *Desk) bearerOf(ctx context.Context, secret string) (tok Token, err error) {
	err = d.view(ctx, "", func(t *tx) error {
		id, err := t.Record(recordSecret, textDigest(secret))
		if err == nil {
			err = readJSON(t, recordToken, string(id), &tok)
		}
		if errors.Is(err, ErrNotFound) || err == nil && (tok.ended(t.now) || !tok.is(secret)) {
			return errDenied()
		}
		return err
	})
	return tok, err
}

// noteUse writes down that a token was used, at most once a minute. It is in the token's own workspace, and no
// event: nobody waits for it. What can't be written down keeps nobody out.
func (d *Desk) noteUse(ctx context.Context, tok Token) {
	now := time.Now()
	if last, known := d.used.LoadOrStore(tok.ID, now); known {
		at, ok := last.(time.Time)
		if ok && now.Sub(at) < usedEvery || !d.used.CompareAndSwap(tok.ID, last, now) {
			return // it was noted, or another call is about to
		}
	}
	// A store that is busy writing keeps nobody waiting: the next use is noted.
	ctx, cancel := context.WithTimeout(ctx, usedWait)
	defer cancel()
	err := d.update(ctx, tok.Workspace, func(t *tx) error {
		return putJSON(t, recordUsed, tok.ID, t.now)
	})
	if err != nil && ctx.Err() == nil {
		d.log.WarnContext(ctx, "the use of a token was not noted", "token", tok.ID, "err", err)
	}
}

// usedWait is how long noting the use of a token may take.
const usedWait = 50 * time.Millisecond

// usedEvery is how exactly the last use of a token is known.
const usedEvery = time.Minute

// name is how the holder of the token is shown.
func (t Token) name() string {
	switch {
	case t.Owner != "" && t.Label != "":
		return t.Owner + " (" + t.Label + ")"
	case t.Owner != "" || t.Label != "":
		return t.Owner + t.Label
	default:
		return t.ID
	}
}

// stillValid reports ErrDenied for a credential that was a token and has ended.
func (d *Desk) stillValid(ctx context.Context, agent Agent) error {
	var tok Token
	err := d.view(ctx, "", func(t *tx) error {
		err := readJSON(t, recordToken, agent.Credential, &tok)
		if errors.Is(err, ErrNotFound) {
			return nil // an embedded agent
		}
		if err == nil && tok.ended(t.now) {
			return errDenied()
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.belongs(ctx, tok)
}
