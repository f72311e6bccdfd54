package memory

import (
	"slices"
	"strings"
)

// The word lists are switch statements: they can't be changed at run time and cost no start-up.

// expandContraction splits a contraction in two words. Those that may stand for several ("he'd") stay, and
// those with 's are split only where a sentence begins, since "bob's" is his.
func expandContraction(s string, start bool) (a, b string, ok bool) {
	if s == "cannot" {
		return "can", "not", true
	}
	i := strings.LastIndexByte(s, '\'')
	if i <= 0 {
		return "", "", false
	}
	stem, end := s[:i], s[i+1:]
	switch end {
	case "t":
		switch stem {
		case "can":
			return "can", "not", true
		case "won":
			return "will", "not", true
		case "shan":
			return "shall", "not", true
		case "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "shouldn", "couldn", "wouldn", "mustn", "needn", "mayn", "mightn":
			return stem[:len(stem)-1], "not", true
		}
	case "s":
		if !start {
			return "", "", false
		}
		switch stem {
		case "what", "which", "who", "where", "when", "why", "how", "it", "that", "there", "here":
			return stem, "is", true
		case "let":
			return "let", "us", true
		}
	case "re":
		switch stem {
		case "we", "you", "they", "what", "who", "where":
			return stem, "are", true
		}
	case "ll":
		switch stem {
		case "i", "I", "we", "you", "they", "he", "she", "it", "that", "what", "who":
			return stem, "will", true
		}
	case "ve":
		switch stem {
		case "i", "I", "we", "you", "they", "should", "could", "would", "must", "might":
			return stem, "have", true
		}
	case "m":
		if stem == "i" || stem == "I" {
			return stem, "am", true
		}
	}
	return "", "", false
}

// shortFor is what an abbreviation is taken for in the canonical form, "" for none.
func shortFor(s string) string {
	switch s {
	case "max", "min", "db", "dbs", "config", "configs", "prod", "env", "envs", "e-mail", "e-mails":
		return expandShort(s)
	}
	return ""
}

// determiner reports whether the word before an abbreviation shows that it is a noun and no value.
func determiner(s string) bool {
	switch s {
	case "which", "the", "a", "an", "each", "every", "our", "any", "all":
		return true
	}
	return false
}

// preposition reports whether a word leads a phrase of place, time or purpose.
func preposition(s string) bool {
	switch s {
	case "in", "on", "at", "for", "with", "without", "to", "into", "from", "of", "by", "via", "per", "through", "over", "under", "within", "during",
		"before", "after", "about", "against", "behind", "between", "onto", "upon", "until", "since", "when", "while", "if", "because":
		return true
	}
	return false
}

// listed reports whether a value may stand beside this word: "be db or cache".
func listed(s string) bool {
	switch s {
	case "or", "and", "be", "is", "as", "not", "than", "vs", "versus", "instead", ",", ":", "=":
		return true
	}
	return false
}

// place reports whether a word leads to a place.
func place(s string) bool {
	switch s {
	case "in", "on", "to", "into", "onto", "from", "for":
		return true
	}
	return false
}

// shipping reports whether a question is about bringing something somewhere, so that what it is brought "to" is a
// place and no value.
func shipping(toks []token) bool {
	return slices.ContainsFunc(toks, func(t token) bool {
		switch t.s {
		case "deploy", "deployed", "deploying", "release", "released", "releasing", "ship", "shipped", "shipping", "push", "pushed", "pushing",
			"promote", "promoted", "promoting", "roll", "rolled", "rolling":
			return true
		}
		return false
	})
}

// product reports whether a word is the name of a product and nothing else, whatever its case.
func product(s string) bool {
	switch s {
	case "postgres", "postgresql", "mysql", "mariadb", "sqlite", "redis", "valkey", "memcached", "mongodb", "kafka", "rabbitmq", "elasticsearch",
		"opensearch", "clickhouse", "kubernetes", "docker", "podman", "terraform", "pulumi", "ansible", "jenkins", "github", "gitlab", "bitbucket",
		"nginx", "haproxy", "grafana", "prometheus", "datadog", "cloudflare", "heroku", "vercel", "netlify", "twilio", "sendgrid",
		"zendesk", "jira", "bcrypt", "linux", "debian", "ubuntu", "kotlin", "django", "laravel", "webpack", "pytest":
		return true
	}
	return false
}

