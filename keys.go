package revue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// PublicKey is the public part of a key that a plane signs receipts with.
type PublicKey struct {
	ID        string // its JWK thumbprint (RFC 7638), the "kid" of what it signed
	Key       ed25519.PublicKey
	CreatedAt time.Time // zero in a set that was parsed
}

// KeySet is the public keys of a plane, the newest first. Its JSON form is a JWK Set (RFC 7517).
type KeySet []PublicKey

// jwk is an Ed25519 public key as RFC 8037 writes it.
type jwk struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

type jwks struct {
	Keys []jwk `json:"keys"`
}

const (
	jwsAlgorithm = "EdDSA"
	jwsType      = "revue-receipt"
	// maxJWS bounds what is verified: a receipt has an answer of MaxAnswer bytes, which JSON may write six times
	// as long, and base64 a third longer.
	maxJWS = 10 * MaxAnswer
)

// MarshalJSON returns the JWK Set.
func (s KeySet) MarshalJSON() ([]byte, error) {
	out := jwks{Keys: make([]jwk, len(s))}
	for i, k := range s {
		out.Keys[i] = jwk{KeyType: "OKP", Curve: "Ed25519", X: b64(k.Key), ID: k.ID, Use: "sig", Algorithm: jwsAlgorithm}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads a JWK Set. Keys of other kinds are left out; one of this kind that is malformed, or whose kid is
// not its thumbprint, is an error.
func (s *KeySet) UnmarshalJSON(b []byte) error {
	var in jwks
	if err := json.Unmarshal(b, &in); err != nil {
		return &Error{Code: CodeInvalid, Message: "key set: is no JSON Web Key Set; save what /.well-known/jwks.json says", Err: err}
	}
	out := KeySet{}
	for _, k := range in.Keys {
		if k.KeyType != "OKP" || k.Curve != "Ed25519" || k.Use != "" && k.Use != "sig" || k.Algorithm != "" && k.Algorithm != jwsAlgorithm {
			continue
		}
		x, err := unb64(k.X)
		if err != nil || len(x) != ed25519.PublicKeySize || k.ID != thumbprint(x) {
			return &Error{Code: CodeInvalid, Message: "key set: key " + clip(k.ID, 80) + " is malformed; save what /.well-known/jwks.json says", Err: err}
		}
		out = append(out, PublicKey{ID: k.ID, Key: x})
	}
	*s = out
	return nil
}

// thumbprint is the JWK thumbprint of a key: SHA-256 over its required members in their order (RFC 7638 §3, RFC 8037 §2).
func thumbprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + b64(key) + `"}`))
	return b64(sum[:])
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// unb64 decodes what has one spelling: no padding, no line ends, no stray bits.
func unb64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("line ends in base64")
	}
	return base64.RawURLEncoding.Strict().DecodeString(s)
}

type jwsHeader struct {
	Algorithm string   `json:"alg"`
	KeyID     string   `json:"kid"`
	Type      string   `json:"typ"`
	Critical  []string `json:"crit,omitempty"`
}

// Verify checks a receipt in the compact form of [Receipt].JWS against the set, and returns what was signed. It needs
// nothing else: no store, no network. A receipt that was changed, or signed by a key that is not in the set, is ErrInvalid.
func (s KeySet) Verify(jws string) (Receipt, error) {
	bad := func(why string, err error) (Receipt, error) {
		return Receipt{}, &Error{Code: CodeInvalid, Message: "receipt: " + why, Err: err}
	}
	if len(jws) > maxJWS {
		return bad("is too long to be one", nil)
	}
	parts := strings.Split(jws, ".")
	if len(parts) != 3 {
		return bad("is not signed: it has no three parts with a dot between", nil)
	}
	var raw [3][]byte
	for i, p := range parts {
		var err error
		if raw[i], err = unb64(p); err != nil {
			return bad("is malformed", err)
		}
	}
	var h jwsHeader
	if err := json.Unmarshal(raw[0], &h); err != nil {
		return bad("is malformed", err)
	}
	if again, err := json.Marshal(h); err != nil || !bytes.Equal(again, raw[0]) {
		return bad("is not one of a revue plane: its header has what none has", err)
	}
	if h.Algorithm != jwsAlgorithm || h.Type != jwsType || len(h.Critical) > 0 {
		return bad("is not one of a revue plane", nil)
	}
	i := slices.IndexFunc(s, func(k PublicKey) bool { return k.ID == h.KeyID })
	if i < 0 {
		return bad("was signed by a key that is not in the set; save the key set of its plane", nil)
	}
	if !ed25519.Verify(s[i].Key, []byte(parts[0]+"."+parts[1]), raw[2]) {
		return bad("does not verify: it was changed, or it was signed by another", nil)
	}
	var r Receipt
	if err := json.Unmarshal(raw[1], &r); err != nil {
		return bad("is malformed", err)
	}
	// What is returned is all that was signed: no member twice, none that this program does not know.
	if again, err := json.Marshal(r); err != nil || !bytes.Equal(again, raw[1]) {
		return bad("has what this program does not know; take a newer revue", err)
	}
	return r, nil
}

// VerifyReceipt checks a receipt whole: its signature, and that its fields are those that were signed.
func (s KeySet) VerifyReceipt(r Receipt) error {
	signed, err := s.Verify(r.JWS)
	if err != nil {
		return err
	}
	signed.JWS = ""
	r.JWS = ""
	want, err := json.Marshal(signed)
	if err != nil {
		return err
	}
	got, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if !bytes.Equal(want, got) {
		return &Error{Code: CodeInvalid, ID: r.ID, Message: "receipt: its fields are not those that were signed"}
	}
	return nil
}

