package revuehttp

import (
	"net/http"

	"github.com/revuehq/revue"
)

// routes is the table that the server, its description and the test of who may call what are made of.
func routes() []route {
	const (
		get  = http.MethodGet
		post = http.MethodPost
		put  = http.MethodPut
		del  = http.MethodDelete
		ok   = http.StatusOK
	)
	notFound := []int{http.StatusNotFound}
	conflict := []int{http.StatusNotFound, http.StatusConflict}
	cursor := param{name: "cursor", about: "nextCursor of the page before; opaque"}
	limit := param{name: "limit", about: "most items of a page", integer: true, example: "100"}
	return []route{
		{
			method: get, path: "/openapi.json", who: public, name: "getOpenAPI", status: ok, response: map[string]any{},
			summary: "This document", handle: (*Server).handleOpenAPI,
		},
		{
			method: get, path: "/.well-known/jwks.json", who: public, name: "getKeys", status: ok, response: revue.KeySet{}, mediaType: "application/jwk-set+json",
			summary: "The public keys that receipts verify with",
			about:   "A JWK Set (RFC 7517) of Ed25519 keys, the newest first. Keys stay in it after a newer one took over, so that what they signed verifies.",
			handle:  (*Server).handleKeys,
		},
		{
			method: get, path: "/v1/whoami", who: anyone, name: "whoami", status: ok, response: Identity{},
			summary: "Who the token stands for", handle: (*Server).handleWhoami,
		},
		{
			method: post, path: "/v1/decisions/lookup", who: agents, name: "lookupDecisions", body: lookupBody{}, status: ok, response: lookupResult{},
			summary: "Search earlier human decisions",
			about:   "Matches come best first. Use an answer without asking only where its reuseGuidance is apply; otherwise request a decision. Records nothing and interrupts nobody.",
			handle:  (*Server).handleLookup,
			example: map[string]any{"scoped": dict{"query": "Which database should the ledger use?", "concepts": []string{"ledger"}, "limit": 5}},
		},
		{
			method: post, path: "/v1/decisions/request", who: agents, name: "requestDecision", body: requestBody{}, status: ok, response: outcomeBody{},
			fails: notFound, calls: true,
			summary: "Ask a human for one decision, and wait for it",
			about: "Waits up to waitSeconds and answers 200 with the outcome in any case: read its status. After pending make the identical request again, " +
				"and the same ask is waited on; a dropped connection or a restart of the server changes nothing either. Only answered and reused carry an answer.",
			serve: (*Server).request,
			example: map[string]any{
				"decision": dict{
					"question": "Which database should the ledger use?", "options": []any{"postgres", dict{"value": "sqlite", "label": "SQLite", "consequence": "One writer at a time"}},
					"recommendation": "postgres", "concepts": []string{"ledger"}, "files": []string{"internal/ledger/store.go"}, "waitSeconds": 50,
				},
				"approval": dict{
					"kind": "approval", "title": "Delete 2 stale branches", "context": "Both are merged.",
					"affected": []any{dict{"label": "feature/login", "meta": "3 weeks old"}, dict{"label": "feature/search"}}, "expiresInSeconds": 3600,
				},
			},
			answers: map[string]any{
				"pending": dict{"status": "pending", "decisionRef": "ask_m1x3", "lotId": "lot_7qb2", "retryAfterSeconds": 1, "instruction": instruction},
				"answered": dict{
					"status": "answered", "answer": "postgres", "decisionRef": "ask_m1x3", "lotId": "lot_7qb2", "decisionId": "dec_9c4k",
					"decidedBy": dict{"id": "mem_2a7f", "name": "ada", "via": "api"},
				},
			},
		},
		{
			method: post, path: "/v1/decisions/returned", who: agents, name: "acknowledgeOutcome", body: returnedBody{}, status: http.StatusNoContent, fails: conflict,
			summary: "Say that an outcome has arrived, or that it has not",
			about:   "For requests with acknowledge alone, once for each outcome. While the lot is open there is none: a 409.",
			handle:  (*Server).handleReturned,
			example: map[string]any{"arrived": dict{"decisionRef": "ask_m1x3", "status": "answered"}},
		},
		{
			method: post, path: "/v1/context", who: agents, name: "shareContext", body: contextBody{}, status: ok, response: revue.ContextItem{},
			summary: "Share a note with other agents",
			about:   "Interrupts nobody. The same note again by the same token returns the one that exists. Notes are shown to agents as untrusted for 30 days.",
			handle:  (*Server).handleShare,
			example: map[string]any{"finding": dict{"kind": "finding", "body": "The exporter drops rows over 1 MiB.", "concepts": []string{"export"}}},
		},
		{
			method: get, path: "/v1/context", who: members, name: "listContext", query: []param{cursor, limit}, status: ok, response: revue.Page[revue.ContextItem]{},
			summary: "The notes that agents share, newest first", handle: (*Server).handleContexts,
		},
		{
			method: del, path: "/v1/context/{id}", who: members, name: "removeContext", status: http.StatusNoContent, fails: notFound, calls: true,
			summary: "Take a shared note out of circulation", handle: (*Server).handleRemoveContext,
		},
		{
			method: get, path: "/v1/lots", who: members, name: "listLots", status: ok, response: revue.Page[lotBody]{}, tagged: true,
			query: []param{
				{name: "status", about: "lots in this state alone", enum: []string{"open", "answered", "dismissed", "expired"}},
				{name: "kind", about: "lots of this kind alone", enum: []string{"decision", "approval"}},
				{name: "stream", about: "lots of this stream alone, by its slug", example: "agents"},
				{name: "newest", about: "newest first; oldest first by default", boolean: true},
				cursor, limit,
			},
			summary: "The inbox", about: "Lots come without the contexts that agents gave; read one lot for its own.", handle: (*Server).handleLots,
		},
		{
			method: get, path: "/v1/lots/{id}", who: members, name: "getLot", status: ok, response: lotBody{}, fails: notFound, tagged: true,
			summary: "One lot, whole", handle: (*Server).handleLot,
		},
		{
			method: post, path: "/v1/lots/{id}/answer", who: members, name: "answerLot", body: revue.Answer{}, status: ok, response: lotBody{}, fails: conflict, calls: true,
			summary: "Answer a lot",
			about: "Exactly one of many answers counts; the others get a 409 that says who was first. The same answer again by the same human returns the lot. " +
				"Send the revision that was on screen as seen: without it, wordings that are only alike stay open.",
			handle: (*Server).handleAnswer,
			example: map[string]any{
				"option": dict{"value": "postgres", "seen": 3, "note": "and keep the migrations"},
				"words":  dict{"text": "Neither: keep the file", "seen": 3},
				"same":   dict{"confirms": "dec_9c4k", "seen": 3},
			},
		},
		{
			method: post, path: "/v1/lots/{id}/dismiss", who: members, name: "dismissLot", body: revue.Dismissal{}, bodyOptional: true, status: ok, response: lotBody{},
			fails: conflict, calls: true,
			summary: "End a lot without an answer", about: "The agents go on by their own recommendation. An approval is declined, never dismissed.", handle: (*Server).handleDismiss,
			example: map[string]any{"reason": dict{"reason": "Not needed any more", "seen": 3}},
		},
		{
			method: post, path: "/v1/lots/{id}/reopen", who: members, name: "reopenLot", body: struct{}{}, bodyOptional: true, status: ok, response: lotBody{},
			fails: conflict, calls: true,
			summary: "Take back a dismissal", about: "Where the same question is open by now, its lot is joined and returned.", handle: (*Server).handleReopen,
		},
		{
			method: get, path: "/v1/decisions", who: members, name: "listDecisions", status: ok, response: revue.Page[revue.Decision]{},
			query: []param{
				{name: "q", about: "a question or keywords: the best matches come first, in one page"},
				{name: "concept", about: "decisions that name one of these concepts", many: true},
				cursor, limit,
			},
			summary: "What is remembered", handle: (*Server).handleDecisions,
		},
		{
			method: get, path: "/v1/decisions/{id}", who: members, name: "explainDecision", status: ok, response: explanationBody{}, fails: notFound,
			summary: "Why: the whole story of a decision", handle: (*Server).handleWhy,
		},
		{
			method: post, path: "/v1/decisions/{id}/corrections", who: members, name: "correctDecision", body: correctionBody{}, status: ok, response: revue.Decision{},
			fails: conflict, calls: true,
			summary: "Correct a decision, or take a correction back", about: "Corrections are appended and never edited. Send either verb or undoes.", handle: (*Server).handleCorrect,
			example: map[string]any{"expiry": dict{"verb": "expires_after", "expires": "30d"}, "undo": dict{"undoes": "cor_5t8w"}},
		},
		{
			method: get, path: "/v1/events", who: members, name: "listEvents", status: ok, response: revue.Page[revue.Event]{}, stream: true,
			query: []param{
				{name: "after", about: "the number of the last event seen, or now for what comes from now on; the header Last-Event-ID goes first", example: "42"},
				limit,
			},
			summary: "The journal of the workspace, as a page or as a stream",
			about: "With Accept: text/event-stream the journal is followed: id is the number of an event, event its kind, data the event as JSON, and a comment is sent " +
				"while nothing happens. Otherwise one page is returned, whose nextCursor is always there, for the next call as after.",
			serve: (*Server).events,
		},
		{
			method: get, path: "/v1/receipts/{id}", who: members, name: "getReceipt", status: ok, response: revue.Receipt{}, fails: notFound,
			summary: "A signed receipt", handle: (*Server).handleReceipt,
		},
		{
			method: get, path: "/v1/streams", who: members, name: "listStreams", status: ok, response: items[revue.Stream]{},
			summary: "The lanes of the inbox, in their order", handle: (*Server).handleStreams,
		},
		{
			method: put, path: "/v1/streams/{slug}", who: members, name: "setStream", body: streamBody{}, status: ok, response: revue.Stream{},
			summary: "Name, order or mute a lane of the inbox",
			about: "The settings are set whole: what is left out is taken back. A lane is made where there is none of that slug. " +
				"No notifier is told of what happens in a muted one; its lots wait in the inbox.",
			handle:  (*Server).handleSetStream,
			example: map[string]any{"named": dict{"name": "The web app", "position": 1}, "muted": dict{"name": "Nightly runs", "muted": true}},
		},
		{
			method: post, path: "/v1/sign-in", who: members, name: "signIn", body: struct{}{}, bodyOptional: true, status: http.StatusCreated, response: revue.SignIn{},
			summary: "Make a one-time code that opens the web inbox",
			about: "The code opens one session as the caller, within 15 minutes. Hand it to nobody, and put it into no URL but behind the # of /login#code=…, which no server sees. " +
				"The session is then among the tokens, with the kind session, and is revoked like one.",
			handle:  (*Server).handleSignIn,
			answers: map[string]any{"code": dict{"code": "k3v5…", "expiresAt": "2027-01-31T12:15:00Z"}},
		},
		{
			method: get, path: "/v1/tokens", who: members, name: "listTokens", status: ok, response: items[revue.Token]{},
			summary: "The tokens of the workspace, without their secrets", about: "Sessions of the web inbox are among them, with the kind session.", handle: (*Server).handleTokens,
		},
		{
			method: post, path: "/v1/tokens", who: members, name: "createToken", body: tokenBody{}, status: http.StatusCreated, response: revue.Token{}, fails: conflict, calls: true,
			summary: "Make a token", about: "The secret is in this response and nowhere else.", handle: (*Server).handleCreateToken,
			example: map[string]any{"agent": dict{"kind": "agent", "label": "builder", "expires": "90d"}, "human": dict{"kind": "human", "owner": "ada"}},
		},
		{
			method: del, path: "/v1/tokens/{id}", who: members, name: "revokeToken", status: ok, response: revue.Token{}, fails: notFound, calls: true,
			summary: "Revoke a token for good", handle: (*Server).handleRevokeToken,
		},
		{
			method: get, path: "/v1/members", who: members, name: "listMembers", status: ok, response: items[revue.Member]{},
			summary: "The people of the workspace, those who were removed too", handle: (*Server).handleMembers,
		},
		{
			method: del, path: "/v1/members/{id}", who: members, name: "removeMember", status: ok, response: revue.Member{}, fails: notFound, calls: true,
			summary: "Remove a member, and revoke every token of theirs", about: "What they decided stays.", handle: (*Server).handleRemoveMember,
		},
		{
			method: get, path: "/v1/workspaces", who: members, name: "listWorkspaces", status: ok, response: items[revue.Workspace]{},
			summary: "The workspaces that the caller may see: their own", handle: (*Server).handleWorkspaces,
		},
		{
			method: post, path: "/v1/purge", who: members, name: "purge", body: purgeBody{}, status: http.StatusNoContent, fails: conflict, calls: true,
			summary: "Blank the text of a lot, a decision or a shared note for good",
			about:   "Digests stay, so that the journal still verifies. There is no way back.", handle: (*Server).handlePurge,
			example: map[string]any{"lot": dict{"id": "lot_7qb2"}},
		},
	}
}