// literal reports whether what stands beside this noun may be its name or its value.
func literal(s string) bool {
	switch strings.TrimSuffix(s, "s") {
	case "branch", "branche", "user", "role", "host", "hostname", "bucket", "tag", "package", "module", "function", "import", "flag", "default", "label",
		"var", "variable", "value", "field", "column", "header", "key", "type", "table", "schema", "file", "folder", "directory", "path", "prefix", "suffix",
		"namespace", "group", "command", "option", "setting", "scope", "param", "parameter", "property", "attribute", "name", "string", "enum", "method",
		"class", "struct", "interface", "service", "account", "project", "cluster", "endpoint", "route", "topic", "queue", "export", "profile", "target",
		"process", "processe", "container", "image", "volume", "mount", "server", "instance", "node", "domain", "subdomain", "api", "cli", "tool", "line", "page", "tab",
		"panel", "menu", "screen", "button", "channel", "team", "mode", "level":
		return true
	}
	return false
}

// foldable reports whether the capital of a word in front may be folded: it is a word of the form of a sentence, or
// a common verb with an object. What may be a name with it ("Go", "Will Smith", "Close should") is not.
func foldable(low, next string) bool {
	lower := next == "" || next[0] >= 'a' && next[0] <= 'z'
	switch low {
	case "may", "will", "can", "might", "must":
		switch next {
		case "I", "i", "we", "you", "they", "he", "she", "it", "the", "a", "an", "our", "your", "this", "that", "these", "those", "all", "any", "each", "every":
			return true
		}
		return false
	case "go", "skip", "mark", "grant", "page", "one", "us", "her", "mine":
		return false
	case "please", "question", "hello", "hi", "hey", "kindly", "thanks":
		return true
	case "make", "let", "get", "like", "over", "via", "per", "through", "ok", "okay", "here", "there", "out", "up", "off", "down", "only", "both", "all", "way", "thing", "things", "ones":
		return lower && !asking(next)
	}
	if function(low) || foreignAsking(low) {
		return true
	}
	if _, _, ok := expandContraction(low, true); ok {
		return true
	}
	return lower && !asking(next) && (generic(low) || imperative(low))
}

// imperative reports whether a word in front asks for an act. Those of [generic] do as well.
func imperative(s string) bool {
	switch s {
	case "drop", "purge", "wipe", "erase", "destroy", "truncate", "clear", "reset", "restore", "restart", "reboot", "rotate", "revoke", "grant", "give", "send", "resend",
		"publish", "unpublish", "enable", "disable", "migrate", "upgrade", "downgrade", "bump", "pin", "scale", "drain", "kill", "terminate", "cancel", "refund", "charge", "pay",
		"invoice", "notify", "page", "email", "tell", "archive", "unarchive", "backfill", "import", "export", "copy", "sync", "roll", "rollback", "promote", "demote",
		"switch", "replace", "swap", "set", "unset", "turn", "lock", "unlock", "block", "unblock", "ban", "allow", "deny", "invite", "cache", "store", "save", "load", "log", "encrypt",
		"decrypt", "index", "reindex", "limit", "raise", "lower", "increase", "decrease", "reduce", "extend", "freeze", "unfreeze", "force", "amend", "tag", "cut",
		"launch", "begin", "execute", "trigger", "schedule", "reschedule", "postpone", "delay", "escalate", "resolve", "reopen", "confirm", "buy", "order", "hire", "spend",
		"transfer", "provision", "deprovision", "tear", "shut", "bring", "put", "take", "mark", "flag", "fail", "failover", "flush", "evict", "invalidate", "expose", "share", "grade":
		return true
	}
	return false
}

