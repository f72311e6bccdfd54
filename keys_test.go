package revue_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/sqlite"
)

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// signer is a key that a test signs with.
type signer struct {
	private ed25519.PrivateKey
	id      string
}

func newSigner(t testing.TB) signer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + b64(public) + `"}`))
	return signer{private, b64(sum[:])}
}

func (s signer) set() revue.KeySet {
	public, _ := s.private.Public().(ed25519.PublicKey)
	return revue.KeySet{{ID: s.id, Key: public}}
}

// sign signs any header and any body.
func (s signer) sign(header, payload string) string {
	text := b64([]byte(header)) + "." + b64([]byte(payload))
	return text + "." + b64(ed25519.Sign(s.private, []byte(text)))
}

func (s signer) header() string { return `{"alg":"EdDSA","kid":"` + s.id + `","typ":"revue-receipt"}` }

// A signed receipt and its set.
func signedReceipt(t testing.TB) (revue.Receipt, revue.KeySet) {
	t.Helper()
	desk := plane(memstore.New(nil))
	o, err := desk.Decider(agent("a")).Request(t.Context(), yesNo("Should the crane be painted?"))
	require.NoError(t, err)
	lot, err := desk.Reviewer(alice).Answer(t.Context(), o.LotID, revue.Answer{Text: "yes, \"red\" & <blue> \u2028 grün"})
	require.NoError(t, err)
	r, err := desk.Reviewer(alice).Receipt(t.Context(), lot.ReceiptID)
	require.NoError(t, err)
	keys, err := desk.Keys(t.Context())
	require.NoError(t, err)
	return r, keys
}

// Every outcome that has a receipt has it signed, and so has what a human reads.
func TestReceiptsAreSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		human := desk.Reviewer(alice)
		good := func(o revue.Outcome, want revue.OutcomeStatus) {
			t.Helper()
			require.Equal(t, want, o.Status)
			require.NotNil(t, o.Receipt)
			keys, err := desk.Keys(t.Context())
			require.NoError(t, err)
			require.NoError(t, keys.VerifyReceipt(*o.Receipt))
			read, err := human.Receipt(t.Context(), o.Receipt.ID)
			require.NoError(t, err)
			require.Equal(t, *o.Receipt, read)
			require.Equal(t, o.Answer, read.Answer)
			require.Equal(t, string(want), read.Kind)
		}
		ask := yesNo("Should the ledger be encrypted?")
		first := request(t, desk, agent("a"), ask)
		require.Nil(t, first.Receipt)
		answer(t, desk, first.LotID, revue.Answer{Value: "yes"})
		good(request(t, desk, agent("a"), ask), revue.OutcomeAnswered)
		good(request(t, desk, agent("b"), ask), revue.OutcomeReused)

		no := request(t, desk, agent("a"), yesNo("Should the crane be painted?"))
		_, err := human.Dismiss(t.Context(), no.LotID, revue.Dismissal{Reason: "no"})
		require.NoError(t, err)
		good(request(t, desk, agent("a"), yesNo("Should the crane be painted?")), revue.OutcomeDismissed)

		act := revue.Ask{Kind: revue.KindApproval, Question: "Drop it", Expires: time.Minute}
		o := request(t, desk, agent("a"), act)
		answer(t, desk, o.LotID, revue.Answer{Value: revue.Approved})
		act.Wait = time.Minute
		good(request(t, desk, agent("a"), act), revue.OutcomeAnswered)
		act.Wait = time.Hour
		good(request(t, desk, agent("a"), act), revue.OutcomeExpired)
	})
}

// Another library verifies what a plane signs, and reads its keys; and the other way round.
func TestAnotherLibraryVerifies(t *testing.T) {
	r, keys := signedReceipt(t)
	text, err := json.Marshal(keys)
	require.NoError(t, err)
	var set jose.JSONWebKeySet
	require.NoError(t, json.Unmarshal(text, &set))
	require.Len(t, set.Keys, 1)
	jws, err := jose.ParseSignedCompact(r.JWS, []jose.SignatureAlgorithm{jose.EdDSA})
	require.NoError(t, err)
	require.Equal(t, keys[0].ID, jws.Signatures[0].Header.KeyID)
	found := set.Key(jws.Signatures[0].Header.KeyID)
	require.Len(t, found, 1)
	require.True(t, found[0].Valid())
	payload, err := jws.Verify(found[0])
	require.NoError(t, err)
	var signed revue.Receipt
	require.NoError(t, json.Unmarshal(payload, &signed))
	signed.JWS = r.JWS
	require.Equal(t, r, signed)

	s := newSigner(t)
	theirs, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: s.private.Public(), KeyID: s.id, Algorithm: "EdDSA", Use: "sig"},
	}})
	require.NoError(t, err)
	var ours revue.KeySet
	require.NoError(t, json.Unmarshal(theirs, &ours))
	require.Equal(t, s.set(), ours)
}