// signingKey is a key as it is kept, in workspace "".
type signingKey struct {
	ID        string    `json:"id"`
	Seed      []byte    `json:"seed"`
	CreatedAt time.Time `json:"createdAt"`
}

// public returns the public part.
func (k signingKey) public() PublicKey {
	key, _ := ed25519.NewKeyFromSeed(k.Seed).Public().(ed25519.PublicKey)
	return PublicKey{ID: k.ID, Key: key, CreatedAt: k.CreatedAt}
}

// sign returns the receipt with its signature.
func (k signingKey) sign(r Receipt) (Receipt, error) {
	r.JWS = ""
	header, err := json.Marshal(jwsHeader{Algorithm: jwsAlgorithm, KeyID: k.ID, Type: jwsType})
	if err != nil {
		return r, err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	signed := b64(header) + "." + b64(body)
	r.JWS = signed + "." + b64(ed25519.Sign(ed25519.NewKeyFromSeed(k.Seed), []byte(signed)))
	return r, nil
}

// keyring is the signing keys of the store as they were read. It is never changed.
type keyring struct {
	keys []signingKey // the newest first, never empty
	at   time.Time    // when they were read
}

// How long keys are used before the store is asked again whether there are others. What verifies is read more often
// than what signs: a process that signs with a newer key is then known to all before it matters.
const (
	signWithin = time.Minute
	showWithin = time.Second
	keysWait   = 2 * time.Second // the longest that anybody waits for them
)

// signingKeys returns the keys of the plane, the newest first, read no longer ago than within, and makes the first.
func (d *Desk) signingKeys(ctx context.Context, within time.Duration) ([]signingKey, error) {
	if have := d.keys.Load(); have != nil && time.Since(have.at) < within {
		return have.keys, nil
	}
	// Not bound to the caller, who may leave: a receipt on its way is signed all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysWait)
	defer cancel()
	var found []signingKey
	err := d.view(ctx, "", func(t *tx) (err error) {
		found, err = listJSON[signingKey](t, recordKey)
		return err
	})
	if err == nil && len(found) == 0 {
		found, err = d.makeKey(ctx, func(have []signingKey) bool { return len(have) == 0 })
	}
	if err != nil {
		if have := d.keys.Load(); have != nil {
			return have.keys, nil // they still sign and verify
		}
		return nil, err
	}
	return d.keepKeys(found), nil
}

// keepKeys keeps what was read, in its order.
func (d *Desk) keepKeys(found []signingKey) []signingKey {
	slices.SortFunc(found, func(a, b signingKey) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	d.keys.Store(&keyring{keys: found, at: time.Now()})
	return found
}

// makeKey makes a key where the ones there are call for it, and returns all.
func (d *Desk) makeKey(ctx context.Context, wanted func(have []signingKey) bool) ([]signingKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, &Error{Code: CodeInternal, Message: "a signing key can't be made", Err: err}
	}
	made := signingKey{ID: thumbprint(public), Seed: private.Seed()}
	var all []signingKey
	err = d.update(ctx, "", func(t *tx) error {
		have, err := listJSON[signingKey](t, recordKey)
		if err != nil {
			return err
		}
		all = have
		if !wanted(have) || slices.ContainsFunc(have, func(k signingKey) bool { return k.ID == made.ID }) {
			return nil
		}
		made.CreatedAt = t.now
		for _, k := range have { // the newest is the one that signs
			if !k.CreatedAt.Before(made.CreatedAt) {
				made.CreatedAt = k.CreatedAt.Add(time.Microsecond)
			}
		}
		all = append(all, made)
		return putJSON(t, recordKey, made.ID, made)
	})
	return all, err
}

// Keys implements [Plane].
func (d *Desk) Keys(ctx context.Context) (KeySet, error) {
	keys, err := d.signingKeys(ctx, showWithin)
	if err != nil {
		return nil, err
	}
	out := make(KeySet, len(keys))
	for i, k := range keys {
		out[i] = k.public()
	}
	return out, nil
}

// signed returns a receipt with the plane's signature. Where the key is out of reach the receipt goes without: no
// outcome waits for it, and it can be read again.
func (d *Desk) signed(ctx context.Context, r Receipt) Receipt {
	keys, err := d.signingKeys(ctx, signWithin)
	if err == nil {
		var out Receipt
		if out, err = keys[0].sign(r); err == nil {
			return out
		}
	}
	d.log.ErrorContext(ctx, "a receipt can't be signed; it is returned without a signature", "receipt", r.ID, "err", err)
	return r
}

// signedOutcome signs the receipt of an outcome.
func (d *Desk) signedOutcome(ctx context.Context, o Outcome) Outcome {
	if o.Receipt != nil {
		r := d.signed(ctx, *o.Receipt)
		o.Receipt = &r
	}
	return o
}

// RotateKey implements [Admin].
func (a *admin) RotateKey(ctx context.Context) (PublicKey, error) {
	if !a.human.Local {
		return PublicKey{}, &Error{Code: CodeDenied, Message: "keys are rotated on the machine of the plane"}
	}
	all, err := a.desk.makeKey(ctx, func([]signingKey) bool { return true })
	if err != nil {
		return PublicKey{}, err
	}
	return a.desk.keepKeys(all)[0].public(), nil
}
