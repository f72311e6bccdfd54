package memory

import (
	"slices"
	"strings"
)

// What is not worded as a standing policy. The reasons end with what would have made the answer one.
const (
	onceForm = "it is not worded as a standing policy"
	onceAct  = "it may be about one act"
)

// once says why the answer to a wording is not reused unless the human made it a rule, "" where nothing speaks against it.
// It is an allow-list: a wording is that of a standing policy where it has one of the forms of [policy], asks for
// no act on one thing ([oneAct]), and each thing that it calls "the" is one that stands ([atHand]).
func once(v []seen) string {
	switch {
	case !policy(v):
		return onceForm
	case oneAct(v):
		return onceAct
	}
	return ""
}

// greeting reports whether a word in front asks for nothing.
func greeting(w string) bool {
	switch w {
	case "", "please", "kindly", "hello", "hi", "hey", "question", "thanks":
		return true
	}
	return false
}

// policy reports whether a wording is one question of a form that policies have: "should (must) X …", "do we …", and
// "which (what, how, where, when, who) … should (must, may, can, do we) …", also behind a phrase such as "for invoices,".
func policy(v []seen) bool {
	at := func(i int) string {
		if i >= len(v) {
			return ""
		}
		return v[i].w
	}
	i := 0
	for i < len(v) && greeting(v[i].w) {
		i++
	}
	for _, x := range v[i:] {
		if x.ends {
			return false // more than one sentence: one of them may say how things stand
		}
	}
	switch w := at(i); w {
	case "in", "for", "to", "on", "at", "from", "with", "by", "of", "under", "within", "after", "into", "if", "when", "before", "during", "unless", "because":
		if wh(at(i + 1)) {
			i++
			break
		}
		if w == "when" && modal(at(i+1)) {
			break
		}
		for j := i; j < len(v); j++ {
			if v[j].w == "" {
				i = j + 1
				break
			}
			if (modal(at(j)) || at(j) == "do") && j > i+1 && w != "if" && w != "when" && w != "unless" && w != "because" && w != "before" && w != "after" {
				i = j // "for invoices which …" has its comma left out
				break
			}
			if wh(at(j)) && j > i+1 {
				i = j
				break
			}
		}
	}
	switch first := at(i); {
	case first == "should" || first == "must" || first == "ought" || first == "shall":
		j := i + 1
		if at(j) == "not" {
			j++
		}
		return at(j) != "" && at(j) != "i" && at(j) != "you"
	case first == "do":
		return at(i+1) == "we" && !stating(at(i+2))
	case wh(first):
		if at(i+1) == "about" || at(i+1) == "come" {
			return false
		}
		for j := i + 1; j < len(v); j++ {
			switch {
			case modal(at(j)) || at(j) == "may" || at(j) == "can":
				return at(j+1) != "i" && at(j+1) != "you" && !(at(j+1) == "we" && at(j+2) == "do")
			case at(j) == "do" && at(j+1) == "we":
				return !stating(at(j+2)) && at(j+2) != "do"
			case (at(j) == "do" || at(j) == "does") && j > i+1 && (first == "which" || first == "what"):
				return slices.ContainsFunc(v[j+1:], func(x seen) bool { return habit(x.w) })
			case j > i+1 && (first == "which" || first == "what") && strings.HasSuffix(at(j), "s") && habit(strings.TrimSuffix(at(j), "s")):
				return true
			case at(j) == "is" || at(j) == "are" || at(j) == "was" || at(j) == "were" || at(j) == "has" || at(j) == "had" || at(j) == "did" || at(j) == "will":
				return false
			}
		}
	}
	return false
}

// wh reports whether a word begins a question that has to be answered by more than yes or no.
func wh(w string) bool {
	switch w {
	case "which", "what", "how", "where", "when", "who", "whom", "whose":
		return true
	}
	return false
}

