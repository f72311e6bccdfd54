package revue_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/sqlite"
)

// humanOf is who a token or a session stands for.
func humanOf(t *testing.T, d *revue.Desk, secret string) revue.Human {
	t.Helper()
	open := d.Authenticate
	if strings.HasPrefix(secret, "rvu_s_") {
		open = d.Session
	}
	p, err := open(t.Context(), secret)
	require.NoError(t, err)
	require.Nil(t, p.Agent)
	return *p.Human
}

func signIn(t *testing.T, d *revue.Desk, h revue.Human) revue.SignIn {
	t.Helper()
	in, err := d.Admin(h).SignIn(t.Context())
	require.NoError(t, err)
	return in
}

// session opens a session as a human.
func session(t *testing.T, d *revue.Desk, h revue.Human) revue.Token {
	t.Helper()
	s, err := d.OpenSession(t.Context(), signIn(t, d, h).Code, "Firefox")
	require.NoError(t, err)
	return s
}

// opens checks whether a session lets its human in, and that nothing else takes it.
func opens(t *testing.T, d *revue.Desk, s revue.Token, in bool) {
	t.Helper()
	_, err := d.Session(t.Context(), s.Secret)
	if in {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, revue.ErrDenied)
	}
	_, err = d.Authenticate(t.Context(), s.Secret)
	require.ErrorIs(t, err, revue.ErrDenied, "a session is no bearer token")
}

func verifies(t *testing.T, s revue.Store, workspace string) revue.Verified {
	t.Helper()
	v, err := revue.VerifyWorkspace(t.Context(), s, workspace, nil)
	require.NoError(t, err)
	return v
}

func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := newPlane(t, store)
		tok := newToken(t, desk, revue.TokenHuman, "Bea")
		in := signIn(t, desk, humanOf(t, desk, tok.Secret))
		require.Equal(t, time.Now().UTC().Add(revue.SignInFor), in.ExpiresAt)
		require.Len(t, in.Code, 52, "256 bits")

		s, err := desk.OpenSession(t.Context(), in.Code, "Firefox on Linux")
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(s.Secret, "rvu_s_"))
		require.Empty(t, s.Hash)
		require.Equal(t, revue.TokenSession, s.Kind)
		require.Equal(t, time.Now().UTC().Add(revue.SessionFor), s.ExpiresAt)
		opens(t, desk, s, true)
		p, err := desk.Session(t.Context(), s.Secret)
		require.NoError(t, err)
		require.Equal(t, revue.Principal{
			TokenID: s.ID, Kind: revue.TokenSession, Workspace: "w", ExpiresAt: s.ExpiresAt,
			Human: &revue.Human{Workspace: "w", ID: tok.Member, Name: "Bea", Token: tok.ID},
		}, p)

		// It is listed, without its secret or what could be compared with it.
		all, err := desk.Admin(local).Tokens(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 2)
		listed, err := json.Marshal(all) //nolint:gosec // that no secret is in it is what is tested
		require.NoError(t, err)
		require.NotContains(t, string(listed), s.Secret)
		require.NotContains(t, string(listed), hashOf(s.Secret))
		require.Contains(t, string(listed), "Firefox on Linux")
		verifies(t, store, "w")

		// Nothing else opens one, and no token is one.
		for _, bad := range []string{
			"", "rvu_s_", tok.Secret, s.ID, s.Secret[6:], "rvu_h_" + s.Secret[6:], "rvu_s_" + tok.Secret[6:], s.Secret + "x", s.Secret[:len(s.Secret)-1],
			"rvu_s_" + in.Code, in.Code, strings.Repeat("rvu_s_", 100_000),
		} {
			_, err := desk.Session(t.Context(), bad)
			require.ErrorIs(t, err, revue.ErrDenied)
			require.EqualError(t, err, "this credential is not valid; ask for a new token")
		}
		_, err = desk.Authenticate(t.Context(), "rvu_h_"+s.Secret[6:])
		require.ErrorIs(t, err, revue.ErrDenied)

		// A session can sign in again elsewhere; who does is the same.
		again := session(t, desk, humanOf(t, desk, s.Secret))
		require.Equal(t, tok.Member, again.Member)
		opens(t, desk, again, true)

		time.Sleep(revue.SessionFor - time.Microsecond) //nolint:forbidigo // fake time
		opens(t, desk, s, true)
		time.Sleep(time.Microsecond) //nolint:forbidigo // fake time
		opens(t, desk, s, false)
		verifies(t, store, "w")
	})
}

