package main

import (
	"context"
	"encoding/json"

	"github.com/revuehq/revue"
)

// greet prints where the server is. On a database without tokens it makes the workspace and one token of each
// kind, and prints what a newcomer needs.
func (s *serve) greet(ctx context.Context, p *plane, url string) error {
	h := s.human()
	if err := p.ensureWorkspace(ctx, h); err != nil {
		return err
	}
	admin := p.Admin(h)
	tokens, err := admin.Tokens(ctx)
	if err != nil {
		return err
	}
	out := &printer{w: s.stdout}
	if len(tokens) > 0 {
		out.f("revue listens on %s\n", url)
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
	snippet, err := mcpJSON(url+"/mcp", agent.Secret)
	if err != nil {
		return err
	}
	flag := ""
	if s.db != "" {
		flag = " --db " + shellWord(s.db)
	}
	out.f("revue listens on %s\nIts data is in %s\n\n", url, p.path)
	out.f("agent token  %s\nhuman token  %s\n\nThey are shown this once. \"revue token create%s\" makes more.\n\n", agent.Secret, human.Secret, flag)
	out.f("Connect an agent:\n\n  claude mcp add --transport http revue %s/mcp --header \"Authorization: Bearer %s\"\n\n", url, agent.Secret)
	out.f("or in its mcp.json:\n\n  %s\n\n", snippet)
	out.f("Answer in another terminal:\n\n  revue inbox%s\n  revue answer%s LOT VALUE\n", flag, flag)
	return out.err
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
