package harness

// All returns the harnesses, those that are used most first and the one for all others last.
func All() []Harness {
	const ms = waitSeconds * 1000
	bearer := fields{{"Authorization", "Bearer " + key}}
	args := []string{"mcp"}
	both := fields{{URLVar, atPlane}, {KeyVar, key}}
	address := fields{{URLVar, atPlane}}
	signIn := "The token is not in this file: run “revue login” with the address of the plane once, and give it the agent's token."
	plaintext := "The token stands in the file as it is: keep the file out of version control, readable by you alone."
	return []Harness{
		{
			ID: "claude-code", Name: "Claude Code", Format: JSON, Root: []string{"mcpServers"}, Reference: "${" + KeyVar + "}",
			Files: []File{{"the project", ".mcp.json"}, {"you", "~/.claude.json"}},
			Notes: []string{
				"The file is strict JSON: a comment makes it unreadable. A server of the project waits for your approval when Claude Code starts there.",
				"“alwaysLoad” puts the tools into the first prompt, instead of behind a search.",
			},
			http:  fields{{"type", "http"}, {"url", atMCP}, {"headers", bearer}, {"timeout", ms}, {"alwaysLoad", true}},
			stdio: fields{{"type", "stdio"}, {"command", "revue"}, {"args", args}, {"env", both}, {"timeout", ms}, {"alwaysLoad", true}},
		},
		{
			ID: "codex", Name: "Codex", Format: TOML, Root: []string{"mcp_servers"},
			Files: []File{{"you", "~/.codex/config.toml"}, {"the project", ".codex/config.toml"}},
			Notes: []string{
				"The file of a project is read only where you marked the project as trusted.",
				"Without the approval mode, runs that nobody watches refuse the tools. They only ask humans.",
			},
			http: fields{
				{"url", atMCP},
				{"bearer_token_env_var", KeyVar},
				{"tool_timeout_sec", waitSeconds},
				{"default_tools_approval_mode", "approve"},
			},
			stdio: fields{
				{"command", "revue"},
				{"args", args},
				{"env", address},
				{"env_vars", []string{KeyVar}},
				{"startup_timeout_sec", 20},
				{"tool_timeout_sec", waitSeconds},
				{"default_tools_approval_mode", "approve"},
			},
		},
		{
			ID: "cursor", Name: "Cursor", Format: JSON, Root: []string{"mcpServers"}, Reference: "${env:" + KeyVar + "}",
			Files: []File{{"you", "~/.cursor/mcp.json"}, {"the project", ".cursor/mcp.json"}},
			http:  fields{{"url", atMCP}, {"headers", bearer}},
			stdio: fields{{"type", "stdio"}, {"command", "revue"}, {"args", args}, {"env", both}},
		},
		{
			ID: "opencode", Name: "OpenCode", Format: JSON, Root: []string{"mcp"}, Reference: "{env:" + KeyVar + "}",
			Files: []File{{"you", "~/.config/opencode/opencode.json"}, {"the project", "opencode.json"}},
			Notes: []string{"The timeout is that of a call and of the start alike; without it a call ends after 60 s."},
			http: fields{
				{"type", "remote"},
				{"url", atMCP},
				{"headers", bearer},
				{"oauth", false},
				{"enabled", true},
				{"timeout", ms},
			},
			stdio: fields{
				{"type", "local"},
				{"command", []string{"revue", "mcp"}},
				{"environment", both},
				{"enabled", true},
				{"timeout", ms},
			},
		},
		{
			ID: "vscode", Name: "VS Code", Format: JSON, Root: []string{"servers"}, Reference: "${input:revue-key}",
			Files: []File{{"the project", ".vscode/mcp.json"}, {"you", "mcp.json of the profile (“MCP: Open User Configuration”)"}},
			Notes: []string{"VS Code asks for the token once and keeps it in its secret storage."},
			first: fields{{"inputs", []fields{{
				{"type", "promptString"}, {"id", "revue-key"}, {"description", "Agent token of revue"}, {"password", true},
			}}}},
			http:  fields{{"type", "http"}, {"url", atMCP}, {"headers", bearer}},
			stdio: fields{{"type", "stdio"}, {"command", "revue"}, {"args", args}, {"env", both}},
		},
		{
			ID: "gemini", Name: "Gemini CLI", Format: JSON, Root: []string{"mcpServers"}, Reference: "${" + KeyVar + "}",
			Files: []File{{"you", "~/.gemini/settings.json"}, {"the project", ".gemini/settings.json"}},
			Notes: []string{"In a folder that is not trusted no server is started, your own included. “gemini mcp add” writes the value of the variable into the file: edit the file instead."},
			http:  fields{{"httpUrl", atMCP}, {"headers", bearer}, {"timeout", ms}},
			stdio: fields{{"command", "revue"}, {"args", args}, {"env", both}, {"timeout", ms}},
		},
		{
			ID: "qwen", Name: "Qwen Code", Format: JSON, Root: []string{"mcpServers"}, Reference: "${" + KeyVar + "}",
			Files: []File{{"you", "~/.qwen/settings.json"}, {"the project", ".qwen/settings.json"}},
			Notes: []string{"“qwen mcp add” writes the value of the variable into the file: edit the file instead."},
			http:  fields{{"httpUrl", atMCP}, {"headers", bearer}, {"timeout", ms}},
			stdio: fields{{"command", "revue"}, {"args", args}, {"env", both}, {"timeout", ms}},
		},
		{
			ID: "copilot", Name: "Copilot CLI", Format: JSON, Root: []string{"mcpServers"}, Reference: "${" + KeyVar + "}",
			Files: []File{{"you", "~/.copilot/mcp-config.json"}, {"the project", ".github/mcp.json"}},
			Notes: []string{"The file of a project is read in trusted folders alone."},
			http:  fields{{"type", "http"}, {"url", atMCP}, {"headers", bearer}, {"tools", []string{"*"}}, {"timeout", ms}},
			stdio: fields{{"type", "local"}, {"command", "revue"}, {"args", args}, {"env", both}, {"tools", []string{"*"}}, {"timeout", ms}},
		},
		{
			ID: "cline", Name: "Cline", Format: JSON, Root: []string{"mcpServers"},
			Files:      []File{{"you", "~/.cline/data/settings/cline_mcp_settings.json"}},
			Notes:      []string{"The timeout is in seconds; without it a call ends after 60 s."},
			http:       fields{{"type", "streamableHttp"}, {"url", atMCP}, {"headers", bearer}, {"disabled", false}, {"timeout", waitSeconds}},
			httpNotes:  []string{plaintext},
			stdio:      fields{{"command", "revue"}, {"args", args}, {"env", address}, {"disabled", false}, {"timeout", waitSeconds}},
			stdioNotes: []string{"The token comes from the variable " + KeyVar + " of the environment that Cline runs in, or from “revue login”."},
		},
		{
			ID: "continue", Name: "Continue", Format: YAML, Root: []string{"mcpServers"}, list: true, Reference: "${{ secrets." + KeyVar + " }}",
			Files: []File{{"the project", ".continue/mcpServers/revue.yaml"}, {"you", "~/.continue/mcpServers/revue.yaml"}},
			Notes: []string{"A file of its own. Its CLI ends a call after 60 s, whatever is set; a call of revue is shorter."},
			first: fields{{"name", "revue"}, {"version", "0.0.1"}, {"schema", "v1"}},
			http:  fields{{"type", "streamable-http"}, {"url", atMCP}, {"requestOptions", fields{{"headers", bearer}}}},
			stdio: fields{{"type", "stdio"}, {"command", "revue"}, {"args", args}, {"env", both}},
		},
		{
			ID: "crush", Name: "Crush", Format: JSON, Root: []string{"mcp"}, Reference: "$" + KeyVar,
			Files: []File{{"you", "~/.config/crush/crush.json"}, {"the project", "crush.json"}},
			Notes: []string{"A crushrc file beside it wins over this one."},
			http:  fields{{"type", "http"}, {"url", atMCP}, {"headers", bearer}},
			stdio: fields{{"type", "stdio"}, {"command", "revue"}, {"args", args}, {"env", both}},
		},
		{
			ID: "zed", Name: "Zed", Format: JSON, Root: []string{"context_servers"},
			Files:      []File{{"you", "~/.config/zed/settings.json"}},
			Notes:      []string{"The timeout is in seconds, 600 at most; without it a call ends after 60 s."},
			http:       fields{{"url", atMCP}, {"headers", bearer}, {"timeout", zedSeconds}},
			httpNotes:  []string{plaintext},
			stdio:      fields{{"command", "revue"}, {"args", args}, {"env", address}, {"timeout", zedSeconds}},
			stdioNotes: []string{signIn},
		},
		{
			ID: "windsurf", Name: "Windsurf", Format: JSON, Root: []string{"mcpServers"}, Reference: "${env:" + KeyVar + "}",
			Files: []File{{"you", "~/.codeium/windsurf/mcp_config.json"}},
			http:  fields{{"serverUrl", atMCP}, {"headers", bearer}},
			stdio: fields{{"command", "revue"}, {"args", args}, {"env", both}},
		},
		{
			ID: "claude-desktop", Name: "Claude Desktop", Format: JSON, Root: []string{"mcpServers"},
			Files: []File{
				{"you, on macOS", "~/Library/Application Support/Claude/claude_desktop_config.json"},
				{"you, on Windows", `%APPDATA%\Claude\claude_desktop_config.json`},
			},
			Notes:      []string{"It starts programs alone: an entry with an address is not read. Where it does not find “revue”, write the whole path of the program."},
			stdio:      fields{{"command", "revue"}, {"args", args}, {"env", address}},
			stdioNotes: []string{signIn},
		},
		{
			ID: "mcp.json", Name: "Any other: mcp.json", Format: JSON, Root: []string{"mcpServers"},
			Notes: []string{
				"Most harnesses read this shape. Let one call take at least 60 s where the harness has a setting for it: a call waits up to 55 s for a human.",
			},
			http:       fields{{"type", "http"}, {"url", atMCP}, {"headers", bearer}},
			httpNotes:  []string{plaintext},
			stdio:      fields{{"command", "revue"}, {"args", args}, {"env", both}},
			stdioNotes: []string{plaintext},
		},
	}
}
