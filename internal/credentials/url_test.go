package credentials_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/credentials"
)

func TestParseURL(t *testing.T) {
	for _, c := range []struct {
		in, want string
		plain    bool
	}{
		{"https://revue.example.com", "https://revue.example.com", false},
		{" HTTPS://Revue.Example.COM.:443/ ", "https://revue.example.com", false},
		{"https://revue.example.com:8443/team/", "https://revue.example.com:8443/team", false},
		{"http://127.0.0.1:7433", "http://127.0.0.1:7433", false},
		{"http://localhost:80", "http://localhost", false},
		{"http://[::1]:7433/", "http://[::1]:7433", false},
		{"https://[2001:db8::1]", "https://[2001:db8::1]", false},
		{"http://revue.example.com", "http://revue.example.com", true},
		{"http://10.0.0.7:7433", "http://10.0.0.7:7433", true},
	} {
		got, plain, err := credentials.ParseURL(c.in)
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, got)
		require.Equal(t, c.plain, plain, c.in)
	}
	for _, s := range []string{
		"", "hunter-seven", "revue.example.com", "revue.example.com:7433", "ftp://h", "https://", "https:///x", "https:hunter-seven",
		"https://ada:hunter-seven@h", "https://hunter-seven@h", "https://h?hunter-seven", "https://h?", "https://h#hunter-seven", "https://h#",
		"rvu_h_hunter-seven", "https://h/rvu_a_hunter-seven", "https://h:port", "https://a b", "https://a\x00", "https://h/a\\b", "https://h/\x1b[2J",
	} {
		_, _, err := credentials.ParseURL(s)
		require.ErrorIs(t, err, revue.ErrInvalid, "%q", s)
		require.NotContains(t, err.Error(), "hunter-seven")
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"https://revue.example.com/x/", "http://[::1]:80", "https://ada:pw@h", "HTTP://H.:0", "https://h/%2f", "http://A\x80..", "http://.h", "http://a..b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, plain, err := credentials.ParseURL(s)
		if err != nil {
			require.ErrorIs(t, err, revue.ErrInvalid)
			return
		}
		again, plainAgain, err := credentials.ParseURL(got)
		require.NoError(t, err)
		require.Equal(t, got, again, "one spelling each")
		require.Equal(t, plain, plainAgain)
		require.False(t, strings.ContainsAny(got, "?# "), got)
		u, err := url.Parse(got)
		require.NoError(t, err)
		require.Nil(t, u.User, got)
	})
}