// No token of the kind is made but by a code.
func TestSessionIsNoTokenToMake(t *testing.T) {
	store := memstore.New(nil)
	desk := newPlane(t, store)
	_, err := desk.Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenSession, Owner: "Bea"})
	require.ErrorIs(t, err, revue.ErrInvalid)
	require.ErrorContains(t, err, "kind: ")
	all, err := desk.Admin(local).Tokens(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestSignInCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := newPlane(t, store)
		bea := humanOf(t, desk, newToken(t, desk, revue.TokenHuman, "Bea").Secret)
		refused := func(code string) {
			t.Helper()
			before := export(t, store, "w", nil)
			_, err := desk.OpenSession(t.Context(), code, "Firefox")
			require.ErrorIs(t, err, revue.ErrDenied)
			require.EqualError(t, err, `this link was used, or is too old: make another, with "revue inbox --web" say`, "whatever the reason")
			require.Equal(t, body(before), body(export(t, store, "w", nil)), "nothing is made")
		}
		used := signIn(t, desk, bea)
		_, err := desk.OpenSession(t.Context(), used.Code, "")
		require.NoError(t, err)
		refused(used.Code)
		refused("")
		refused("unknown")
		refused(strings.Repeat("x", 1<<20))
		fresh := signIn(t, desk, bea)
		require.NotEqual(t, used.Code, fresh.Code)
		refused(fresh.Code + " ")
		refused(strings.ToUpper(fresh.Code))
		refused(hashOf(fresh.Code))

		time.Sleep(revue.SignInFor - time.Microsecond) //nolint:forbidigo // fake time
		_, err = desk.OpenSession(t.Context(), fresh.Code, "")
		require.NoError(t, err, "until its end")
		late := signIn(t, desk, bea)
		time.Sleep(revue.SignInFor) //nolint:forbidigo // fake time
		refused(late.Code)

		// One that was made for somebody who is there no more.
		gone := signIn(t, desk, bea)
		_, err = desk.Admin(local).RemoveMember(t.Context(), bea.ID)
		require.NoError(t, err)
		refused(gone.Code)
	})
}

