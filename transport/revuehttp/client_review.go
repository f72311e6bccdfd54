package revuehttp

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/revuehq/revue"
)

// page reads one page of a list.
func page[T any](ctx context.Context, c *Client, path string, query url.Values, cursor string, limit int) (revue.Page[T], error) {
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var out revue.Page[T]
	err := c.get(ctx, path, query, &out)
	return out, err
}

// present checks that what came back is a thing at all.
func present[T any](c *Client, got T, id string, err error) (T, error) {
	if err == nil && id == "" {
		err = c.link.malformed(nil)
	}
	if err != nil {
		var none T
		return none, err
	}
	return got, nil
}

// Lots implements [revue.Reviewer].
func (c *Client) Lots(ctx context.Context, f revue.LotFilter) (revue.Page[revue.Lot], error) {
	q := url.Values{}
	for name, v := range map[string]string{"status": string(f.Status), "kind": string(f.Kind), "stream": f.Stream} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Newest {
		q.Set("newest", "true")
	}
	return page[revue.Lot](ctx, c, "/v1/lots", q, f.Cursor, f.Limit)
}

// Lot implements [revue.Reviewer].
func (c *Client) Lot(ctx context.Context, id string) (revue.Lot, error) {
	path, err := below("/v1/lots", id, "lot", "")
	if err != nil {
		return revue.Lot{}, err
	}
	var lot revue.Lot
	err = c.get(ctx, path, nil, &lot)
	return present(c, lot, lot.ID, err)
}

// change writes to a lot and returns what became of it.
func (c *Client) change(ctx context.Context, id, verb string, body any) (revue.Lot, error) {
	path, err := below("/v1/lots", id, "lot", verb)
	if err != nil {
		return revue.Lot{}, err
	}
	var lot revue.Lot
	err = c.write(ctx, http.MethodPost, path, body, &lot)
	return present(c, lot, lot.ID, err)
}

// Answer implements [revue.Reviewer].
func (c *Client) Answer(ctx context.Context, lotID string, a revue.Answer) (revue.Lot, error) {
	return c.change(ctx, lotID, "/answer", a)
}

// Dismiss implements [revue.Reviewer].
func (c *Client) Dismiss(ctx context.Context, lotID string, d revue.Dismissal) (revue.Lot, error) {
	return c.change(ctx, lotID, "/dismiss", d)
}

// Reopen implements [revue.Reviewer].
func (c *Client) Reopen(ctx context.Context, lotID string) (revue.Lot, error) {
	return c.change(ctx, lotID, "/reopen", nil)
}

// Decisions implements [revue.Reviewer].
func (c *Client) Decisions(ctx context.Context, f revue.DecisionFilter) (revue.Page[revue.Decision], error) {
	q := url.Values{}
	if f.Text != "" {
		q.Set("q", f.Text)
	}
	for _, concept := range f.Concepts {
		q.Add("concept", concept)
	}
	return page[revue.Decision](ctx, c, "/v1/decisions", q, f.Cursor, f.Limit)
}

// Why implements [revue.Reviewer].
func (c *Client) Why(ctx context.Context, decisionID string) (revue.Explanation, error) {
	path, err := below("/v1/decisions", decisionID, "decision", "")
	if err != nil {
		return revue.Explanation{}, err
	}
	var why revue.Explanation
	err = c.get(ctx, path, nil, &why)
	return present(c, why, why.Decision.ID, err)
}

// Correct implements [revue.Reviewer].
func (c *Client) Correct(ctx context.Context, cor revue.Correction) (revue.Decision, error) {
	path, err := below("/v1/decisions", cor.DecisionID, "decision", "/corrections")
	if err != nil {
		return revue.Decision{}, err
	}
	body := correctionBody{Verb: cor.Verb, Note: cor.Note, Undoes: cor.Undoes}
	switch {
	case cor.After != 0 && !cor.Expires.IsZero(): // there is one field for the two
		return revue.Decision{}, invalid("expires", "give a duration or a date, not both")
	case cor.After != 0:
		body.Expires = cor.After.String()
	case !cor.Expires.IsZero():
		body.Expires = cor.Expires.UTC().Format(time.RFC3339Nano)
	}
	var dec revue.Decision
	err = c.write(ctx, http.MethodPost, path, body, &dec)
	return present(c, dec, dec.ID, err)
}

// Contexts implements [revue.Reviewer].
func (c *Client) Contexts(ctx context.Context, f revue.ContextFilter) (revue.Page[revue.ContextItem], error) {
	return page[revue.ContextItem](ctx, c, "/v1/context", url.Values{}, f.Cursor, f.Limit)
}

// RemoveContext implements [revue.Reviewer].
func (c *Client) RemoveContext(ctx context.Context, id string) error {
	path, err := below("/v1/context", id, "shared note", "")
	if err != nil {
		return err
	}
	return c.writeOnce(ctx, exchange{method: http.MethodDelete, path: path, status: http.StatusNoContent}, nil, nil)
}

// Receipt implements [revue.Reviewer].
func (c *Client) Receipt(ctx context.Context, id string) (revue.Receipt, error) {
	path, err := below("/v1/receipts", id, "receipt", "")
	if err != nil {
		return revue.Receipt{}, err
	}
	var r revue.Receipt
	err = c.get(ctx, path, nil, &r)
	return present(c, r, r.ID, err)
}
