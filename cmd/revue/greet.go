package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// greet prints where the server listens and where its data is, and what leads to url, where it is reached. On a workspace without tokens it makes one of each
// kind and a link into the inbox, unless told not to, and prints what a newcomer needs. A workspace that is half imported keeps the others from
// nothing: it is refused by itself, and who follows it for the metrics logs why.
func (s *serve) greet(ctx context.Context, p *plane, socket, url string) error {
	h := s.human()
	admin := p.Admin(h)
	tokens, err := admin.Tokens(ctx)
	half := notWhole(err, h.Workspace)
	if err != nil && !half {
		return err
	}
	flags := ""
	if away, err := s.elsewhere(); s.db != "" || away != "" || err != nil { // else the commands would work there
		flags = " --db " + shellWord(p.path)
	}
	if h.Workspace != defaultWorkspace {
		flags += " --workspace " + shellWord(h.Workspace)
	}
	web := "revue inbox --web" + flags
	if url != ownURL {
		web += " --url " + shellWord(url)
	}
	out := s.printer()
	if half {
		out.own("revue listens on %s\nIts data is in %s\n", socket, term.Line(p.path, 0))
		out.own("The workspace %s is not whole, and is refused until its import is completed.\n", term.Line(h.Workspace, 0))
		return out.err
	}
	if len(tokens) > 0 || s.noTokens {
		out.own("revue listens on %s\nIts data is in %s\n", socket, term.Line(p.path, 0))
		out.own("Open the inbox in a browser: %s\n", web)
		out.own("To connect an agent, make it a token: revue token create --kind agent%s\n", flags)
		return out.err
	}
	agent, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenAgent, Workspace: h.Workspace, Owner: h.Name, Label: "first agent"})
	if err != nil {
		return err
	}
	human, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenHuman, Workspace: h.Workspace, Owner: h.Name, Label: "first human"})
	if err != nil {
		return err
	}
	in, err := admin.SignIn(ctx)
	if err != nil {
		return err
	}
	snippet, err := mcpJSON(url+"/mcp", agent.Secret)
	if err != nil {
		return err
	}
	out.own("revue listens on %s\nIts data is in %s\n", socket, term.Line(p.path, 0))
	out.own("\nOpen the inbox in a browser, once and within %.0f minutes:\n\n  %s\n\nAnother link: %s\n", revue.SignInFor.Minutes(), linkOf(url, in).URL, web)
	out.own("\nagent token  %s\nhuman token  %s\n\n", agent.Secret, human.Secret)
	out.own("They are shown this once. More: revue token create --kind agent%s\n", flags)
	out.own("The human token is for the JSON API and for \"revue login\" on another machine; the commands below need none.\n\n")
	out.own("Connect an agent:\n\n  claude mcp add --transport http revue %s/mcp --header \"Authorization: Bearer %s\"\n\n", url, agent.Secret)
	out.own("or in its mcp.json:\n\n  %s\n\n", snippet)
	out.own("Or answer in another terminal:\n\n  revue inbox%s\n  revue answer%s LOT VALUE\n\n", flags, flags)
	out.own("An approval takes the VALUE approved or declined.\n")
	return out.err
}

// notWhole reports whether an error is that a workspace was imported in part. A store that does not answer names none.
func notWhole(err error, workspace string) bool {
	var e *revue.Error
	return errors.As(err, &e) && e.Code == revue.CodeUnavailable && e.ID == workspace
}

// ownWorkspace makes sure of the workspace that the server names. A database that has workspaces gets no other one
// by a typing error.
func (s *serve) ownWorkspace(ctx context.Context, p *plane, h revue.Human) error {
	all, err := p.Admin(h).Workspaces(ctx)
	if err != nil {
		return err
	}
	if len(all) > 0 && h.Workspace != defaultWorkspace {
		return p.hasWorkspace(ctx, h)
	}
	return p.ensureWorkspace(ctx, h)
}

// mcpJSON is the entry that most agents take.
func mcpJSON(url, token string) (string, error) {
	type server struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	b, err := json.Marshal(map[string]map[string]server{"mcpServers": {"revue": {
		Type: "http", URL: url, Headers: map[string]string{"Authorization": "Bearer " + token},
	}}})
	return string(b), err
}