// Of many who have the same code one gets in, from whichever desk of a file.
func TestSignInCodeIsUsedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "revue.db")
	var desks []*revue.Desk
	var store revue.Store
	for range 2 {
		s, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		desks, store = append(desks, plane(s)), s
	}
	_, err := desks[0].Admin(local).CreateWorkspace(t.Context(), "w")
	require.NoError(t, err)
	code := signIn(t, desks[0], local).Code
	var wg sync.WaitGroup
	var won atomic.Pointer[revue.Token]
	var wins, losses atomic.Int32
	for i := range 32 {
		wg.Go(func() {
			s, err := desks[i%2].OpenSession(t.Context(), code, "Firefox")
			switch {
			case err == nil:
				wins.Add(1)
				won.Store(&s)
			case errors.Is(err, revue.ErrDenied):
				losses.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, wins.Load())
	require.EqualValues(t, 31, losses.Load())
	for _, d := range desks {
		opens(t, d, *won.Load(), true)
	}
	require.EqualValues(t, 1, verifies(t, store, "w").Tokens)

	// What ends it in one ends it in the other at once.
	_, err = desks[1].Admin(local).RevokeToken(t.Context(), won.Load().ID)
	require.NoError(t, err)
	for _, d := range desks {
		opens(t, d, *won.Load(), false)
	}
}

func TestSessionEnds(t *testing.T) {
	for name, c := range map[string]struct {
		owner string // of the token it is opened with
		end   func(t *testing.T, d *revue.Desk, tok, s revue.Token) error
		stays bool
	}{
		"revoked": {"Bea", func(t *testing.T, d *revue.Desk, _, s revue.Token) error {
			_, err := d.Admin(local).RevokeToken(t.Context(), s.ID)
			return err
		}, false},
		"by its own human": {"", func(t *testing.T, d *revue.Desk, _, s revue.Token) error {
			_, err := d.Admin(humanOf(t, d, s.Secret)).RevokeToken(t.Context(), s.ID)
			return err
		}, false},
		"the member is removed": {"Bea", func(t *testing.T, d *revue.Desk, tok, _ revue.Token) error {
			_, err := d.Admin(local).RemoveMember(t.Context(), tok.Member)
			return err
		}, false},
		"the token it was opened with is revoked": {"Bea", func(t *testing.T, d *revue.Desk, tok, _ revue.Token) error {
			_, err := d.Admin(local).RevokeToken(t.Context(), tok.ID)
			return err
		}, false},
		"the token of nobody is revoked": {"", func(t *testing.T, d *revue.Desk, tok, _ revue.Token) error {
			_, err := d.Admin(local).RevokeToken(t.Context(), tok.ID)
			return err
		}, false},
		"another of the member's tokens is revoked": {"Bea", func(t *testing.T, d *revue.Desk, _, _ revue.Token) error {
			_, err := d.Admin(local).RevokeToken(t.Context(), newToken(t, d, revue.TokenHuman, "Bea").ID)
			return err
		}, true},
		"another session is revoked": {"Bea", func(t *testing.T, d *revue.Desk, tok, _ revue.Token) error {
			other := session(t, d, humanOf(t, d, tok.Secret))
			_, err := d.Admin(local).RevokeToken(t.Context(), other.ID)
			return err
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := memstore.New(nil)
			desk := newPlane(t, store)
			tok := newToken(t, desk, revue.TokenHuman, c.owner)
			s := session(t, desk, humanOf(t, desk, tok.Secret))
			require.Equal(t, tok.ID, s.Under)
			require.Equal(t, tok.Member, s.Member)
			opens(t, desk, s, true)
			require.NoError(t, c.end(t, desk, tok, s))
			opens(t, desk, s, c.stays)
			opens(t, plane(store), s, c.stays)
			verifies(t, store, "w")

			// The list says so too.
			all, err := desk.Admin(local).Tokens(t.Context())
			require.NoError(t, err)
			for _, l := range all {
				if l.ID == s.ID {
					require.Equal(t, c.stays, l.RevokedAt.IsZero())
				}
			}
		})
	}
}

// Nothing that was opened with a token outlives it: no session, no session that was opened from one, and no code, whoever
// the token is of and however it ends.
func TestNothingOutlivesItsToken(t *testing.T) {
	for _, owner := range []string{"Bea", ""} {
		for end, c := range map[string]struct {
			life time.Duration
			end  func(t *testing.T, d *revue.Desk, tok revue.Token)
		}{
			"revoked": {0, func(t *testing.T, d *revue.Desk, tok revue.Token) {
				_, err := d.Admin(local).RevokeToken(t.Context(), tok.ID)
				require.NoError(t, err)
			}},
			"revoked by its holder": {0, func(t *testing.T, d *revue.Desk, tok revue.Token) {
				_, err := d.Admin(humanOf(t, d, tok.Secret)).RevokeToken(t.Context(), tok.ID)
				require.NoError(t, err)
			}},
			"expired": {time.Hour, func(*testing.T, *revue.Desk, revue.Token) {
				time.Sleep(time.Hour) //nolint:forbidigo // fake time
			}},
		} {
			t.Run(owner+" "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := memstore.New(nil)
					desk := newPlane(t, store)
					tok, err := desk.Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: owner, Life: c.life})
					require.NoError(t, err)
					holder := humanOf(t, desk, tok.Secret)
					first := session(t, desk, holder)
					within := humanOf(t, desk, first.Secret)
					second := session(t, desk, within)
					third := session(t, desk, humanOf(t, desk, second.Secret))
					kept := session(t, desk, local) // of another, with a link made at the machine
					time.Sleep(50 * time.Minute)    //nolint:forbidigo // fake time
					late := session(t, desk, within)
					codes := []string{signIn(t, desk, holder).Code, signIn(t, desk, within).Code}
					verifies(t, store, "w")
					for _, s := range []revue.Token{first, second, third, late} {
						require.Equal(t, tok.ID, s.Under)
						require.Equal(t, tok.Member, s.Member)
						if c.life > 0 {
							require.Equal(t, tok.ExpiresAt, s.ExpiresAt)
						}
						opens(t, desk, s, true)
					}
					c.end(t, desk, tok)
					for _, d := range []*revue.Desk{desk, plane(store)} {
						for _, s := range []revue.Token{first, second, third, late} {
							opens(t, d, s, false)
						}
						opens(t, d, kept, true)
						for _, code := range codes {
							_, err := d.OpenSession(t.Context(), code, "")
							require.ErrorIs(t, err, revue.ErrDenied)
						}
						for _, h := range []revue.Human{holder, within} {
							_, err := d.Admin(h).SignIn(t.Context())
							require.ErrorIs(t, err, revue.ErrDenied)
						}
					}
					verifies(t, store, "w")
					into(t, memstore.New(nil), "", export(t, store, "w", nil), nil)
				})
			})
		}
	}
}