// foreignAsking has the words that questions in the more spoken European languages begin with.
func foreignAsking(s string) bool {
	switch s {
	case "welche", "welcher", "welches", "welchen", "soll", "sollen", "sollte", "sollten", "wie", "wann", "wer", "warum", "muss", "müssen", "welke", "moet", "moeten",
		"quel", "quelle", "quels", "quelles", "faut-il", "doit-on", "quand", "pourquoi", "cuál", "cuáles", "qué", "cómo", "cuándo", "deberíamos", "debería",
		"qual", "quais", "devemos", "deve", "quando", "como", "quale", "quali", "dovremmo", "dobbiamo", "perché",
		"какая", "какой", "какую", "какое", "какие", "как", "когда", "нужно", "следует", "почему", "кто", "где":
		return true
	}
	return false
}

// being reports whether a word is a form of to be.
func being(s string) bool {
	switch s {
	case "is", "are", "was", "were", "be", "been", "am":
		return true
	}
	return false
}

// beforeArticle reports whether an "a" behind this word is the article and no name: "account a" has a name.
func beforeArticle(s string) bool {
	if asking(s) || preposition(s) {
		return true
	}
	switch s {
	case "as", "than", "like", "that", "use", "add", "return", "make", "create", "require", "provide", "give", "take", "want", "choose", "include",
		"introduce", "write", "keep", "build", "send", "define", "expose", "pick", "remove", "delete", "get", "become", "remain":
		return true
	}
	return false
}

// expandShort spells out an abbreviation for retrieval, which may guess.
func expandShort(s string) string {
	switch s {
	case "db":
		return "database"
	case "dbs":
		return "databases"
	case "repo":
		return "repository"
	case "repos":
		return "repositories"
	case "config":
		return "configuration"
	case "configs":
		return "configurations"
	case "prod":
		return "production"
	case "env":
		return "environment"
	case "envs":
		return "environments"
	case "max":
		return "maximum"
	case "admin":
		return "administrator"
	case "admins":
		return "administrators"
	case "k8s":
		return "kubernetes"
	case "e-mail":
		return "email"
	case "e-mails":
		return "emails"
	}
	return s
}

// aboutNames reports whether a word makes a question one about spelling, where an abbreviation and
// what it stands for are two answers.
func aboutNames(s string) bool {
	switch s {
	case "name", "names", "named", "naming", "rename", "renamed", "renaming", "call", "called", "calling",
		"abbreviate", "abbreviated", "abbreviation", "abbreviations", "spell", "spelled", "spelling", "word", "words", "wording",
		"prefix", "suffix", "alias", "aliases", "title", "titled", "identifier", "identifiers", "label", "labelled", "labeled",
		"copy", "text", "texts", "message", "messages", "banner", "phrase", "string", "strings", "button", "caption", "slug", "slugs",
		"directory", "folder", "subfolder", "keyword", "term", "terminology", "say", "says", "key", "variable", "column", "command", "script", "dirname":
		return true
	}
	return false
}

// afterLetter reports whether the word behind an "a" shows that it is a letter ("cluster a to cluster b")
// or part of a quantity ("a few"), and no article.
func afterLetter(next token) bool {
	if !next.plain {
		return false
	}
	if strings.HasSuffix(next.s, "ly") || strings.HasSuffix(next.s, "ed") {
		return true // "has a failed" is no article
	}
	switch next.s {
	case "to", "or", "and", "in", "into", "from", "of", "on", "at", "for", "is", "are", "be", "was", "with", "without", "than", "as", "by", "vs", "versus",
		"not", "has", "have", "should", "must", "can", "may", "will", "before", "after", "over", "under", "only", "if", "when", "while", "but", "too",
		"a", "an", "the", "twice", "once", "again", "first", "last", "now", "today", "instead", "either", "also", "then", "where", "which", "that", "who", "because", "so", "using",
		"per", "via", "through", "until", "since", "during", "between", "against", "would", "could", "might", "shall", "does", "do", "did", "were", "had", "never", "ever",
		"few", "little", "lot", "bit", "number", "couple", "dozen", "hundred", "thousand", "million", "great", "good", "second", "third", "half":
		return true
	}
	return false
}