func TestVerifyRefuses(t *testing.T) {
	r, keys := signedReceipt(t)
	part := strings.Split(r.JWS, ".")
	header, err := base64.RawURLEncoding.DecodeString(part[0])
	require.NoError(t, err)
	payload, err := base64.RawURLEncoding.DecodeString(part[1])
	require.NoError(t, err)
	got, err := keys.Verify(r.JWS)
	require.NoError(t, err)
	got.JWS = r.JWS
	require.Equal(t, r, got)

	s := newSigner(t)
	both := append(s.set(), keys...)
	good := s.sign(s.header(), string(payload))
	_, err = s.set().Verify(good)
	require.NoError(t, err, "what the cases below are made from")
	edit := func(b []byte, old, with string) string {
		out := strings.Replace(string(b), old, with, 1)
		require.NotEqual(t, string(b), out)
		return out
	}
	for name, jws := range map[string]string{
		"empty":                   "",
		"two parts":               part[0] + "." + part[1],
		"four parts":              r.JWS + ".",
		"no signature":            part[0] + "." + part[1] + ".",
		"another answer":          part[0] + "." + b64([]byte(edit(payload, "red", "rot"))) + "." + part[2],
		"another header":          b64([]byte(edit(header, "revue-receipt", "other"))) + "." + part[1] + "." + part[2],
		"the key of another":      b64([]byte(edit(header, keys[0].ID, s.id))) + "." + part[1] + "." + part[2],
		"signed by another":       newSigner(t).sign(string(header), string(payload)),
		"an unknown key":          newSigner(t).sign(newSigner(t).header(), string(payload)),
		"alg none":                b64([]byte(edit(header, "EdDSA", "none"))) + "." + part[1] + ".",
		"alg none, signed":        s.sign(edit([]byte(s.header()), "EdDSA", "none"), string(payload)),
		"alg HS256":               s.sign(edit([]byte(s.header()), "EdDSA", "HS256"), string(payload)),
		"alg eddsa":               s.sign(edit([]byte(s.header()), "EdDSA", "eddsa"), string(payload)),
		"no typ":                  s.sign(edit([]byte(s.header()), `,"typ":"revue-receipt"`, ""), string(payload)),
		"crit":                    s.sign(edit([]byte(s.header()), `"typ"`, `"crit":["exp"],"typ"`), string(payload)),
		"a key in the header":     s.sign(edit([]byte(s.header()), `"typ"`, `"jwk":{},"typ"`), string(payload)),
		"a header member twice":   s.sign(edit([]byte(s.header()), `"alg"`, `"alg":"none","alg"`), string(payload)),
		"a header in capitals":    s.sign(edit([]byte(s.header()), `"alg"`, `"ALG"`), string(payload)),
		"a header that is a list": s.sign("[]", string(payload)),
		"no JSON":                 s.sign(s.header(), "yes"),
		"null":                    s.sign(s.header(), "null"),
		"more behind":             s.sign(s.header(), string(payload)+"{}"),
		"a member twice":          s.sign(s.header(), edit(payload, `"answer"`, `"answer":"no","answer"`)),
		"an unknown member":       s.sign(s.header(), edit(payload, `"answer"`, `"approved":true,"answer"`)),
		"a receipt in a receipt":  s.sign(s.header(), edit(payload, `"answer"`, `"jws":"x","answer"`)+"x"),
		"padded":                  part[0] + "." + part[1] + "." + part[2] + "==",
		"padded body":             part[0] + "." + part[1] + "=" + "." + part[2],
		"a line end":              part[0] + "." + part[1] + "\n." + part[2],
		"a line end inside":       part[0] + "." + part[1][:4] + "\r\n" + part[1][4:] + "." + part[2],
		"white space":             " " + r.JWS,
		"the other alphabet":      part[0] + "." + part[1] + "." + strings.NewReplacer("-", "+", "_", "/").Replace(part[2]) + "+",
		"stray bits":              part[0] + "." + part[1] + "." + part[2][:len(part[2])-1] + next(part[2][len(part[2])-1]),
		"too long":                r.JWS + strings.Repeat("A", 1<<20),
		"many dots":               strings.Repeat(".", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := both.Verify(jws)
			require.ErrorIs(t, err, revue.ErrInvalid)
			_, err = revue.KeySet(nil).Verify(jws)
			require.ErrorIs(t, err, revue.ErrInvalid)
		})
	}
	for i := range len(r.JWS) {
		b := []byte(r.JWS)
		b[i] ^= 1
		_, err := keys.Verify(string(b))
		require.ErrorIs(t, err, revue.ErrInvalid, "byte %d", i)
	}
	_, err = keys[:0].Verify(r.JWS)
	require.ErrorContains(t, err, "not in the set")

	// The fields beside a good signature are those that were signed.
	require.NoError(t, keys.VerifyReceipt(r))
	for name, change := range map[string]func(*revue.Receipt){
		"answer":  func(r *revue.Receipt) { r.Answer = "no" },
		"who":     func(r *revue.Receipt) { r.DecidedBy.Name = "mallory" },
		"seq":     func(r *revue.Receipt) { r.Seq++ },
		"time":    func(r *revue.Receipt) { r.At = r.At.Add(time.Second) },
		"purged":  func(r *revue.Receipt) { r.Purged = true },
		"no sign": func(r *revue.Receipt) { r.JWS = "" },
	} {
		changed := r
		change(&changed)
		require.ErrorIs(t, keys.VerifyReceipt(changed), revue.ErrInvalid, name)
	}
}