// Nobody is let in by the token of another.
func TestSignInWithTheTokenOfAnother(t *testing.T) {
	desk := newPlane(t, memstore.New(nil))
	bea, ann, nobody := newToken(t, desk, revue.TokenHuman, "Bea"), newToken(t, desk, revue.TokenHuman, "Ann"), newToken(t, desk, revue.TokenHuman, "")
	bot := newToken(t, desk, revue.TokenAgent, "Bea")
	for name, h := range map[string]revue.Human{
		"another's":        {Workspace: "w", ID: bea.Member, Token: ann.ID},
		"nobody's":         {Workspace: "w", ID: bea.Member, Token: nobody.ID},
		"a member's":       {Workspace: "w", ID: nobody.ID, Token: bea.ID},
		"an agent's":       {Workspace: "w", ID: bea.Member, Token: bot.ID},
		"none":             {Workspace: "w", ID: bea.Member, Token: "tok_none"},
		"a session's":      {Workspace: "w", ID: bea.Member, Token: session(t, desk, humanOf(t, desk, bea.Secret)).ID},
		"another place's":  {Workspace: "other", ID: bea.Member, Token: bea.ID},
		"a member, as tok": {Workspace: "w", ID: bea.Member, Token: bea.Member},
	} {
		_, err := desk.Admin(h).SignIn(t.Context())
		require.Error(t, err, name)
		if h.Workspace == "w" {
			require.ErrorIs(t, err, revue.ErrDenied, name)
		}
	}
}

// Of one human the newest sessions stand, whichever way they came about; those of others are left alone.
func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := newPlane(t, store)
		bea, again := newToken(t, desk, revue.TokenHuman, "Bea"), newToken(t, desk, revue.TokenHuman, "Bea")
		shared, other := newToken(t, desk, revue.TokenHuman, ""), newToken(t, desk, revue.TokenHuman, "")
		others := []revue.Token{session(t, desk, local), session(t, desk, humanOf(t, desk, other.Secret))}
		for name, ways := range map[string][]revue.Human{
			"a member":          {humanOf(t, desk, bea.Secret), {Workspace: "w", ID: "local", Name: "Bea", Local: true}, humanOf(t, desk, again.Secret)},
			"a token of nobody": {humanOf(t, desk, shared.Secret)},
		} {
			var all []revue.Token
			for i := range revue.MaxSessions + 5 {
				all = append(all, session(t, desk, ways[i%len(ways)]))
				if i%2 == 0 { // several are of the same time
					time.Sleep(time.Second) //nolint:forbidigo // fake time
				}
				opens(t, desk, all[i], true)
			}
			for i, s := range all {
				_, err := desk.Session(t.Context(), s.Secret)
				require.Equal(t, i < 5, errors.Is(err, revue.ErrDenied), "%s: %d: %v", name, i, err)
			}
			// One that was signed out of makes room.
			last := all[len(all)-1]
			_, err := desk.Admin(local).RevokeToken(t.Context(), last.ID)
			require.NoError(t, err)
			session(t, desk, ways[0])
			for _, s := range all[5 : len(all)-1] {
				opens(t, desk, s, true)
			}
		}
		for _, s := range others {
			opens(t, desk, s, true)
		}
		lets(t, desk, bea, true)
		verifies(t, store, "w")
	})
}

