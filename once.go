package revue

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// callFor is how long the id of a call is remembered.
const callFor = 24 * time.Hour

// MaxCall bounds the id of a call, in bytes.
const MaxCall = 200

// callID is the id of a call as it is kept, "" for none.
func callID(call string) (string, error) {
	if call == "" {
		return "", nil
	}
	if badText(call) != "" || !shownWhole(call) || len(call) > MaxCall || blank(call) {
		return "", invalid("call", "the id of a call is up to 200 bytes of plain text")
	}
	return "call_" + textDigest(call)[:32], nil
}

// doneCall is what is kept of a write that had an id.
type doneCall struct {
	Digest string    `json:"digest"` // of the operation and what it was given
	Ref    string    `json:"ref"`    // what it was done to
	At     time.Time `json:"at"`
}

// once runs a write, unless the same call of the human has run before: then it says what that was done to. What is
// written down of the call is committed with what it did.
func (h Human) once(t *tx, op string, args any, fn func() (ref string, err error)) (ref string, before bool, err error) {
	if h.Call == "" {
		ref, err = fn()
		return ref, false, err
	}
	key, digest, err := h.call(op, args)
	if err != nil {
		return "", false, err
	}
	if ref, before, err = t.called(key, digest); before || err != nil {
		return ref, before, err
	}
	if ref, err = fn(); err != nil {
		return "", false, err
	}
	return ref, false, putJSON(t, recordCall, key, doneCall{Digest: digest, Ref: ref, At: t.now})
}

// before reports whether the call has run, and what that was done to.
func (h Human) before(t *tx, op string, args any) (ref string, before bool, err error) {
	key, digest, err := h.call(op, args)
	if err != nil {
		return "", false, err
	}
	return t.called(key, digest)
}

// call returns under which key a call that has an id is kept, and the digest of what it is given.
func (h Human) call(op string, args any) (key, digest string, err error) {
	call, err := callID(h.Call)
	if err != nil {
		return "", "", err
	}
	body, err := json.Marshal(args)
	return textDigest(h.ID + "\n" + call), textDigest(op + "\n" + string(body)), err
}

// called looks a call up.
func (t *tx) called(key, digest string) (ref string, before bool, err error) {
	var done doneCall
	err = readJSON(t, recordCall, key, &done)
	switch {
	case errors.Is(err, ErrNotFound):
		return "", false, nil
	case err == nil && done.Digest != digest:
		return "", false, &Error{Code: CodeConflict, ID: done.Ref, Message: "the id of this call was used for another one; make a new id for each call"}
	default:
		return done.Ref, err == nil, err
	}
}

// lotOnce is a write to a lot that is done once for each call.
func (r *reviewer) lotOnce(ctx context.Context, op string, args any, fn func(*tx) (Lot, error)) (Lot, error) {
	var out Lot
	err := r.update(ctx, func(t *tx) error {
		ref, before, err := r.human.once(t, op, args, func() (string, error) {
			lot, err := fn(t)
			out = lot
			return lot.ID, err
		})
		if err == nil && before {
			out, err = t.whole(ref)
		}
		return err
	})
	return out, err
}

// forgetCalls removes the ids of calls that nobody tries again.
func (d *Desk) forgetCalls(ctx context.Context, workspace string) error {
	return forget(ctx, d, workspace, recordCall, func(done doneCall, now time.Time) bool { return now.Sub(done.At) > callFor })
}

// forget removes the records of a kind that are old. It writes nothing where there are none.
func forget[T any](ctx context.Context, d *Desk, workspace, kind string, old func(value T, now time.Time) bool) error {
	var keys []string
	err := d.view(ctx, workspace, func(t *tx) error {
		keys = nil
		all, err := t.ListRecords(kind)
		if err != nil {
			return err
		}
		for _, rec := range all {
			var v T
			if err := decodeRecord(rec.Value, &v); err != nil {
				return err
			}
			if old(v, t.now) {
				keys = append(keys, rec.Key)
			}
		}
		return nil
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	return d.update(ctx, workspace, func(t *tx) error {
		for _, key := range keys {
			if err := t.DeleteRecord(kind, key); err != nil {
				return err
			}
		}
		return nil
	})
}