// next is the character of the alphabet behind c.
func next(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)+1:][:1]
}

func TestKeySetParses(t *testing.T) {
	s := newSigner(t)
	text, err := json.Marshal(s.set())
	require.NoError(t, err)
	x := b64(s.set()[0].Key)
	for name, c := range map[string]struct {
		text string
		keys int // -1: an error
	}{
		"one":                {string(text), 1},
		"none":               {`{"keys":[]}`, 0},
		"an RSA key":         {`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"x"}]}`, 0},
		"for encryption":     {strings.Replace(string(text), `"sig"`, `"enc"`, 1), 0},
		"another algorithm":  {strings.Replace(string(text), `"EdDSA"`, `"HS256"`, 1), 0},
		"no use":             {fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q,"kid":%q}]}`, x, s.id), 1},
		"another kid":        {strings.Replace(string(text), s.id, newSigner(t).id, 1), -1},
		"a short key":        {strings.Replace(string(text), x, x[:40], 1), -1},
		"padded":             {strings.Replace(string(text), x, x+"=", 1), -1},
		"a line end":         {strings.Replace(string(text), x, x[:3]+`\n`+x[3:], 1), -1},
		"no list":            {`{"keys":{}}`, -1},
		"a list":             {`[]`, -1},
		"text":               {`"keys"`, -1},
		"a key that is null": {`{"keys":[null]}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			keys := s.set()
			err := json.Unmarshal([]byte(c.text), &keys)
			if c.keys < 0 {
				require.ErrorIs(t, err, revue.ErrInvalid)
				require.Equal(t, s.set(), keys, "a set that can't be read changed the one there was")
				return
			}
			require.NoError(t, err)
			require.Len(t, keys, c.keys)
		})
	}
}

// What was signed before a rotation verifies after it, and every desk on the store signs with the new key within
// a minute.
func TestRotateKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		a, b := plane(store), plane(store)
		o := request(t, a, agent("a"), yesNo("Should the crane be painted?"))
		lot := answer(t, a, o.LotID, revue.Answer{Value: "yes"})
		read := func(d *revue.Desk) revue.Receipt {
			t.Helper()
			r, err := d.Reviewer(alice).Receipt(t.Context(), lot.ReceiptID)
			require.NoError(t, err)
			return r
		}
		old := read(a)
		require.Equal(t, old.JWS, read(b).JWS)
		_, err := b.Admin(alice).RotateKey(t.Context())
		require.ErrorIs(t, err, revue.ErrDenied)
		made, err := b.Admin(local).RotateKey(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, old.JWS, read(b).JWS)
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		require.Equal(t, read(b).JWS, read(a).JWS)
		for _, d := range []*revue.Desk{a, b, plane(store)} {
			keys, err := d.Keys(t.Context())
			require.NoError(t, err)
			require.Len(t, keys, 2)
			require.Equal(t, made.ID, keys[0].ID)
			require.NoError(t, keys.VerifyReceipt(old))
			require.NoError(t, keys.VerifyReceipt(read(a)))
		}
		// Two rotations at one instant: the last one signs.
		_, err = a.Admin(local).RotateKey(t.Context())
		require.NoError(t, err)
		last, err := a.Admin(local).RotateKey(t.Context())
		require.NoError(t, err)
		keys, err := plane(store).Keys(t.Context())
		require.NoError(t, err)
		require.Equal(t, last.ID, keys[0].ID)
	})
}

// Two planes that start at the same time on one store sign with one key.
func TestFirstKeyIsMadeOnce(t *testing.T) {
	store := memstore.New(nil)
	ids := make(chan string, 8)
	for range cap(ids) {
		go func() {
			keys, err := plane(store).Keys(t.Context())
			if err != nil || len(keys) != 1 {
				ids <- fmt.Sprint(len(keys), " keys, ", err)
				return
			}
			ids <- keys[0].ID
		}()
	}
	first := <-ids
	for range cap(ids) - 1 {
		require.Equal(t, first, <-ids)
	}
}

