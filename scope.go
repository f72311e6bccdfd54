package revue

import "strings"

// Fits reports whether two scopes fit: concepts intersect when both name some, files overlap when both
// name some, and the repositories fit by [RepoFits]. It is symmetric.
func (s Scope) Fits(o Scope) bool { return s.misfit(o) == "" }

// misfit says why two scopes don't fit, "" where they do.
func (s Scope) misfit(o Scope) string {
	if len(s.Concepts) > 0 && len(o.Concepts) > 0 && !intersects(s.Concepts, o.Concepts) {
		return "it is about other concepts"
	}
	if len(s.Files) > 0 && len(o.Files) > 0 && !filesOverlap(s.Files, o.Files) {
		return "it is about other files"
	}
	if !RepoFits(s, o) {
		return "it was made in another repository"
	}
	return ""
}

// equal reports whether two scopes are the same.
func (s Scope) equal(o Scope) bool {
	return s.Repo == o.Repo && sameSet(s.Concepts, o.Concepts) && sameSet(s.Files, o.Files)
}

// RepoFits is the repo rule: the same repository, or one of the two unknown, fits; two known and
// different ones only when both scopes name a common concept.
func RepoFits(a, b Scope) bool {
	return a.Repo == "" || b.Repo == "" || a.Repo == b.Repo || intersects(a.Concepts, b.Concepts)
}

// CompatibleOptions reports whether b offers the same set of options as a, value and label, and gives no consequence of
// one that a does not give. So who saw a knows what b would do. It is not symmetric.
func CompatibleOptions(a, b []Option) bool {
	if len(a) != len(b) {
		return false
	}
	for _, o := range b {
		if !hasOption(a, o) {
			return false
		}
	}
	return true
}

func intersects(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if strings.EqualFold(strings.TrimSpace(x), strings.TrimSpace(y)) {
				return true
			}
		}
	}
	return false
}

// filesOverlap reports whether a file of one list is, or lies in a folder of, the other.
func filesOverlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if within(x, y) || within(y, x) {
				return true
			}
		}
	}
	return false
}

func within(file, dir string) bool {
	clean := func(p string) string { return strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/") }
	file, dir = clean(file), clean(dir)
	return file == dir || strings.HasPrefix(file, dir+"/")
}

func sameSet(a, b []string) bool {
	in := func(x []string, y []string) bool {
		for _, v := range x {
			found := false
			for _, w := range y {
				found = found || v == w
			}
			if !found {
				return false
			}
		}
		return true
	}
	return in(a, b) && in(b, a)
}

// NormalizeRepo returns the one spelling of a repository for what a header, a variable or a git remote
// says: host and path in lower case without scheme, user, password, port or ".git"
// ("git@github.com:Acme/API.git" and "https://user:secret@github.com/acme/api" are both
// "github.com/acme/api"). What is no such address, a local path say, gives "": unknown.
func NormalizeRepo(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > MaxTerm || badText(s) != "" || !shownWhole(s) || strings.ContainsAny(s, " \\") {
		return ""
	}
	if i := strings.Index(s, "://"); i >= 0 {
		if strings.EqualFold(s[:i], "file") {
			return ""
		}
		s = s[i+3:]
	} else if i := strings.IndexByte(s, ':'); i >= 0 && !strings.Contains(s[:i], "/") {
		s = s[:i] + "/" + strings.TrimPrefix(s[i+1:], "/") // scp form: user@host:path
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	host, path, ok := strings.Cut(s, "/")
	if !ok {
		return ""
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if i := strings.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	bad := host == "" || len(segments) == 0 || strings.ContainsAny(host, "@[]") || strings.HasPrefix(host, ".")
	for _, s := range segments {
		bad = bad || s == "." || s == ".." || strings.ContainsAny(s, "@:")
	}
	if bad {
		return ""
	}
	s = strings.ToLower(host + "/" + strings.Join(segments, "/"))
	if len(s) > MaxTerm { // some letters are longer in lower case
		return ""
	}
	return s
}
