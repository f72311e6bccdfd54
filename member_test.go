package revue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
)

// newPlane returns a plane that has the workspace "w".
func newPlane(t *testing.T, s revue.Store) *revue.Desk {
	t.Helper()
	d := plane(s)
	_, err := d.Admin(local).CreateWorkspace(t.Context(), "w")
	require.NoError(t, err)
	return d
}

func newToken(t *testing.T, d *revue.Desk, kind revue.TokenKind, owner string) revue.Token {
	t.Helper()
	tok, err := d.Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: kind, Owner: owner})
	require.NoError(t, err)
	return tok
}

func lets(t *testing.T, d *revue.Desk, tok revue.Token, in bool) {
	t.Helper()
	_, err := d.Authenticate(t.Context(), tok.Secret)
	if in {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, revue.ErrDenied)
	}
}

func TestRemoveMember(t *testing.T) {
	store := memstore.New(nil)
	desk := newPlane(t, store)
	before := newToken(t, desk, revue.TokenAgent, "Bea") // in her name: she is no member yet
	one, two := newToken(t, desk, revue.TokenHuman, "Bea"), newToken(t, desk, revue.TokenHuman, "Bea")
	bot := newToken(t, desk, revue.TokenAgent, "Bea")
	ann := newToken(t, desk, revue.TokenHuman, "Ann")
	nobody := newToken(t, desk, revue.TokenHuman, "")
	require.Equal(t, one.Member, two.Member)
	require.Equal(t, one.Member, bot.Member)
	require.NotEqual(t, one.Member, ann.Member)
	require.Empty(t, before.Member)
	require.Empty(t, nobody.Member)

	p, err := desk.Authenticate(t.Context(), one.Secret)
	require.NoError(t, err)
	require.Equal(t, one.Member, p.Human.ID)
	require.Equal(t, "Bea", p.Human.Name)
	p, err = desk.Authenticate(t.Context(), nobody.Secret)
	require.NoError(t, err)
	require.Equal(t, nobody.ID, p.Human.ID)
	o := request(t, desk, agent("a"), yesNo("Should the crane be painted?"))
	as := revue.Human{Workspace: "w", ID: one.Member, Name: "Bea", Via: "cli"}
	lot, err := desk.Reviewer(as).Answer(t.Context(), o.LotID, revue.Answer{Value: "yes"})
	require.NoError(t, err)

	admin := desk.Admin(local)
	gone, err := admin.RemoveMember(t.Context(), one.Member)
	require.NoError(t, err)
	require.False(t, gone.RemovedAt.IsZero())
	for _, tok := range []revue.Token{before, one, two, bot} {
		lets(t, desk, tok, false)
		lets(t, plane(store), tok, false)
	}
	for _, tok := range []revue.Token{ann, nobody} {
		lets(t, desk, tok, true)
	}
	// What she decided stays.
	why, err := desk.Reviewer(alice).Why(t.Context(), lot.DecisionID)
	require.NoError(t, err)
	require.Equal(t, one.Member, why.Decision.By.ID)

	// Again it changes nothing.
	events := len(journalIn(t, store, "w"))
	again, err := admin.RemoveMember(t.Context(), one.Member)
	require.NoError(t, err)
	require.Equal(t, gone, again)
	require.Len(t, journalIn(t, store, "w"), events)
	count := map[revue.EventKind]int{}
	for _, e := range journalIn(t, store, "w") {
		count[e.Kind]++
	}
	require.Equal(t, 2, count[revue.EventMemberAdded])
	require.Equal(t, 1, count[revue.EventMemberRemoved])
	require.Equal(t, 4, count[revue.EventTokenRevoked])

	// The same name is another member from then on.
	between := newToken(t, desk, revue.TokenAgent, "Bea")
	later := newToken(t, desk, revue.TokenHuman, "Bea")
	require.NotEqual(t, one.Member, later.Member)
	lets(t, desk, later, true)
	lets(t, desk, one, false)
	members, err := admin.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 3)
	require.Equal(t, "Ann", members[0].Name)
	_, err = admin.RemoveMember(t.Context(), one.Member)
	require.NoError(t, err)
	lets(t, desk, later, true)
	lets(t, desk, between, true)

	// Of another workspace, and of none.
	_, err = admin.RemoveMember(t.Context(), "mem_nobody")
	require.ErrorIs(t, err, revue.ErrNotFound)
	_, err = admin.CreateWorkspace(t.Context(), "other")
	require.NoError(t, err)
	elsewhere := revue.Human{Workspace: "other", ID: "x", Name: "x", Via: "cli"}
	_, err = desk.Admin(elsewhere).RemoveMember(t.Context(), ann.Member)
	require.ErrorIs(t, err, revue.ErrNotFound)
	theirs, err := desk.Admin(elsewhere).Members(t.Context())
	require.NoError(t, err)
	require.Empty(t, theirs)
	lets(t, desk, ann, true)
}

