package revuehttp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"github.com/revuehq/revue"
)

func itoa(n int) string { return strconv.Itoa(n) }

// list is never null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// etag changes with all that is shown: of a lot the revision and the status, and what was purged.
func etag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

// items is a list without pages.
type items[T any] struct {
	Items []T `json:"items"`
}

func itemsOf[T any](l []T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return items[T]{list(l)}, nil
}

func pageOf[T any](p revue.Page[T], err error) (any, error) {
	if err != nil {
		return nil, err
	}
	p.Items = list(p.Items)
	return p, nil
}

// one returns what a method returned as an answer.
func one[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (s *Server) handleWhoami(_ context.Context, c *call) (any, error) {
	p := c.principal
	id := Identity{
		Token: p.TokenID, Kind: p.Kind, Workspace: p.Workspace, ExpiresAt: p.ExpiresAt,
		Time: time.Now().UTC().Truncate(time.Microsecond), Version: s.version,
	}
	switch {
	case p.Agent != nil:
		id.Name = p.Agent.Name
	case p.Human != nil:
		id.Name = p.Human.Name
	}
	return id, nil
}

func (s *Server) handleOpenAPI(context.Context, *call) (any, error) { return s.openapi, nil }

func (s *Server) handleKeys(ctx context.Context, _ *call) (any, error) {
	return one(s.plane.Keys(ctx))
}

func (s *Server) reviewer(c *call) revue.Reviewer { return s.plane.Reviewer(c.human) }

func (s *Server) admin(c *call) revue.Admin { return s.plane.Admin(c.human) }

func (s *Server) handleLots(ctx context.Context, c *call) (any, error) {
	page, err := s.reviewer(c).Lots(ctx, revue.LotFilter{
		Status: revue.Status(c.query.Get("status")), Kind: revue.Kind(c.query.Get("kind")), Stream: c.query.Get("stream"),
		Newest: c.query.Get("newest") == "true", Cursor: c.query.Get("cursor"), Limit: limit(c.query),
	})
	out := revue.Page[lotBody]{NextCursor: page.NextCursor}
	for _, l := range page.Items {
		out.Items = append(out.Items, lotBody{Lot: l})
	}
	return pageOf(out, err)
}

func shownLot(l revue.Lot, err error) (any, error) { return one(lotBody{Lot: l}, err) }

func (s *Server) handleLot(ctx context.Context, c *call) (any, error) {
	return shownLot(s.reviewer(c).Lot(ctx, c.id))
}

func (s *Server) handleAnswer(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*revue.Answer)
	return shownLot(s.reviewer(c).Answer(ctx, c.id, *b))
}

func (s *Server) handleDismiss(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*revue.Dismissal)
	return shownLot(s.reviewer(c).Dismiss(ctx, c.id, *b))
}

func (s *Server) handleReopen(ctx context.Context, c *call) (any, error) {
	return shownLot(s.reviewer(c).Reopen(ctx, c.id))
}

func (s *Server) handleDecisions(ctx context.Context, c *call) (any, error) {
	f := revue.DecisionFilter{
		Text: c.query.Get("q"), Concepts: c.query["concept"], Cursor: c.query.Get("cursor"), Limit: limit(c.query),
	}
	if f.Text != "" && f.Cursor != "" {
		return nil, invalid("cursor", "a search has one page; leave cursor or q out")
	}
	return pageOf(s.reviewer(c).Decisions(ctx, f))
}

func (s *Server) handleWhy(ctx context.Context, c *call) (any, error) {
	why, err := s.reviewer(c).Why(ctx, c.id)
	out := explanationBody{Explanation: why}
	if why.Lot != nil {
		out.Lot = &lotBody{Lot: *why.Lot}
	}
	return one(out, err)
}

func (s *Server) handleCorrect(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*correctionBody)
	cor := revue.Correction{DecisionID: c.id, Verb: b.Verb, Note: b.Note, Undoes: b.Undoes}
	if b.Expires != "" {
		var err error
		if cor.After, cor.Expires, err = parseWhen("expires", b.Expires); err != nil {
			return nil, err
		}
	}
	return one(s.reviewer(c).Correct(ctx, cor))
}

func (s *Server) handleContexts(ctx context.Context, c *call) (any, error) {
	return pageOf(s.reviewer(c).Contexts(ctx, revue.ContextFilter{Cursor: c.query.Get("cursor"), Limit: limit(c.query)}))
}

func (s *Server) handleRemoveContext(ctx context.Context, c *call) (any, error) {
	return nil, s.reviewer(c).RemoveContext(ctx, c.id)
}

func (s *Server) handleReceipt(ctx context.Context, c *call) (any, error) {
	return one(s.reviewer(c).Receipt(ctx, c.id))
}

func (s *Server) handleStreams(ctx context.Context, c *call) (any, error) {
	return itemsOf(s.admin(c).Streams(ctx))
}

func (s *Server) handleSetStream(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*streamBody)
	return one(s.admin(c).SetStream(ctx, revue.StreamSettings{Slug: c.id, Name: b.Name, Position: b.Position, Muted: b.Muted}))
}

func (s *Server) handleSignIn(ctx context.Context, c *call) (any, error) {
	return one(s.admin(c).SignIn(ctx))
}

func (s *Server) handleWorkspaces(ctx context.Context, c *call) (any, error) {
	return itemsOf(s.admin(c).Workspaces(ctx))
}

func (s *Server) handleMembers(ctx context.Context, c *call) (any, error) {
	return itemsOf(s.admin(c).Members(ctx))
}

func (s *Server) handleRemoveMember(ctx context.Context, c *call) (any, error) {
	return one(s.admin(c).RemoveMember(ctx, c.id))
}

func (s *Server) handleTokens(ctx context.Context, c *call) (any, error) {
	return itemsOf(s.admin(c).Tokens(ctx))
}

func (s *Server) handleCreateToken(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*tokenBody)
	n := revue.NewToken{Kind: b.Kind, Owner: b.Owner, Label: b.Label}
	if b.Expires != "" {
		after, at, err := parseWhen("expires", b.Expires)
		if err != nil {
			return nil, err
		}
		if n.Life = after; !at.IsZero() {
			if n.Life = time.Until(at); n.Life <= 0 {
				return nil, invalid("expires", "is in the past")
			}
		}
	}
	return one(s.admin(c).CreateToken(ctx, n))
}

func (s *Server) handleRevokeToken(ctx context.Context, c *call) (any, error) {
	return one(s.admin(c).RevokeToken(ctx, c.id))
}

func (s *Server) handlePurge(ctx context.Context, c *call) (any, error) {
	b, _ := c.body.(*purgeBody)
	if _, ok := pathID(b.ID); !ok {
		return nil, invalid("id", "is missing or none of ours; send the id of a lot, a decision or a shared note")
	}
	return nil, s.admin(c).Purge(ctx, b.ID)
}
