package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// localAgent is the agent at the other end of stdio. No credential tells one from another: they share one.
func (a *app) localAgent(ctx context.Context) revue.Agent {
	return revue.Agent{
		Workspace:  a.workspaceName(),
		Credential: "local",
		Name:       a.agentName(),
		Thread:     a.thread(),
		Repo:       a.repo(ctx),
		Via:        "mcp stdio",
		AnyThread:  true,
	}
}

func (a *app) agentName() string {
	name := a.userName()
	if host, err := os.Hostname(); err == nil && host != "" {
		name += "@" + host
	}
	return name
}

// thread is the answer route: what the environment pins, else one for this process.
func (a *app) thread() string {
	for _, key := range []string{"REVUE_THREAD_ID", "REVUE_WORKSTREAM_ID"} {
		if t := strings.TrimSpace(a.env(key)); t != "" {
			return t
		}
	}
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "stdio-" + hex.EncodeToString(b[:])
}

// gitWait bounds the look at the git configuration: a server must not start late because of it.
const gitWait = 2 * time.Second

// repo is the repository of the working directory, "" where it is not known.
func (a *app) repo(ctx context.Context) string {
	if r := a.env("REVUE_REPO"); r != "" {
		return revue.NormalizeRepo(r)
	}
	ctx, cancel := context.WithTimeout(ctx, gitWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "config", "--get", "remote.origin.url").Output()
	if err != nil { // no git, no repository or no remote: the repo is unknown
		return ""
	}
	return revue.NormalizeRepo(string(out))
}
