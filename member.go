package revue

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Members implements [Admin].
func (a *admin) Members(ctx context.Context) ([]Member, error) {
	workspace, err := a.in("")
	if err != nil {
		return nil, err
	}
	var out []Member
	err = a.desk.view(ctx, workspace, func(t *tx) (err error) {
		out, err = listJSON[Member](t, recordMember)
		return err
	})
	slices.SortFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// member returns the member of a name, and makes one where there is none and make says so.
func (a *admin) member(ctx context.Context, workspace, name string, makeOne bool) (Member, error) {
	var out Member
	find := func(t *tx) (bool, error) {
		all, err := listJSON[Member](t, recordMember)
		i := slices.IndexFunc(all, func(m Member) bool { return m.Name == name && m.RemovedAt.IsZero() })
		if i < 0 {
			out = Member{}
			return false, err
		}
		out = all[i]
		return true, err
	}
	found := false
	err := a.desk.view(ctx, workspace, func(t *tx) (err error) {
		found, err = find(t)
		return err
	})
	if err != nil || found || !makeOne {
		return out, err
	}
	err = a.desk.update(ctx, workspace, func(t *tx) error {
		if found, err := find(t); err != nil || found {
			return err
		}
		out = Member{ID: t.ids.new("mem_"), Name: name, CreatedAt: t.now}
		if _, err := t.append(Event{Kind: EventMemberAdded, Ref: out.ID, Actor: a.human.ID, Via: a.human.Via, Digest: out.digest()}); err != nil {
			return err
		}
		return putJSON(t, recordMember, out.ID, out)
	})
	return out, err
}

// RemoveMember implements [Admin]. The member is marked first: a token made meanwhile sees that and ends. Tokens that
// bear the member's name and were made before there was the member end too.
func (a *admin) RemoveMember(ctx context.Context, id string) (Member, error) {
	workspace, err := a.in("")
	if err != nil {
		return Member{}, err
	}
	var out Member
	err = a.desk.update(ctx, workspace, func(t *tx) error {
		out = Member{}
		if err := readJSON(t, recordMember, id, &out); err != nil {
			return notFound(err, id, "member")
		}
		if !out.RemovedAt.IsZero() {
			return nil
		}
		out.RemovedAt = t.now
		if _, err := t.append(Event{Kind: EventMemberRemoved, Ref: id, Actor: a.human.ID, Via: a.human.Via}); err != nil {
			return err
		}
		return putJSON(t, recordMember, id, out)
	})
	if err != nil {
		return Member{}, err
	}
	tokens, err := a.Tokens(ctx)
	for _, tok := range tokens {
		named := tok.Member == "" && tok.Under == "" && tok.Owner == out.Name && !tok.CreatedAt.After(out.RemovedAt)
		if err == nil && (tok.Member == id || named) && tok.RevokedAt.IsZero() {
			_, err = a.RevokeToken(ctx, tok.ID)
		}
	}
	return out, err
}

// removed reports whether a member is there no more.
func (d *Desk) removed(ctx context.Context, workspace, id string) (bool, error) {
	var m Member
	err := d.view(ctx, workspace, func(t *tx) error { return readJSON(t, recordMember, id, &m) })
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return !m.RemovedAt.IsZero(), err
}

// belongs reports ErrDenied for a token of a member who is there no more: the revocations of a removal that was cut
// short are still to come.
func (d *Desk) belongs(ctx context.Context, tok Token) error {
	if tok.Member == "" {
		return nil
	}
	gone, err := d.removed(ctx, tok.Workspace, tok.Member)
	if err == nil && gone {
		err = errDenied()
	}
	return err
}
