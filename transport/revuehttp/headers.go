package revuehttp

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// Bounds of headers, in bytes.
const (
	maxThread     = 200
	maxRepo       = 1 << 10
	maxHeaderWord = 100
)

// readHeaders binds the one who calls to what the headers of the request say. They route and describe; who calls, and
// for which workspace, is the token's to say.
func (c *call) readHeaders() error {
	workspace, err := header(c.header, HeaderWorkspace, maxHeaderWord)
	if err != nil {
		return err
	}
	if workspace != "" && !strings.EqualFold(workspace, c.principal.Workspace) {
		return &revue.Error{Code: revue.CodeDenied, Message: HeaderWorkspace + ": the token is for another workspace; use a token of that one, or leave the header out"}
	}
	callID := ""
	if c.route.calls {
		if callID, err = header(c.header, HeaderCall, revue.MaxCall); err != nil {
			return err
		}
	}
	via, err := header(c.header, HeaderVia, maxHeaderWord)
	if err != nil {
		return err
	}
	switch c.route.who {
	case agents:
		return c.bindAgent(via, callID)
	case members:
		c.human = *c.principal.Human
		c.human.Local, c.human.Call, c.human.Via = false, callID, "api"
		if via == "cli" {
			c.human.Via = via
		}
	}
	return nil
}

func (c *call) bindAgent(via, callID string) error {
	c.agent = *c.principal.Agent
	c.agent.Call, c.agent.Via = callID, "api"
	if via == "cli" || via == "mcp stdio" {
		c.agent.Via = via
	}
	thread, err := header(c.header, HeaderThread, maxThread)
	if err != nil {
		return err
	}
	if c.agent.Thread = thread; thread == "" {
		c.agent.Thread = c.principal.TokenID
	}
	caller, err := header(c.header, HeaderCaller, maxHeaderWord)
	if err != nil {
		return err
	}
	c.agent.AnyThread = caller == callerCredential
	repo, err := header(c.header, HeaderRepo, maxRepo)
	if err != nil {
		return err
	}
	c.agent.Repo = revue.NormalizeRepo(repo)
	return nil
}

// callerCredential is the value of HeaderCaller that means something.
const callerCredential = "credential"

// header reads a header that may be there once: "" for none.
func header(h http.Header, name string, limit int) (string, error) {
	values := h.Values(name)
	if len(values) == 0 {
		return "", nil
	}
	v := values[0]
	ok := len(values) == 1 && strings.TrimSpace(v) != "" && len(v) <= limit && utf8.ValidString(v)
	for _, r := range v {
		ok = ok && unicode.IsGraphic(r)
	}
	if !ok {
		return "", invalid(name, "must be one value of 1 to "+itoa(limit)+" bytes of UTF-8 text without control characters")
	}
	return v, nil
}