// labelled reports whether a letter may follow this noun as its name: "plan a".
func labelled(s string) bool {
	switch s {
	case "node", "cluster", "plan", "option", "type", "region", "zone", "team", "variant", "group", "class", "phase", "grade", "stage",
		"service", "server", "client", "table", "column", "field", "file", "host", "tenant", "branch", "version", "module", "package",
		"shard", "replica", "queue", "topic", "tier", "step", "level", "section", "part", "case", "set", "arm", "test", "bucket", "key",
		"variable", "user", "database", "environment", "instance", "partition", "point", "site", "vector", "matrix", "array", "system",
		"component", "layer", "list", "schedule", "series", "model", "method", "approach", "solution", "proposal", "design", "scenario",
		"category", "appendix", "schema", "machine", "provider", "vendor", "endpoint", "pod", "disk", "drive", "port", "record", "drop", "bank":
		return true
	}
	return false
}

// quoting reports whether what follows this word may be quoted without quotes: "the button says please".
func quoting(s string) bool {
	switch s {
	case "say", "says", "said", "saying", "show", "shows", "showing", "word", "words", "text", "label", "read", "reads", "type", "types", "print", "prints",
		"with", "use", "uses", "without", "call", "called", "name", "named", "write", "writes", "display", "displays", "add", "remove", "drop", "keep",
		"include", "contain", "contains", "prefix", "keyword", "answer", "value", "string", "to", "by", "as", "not", "or", "and", "the", "a", "send", "return":
		return true
	}
	return false
}

// asking reports whether a word makes the form of a question: question words, modals, auxiliaries.
func asking(s string) bool {
	switch s {
	case "which", "what", "who", "whom", "whose", "when", "where", "why", "how", "whether",
		"should", "shall", "must", "may", "might", "can", "could", "will", "would", "ought",
		"do", "does", "did", "is", "are", "am", "was", "were", "be", "been", "being", "has", "have", "had", "need", "needs":
		return true
	}
	return false
}

// function reports whether a word carries no content of its own.
func function(s string) bool {
	if asking(s) || s == "I" {
		return true
	}
	switch s {
	case "a", "an", "the", "i", "we", "you", "he", "she", "it", "they", "me", "us", "him", "her", "them", "my", "our", "your", "its", "their",
		"and", "or", "but", "nor", "if", "then", "else", "than", "as", "of", "at", "by", "for", "with", "about", "against", "between", "into", "through",
		"during", "to", "from", "in", "out", "on", "off", "over", "under", "up", "down", "per", "via", "within", "onto", "upon", "until", "since", "because", "while",
		"there", "so", "just", "also", "too", "very", "please", "ok", "okay", "yes", "no", "not", "some", "any", "all", "each", "every", "one", "ones",
		"make", "let", "get", "want", "like", "it's", "that", "this", "these", "those", "here", "such", "only", "both", "either", "neither", "thing", "things", "way":
		return true
	}
	return false
}

// generic reports whether a word means anything only beside others: "merge the branch", "fix the tests".
func generic(s string) bool {
	switch s {
	case "merge", "commit", "push", "pull", "delete", "remove", "edit", "change", "fix", "run", "rerun", "start", "stop", "use", "deploy", "release",
		"apply", "accept", "reject", "keep", "update", "create", "write", "open", "close", "revert", "undo", "retry", "skip", "ignore", "add",
		"install", "rename", "refactor", "rewrite", "move", "overwrite", "approve", "submit", "ship", "review", "implement", "finish", "check", "test", "build",
		"go", "proceed", "ahead", "continue", "resume", "split", "clean", "try", "wait", "format", "debug", "rebase", "squash", "finalize", "finalise",
		"branch", "branches", "pr", "prs", "request", "commits", "changes", "patch", "patches", "diff", "file", "files", "tests", "code", "bug", "bugs", "issue", "issues",
		"ticket", "tickets", "error", "errors", "failure", "failures", "task", "tasks", "todo", "todos", "plan", "output", "result", "results", "message", "messages",
		"function", "functions", "script", "scripts", "class", "method", "line", "lines", "option", "options", "approach", "solution", "work", "job", "command",
		"failing", "failed", "broken", "unused", "dead", "flaky", "question", "step", "steps", "item", "items", "feature", "comment", "comments",
		"correct", "right", "best", "better", "good", "preferred", "prefer", "choose", "pick", "done", "ready", "first":
		return true
	}
	return false
}

