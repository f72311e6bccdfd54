package revuehttp

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// param is one parameter of a query string.
type param struct {
	name    string
	about   string
	example string
	enum    []string
	integer bool
	boolean bool
	many    bool // it may be there more than once
}

// Bounds of query strings, in bytes.
const (
	maxCursor = 128
	maxParam  = revue.MaxQuestion
)

// readQuery reads a query string that may have these parameters and no others.
func readQuery(raw string, params []param) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("query", "can't be read; escape it as application/x-www-form-urlencoded")
	}
	for name, vs := range values {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		switch {
		case i < 0 && len(params) == 0:
			return nil, invalid(shownName(name), "there is no such parameter; this takes none")
		case i < 0:
			return nil, invalid(shownName(name), "there is no such parameter; there are "+paramNames(params))
		case len(vs) > 1 && !params[i].many:
			return nil, invalid(name, "is there twice; send it once")
		case len(vs) > revue.MaxConcepts:
			return nil, invalid(name, "is there too often; send fewer")
		}
		for _, v := range vs {
			if err := params[i].check(v); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

func paramNames(params []param) string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}

func (p param) check(v string) error {
	limit := maxParam
	if p.name == "cursor" {
		limit = maxCursor
	}
	switch {
	case !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0:
		return invalid(p.name, "is no text; send UTF-8 without NUL")
	case len(v) > limit:
		return invalid(p.name, "has "+strconv.Itoa(len(v))+" bytes, the limit is "+strconv.Itoa(limit)+"; shorten it")
	case len(p.enum) > 0 && v != "" && !slices.Contains(p.enum, v):
		return invalid(p.name, "is none of "+strings.Join(p.enum, ", "))
	case p.boolean && v != "true" && v != "false":
		return invalid(p.name, "must be true or false")
	}
	if p.integer {
		if n, err := strconv.Atoi(v); err != nil || n < 1 || strings.HasPrefix(v, "+") {
			return invalid(p.name, "must be a whole number from 1")
		}
	}
	return nil
}

// limit reads the parameter of that name, which was checked: 0 for none.
func limit(q url.Values) int {
	n, _ := strconv.Atoi(q.Get("limit"))
	return n
}