// journalIn reads the journal of a workspace.
func journalIn(t *testing.T, s revue.Store, workspace string) (all []revue.Event) {
	t.Helper()
	require.NoError(t, s.View(t.Context(), workspace, func(tx revue.Tx) (err error) {
		all, err = tx.Events(0, 10_000)
		return err
	}))
	require.NoError(t, revue.VerifyChain(revue.Event{}, all))
	return all
}

// A removal at any step of the making of a token leaves no token of the one who was removed.
func TestRemoveMemberAtEveryStep(t *testing.T) {
	everyStep(t, func(t *testing.T, raw revue.Store, s *stepStore) {
		other := newPlane(t, raw)
		first := newToken(t, other, revue.TokenHuman, "Bea")
		s.arm(func() {
			_, err := other.Admin(local).RemoveMember(t.Context(), first.Member)
			require.NoError(t, err)
		})
		made, err := plane(s).Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: "Bea"})
		if err != nil {
			require.ErrorIs(t, err, revue.ErrConflict)
			require.Empty(t, made.Secret)
		}
		if s.acted().IsZero() {
			return // it only counts the steps
		}
		lets(t, other, first, false)
		members, err := other.Admin(local).Members(t.Context())
		require.NoError(t, err)
		removed := map[string]bool{}
		for _, m := range members {
			removed[m.ID] = !m.RemovedAt.IsZero()
		}
		all, err := other.Admin(local).Tokens(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 2)
		for _, tok := range all {
			require.Equal(t, removed[tok.Member], !tok.RevokedAt.IsZero(), "%+v", tok)
		}
		if made.Secret != "" {
			lets(t, other, made, !removed[made.Member])
		}
	})
}

// Tokens that are made at the same time for a new name are those of one member.
func TestMemberIsMadeOnce(t *testing.T) {
	store := memstore.New(nil)
	newPlane(t, store)
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			tok, err := plane(store).Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: "Bea"})
			if err != nil {
				t.Error(err)
			}
			ids[i] = tok.Member
		})
	}
	wg.Wait()
	require.Len(t, slices.Compact(ids), 1)
}

// A removal that is cut short is completed by the next one.
func TestRemoveMemberCutShort(t *testing.T) {
	store := &counting{Store: memstore.New(nil)}
	desk := newPlane(t, store)
	var tokens []revue.Token
	for range 3 {
		tokens = append(tokens, newToken(t, desk, revue.TokenHuman, "Bea"))
	}
	for fail := 1; ; fail++ {
		store.updates, store.fail = 0, fail
		_, err := desk.Admin(local).RemoveMember(t.Context(), tokens[0].Member)
		store.fail = 0
		if err == nil {
			require.Greater(t, fail, 3)
			break
		}
		require.ErrorContains(t, err, "killed")
		if fail > 1 { // who is marked gets in no more, whatever is still to be revoked
			for _, tok := range tokens {
				lets(t, desk, tok, false)
			}
		}
	}
	for _, tok := range tokens {
		lets(t, desk, tok, false)
	}
}

