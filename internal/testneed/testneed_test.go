package testneed

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a testing.TB that notes how it was ended instead of ending.
type recorder struct {
	testing.TB

	skipped, failed string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Skip(args ...any)               { r.skipped = args[0].(string) }
func (r *recorder) Fatalf(format string, _ ...any) { r.failed = format }

func TestNeed(t *testing.T) {
	t.Run("skips", func(t *testing.T) {
		t.Setenv("REVUE_REQUIRE_ALL", "")
		r := &recorder{TB: t}
		Need(r, "npm", "not installed")
		require.Equal(t, Prefix+"npm: not installed", r.skipped)
		require.Empty(t, r.failed)
	})
	t.Run("fails when everything is required", func(t *testing.T) {
		t.Setenv("REVUE_REQUIRE_ALL", "1")
		r := &recorder{TB: t}
		Need(r, "npm", "not installed")
		require.Empty(t, r.skipped)
		require.NotEmpty(t, r.failed)
	})
}

func TestProgram(t *testing.T) {
	require.NotEmpty(t, Program(t, "go"))
	t.Setenv("REVUE_REQUIRE_ALL", "")
	r := &recorder{TB: t}
	Program(r, "no-such-program-anywhere")
	require.Contains(t, r.skipped, "no-such-program-anywhere")
}

func TestMayInstall(t *testing.T) {
	for _, c := range []struct {
		require, install string
		want             bool
	}{
		{"", "", false},
		{"1", "", true},
		{"", "1", true},
		{"0", "0", false},
	} {
		t.Setenv("REVUE_REQUIRE_ALL", c.require)
		t.Setenv("REVUE_INSTALL", c.install)
		require.Equal(t, c.want, MayInstall(), "%+v", c)
	}
}
