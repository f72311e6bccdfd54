package credentials

import (
	"net"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// ParseURL returns the one spelling of a plane's address: scheme and host in lower case, no port that goes without
// saying, no slash at the end. Errors are ErrInvalid and repeat nothing of s, which may hold a secret. plain says that
// tokens would travel readable: http to another machine.
func ParseURL(s string) (address string, plain bool, err error) {
	bad := func(problem string) (string, bool, error) {
		return "", false, &revue.Error{Code: revue.CodeInvalid, Message: "the address of the plane " + problem}
	}
	s = strings.TrimSpace(s)
	if strings.Contains(s, "rvu_") {
		return bad("holds a token: leave it out, \"revue login URL\" asks for it")
	}
	u, err := url.Parse(s)
	if err != nil {
		return bad("is no address like https://revue.example.com")
	}
	scheme := strings.ToLower(u.Scheme)
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch {
	case u.User != nil:
		return bad("has a user or password in it: leave that out, \"revue login URL\" asks for a token")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s, "#"):
		return bad("has a query or fragment: leave out what follows ? or #")
	case scheme != "https" && scheme != "http", host == "", u.Opaque != "",
		strings.HasPrefix(host, "."), strings.HasSuffix(host, "."), strings.Contains(host, ".."), !utf8.ValidString(s):
		return bad("is no address like https://revue.example.com or http://127.0.0.1:7433")
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		return bad("has a space or a control character in it")
	}
	at := host
	if strings.Contains(host, ":") {
		at = "[" + host + "]"
	}
	if port := u.Port(); port != "" && !(scheme == "https" && port == "443") && !(scheme == "http" && port == "80") {
		at = net.JoinHostPort(host, port)
	}
	return scheme + "://" + at + strings.TrimRight(u.EscapedPath(), "/"), scheme == "http" && !httpguard.Loopback(host), nil
}