// habit reports whether a verb in "which database does the ledger use" and "which database holds orders" says what is so as a
// rule. One that may be so for a while only ("run", "have", "wait", "fail") is none.
func habit(w string) bool {
	switch w {
	case "use", "get", "store", "keep", "hold", "own", "read", "write", "need", "require", "support", "follow", "contain", "host", "serve", "cover", "document":
		return true
	}
	return false
}

func modal(w string) bool { return w == "should" || w == "must" || w == "shall" || w == "ought" }

// stating reports whether "do we" before this verb asks how things stand, or for leave.
func stating(w string) bool {
	switch w {
	case "", "have", "know", "own", "want", "agree", "object", "mind", "feel", "think", "see", "get", "still", "already", "really", "even", "happen", "accept", "approve",
		"like", "trust", "remember", "understand", "believe", "expect", "go", "proceed", "continue":
		return true
	}
	return false
}

// oneAct reports whether a wording asks for an act on one thing: "drop the orders table", "refund Acme", "restart billing". An
// act on things of a kind is a policy: "delete invoices after seven years".
func oneAct(v []seen) bool {
	if slices.ContainsFunc(v, func(x seen) bool { return x.w == "how" }) && !slices.ContainsFunc(v, func(x seen) bool { return x.w == "if" || x.w == "when" }) {
		return false // how a thing is done, whenever it is
	}
	again := recurs(v)
	for i, x := range v {
		if i == 0 || x.w == "" {
			continue
		}
		base, strong := act(x.w)
		if base == "" || x.joined && !x.part && !strong {
			continue
		}
		prev := previous(v, i)
		switch {
		case passive(prev) && base != x.w || passive(prev) && sameParticiple(x.w):
			if x.the || x.one {
				continue
			}
			if from, to := subject(v, i); particular(v[from:to], v[i+1:], strong, again) {
				return true
			}
		case base != x.w:
		case prev == "we" || prev == "i" || prev == "you" || prev == "they":
			j := i + 1
			for j < len(v) && particle(v[j].w) {
				j++
			}
			to := phraseEnd(v, j)
			if particular(v[j:to], v[to:], strong, again) {
				return true
			}
		case !function(prev) && !preposition(prev) && prev != "" && i+1 < len(v) && !again:
			// Somebody else acts on it.
			if n := v[i+1]; n.the || possessive(n.w) || strong && n.name && !n.shout && !x.the && !x.one {
				return true
			}
		}
	}
	return false
}

// previous is the word before v[i] that is no adverb.
func previous(v []seen, i int) string {
	for i--; i >= 0; i-- {
		switch v[i].w {
		case "not", "also", "just", "simply", "force", "first", "then", "fully", "permanently", "completely", "manually", "really", "only", "ever", "all", "both", "be", "get", "hard", "soft":
			if passive(v[i].w) {
				return v[i].w
			}
			continue
		}
		if strings.HasSuffix(v[i].w, "ly") && len(v[i].w) > 4 {
			continue
		}
		return v[i].w
	}
	return ""
}

func passive(w string) bool { return w == "be" || w == "get" || w == "been" || w == "being" }

// sameParticiple reports whether the participle of an act is the same word.
func sameParticiple(w string) bool {
	switch w {
	case "cut", "run", "shut", "split", "put", "set", "reset", "overrun":
		return true
	}
	return false
}

func particle(w string) bool {
	switch w {
	case "back", "over", "out", "up", "down", "off", "on", "away":
		return true
	}
	return false
}

func possessive(w string) bool {
	switch w {
	case "our", "their", "its", "his", "her", "my", "your":
		return true
	}
	return false
}

// subject returns the words between the modal and the passive before v[i].
func subject(v []seen, i int) (from, to int) {
	to = i
	for to > 0 && !passive(v[to].w) {
		to--
	}
	from = to
	for from > 0 && !modal(v[from-1].w) && v[from-1].w != "" {
		from--
	}
	return from, to
}