// A session of a token that belongs to nobody is not taken for that of a member whose name the token has as its label.
func TestSessionOfATokenCalledLikeAMember(t *testing.T) {
	desk := newPlane(t, memstore.New(nil))
	bea := newToken(t, desk, revue.TokenHuman, "Bea")
	shared, err := desk.Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Label: "Bea"})
	require.NoError(t, err)
	hers, theirs := session(t, desk, humanOf(t, desk, bea.Secret)), session(t, desk, humanOf(t, desk, shared.Secret))
	_, err = desk.Admin(local).RemoveMember(t.Context(), bea.Member)
	require.NoError(t, err)
	opens(t, desk, hers, false)
	opens(t, desk, theirs, true)
}

// A session lasts no longer than the token it stands under.
func TestSessionUnderATokenThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := newPlane(t, memstore.New(nil))
		tok, err := desk.Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Life: time.Hour})
		require.NoError(t, err)
		bea := humanOf(t, desk, tok.Secret)
		s := session(t, desk, bea)
		require.Equal(t, tok.ExpiresAt, s.ExpiresAt)
		in := signIn(t, desk, bea)
		time.Sleep(time.Hour - time.Microsecond) //nolint:forbidigo // fake time
		opens(t, desk, s, true)
		late := signIn(t, desk, bea)
		time.Sleep(time.Microsecond) //nolint:forbidigo // fake time
		opens(t, desk, s, false)
		for _, code := range []string{in.Code, late.Code} {
			_, err = desk.OpenSession(t.Context(), code, "")
			require.ErrorIs(t, err, revue.ErrDenied)
		}
		_, err = desk.Admin(bea).SignIn(t.Context())
		require.ErrorIs(t, err, revue.ErrDenied, "the token has ended")
	})
}

func TestWhoMaySignIn(t *testing.T) {
	store := memstore.New(nil)
	desk := newPlane(t, store)
	_, err := desk.Admin(local).CreateWorkspace(t.Context(), "other")
	require.NoError(t, err)
	nobody := newToken(t, desk, revue.TokenHuman, "")
	bot := newToken(t, desk, revue.TokenAgent, "Bea")
	gone := newToken(t, desk, revue.TokenHuman, "Ann")
	_, err = desk.Admin(local).RemoveMember(t.Context(), gone.Member)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		human revue.Human
		want  error
		field string
	}{
		"a human whom no credential made":     {revue.Human{Workspace: "w", ID: "mallory", Name: "Mallory"}, revue.ErrDenied, ""},
		"an agent's token":                    {revue.Human{Workspace: "w", ID: bot.ID, Name: "Bea"}, revue.ErrDenied, ""},
		"a token of another workspace":        {revue.Human{Workspace: "other", ID: nobody.ID, Name: "x"}, revue.ErrDenied, ""},
		"a member who was removed":            {revue.Human{Workspace: "w", ID: gone.Member, Name: "Ann"}, revue.ErrDenied, ""},
		"the token of one who was removed":    {revue.Human{Workspace: "w", ID: gone.ID, Name: "Ann"}, revue.ErrDenied, ""},
		"no workspace":                        {revue.Human{ID: nobody.ID, Name: "x"}, revue.ErrInvalid, "workspace: "},
		"a workspace that is not there":       {revue.Human{Workspace: "none", ID: "local", Name: "x", Local: true}, revue.ErrNotFound, ""},
		"at the machine, without a name":      {revue.Human{Workspace: "w", ID: "local", Name: " ", Local: true}, revue.ErrInvalid, "name: "},
		"at the machine, with a hidden name":  {revue.Human{Workspace: "w", ID: "local", Name: "a\u202eb", Local: true}, revue.ErrInvalid, "name: "},
		"at the machine, with a bad name":     {revue.Human{Workspace: "w", ID: "local", Name: "a\xff", Local: true}, revue.ErrInvalid, "name: "},
		"at the machine, with a long name":    {revue.Human{Workspace: "w", ID: "local", Name: strings.Repeat("x", 201), Local: true}, revue.ErrInvalid, "name: "},
		"at the machine, with an unseen name": {revue.Human{Workspace: "w", ID: "local", Name: "\u3164", Local: true}, revue.ErrInvalid, "name: "},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(journalIn(t, store, "w"))
			in, err := desk.Admin(c.human).SignIn(t.Context())
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.field)
			require.Zero(t, in)
			require.Len(t, journalIn(t, store, "w"), before)
		})
	}

	// Who is at the machine signs in as the member of their name, who is made once.
	first, second := session(t, desk, local), session(t, desk, local)
	require.Equal(t, "root", first.Owner)
	require.NotEmpty(t, first.Member)
	require.Equal(t, first.Member, second.Member)
	require.Equal(t, first.Member, newToken(t, desk, revue.TokenHuman, "root").Member)
	require.False(t, humanOf(t, desk, first.Secret).Local, "a browser is not the machine")

	// The name is that of the member, whatever the program that binds them says.
	tok := newToken(t, desk, revue.TokenHuman, "Bea")
	s := session(t, desk, revue.Human{Workspace: "w", ID: tok.Member, Name: "a\xff" + strings.Repeat("x", 300), Via: "api"})
	require.Equal(t, "Bea", s.Owner)
	shared := session(t, desk, humanOf(t, desk, nobody.Secret))
	require.Equal(t, humanOf(t, desk, nobody.Secret).Name, humanOf(t, desk, shared.Secret).Name)
	require.Equal(t, humanOf(t, desk, nobody.Secret).ID, humanOf(t, desk, shared.Secret).ID)
	into(t, memstore.New(nil), "", export(t, store, "w", nil), nil)
}