// Receipts of a database that is older than its keys are signed when they are read.
func TestReceiptsOfBeforeThereWasAKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "revue.db")
	from, err := os.Open(filepath.Join("storage", "sqlite", "testdata", "v1.db"))
	require.NoError(t, err)
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, errors.Join(err, from.Close(), to.Close()))
	store, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	old := revue.Receipt{
		ID: "rcpt_1", Kind: "answered", Workspace: "ws", Lot: "lot_1", Decision: "1", Answer: "Größe", Seq: 3,
		QuestionDigest: hashOf("Größe?"), DecidedBy: revue.Who{Name: "ada", Via: "cli"}, At: time.Unix(1767323045, 6000).UTC(),
	}
	require.NoError(t, store.Update(t.Context(), "ws", func(tx revue.Tx) error {
		head, err := tx.Head()
		require.NoError(t, err)
		old.JournalHash = head.Hash
		value, err := json.Marshal(old)
		require.NoError(t, err)
		return tx.PutRecord("receipt", old.ID, value)
	}))
	desk := plane(store)
	h := alice
	h.Workspace = "ws"
	r, err := desk.Reviewer(h).Receipt(t.Context(), "rcpt_1")
	require.NoError(t, err)
	keys, err := desk.Keys(t.Context())
	require.NoError(t, err)
	require.NoError(t, keys.VerifyReceipt(r))
	r.JWS = ""
	require.Equal(t, old, r)
}

func FuzzVerify(f *testing.F) {
	r, keys := signedReceipt(f)
	f.Add(r.JWS)
	s := newSigner(f)
	f.Add(s.sign(s.header(), "{}"))
	f.Add("..")
	f.Add("e30.e30.e30")
	f.Add(strings.Replace(r.JWS, ".", "=.", 1))
	f.Fuzz(func(t *testing.T, jws string) {
		got, err := keys.Verify(jws)
		if jws == r.JWS {
			require.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, revue.ErrInvalid)
		require.Equal(t, revue.Receipt{}, got)
		require.NotContains(t, revue.MessageOf(err), "%!")
	})
}

func FuzzKeySet(f *testing.F) {
	text, err := json.Marshal(newSigner(f).set())
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"","kid":""}]}`))
	f.Add([]byte(`{"keys":[{"kty":"RSA"}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var keys revue.KeySet
		if json.Unmarshal(b, &keys) != nil {
			require.Nil(t, keys)
			return
		}
		again, err := json.Marshal(keys)
		require.NoError(t, err)
		var twice revue.KeySet
		require.NoError(t, json.Unmarshal(again, &twice))
		require.Len(t, twice, len(keys))
		for i, k := range keys {
			require.Equal(t, k, twice[i])
			require.Len(t, k.Key, ed25519.PublicKeySize)
		}
	})
}

// hung is a store in which something never ends by itself.
type hung struct {
	revue.Store
	views, updates atomic.Bool
}

func (h *hung) View(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if h.views.Load() && ws == "" {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Store.View(ctx, ws, fn)
}

func (h *hung) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if h.updates.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Store.Update(ctx, ws, fn)
}

// Keys that can't be read anew are used on: outcomes are neither late nor unsigned for it, to a caller who leaves too.
func TestKeysOutlastTheirStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hung{Store: memstore.New(nil)}
		desk := plane(store)
		o := request(t, desk, agent("a"), yesNo("Which of the cranes is painted?"))
		answer(t, desk, o.LotID, revue.Answer{Value: "yes"})
		o = request(t, desk, agent("a"), yesNo("Which of the cranes is painted?"))
		keys, err := desk.Keys(t.Context())
		require.NoError(t, err)
		require.NoError(t, keys.VerifyReceipt(*o.Receipt))

		time.Sleep(2 * time.Minute) //nolint:forbidigo // fake time
		store.views.Store(true)
		began := time.Now()
		o = request(t, desk, agent("a"), yesNo("Which of the cranes is painted?"))
		require.NoError(t, keys.VerifyReceipt(*o.Receipt))
		require.LessOrEqual(t, time.Since(began), 3*time.Second)
		again, err := desk.Keys(t.Context())
		require.NoError(t, err)
		require.Equal(t, keys, again)
	})
}

// Whoever has a good token is let in while the store is busy writing.
func TestAuthenticateWhileTheStoreIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hung{Store: memstore.New(nil)}
		desk := newPlane(t, store)
		tok := newToken(t, desk, revue.TokenHuman, "Ann")
		store.updates.Store(true)
		began := time.Now()
		_, err := desk.Authenticate(t.Context(), tok.Secret)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
	})
}
