package revue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Streams implements [Admin].
func (a *admin) Streams(ctx context.Context) ([]Stream, error) {
	workspace, err := a.in("")
	if err != nil {
		return nil, err
	}
	var out []Stream
	err = a.desk.view(ctx, workspace, func(t *tx) (err error) {
		out, err = listJSON[Stream](t, recordStream)
		return err
	})
	slices.SortFunc(out, func(a, b Stream) int {
		return cmp.Or(cmp.Compare(uint(a.Position-1), uint(b.Position-1)), strings.Compare(a.Slug, b.Slug)) //nolint:gosec // none, 0, comes last
	})
	return out, err
}

// Limits of the settings of streams.
const (
	maxStreamName     = 80
	maxStreamPosition = 1000
)

// SetStream implements [Admin].
func (a *admin) SetStream(ctx context.Context, s StreamSettings) (Stream, error) {
	workspace, err := a.in("")
	if err != nil {
		return Stream{}, err
	}
	if strings.TrimSpace(s.Slug) == "" {
		return Stream{}, invalid("slug", "is missing; name a stream")
	}
	if s.Slug, err = normalizeStream(s.Slug); err != nil {
		return Stream{}, invalid("slug", fmt.Sprintf("is no slug; use up to %d of a-z, 0-9, '-', '_' and '.', as in web-app", MaxStream))
	}
	if s.Name, err = text("name", strings.TrimSpace(s.Name), maxStreamName, false); err != nil {
		return Stream{}, err
	}
	if !shownWhole(s.Name) {
		return Stream{}, invalid("name", "has a control or bidirectional character; use plain text")
	}
	if s.Position < 0 || s.Position > maxStreamPosition {
		return Stream{}, invalid("position", fmt.Sprintf("is not between 0 (none) and %d", maxStreamPosition))
	}
	if err := a.listed(ctx, workspace); err != nil {
		return Stream{}, err
	}
	var out Stream
	err = a.desk.update(ctx, workspace, func(t *tx) error {
		out = Stream{CreatedAt: t.now}
		if err := readJSON(t, recordStream, s.Slug, &out); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if out.StreamSettings == s {
			return nil
		}
		out.StreamSettings, out.ChangedAt = s, t.now
		out.ChangedBy = &Who{ID: a.human.ID, Name: a.human.Name, Via: a.human.Via}
		return putJSON(t, recordStream, s.Slug, out)
	})
	return out, err
}

// muted reports whether humans want to hear nothing of a stream.
func (t *tx) muted(slug string) (bool, error) {
	var s Stream
	err := readJSON(t, recordStream, slug, &s)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return s.Muted, err
}

// ensureStream lists a stream on its first use.
func (d *Desk) ensureStream(t *tx, slug string) error {
	known := topic{t.workspace, slug}
	if _, ok := d.known.Load(known); ok {
		return nil
	}
	_, err := t.Record(recordStream, slug)
	if errors.Is(err, ErrNotFound) {
		return putJSON(t, recordStream, slug, Stream{StreamSettings: StreamSettings{Slug: slug}, CreatedAt: t.now})
	}
	if err == nil {
		d.known.Store(known, true) // it was committed by an earlier transaction
	}
	return err
}
