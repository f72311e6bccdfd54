package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// harnesses names the variables that coding agents set for the commands they run. Variables that an editor
// sets for its human's terminal too are left out.
var harnesses = []struct {
	name string
	vars []string
}{
	{"Claude Code", []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"}},
	{"Codex", []string{"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI"}},
	{"Cursor", []string{"CURSOR_AGENT"}},
	{"OpenCode", []string{"OPENCODE"}},
	{"Gemini CLI", []string{"GEMINI_CLI"}},
	{"Antigravity", []string{"ANTIGRAVITY_AGENT"}},
	{"Qwen Code", []string{"QWEN_CODE"}},
	{"Copilot", []string{"COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"}},
	{"Crush", []string{"CRUSH"}},
	{"Cline", []string{"CLINE_ACTIVE"}},
	{"Augment", []string{"AUGMENT_AGENT"}},
	{"Amp", []string{"AMP_CURRENT_THREAD_ID"}},
	{"Goose", []string{"GOOSE_TERMINAL"}},
	{"an AI agent", []string{"AI_AGENT"}},
}

// harness says which coding agent the environment is of, and the variable that gives it away.
func harness(env func(string) string) (name, variable string) {
	for _, h := range harnesses {
		for _, v := range h.vars {
			if env(v) != "" {
				return h.name, v
			}
		}
	}
	return "", ""
}

// humanOnly wraps the body of a command that only a human may give. It keeps an honest agent from deciding
// by mistake; it is no wall against one that clears its environment.
func (a *app) humanOnly(body func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return does(func(cmd *cobra.Command, args []string) error {
		if err := a.refuseAgent(cmd.CommandPath()); err != nil {
			return err
		}
		return body(cmd, args)
	})
}

// refuseAgent is the error that an agent gets for a command of humans, nil where the environment is of none.
func (a *app) refuseAgent(command string) error {
	if name, v := harness(a.env); name != "" {
		return fmt.Errorf("%s is for humans, and the variable %s says that %s runs this: give the command to the human, to run in a terminal of their own",
			command, v, name)
	}
	return nil
}
