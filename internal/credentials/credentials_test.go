package credentials_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/credentials"
)

const (
	plane  = "https://revue.example.com"
	secret = "hunter-seven-hunter-seven"
)

func human(url string) credentials.Credential {
	return credentials.Credential{URL: url, Kind: revue.TokenHuman, Token: "rvu_h_" + secret, Workspace: "default", Name: "ada"}
}

func agent(url string) credentials.Credential {
	c := human(url)
	c.Kind, c.Token = revue.TokenAgent, "rvu_a_"+secret
	return c
}

// ring is a keyring of this process.
type ring struct {
	mu      sync.Mutex
	secrets map[string]string
	err     error         // what each call fails with
	hangs   chan struct{} // what each call waits for
}

func (r *ring) enter() error {
	if r.hangs != nil {
		<-r.hangs
	}
	r.mu.Lock()
	return r.err
}

func (r *ring) Get(service, user string) (string, error) {
	defer r.mu.Unlock()
	if err := r.enter(); err != nil {
		return "", err
	}
	s, ok := r.secrets[service+"/"+user]
	if !ok {
		return "", revue.ErrNotFound
	}
	return s, nil
}

func (r *ring) Set(service, user, secret string) error {
	defer r.mu.Unlock()
	if err := r.enter(); err != nil {
		return err
	}
	if r.secrets == nil {
		r.secrets = map[string]string{}
	}
	r.secrets[service+"/"+user] = secret
	return nil
}

func (r *ring) Delete(service, user string) error {
	defer r.mu.Unlock()
	if err := r.enter(); err != nil {
		return err
	}
	delete(r.secrets, service+"/"+user)
	return nil
}

func newStore(t *testing.T, k credentials.Keyring) (store *credentials.Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "config", "credentials")
	return credentials.New(dir, &credentials.Options{Keyring: k}), dir
}

// bytesOf returns what all files in a folder have.
func bytesOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		b.Write(text)
	}
	return b.String()
}

// TestStore keeps a human and an agent token for one plane, with a keyring and without.
func TestStore(t *testing.T) {
	for name, k := range map[string]credentials.Keyring{"keyring": &ring{}, "file": nil, "broken keyring": &ring{err: errors.New("no bus")}} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			s, dir := newStore(t, k)
			_, err := s.Load(ctx, plane, revue.TokenHuman)
			require.ErrorIs(t, err, revue.ErrNotFound)
			all, err := s.List()
			require.NoError(t, err)
			require.Empty(t, all)
			require.NoDirExists(t, dir, "to look makes nothing")

			kept, err := s.Save(ctx, human(plane))
			require.NoError(t, err)
			require.Equal(t, name == "keyring", kept.InKeyring)
			_, err = s.Save(ctx, agent(plane))
			require.NoError(t, err)
			require.Equal(t, name != "keyring", strings.Contains(bytesOf(t, dir), secret))

			c, err := s.Load(ctx, plane, revue.TokenHuman)
			require.NoError(t, err)
			require.Equal(t, human(plane).Token, c.Token)
			require.Equal(t, "ada", c.Name)
			require.Equal(t, "default", c.Workspace)
			c, err = s.Load(ctx, plane, revue.TokenAgent)
			require.NoError(t, err)
			require.Equal(t, agent(plane).Token, c.Token)
			_, err = s.Load(ctx, "https://other.example.com", revue.TokenHuman)
			require.ErrorIs(t, err, revue.ErrNotFound)

			require.NoError(t, s.Delete(ctx, plane, revue.TokenHuman))
			require.ErrorIs(t, s.Delete(ctx, plane, revue.TokenHuman), revue.ErrNotFound)
			_, err = s.Load(ctx, plane, revue.TokenHuman)
			require.ErrorIs(t, err, revue.ErrNotFound)
			all, err = s.List()
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.Equal(t, revue.TokenAgent, all[0].Kind)
			require.Empty(t, all[0].Token)
		})
	}
}

// TestLast follows the human who logged in last, whatever agents' tokens are kept.
func TestLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStore(t, nil)
		_, err := s.Last(revue.TokenHuman)
		require.ErrorIs(t, err, revue.ErrNotFound)
		for _, c := range []credentials.Credential{human("https://a.example"), human("https://b.example"), human("https://a.example"), agent("https://c.example")} {
			_, err := s.Save(t.Context(), c)
			require.NoError(t, err)
			<-time.After(time.Second)
		}
		last, err := s.Last(revue.TokenHuman)
		require.NoError(t, err)
		require.Equal(t, "https://a.example", last.URL)
		last, err = s.Last(revue.TokenAgent)
		require.NoError(t, err)
		require.Equal(t, "https://c.example", last.URL)
	})
}

// TestHangingKeyring falls back to the file, and says of a token that is in the keyring what to do.
func TestHangingKeyring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &ring{}
		dir := filepath.Join(t.TempDir(), "credentials")
		s := credentials.New(dir, &credentials.Options{Keyring: k, Wait: 3 * time.Second})
		_, err := s.Save(t.Context(), human(plane))
		require.NoError(t, err)

		k.hangs = make(chan struct{})
		began := time.Now()
		_, err = s.Load(t.Context(), plane, revue.TokenHuman)
		require.ErrorIs(t, err, revue.ErrUnavailable)
		require.Contains(t, err.Error(), "unlock it, or log in again")
		kept, err := s.Save(t.Context(), human(plane))
		require.NoError(t, err)
		require.False(t, kept.InKeyring)
		require.Equal(t, 6*time.Second, time.Since(began))
		c, err := s.Load(t.Context(), plane, revue.TokenHuman)
		require.NoError(t, err)
		require.Equal(t, human(plane).Token, c.Token)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Save(ctx, human(plane))
		require.ErrorIs(t, err, context.Canceled)
		close(k.hangs)
		synctest.Wait()
	})
}