// A session is of one workspace: nothing of another is seen or ended with it.
func TestSessionOfAnotherWorkspace(t *testing.T) {
	desk := newPlane(t, memstore.New(nil))
	_, err := desk.Admin(local).CreateWorkspace(t.Context(), "other")
	require.NoError(t, err)
	ours := session(t, desk, local)
	elsewhere := local
	elsewhere.Workspace = "other"
	theirs := humanOf(t, desk, session(t, desk, elsewhere).Secret)
	require.Equal(t, "other", theirs.Workspace)
	all, err := desk.Admin(theirs).Tokens(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	_, err = desk.Admin(theirs).RevokeToken(t.Context(), ours.ID)
	require.ErrorIs(t, err, revue.ErrNotFound)
	opens(t, desk, ours, true)
}

func TestSessionLabel(t *testing.T) {
	desk := newPlane(t, memstore.New(nil))
	for label, want := range map[string]string{
		"":                                   "",
		"Firefox on Linux":                   "Firefox on Linux",
		"  a\tb\r\nc\x00\x1b[2Jd  ":          "abc[2Jd",
		"a\u202eb\u2066c\u200bd\u2028e":      "abcde",
		"a\xffb\xc3":                         "ab",
		"grüße 👩‍💻":                          "grüße 👩‍💻",
		"\u3164\u00a0 \u2800":                "",
		strings.Repeat("x", 189) + "😀😀":      strings.Repeat("x", 189) + "😀",
		strings.Repeat("\x01", 5000) + "end": "end",
		strings.Repeat("é", 5000):            strings.Repeat("é", 95),
	} {
		s, err := desk.OpenSession(t.Context(), signIn(t, desk, local).Code, label)
		require.NoError(t, err)
		require.Equal(t, want, s.Label)
		require.LessOrEqual(t, len(s.Label), 200)
		require.True(t, utf8.ValidString(s.Label))
	}
}

// Sessions come along in an export and open nothing elsewhere, even where tokens do.
func TestSessionsStayBehind(t *testing.T) {
	store := memstore.New(nil)
	desk := newPlane(t, store)
	tok := newToken(t, desk, revue.TokenHuman, "Bea")
	nobody := newToken(t, desk, revue.TokenHuman, "")
	code := signIn(t, desk, local).Code
	sessions := []revue.Token{
		session(t, desk, humanOf(t, desk, tok.Secret)), session(t, desk, humanOf(t, desk, nobody.Secret)), session(t, desk, local),
	}
	_, err := desk.Admin(local).RevokeToken(t.Context(), sessions[2].ID)
	require.NoError(t, err)
	verifies(t, store, "w")
	take := &revue.ImportOptions{Tokens: true}
	file := export(t, store, "w", &revue.ExportOptions{Tokens: true})
	require.Contains(t, string(file), hashOf(tok.Secret))
	for _, s := range sessions {
		require.Contains(t, string(file), s.ID)
		require.NotContains(t, string(file), hashOf(s.Secret))
	}
	require.NotContains(t, string(file), hashOf(code))

	// A hash that somebody puts in is not taken over.
	lines := strings.SplitAfter(strings.TrimSuffix(string(file), "\n"), "\n")
	lines, forged := lines[:len(lines)-1], 0
	for i, l := range lines {
		for _, s := range sessions {
			if strings.Contains(l, `"kind":"token"`) && strings.Contains(l, s.ID) {
				var x struct {
					Type  string `json:"type"`
					Value struct {
						Kind  string         `json:"kind"`
						Key   string         `json:"key"`
						Value map[string]any `json:"value"`
					} `json:"value"`
				}
				require.NoError(t, json.Unmarshal([]byte(l), &x))
				delete(x.Value.Value, "print")
				x.Value.Value["hash"] = hashOf(s.Secret)
				b, err := json.Marshal(x)
				require.NoError(t, err)
				lines[i] = string(b) + "\n"
				forged++
			}
		}
	}
	require.Equal(t, 3, forged)

	for _, f := range [][]byte{file, sealed(lines)} {
		there := memstore.New(nil)
		into(t, there, "", f, take)
		verifies(t, there, "w")
		other := plane(there)
		lets(t, other, tok, true)
		for _, s := range sessions {
			opens(t, other, s, false)
		}
		_, err = other.OpenSession(t.Context(), code, "")
		require.ErrorIs(t, err, revue.ErrDenied)
		all, err := other.Admin(local).Tokens(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 5, "they are listed")
		_, err = other.Admin(local).RevokeToken(t.Context(), sessions[0].ID)
		require.NoError(t, err)
		verifies(t, there, "w")
		// Taken over once more it is as it was.
		into(t, there, "", f, take)
		opens(t, other, sessions[1], false)
	}

	// Put back over itself nothing changes here.
	into(t, store, "", file, take)
	opens(t, desk, sessions[0], true)
	opens(t, desk, sessions[1], true)
	opens(t, desk, sessions[2], false)
	verifies(t, store, "w")
}

// A session whose record was changed, or that no event made, is noticed and opens nothing.
func TestSessionsAreVerified(t *testing.T) {
	for _, change := range []func(v map[string]any){
		func(v map[string]any) { v["under"] = "tok_other" },
		func(v map[string]any) { v["member"] = "mem_other" },
		func(v map[string]any) { v["kind"] = "human" },
		func(v map[string]any) { v["expiresAt"] = "2999-01-01T00:00:00Z" },
		func(v map[string]any) { v["hash"] = hashOf("rvu_s_another") },
	} {
		store := memstore.New(nil)
		desk := newPlane(t, store)
		s := session(t, desk, humanOf(t, desk, newToken(t, desk, revue.TokenHuman, "").Secret))
		verifies(t, store, "w")
		edit(t, store, "", "token", s.ID, change)
		_, err := revue.VerifyWorkspace(t.Context(), store, "w", nil)
		require.ErrorContains(t, err, "was changed")
	}
}

// Codes that nobody used in time are removed, those that can be used are not.
func TestSignInCodesAreTidied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := newPlane(t, store)
		codes := func() (n int) {
			t.Helper()
			require.NoError(t, store.View(t.Context(), "", func(tx revue.Tx) error {
				all, err := tx.ListRecords("sign-in")
				n = len(all)
				return err
			}))
			return n
		}
		session(t, desk, local)
		require.Zero(t, codes(), "a code that was used is gone")
		running(t, desk)
		for range 3 {
			signIn(t, desk, local)
		}
		synctest.Wait()
		time.Sleep(59 * time.Minute) //nolint:forbidigo // fake time
		fresh := signIn(t, desk, local)
		require.Equal(t, 4, codes())
		time.Sleep(2 * time.Minute) //nolint:forbidigo // fake time
		require.Equal(t, 1, codes())
		_, err := desk.OpenSession(t.Context(), fresh.Code, "")
		require.NoError(t, err)
		signIn(t, desk, local)
		time.Sleep(2 * time.Hour) //nolint:forbidigo // fake time
		require.Zero(t, codes())
	})
}