// uses counts what is written of the use of tokens.
type uses struct {
	revue.Store
	mu   sync.Mutex
	n    int
	fail bool
}

func (u *uses) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	u.mu.Lock()
	u.n++
	fail := u.fail
	u.mu.Unlock()
	if fail {
		return errors.New("disk full")
	}
	return u.Store.Update(ctx, ws, fn)
}

func (u *uses) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n
}

func TestTokenLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(90*time.Second + 123*time.Millisecond) //nolint:forbidigo // fake time
		store := &uses{Store: memstore.New(nil)}
		desk := newPlane(t, store)
		tok := newToken(t, desk, revue.TokenAgent, "")
		used := func() time.Time {
			t.Helper()
			all, err := desk.Admin(local).Tokens(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 1)
			return all[0].UsedAt
		}
		require.True(t, used().IsZero())
		events := len(journalIn(t, store, "w"))

		// Nothing is written for what lets nobody in.
		base := store.count()
		for _, bad := range []string{"", "rvu_a_wrong", "rvu_h_" + tok.Secret[6:], tok.Secret + "x"} {
			_, err := desk.Authenticate(t.Context(), bad)
			require.ErrorIs(t, err, revue.ErrDenied)
		}
		require.Equal(t, base, store.count())
		require.True(t, used().IsZero())

		// Once a minute, whoever many come at the same time.
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := desk.Authenticate(t.Context(), tok.Secret); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, base+1, store.count())
		first := used()
		require.Equal(t, time.Now().UTC(), first)
		time.Sleep(time.Minute - time.Millisecond) //nolint:forbidigo // fake time
		lets(t, desk, tok, true)
		require.Equal(t, base+1, store.count())
		time.Sleep(time.Millisecond) //nolint:forbidigo // fake time
		lets(t, desk, tok, true)
		lets(t, desk, tok, true)
		require.Equal(t, base+2, store.count())
		require.Equal(t, first.Add(time.Minute), used())

		// What can't be written down keeps nobody out.
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		store.fail = true
		lets(t, desk, tok, true)
		store.fail = false
		require.Equal(t, first.Add(time.Minute), used())

		// It is no event, and a revoked token has no use any more.
		require.Len(t, journalIn(t, store, "w"), events)
		_, err := desk.Admin(local).RevokeToken(t.Context(), tok.ID)
		require.NoError(t, err)
		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		n := store.count()
		lets(t, desk, tok, false)
		require.Equal(t, n, store.count())
	})
}

func TestTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := newPlane(t, memstore.New(nil))
		tok, err := desk.Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Life: time.Hour})
		require.NoError(t, err)
		p, err := desk.Authenticate(t.Context(), tok.Secret)
		require.NoError(t, err)
		require.Equal(t, tok.ExpiresAt, p.ExpiresAt)
		require.Equal(t, time.Now().UTC().Add(time.Hour), p.ExpiresAt)

		// A call that is parked past the end of its credential gets nothing.
		ask := yesNo("Should the crane be painted?")
		ask.Wait = 2 * time.Hour
		failed := make(chan error, 1)
		go func() {
			_, err := desk.Decider(*p.Agent).Request(t.Context(), ask)
			failed <- err
		}()
		synctest.Wait()
		time.Sleep(time.Hour - time.Microsecond) //nolint:forbidigo // fake time
		lets(t, desk, tok, true)
		time.Sleep(time.Microsecond) //nolint:forbidigo // fake time
		lets(t, desk, tok, false)
		answer(t, desk, onlyLot(t, desk).ID, revue.Answer{Value: "yes"})
		require.ErrorIs(t, <-failed, revue.ErrDenied)

		for _, life := range []time.Duration{-1, -time.Hour} {
			_, err := desk.Admin(local).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Life: life})
			require.ErrorIs(t, err, revue.ErrInvalid, fmt.Sprint(life))
		}
	})
}