// TestKeyringLost says so where the keyring has lost a token, and where it does not give one up.
func TestKeyringLost(t *testing.T) {
	k := &ring{}
	s, _ := newStore(t, k)
	_, err := s.Save(t.Context(), human(plane))
	require.NoError(t, err)
	k.secrets = nil
	_, err = s.Load(t.Context(), plane, revue.TokenHuman)
	require.ErrorIs(t, err, revue.ErrUnavailable)
	k.err = errors.New("locked")
	err = s.Delete(t.Context(), plane, revue.TokenHuman)
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.Contains(t, err.Error(), "by hand")
	all, err := s.List()
	require.NoError(t, err)
	require.Empty(t, all)
}

// TestUnsafe refuses what others could read or have put there, and repeats nothing of it.
func TestUnsafe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions mean something else on Windows")
	}
	for name, harm := range map[string]func(t *testing.T, dir, file string){
		"a file others can read":  func(t *testing.T, _, file string) { require.NoError(t, os.Chmod(file, 0o640)) },
		"a folder others can use": func(t *testing.T, dir, _ string) { require.NoError(t, os.Chmod(dir, 0o711)) },
		"a link": func(t *testing.T, dir, file string) {
			require.NoError(t, os.Rename(file, filepath.Join(dir, "real")))
			require.NoError(t, os.Symlink("real", file))
		},
		"a folder that is a link": func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Rename(dir, dir+"-real"))
			require.NoError(t, os.Symlink(dir+"-real", dir))
		},
		"a folder in its place": func(t *testing.T, _, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Mkdir(file, 0o700))
		},
		"no JSON": func(t *testing.T, _, file string) {
			require.NoError(t, os.WriteFile(file, []byte("rvu_h_"+secret), 0o600))
		},
		"another plane's": func(t *testing.T, _, file string) {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(b), "revue.example", "evil.example")), 0o600))
		},
		"too large": func(t *testing.T, _, file string) {
			require.NoError(t, os.WriteFile(file, make([]byte, 1<<20), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newStore(t, nil)
			kept, err := s.Save(t.Context(), human(plane))
			require.NoError(t, err)
			harm(t, dir, kept.File)
			_, err = s.Load(t.Context(), plane, revue.TokenHuman)
			require.ErrorIs(t, err, revue.ErrDenied)
			require.NotContains(t, err.Error(), secret)
			_, err = s.List()
			require.ErrorIs(t, err, revue.ErrDenied)
			require.ErrorIs(t, s.Delete(t.Context(), plane, revue.TokenHuman), revue.ErrDenied)
		})
	}
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions mean something else on Windows")
	}
	s, dir := newStore(t, nil)
	kept, err := s.Save(t.Context(), human(plane))
	require.NoError(t, err)
	info, err := os.Stat(kept.File)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())

	// A link where the file should be is replaced, and what it leads to left alone.
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("mine"), 0o600))
	require.NoError(t, os.Remove(kept.File))
	require.NoError(t, os.Symlink(other, kept.File))
	_, err = s.Save(t.Context(), human(plane))
	require.NoError(t, err)
	b, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "mine", string(b))
}

// TestConcurrent has many write and read at once: each reading is whole, and nothing is left over.
func TestConcurrent(t *testing.T) {
	_, dir := newStore(t, nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			s := credentials.New(dir, nil)
			for n := range 20 {
				c := human(plane)
				c.Token = fmt.Sprintf("rvu_h_%s-%d-%d", secret, i, n)
				if _, err := s.Save(t.Context(), c); err != nil {
					t.Error(err)
				}
				got, err := s.Load(t.Context(), plane, revue.TokenHuman)
				if err != nil || !strings.HasPrefix(got.Token, "rvu_h_"+secret+"-") {
					t.Errorf("%s: %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// TestPrinted shows that no way to print a credential shows its token.
func TestPrinted(t *testing.T) {
	c := human(plane)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("kept", "credential", c)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%+v", []credentials.Credential{c}), log.String()} {
		require.NotContains(t, text, secret)
		require.Contains(t, text, plane)
	}
}

// TestNowhere has no folder, and does not take the working directory for one.
func TestNowhere(t *testing.T) {
	t.Chdir(t.TempDir())
	s := credentials.New("", nil)
	_, err := s.Save(t.Context(), human(plane))
	require.ErrorIs(t, err, revue.ErrInvalid)
	require.Contains(t, err.Error(), "XDG_CONFIG_HOME")
	_, err = s.Load(t.Context(), plane, revue.TokenHuman)
	require.ErrorIs(t, err, revue.ErrNotFound)
	all, err := s.List()
	require.NoError(t, err)
	require.Empty(t, all)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestSaveRefuses(t *testing.T) {
	s, dir := newStore(t, nil)
	for _, c := range []credentials.Credential{{URL: plane}, {URL: plane, Kind: revue.TokenHuman, Token: agent(plane).Token}} {
		_, err := s.Save(t.Context(), c)
		require.ErrorIs(t, err, revue.ErrInvalid)
		require.NotContains(t, err.Error(), secret)
	}
	require.NoDirExists(t, dir)
}

func TestKindOf(t *testing.T) {
	for token, want := range map[string]revue.TokenKind{
		"rvu_h_aZ0-_": revue.TokenHuman, "rvu_a_x": revue.TokenAgent,
		"": "", "rvu_h_": "", "rvu_x_abc": "", "rvu_h_a b": "", "rvu_h_a\n": "", "rvu_h_é": "", " rvu_h_a": "",
		"rvu_a_" + strings.Repeat("a", 300): "",
	} {
		require.Equal(t, want, credentials.KindOf(token), "%q", token)
	}
}