// Signing in that is cut short at any step costs another try at most: no session is there that lets anybody in, and the
// store verifies and can be exported.
func TestSignInCutShort(t *testing.T) {
	for fail := 1; ; fail++ {
		s := &counting{Store: memstore.New(nil)}
		desk := newPlane(t, s)
		s.updates, s.fail = 0, fail
		in, err := desk.Admin(local).SignIn(t.Context())
		var made revue.Token
		if err == nil {
			made, err = desk.OpenSession(t.Context(), in.Code, "Firefox")
		}
		s.fail = 0
		verifies(t, s, "w")
		into(t, memstore.New(nil), "", export(t, s, "w", &revue.ExportOptions{Tokens: true}), &revue.ImportOptions{Tokens: true})
		if err == nil {
			opens(t, desk, made, true)
			require.Greater(t, fail, 5)
			return
		}
		require.ErrorContains(t, err, "killed")
		require.Empty(t, made.Secret)
		if in.Code != "" { // the code is still good, or used up
			made, err = desk.OpenSession(t.Context(), in.Code, "Firefox")
			if err != nil {
				require.ErrorIs(t, err, revue.ErrDenied)
			}
		}
		if in.Code == "" || err != nil {
			made = session(t, desk, local)
		}
		opens(t, desk, made, true)
		verifies(t, s, "w")
	}
}