// phraseEnd returns where the phrase of a noun that begins at i ends.
func phraseEnd(v []seen, i int) int {
	for i < len(v) && v[i].w != "" && !(function(v[i].w) && !possessive(v[i].w) && !quantifier(v[i].w)) && !preposition(v[i].w) {
		i++
	}
	return i
}

func quantifier(w string) bool { return quantity(w) || w == "no" || w == "one" }

// particular reports whether what an act is done to is one thing and no kind of things. again says that it is done
// again and again.
func particular(object, rest []seen, strong, again bool) bool {
	if again {
		return false
	}
	conditional := slices.ContainsFunc(rest, func(x seen) bool {
		switch x.w {
		case "if", "when", "unless", "after", "before", "until", "once", "where", "that", "who", "which", "without", "within":
			return true
		}
		return false
	})
	definite := func(x seen) bool { return x.the || possessive(x.w) }
	named := func(x seen) bool { return x.name && strong }
	if len(object) == 0 || slices.ContainsFunc(object, func(x seen) bool { return definite(x) || named(x) || numberWord(x.w) || x.w == "all" || x.w == "both" }) {
		return len(object) > 0 || !conditional
	}
	kinds := slices.ContainsFunc(object, func(x seen) bool {
		return plural(x.w) || x.w == "each" || x.w == "every" || x.w == "any" || x.w == "no"
	})
	more := slices.ContainsFunc(rest, func(x seen) bool { return definite(x) || named(x) })
	switch {
	case conditional:
		return false
	case kinds:
		return strong || more && slices.ContainsFunc(object, func(x seen) bool { return x.name })
	case object[0].one:
		return more || !slices.ContainsFunc(rest, func(x seen) bool { return plural(x.w) })
	}
	return strong || more
}

// recurs reports whether a wording says that something happens again and again.
func recurs(v []seen) bool {
	for i, x := range v {
		switch x.w {
		case "always", "never", "automatically", "automatic", "whenever", "whoever", "default", "per", "routinely", "regularly", "periodically":
			return true
		case "every", "each":
			return true
		}
		if recurring(x.w) || strings.HasSuffix(x.w, "days") && weekday(strings.TrimSuffix(x.w, "s")) || (x.w == "weekends" || x.w == "weekdays" || x.w == "holidays") && i > 0 {
			return true
		}
	}
	return false
}

func weekday(w string) bool {
	switch w {
	case "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
		"mon", "tue", "tues", "wed", "weds", "thu", "thur", "thurs", "fri", "sat", "sun":
		return true
	}
	return false
}

// act returns the verb that a word is a form of where it names an act that is done once, and whether it is one that
// changes what it is done to for good or for all.
func act(w string) (base string, strong bool) {
	for _, b := range bases(w) {
		switch b {
		case "merge", "push", "delete", "remove", "drop", "purge", "wipe", "erase", "destroy", "truncate", "clear", "reset", "restore", "restart", "reboot", "rotate", "revoke", "grant",
			"deploy", "redeploy", "undeploy", "release", "ship", "launch", "publish", "unpublish", "migrate", "upgrade", "downgrade", "bump", "revert", "rollback", "roll", "refund", "charge",
			"pay", "cancel", "terminate", "kill", "drain", "scale", "resize", "promote", "demote", "rename", "transfer", "close", "reopen", "rerun", "trigger", "sign", "extend", "raise",
			"lower", "increase", "decrease", "reduce", "double", "triple", "halve", "buy", "hire", "fire", "resend", "announce", "escalate", "ban", "unban", "overwrite", "amend", "decommission",
			"sunset", "provision", "deprovision", "cut", "tag", "freeze", "unfreeze", "shut", "reimburse", "credit", "debit", "sell", "renew", "suspend", "fix", "patch", "undo", "stop",
			"approve", "reject", "finish", "complete", "begin", "recreate", "rebuild", "reindex", "backfill", "resync", "reimport", "failover", "evict", "onboard", "offboard", "enroll",
			"flush", "invalidate", "swap", "discard", "abandon", "abort", "quarantine", "repair", "compact", "vacuum", "page", "redo", "retire", "waive", "withdraw", "unlock", "unblock":
			return b, true
		case "add", "enable", "disable", "send", "set", "create", "move", "switch", "replace", "archive", "turn", "block", "lock", "notify", "email", "tell", "apply", "submit",
			"run", "execute", "start", "open", "split", "change", "update", "modify", "edit", "put", "take", "give", "bring", "order", "book", "schedule", "postpone", "delay", "include",
			"pull", "retry", "install", "uninstall", "import", "export", "copy", "convert", "clean", "pin", "unpin", "invite", "assign", "reassign", "expose", "refactor", "rewrite", "port", "deprecate":
			return b, false
		}
	}
	return "", false
}

