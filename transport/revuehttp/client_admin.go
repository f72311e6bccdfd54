package revuehttp

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/revuehq/revue"
)

// Admin returns what the human whose token the client has may do to the plane. Workspaces and keys are made on the
// machine of the plane alone: here that is ErrDenied, and nothing is sent.
func (c *Client) Admin() revue.Admin { return clientAdmin{c} }

type clientAdmin struct{ client *Client }

func (a clientAdmin) CreateWorkspace(context.Context, string) (revue.Workspace, error) {
	return revue.Workspace{}, &revue.Error{Code: revue.CodeDenied, Message: "workspaces are made on the machine of the plane"}
}

func (a clientAdmin) RotateKey(context.Context) (revue.PublicKey, error) {
	return revue.PublicKey{}, &revue.Error{Code: revue.CodeDenied, Message: "keys are rotated on the machine of the plane"}
}

// maxPages bounds a list that is read to its end.
const maxPages = 10_000

// everything reads all pages of a list.
func everything[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	out := []T{}
	cursor := ""
	for range maxPages {
		got, err := page[T](ctx, c, path, url.Values{}, cursor, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, got.Items...)
		if got.NextCursor == "" {
			return out, nil
		}
		if got.NextCursor == cursor {
			break
		}
		cursor = got.NextCursor
	}
	return nil, c.link.malformed(nil)
}

func (a clientAdmin) Workspaces(ctx context.Context) ([]revue.Workspace, error) {
	return everything[revue.Workspace](ctx, a.client, "/v1/workspaces")
}

// CreateToken implements [revue.Admin]. Where the answer gets lost, the token exists and nobody has its secret: the
// conflict that a repeat then meets says so.
func (a clientAdmin) CreateToken(ctx context.Context, n revue.NewToken) (revue.Token, error) {
	bound := *a.client
	bound.workspace = cmp.Or(n.Workspace, bound.workspace) // it denies any but the token's own
	body := tokenBody{Kind: n.Kind, Owner: n.Owner, Label: n.Label}
	if n.Life != 0 {
		body.Expires = n.Life.String()
	}
	var tok revue.Token
	err := bound.writeOnce(ctx, exchange{
		method: http.MethodPost, path: "/v1/tokens", status: http.StatusCreated,
		twice: "the answer to an earlier try was lost, and with it the secret: revoke that token, and make another",
	}, body, &tok)
	return present(&bound, tok, tok.ID, err)
}

func (a clientAdmin) Tokens(ctx context.Context) ([]revue.Token, error) {
	return everything[revue.Token](ctx, a.client, "/v1/tokens")
}

func (a clientAdmin) RevokeToken(ctx context.Context, id string) (revue.Token, error) {
	path, err := below("/v1/tokens", id, "token", "")
	if err != nil {
		return revue.Token{}, err
	}
	var tok revue.Token
	err = a.client.write(ctx, http.MethodDelete, path, nil, &tok)
	return present(a.client, tok, tok.ID, err)
}

func (a clientAdmin) Members(ctx context.Context) ([]revue.Member, error) {
	return everything[revue.Member](ctx, a.client, "/v1/members")
}

func (a clientAdmin) RemoveMember(ctx context.Context, id string) (revue.Member, error) {
	path, err := below("/v1/members", id, "member", "")
	if err != nil {
		return revue.Member{}, err
	}
	var m revue.Member
	err = a.client.write(ctx, http.MethodDelete, path, nil, &m)
	return present(a.client, m, m.ID, err)
}

func (a clientAdmin) Streams(ctx context.Context) ([]revue.Stream, error) {
	return everything[revue.Stream](ctx, a.client, "/v1/streams")
}

// SetStream implements [revue.Admin].
func (a clientAdmin) SetStream(ctx context.Context, set revue.StreamSettings) (revue.Stream, error) {
	slug := strings.TrimSpace(set.Slug)
	if slug == "" {
		return revue.Stream{}, invalid("slug", "is missing; name a stream")
	}
	if _, ok := pathSlug(url.PathEscape(slug)); !ok {
		return revue.Stream{}, invalid("slug", "is no slug; use up to "+itoa(revue.MaxStream)+" of a-z, 0-9, '-', '_' and '.', as in web-app")
	}
	var s revue.Stream
	body := streamBody{Name: set.Name, Position: set.Position, Muted: set.Muted}
	err := a.client.write(ctx, http.MethodPut, "/v1/streams/"+slug, body, &s)
	return present(a.client, s, s.Slug, err)
}

// SignIn implements [revue.Admin]. Where an answer gets lost, another code is made: nobody has the first.
func (a clientAdmin) SignIn(ctx context.Context) (revue.SignIn, error) {
	var in revue.SignIn
	err := a.client.writeOnce(ctx, exchange{method: http.MethodPost, path: "/v1/sign-in", status: http.StatusCreated}, nil, &in)
	return present(a.client, in, in.Code, err)
}

func (a clientAdmin) Purge(ctx context.Context, id string) error {
	return a.client.writeOnce(ctx, exchange{method: http.MethodPost, path: "/v1/purge", status: http.StatusNoContent}, purgeBody{ID: id}, nil)
}