// lossy can't tell whether its next commit took effect, and runs it again, as drivers do.
type lossy struct {
	revue.Store
	again bool
}

func (l *lossy) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if !l.again {
		return l.Store.Update(ctx, ws, fn)
	}
	l.again = false
	if err := l.Store.Update(ctx, ws, fn); err != nil {
		return err
	}
	return l.Store.Update(ctx, ws, fn)
}

// A commit of which the store can't tell whether it happened does not use a code up for nothing.
func TestOpenSessionAfterAnUnknownCommit(t *testing.T) {
	s := &lossy{Store: memstore.New(nil)}
	desk := newPlane(t, s)
	in := signIn(t, desk, local)
	s.again = true
	made, err := desk.OpenSession(t.Context(), in.Code, "Firefox")
	require.NoError(t, err)
	require.False(t, s.again)
	opens(t, desk, made, true)
	all, err := desk.Admin(local).Tokens(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	verifies(t, s, "w")
}

// A removal at any step of signing in leaves no session of the one who was removed.
func TestRemoveMemberAtEveryStepOfSigningIn(t *testing.T) {
	everyStep(t, func(t *testing.T, raw revue.Store, s *stepStore) {
		other := newPlane(t, raw)
		tok := newToken(t, other, revue.TokenHuman, "Bea")
		bea := humanOf(t, other, tok.Secret)
		desk := plane(s)
		s.arm(func() {
			_, err := other.Admin(local).RemoveMember(t.Context(), tok.Member)
			require.NoError(t, err)
		})
		var made revue.Token
		in, err := desk.Admin(bea).SignIn(t.Context())
		if err == nil {
			made, err = desk.OpenSession(t.Context(), in.Code, "Firefox")
		}
		if err != nil {
			require.ErrorIs(t, err, revue.ErrDenied)
			require.Empty(t, made.Secret)
		}
		if s.acted().IsZero() {
			require.NoError(t, err)
			return // it only counts the steps
		}
		_, err = other.Session(t.Context(), made.Secret)
		require.ErrorIs(t, err, revue.ErrDenied)
		all, err := other.Admin(local).Tokens(t.Context())
		require.NoError(t, err)
		for _, l := range all {
			require.False(t, l.RevokedAt.IsZero(), "%+v", l)
		}
		verifies(t, raw, "w")
	})
}

// The same for the token that a session stands under.
func TestRevokeTokenAtEveryStepOfSigningIn(t *testing.T) {
	everyStep(t, func(t *testing.T, raw revue.Store, s *stepStore) {
		other := newPlane(t, raw)
		tok := newToken(t, other, revue.TokenHuman, "")
		desk := plane(s)
		s.arm(func() {
			_, err := other.Admin(local).RevokeToken(t.Context(), tok.ID)
			require.NoError(t, err)
		})
		var made revue.Token
		in, err := desk.Admin(revue.Human{Workspace: "w", ID: tok.ID, Name: tok.ID, Via: "api"}).SignIn(t.Context())
		if err == nil {
			made, err = desk.OpenSession(t.Context(), in.Code, "Firefox")
		}
		if err != nil {
			require.ErrorIs(t, err, revue.ErrDenied)
		}
		if s.acted().IsZero() {
			require.NoError(t, err)
			return
		}
		_, err = other.Session(t.Context(), made.Secret)
		require.ErrorIs(t, err, revue.ErrDenied)
		verifies(t, raw, "w")
	})
}