// bases returns what a word may be a form of, itself first.
func bases(w string) []string {
	out := []string{w}
	switch w {
	case "sent":
		return append(out, "send")
	case "resent":
		return append(out, "resend")
	case "paid":
		return append(out, "pay")
	case "sold":
		return append(out, "sell")
	case "bought":
		return append(out, "buy")
	case "frozen":
		return append(out, "freeze")
	case "taken":
		return append(out, "take")
	case "given":
		return append(out, "give")
	case "brought":
		return append(out, "bring")
	case "begun":
		return append(out, "begin")
	case "rewritten":
		return append(out, "rewrite")
	case "overwritten":
		return append(out, "overwrite")
	case "rebuilt":
		return append(out, "rebuild")
	case "undone":
		return append(out, "undo")
	case "redone":
		return append(out, "redo")
	case "withdrawn":
		return append(out, "withdraw")
	}
	stem, ok := strings.CutSuffix(w, "ed")
	if !ok || len(stem) < 2 {
		return out
	}
	out = append(out, stem, stem+"e")
	if n := len(stem); stem[n-1] == stem[n-2] {
		out = append(out, stem[:n-1])
	}
	if y, ok := strings.CutSuffix(stem, "i"); ok {
		out = append(out, y+"y")
	}
	return out
}

// atHand returns the first thing that a wording calls "the" although it is none that stands, "" where there is none. Things that stand are of
// a list ([standing]), have a name or a number, or are several.
func atHand(v []seen) string {
	for i, x := range v {
		if x.w == "" || possessive(x.w) || !x.the && !(i > 0 && possessive(v[i-1].w)) {
			continue
		}
		end := i
		for end < len(v) && end < i+5 && v[end].w != "" && !(function(v[end].w) && end > i) && !preposition(v[end].w) {
			end++
		}
		if end == i {
			end = i + 1
		}
		if !stands(v, i, end) {
			return x.w
		}
	}
	return ""
}

func stands(v []seen, i, end int) bool {
	for j := i; j < end; j++ {
		n := oneOf(v[j].w)
		switch {
		case ordinal(v[i].w) && !v[i].joined:
			return false
		case v[j].name, standing(n):
			return true
		case ambiguous(n) && (j > i || i > 0 && systemPlace(v[i-1].w) || end < len(v) && v[end].w == "of"):
			return true
		case plural(v[j].w) && j <= i+1 && !v[j].whose && (j+1 >= len(v) || v[j+1].w == "" || function(v[j+1].w) || preposition(v[j+1].w)):
			return true
		case v[j].whose && j == i:
			return false
		}
	}
	return false
}

func systemPlace(w string) bool {
	switch w {
	case "in", "on", "by", "inside", "within", "between", "into", "from", "to":
		return true
	}
	return false
}

// ambiguous reports whether a noun is one thing at hand, unless a word before it says which kind it is: "the HTTP client".
func ambiguous(s string) bool {
	switch s {
	case "client", "account", "key", "token", "flag", "branch", "build", "message", "email", "label", "tag", "role", "group", "profile", "host", "node", "machine", "image", "button",
		"agent", "device", "member", "record", "entry", "row", "item", "task", "event", "request", "response", "report", "export", "import", "file", "folder", "template", "certificate",
		"password", "secret", "credential", "session", "cookie", "plan", "subscription", "workflow", "test", "step", "option", "value", "variable", "project", "process", "instance":
		return true
	}
	return false
}