// environment reports whether a word names a place to run things.
func environment(s string) bool {
	switch s {
	case "production", "staging", "development", "dev", "qa", "uat", "sandbox", "preview", "local", "localhost", "ci", "canary", "preprod", "prod", "stage", "live":
		return true
	}
	return false
}

func negation(s string) bool {
	switch s {
	case "not", "no", "never", "without", "none", "neither", "nor", "not,", "no,", "never,", "nobody", "nothing", "except", "unless", "excluding":
		return true
	}
	return false
}

func quantity(s string) bool {
	switch s {
	case "all", "any", "some", "every", "each", "many", "few", "more", "less", "most", "least", "only", "both", "half", "several", "much", "maximum", "minimum",
		"min", "always", "sometimes", "often", "rarely", "once", "twice", "single", "multiple", "double", "total", "partial", "full", "entire", "enough", "fewer":
		return true
	}
	return false
}

func numberWord(s string) bool {
	switch s {
	case "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "fifteen", "twenty", "thirty", "forty", "fifty",
		"sixty", "seventy", "eighty", "ninety", "hundred", "thousand", "million", "billion", "dozen", "first", "second", "third", "fourth", "fifth":
		return true
	}
	return false
}

func unitOrDate(s string) bool {
	switch s {
	case "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months", "quarter", "quarters", "year", "years",
		"hourly", "daily", "nightly", "weekly", "monthly", "quarterly", "yearly",
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
		"mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays", "weekday", "weekdays", "weekend", "weekends",
		"january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
		"byte", "bytes", "kb", "mb", "gb", "tb", "ms", "percent":
		return true
	}
	return false
}

func direction(s string) bool {
	switch s {
	case "from", "to", "into", "onto", "out", "before", "after", "over", "under", "than", "up", "down", "above", "below", "behind", "between", "through", "via",
		"upstream", "downstream", "instead", "until", "since", "toward", "towards", "against", "by", "off", "versus", "vs", "rather":
		return true
	}
	return false
}

// opposites reports whether two words are each other's opposite. It only names a difference: every word that
// differs counts.
func opposites(a, b string) bool {
	if len(a)+len(b) > 60 {
		return false // no word is that long
	}
	if a > b {
		a, b = b, a
	}
	for _, p := range [...]string{"un", "in", "im", "dis", "de", "a", "non", "non-", "ir"} {
		if a == p+b || b == p+a {
			return true
		}
	}
	switch a + " " + b {
	case "new old", "client server", "backend frontend", "hard soft", "read write", "maximum minimum", "max min", "max minimum",
		"disable enable", "disabled enabled", "allow forbid", "allow deny", "allow block", "add remove", "create delete", "download upload",
		"anonymous authenticated", "private public", "internal external", "external internal", "drop support", "crash start", "start stop", "accept reject",
		"daily weekly", "nightly weekly", "daily nightly", "requests responses", "request response", "green red", "open close", "close open", "fail pass",
		"with without", "before after", "after before", "decrease increase", "decode encode", "decrypt encrypt", "deploy rollback", "input output",
		"left right", "local remote", "lock unlock", "merge split", "optional required", "manual automatic", "automatic manual", "static dynamic", "dynamic static",
		"push pull", "pull push", "install uninstall", "import export", "export import", "on off", "off on", "first last", "keep remove", "delete keep", "deny permit",
		"hide show", "long short", "high low", "large small", "mutable immutable", "opt-in opt-out", "exclude include", "ascending descending", "true false", "false true",
		"strict lenient", "lenient strict", "sync async", "async sync", "bottom top", "primary secondary", "primary replica", "follower leader", "master slave":
		return true
	}
	return false
}
