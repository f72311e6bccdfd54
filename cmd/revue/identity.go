package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// localAgent is the agent at the other end of stdio. No credential tells one from another: they share one.
func (a *app) localAgent(ctx context.Context) (revue.Agent, error) {
	thread, _, err := a.thread()
	return revue.Agent{
		Workspace:  a.workspaceName(),
		Credential: "local",
		Name:       a.agentName(),
		Thread:     thread,
		Repo:       a.repo(ctx),
		Via:        "mcp stdio",
		AnyThread:  true,
	}, err
}

// remoteAgent is the agent at the other end of stdio, for a plane elsewhere. Who it is the token says.
func (a *app) remoteAgent(ctx context.Context) (revue.Agent, error) {
	thread, made, err := a.thread()
	return revue.Agent{Workspace: a.pinned(), Thread: thread, Repo: a.repo(ctx), Via: "mcp stdio", AnyThread: made}, err
}

func (a *app) agentName() string {
	name := a.userName()
	if host, err := os.Hostname(); err == nil && host != "" {
		name += "@" + host
	}
	return name
}

// maxThread bounds the name of a thread, in bytes: it travels in a header.
const maxThread = 200

// thread is the answer route: what the environment pins, else one made up for this process. One that no plane would
// take is an error now, and not in each call.
func (a *app) thread() (thread string, made bool, err error) {
	for _, key := range []string{"REVUE_THREAD_ID", "REVUE_WORKSTREAM_ID"} {
		t := strings.TrimSpace(a.env(key))
		switch {
		case t == "":
		case len(t) > maxThread:
			return "", false, misuse(fmt.Sprintf("%s has %d bytes, and %d are the most: give a shorter one", key, len(t), maxThread))
		case !utf8.ValidString(t), strings.ContainsFunc(t, func(r rune) bool { return !unicode.IsGraphic(r) }):
			return "", false, misuse(key + " has a control character in it, or is no UTF-8: give plain text")
		default:
			return t, false, nil
		}
	}
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "stdio-" + hex.EncodeToString(b[:]), true, nil
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
	// The configuration alone is read: that works in work trees and submodules, and runs nothing of the repository.
	cmd := exec.CommandContext(ctx, "git", "config", "-z", "--get-regexp", `^remote\..*\.url$`)
	cmd.WaitDelay = 100 * time.Millisecond // a child of git that hangs may hold the pipe
	out, err := cmd.Output()
	if err != nil { // no git, no repository or no remote: the repo is unknown
		return ""
	}
	return revue.NormalizeRepo(remoteURL(string(out)))
}

// remoteURL picks the remote that a repository is known by: origin, else upstream, else the only one there is.
func remoteURL(config string) string {
	urls := map[string]string{}
	for entry := range strings.SplitSeq(config, "\x00") {
		key, value, ok := strings.Cut(entry, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "remote."), ".url")
		if _, known := urls[name]; ok && !known { // git fetches from the first of several
			urls[name] = value
		}
	}
	for _, name := range []string{"origin", "upstream"} {
		if u, ok := urls[name]; ok {
			return u
		}
	}
	if len(urls) == 1 {
		for _, u := range urls {
			return u
		}
	}
	return ""
}