// standing reports whether a noun names a part of a system, an organisation or a text of which there is one, so that
// "the" before it points at nothing.
func standing(s string) bool {
	switch s {
	case "api", "service", "database", "db", "table", "column", "schema", "index", "cache", "queue", "topic", "bucket", "cluster", "server", "gateway", "proxy", "balancer", "firewall",
		"frontend", "backend", "app", "application", "website", "site", "page", "dashboard", "portal", "ui", "ux", "cli", "sdk", "library", "module", "package", "component", "repository", "repo", "monorepo", "codebase",
		"pipeline", "ci", "cd", "environment", "region", "network", "vpc", "subnet", "domain", "subdomain", "endpoint", "route", "router", "header", "footer", "sidebar", "toolbar", "field", "form", "menu", "screen", "view",
		"model", "class", "interface", "parser", "compiler", "linter", "formatter", "scheduler", "worker", "job", "cron", "daemon", "bot", "crawler", "importer", "exporter", "ledger", "log", "changelog",
		"readme", "doc", "documentation", "wiki", "handbook", "glossary", "guide", "config", "configuration", "setting", "policy", "limit", "quota", "timeout", "ttl", "retention", "threshold", "default", "rate", "size", "length", "number", "name",
		"title", "type", "format", "version", "order", "tier", "team", "company", "organisation", "organization", "office", "department", "platform", "infrastructure", "stack", "system", "product", "store",
		"warehouse", "lake", "registry", "vault", "catalog", "catalogue", "directory", "namespace", "web", "internet", "cloud", "edge", "browser", "kernel", "runtime", "framework", "engine", "broker", "bus", "stream",
		"storage", "disk", "memory", "filesystem", "archive", "inbox", "checkout", "cart", "login", "signup", "search", "billing", "onboarding", "tour", "trial", "flow", "feed", "editor", "player", "viewer", "renderer",
		"layer", "tree", "root", "path", "key-value", "middleware", "handler", "controller", "resolver", "client-side", "mobile", "desktop", "pool", "fleet", "replica", "primary", "standby", "mesh", "sidecar", "operator", "chart",
		"rotation", "calendar", "budget", "price", "currency", "tax", "country", "language", "locale", "timezone", "zone", "law", "licence", "license", "contract-test", "suite", "style", "theme", "palette", "font", "logo", "brand",
		"end", "start", "beginning", "top", "bottom", "left", "right", "middle", "front", "back", "rest", "outside", "inside", "public", "way", "need", "case", "side", "line", "word", "sentence", "paragraph", "section", "chapter",
		"importance", "priority", "severity", "status", "state", "mode", "level", "lifetime", "duration", "interval", "frequency", "amount", "count", "total", "sum", "average", "maximum", "minimum", "median", "sender", "audit",
		"gpu", "cpu", "ram", "dns", "cdn", "tls", "json", "yaml", "xml", "csv", "sql", "html", "css", "eu", "us", "uk", "gdpr", "ide", "os", "orm", "iam", "sso", "crm", "erp", "cms", "etl", "daily", "nightly", "weekly", "main", "test-suite", "helm",
		"code", "source", "signature", "function", "method", "argument", "parameter", "query", "mutation", "url", "uri", "id", "uuid", "slug", "date", "time", "deadline", "window", "alerting", "monitoring", "logging", "tracing", "support",
		"provider", "authority", "regulator", "board", "ceo", "cto", "dpo", "customer-support", "helpdesk", "store-front", "storefront", "blog", "newsletter", "app-store", "tutorial", "tracker", "backlog", "roadmap":
		return true
	}
	return false
}
