// Package credentials keeps the bearer tokens of planes for the user of this machine: in a keyring where there is one
// that answers, else in files that nobody but the user can read.
//
// For each plane and kind of token there is one file, which says whose token it is and where it is kept. The files are
// replaced whole, so writers need no lock, and the last one wins.
package credentials

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// Keyring is where an operating system keeps secrets. Get and Delete return [revue.ErrNotFound] for what is not there.
type Keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, secret string) error
	Delete(service, user string) error
}

// service is under what name the tokens are in a keyring.
const service = "revue"

// Credential is a token, and what was known of it when it was saved. Printing one shows no token.
type Credential struct {
	URL       string // of the plane, see [ParseURL]
	Kind      revue.TokenKind
	Token     string
	Workspace string
	Name      string // whose it is
	Insecure  bool   // it may travel readable, over http to another machine
	SavedAt   time.Time
	InKeyring bool
	File      string // the file that describes it, and has the token where InKeyring is false
}

// String says which credential it is, without the token.
func (c Credential) String() string {
	return fmt.Sprintf("%s token for %s", c.Kind, c.URL)
}

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// LogValue is String.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Options configure a [Store].
type Options struct {
	Keyring Keyring       // nil: files alone
	Wait    time.Duration // how long a keyring may take to answer; default 10 s
}

// Store keeps credentials. It is safe for concurrent use, and several processes may share a folder.
type Store struct {
	dir     string
	keyring Keyring
	wait    time.Duration
}

// New returns the store in a folder, which is made when something is saved. The folder is the store's alone; a store
// without one ("") has nothing and keeps nothing.
func New(dir string, opts *Options) *Store {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	return &Store{dir: dir, keyring: o.Keyring, wait: o.Wait}
}

// KindOf says what a token is for by how it begins, "" for what is no token.
func KindOf(token string) revue.TokenKind {
	rest, kind := token, revue.TokenKind("")
	for _, k := range []revue.TokenKind{revue.TokenAgent, revue.TokenHuman} {
		if after, ok := strings.CutPrefix(token, "rvu_"+string(k[:1])+"_"); ok {
			rest, kind = after, k
		}
	}
	if len(token) > maxToken || rest == "" || strings.ContainsFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
	}) {
		return ""
	}
	return kind
}

// maxToken bounds a token, in bytes.
const maxToken = 256

// record is a credential as its file has it.
type record struct {
	Version   int             `json:"version"`
	URL       string          `json:"url"`
	Kind      revue.TokenKind `json:"kind"`
	Token     string          `json:"token,omitempty"` // absent: it is in the keyring
	Workspace string          `json:"workspace"`
	Name      string          `json:"name"`
	Insecure  bool            `json:"insecure,omitempty"`
	SavedAt   time.Time       `json:"savedAt"`
}

// maxFile bounds the file of a credential, in bytes.
const maxFile = 64 << 10

// file is the name of the file of a credential. The URL is not in it: a URL makes no file name everywhere.
func file(url string, kind revue.TokenKind) string {
	sum := sha256.Sum256([]byte(url))
	return string(kind) + "-" + hex.EncodeToString(sum[:12]) + ".json"
}

// account is the name of a credential in a keyring.
func account(url string, kind revue.TokenKind) string { return string(kind) + " " + url }

// Save keeps a token in place of the one that is there for its plane and kind, and returns where it is. A keyring that
// fails, or does not answer in time, is done without.
func (s *Store) Save(ctx context.Context, c Credential) (Credential, error) {
	if c.Kind == "" || KindOf(c.Token) != c.Kind {
		return Credential{}, &revue.Error{Code: revue.CodeInvalid, Message: "token: is none of this kind"}
	}
	if err := s.makeDir(); err != nil {
		return Credential{}, err
	}
	c.File = filepath.Join(s.dir, file(c.URL, c.Kind))
	c.SavedAt = time.Now().UTC()
	c.InKeyring = s.ring(ctx, func(k Keyring) error { return k.Set(service, account(c.URL, c.Kind), c.Token) }) == nil
	if err := ctx.Err(); err != nil {
		return Credential{}, err
	}
	r := record{Version: 1, URL: c.URL, Kind: c.Kind, Workspace: c.Workspace, Name: c.Name, Insecure: c.Insecure, SavedAt: c.SavedAt}
	if !c.InKeyring {
		r.Token = c.Token
	}
	if err := s.write(c.File, r); err != nil {
		return Credential{}, err
	}
	return c, nil
}

// Load returns the credential for a plane, with its token. One that is not there is ErrNotFound.
func (s *Store) Load(ctx context.Context, url string, kind revue.TokenKind) (Credential, error) {
	if err := s.checkDir(); err != nil {
		return Credential{}, err
	}
	c, err := s.read(file(url, kind))
	if err != nil {
		return Credential{}, err
	}
	if !c.InKeyring {
		return c, nil
	}
	err = s.ring(ctx, func(k Keyring) (err error) {
		c.Token, err = k.Get(service, account(url, kind))
		return err
	})
	if err == nil && KindOf(c.Token) != kind {
		err = errors.New("what it has is no such token")
	}
	if err != nil {
		if cerr := ctx.Err(); cerr != nil {
			return Credential{}, cerr
		}
		return Credential{}, &revue.Error{
			Code: revue.CodeUnavailable, Err: err,
			Message: fmt.Sprintf("the keyring does not give the %s token for %s: unlock it, or log in again with \"revue login %s\"", kind, url, url),
		}
	}
	return c, nil
}

// List returns the credentials there are without their tokens, the one that was saved last first.
func (s *Store) List() ([]Credential, error) {
	if err := s.checkDir(); err != nil {
		if errors.Is(err, revue.ErrNotFound) {
			return nil, nil
		}
		return nil, err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list the credentials: %w", err)
	}
	var all []Credential
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		c, err := s.read(e.Name())
		if errors.Is(err, revue.ErrNotFound) { // it was removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		c.Token = ""
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Credential) int { return b.SavedAt.Compare(a.SavedAt) })
	return all, nil
}

// Last returns the credential of a kind that was saved last, without its token; ErrNotFound where there is none.
func (s *Store) Last(kind revue.TokenKind) (Credential, error) {
	all, err := s.List()
	if err != nil {
		return Credential{}, err
	}
	i := slices.IndexFunc(all, func(c Credential) bool { return c.Kind == kind })
	if i < 0 {
		return Credential{}, &revue.Error{Code: revue.CodeNotFound, Message: fmt.Sprintf("no %s token is kept here: \"revue login URL\" keeps one", kind)}
	}
	return all[i], nil
}

// Delete forgets a credential. One that is not there is ErrNotFound. Where the keyring does not give it up, the file
// goes all the same, and ErrUnavailable says so.
func (s *Store) Delete(ctx context.Context, url string, kind revue.TokenKind) error {
	if err := s.checkDir(); err != nil {
		return err
	}
	c, err := s.read(file(url, kind))
	if err != nil {
		return err
	}
	var left error
	if c.InKeyring {
		left = s.ring(ctx, func(k Keyring) error { return k.Delete(service, account(url, kind)) })
	}
	if err := os.Remove(c.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the credential: %w", err)
	}
	if left != nil && !errors.Is(left, revue.ErrNotFound) {
		return &revue.Error{
			Code: revue.CodeUnavailable, Err: left,
			Message: fmt.Sprintf("the keyring does not give up the %s token for %s: end it with \"revue token revoke\", and remove the entry %q of %q by hand", kind, url, account(url, kind), service),
		}
	}
	return nil
}

var errNoKeyring = errors.New("no keyring is in use")

// ring does one thing with the keyring, within the time it may take. What still runs then is left to end by itself:
// nothing can interrupt it, and what it comes to is not looked at.
func (s *Store) ring(ctx context.Context, do func(Keyring) error) error {
	if s.keyring == nil {
		return errNoKeyring
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("the keyring panicked: %v", v)
			}
		}()
		done <- do(s.keyring)
	}()
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("it did not answer within %s", s.wait)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// makeDir makes the folder.
func (s *Store) makeDir() error {
	if s.dir == "" {
		return &revue.Error{Code: revue.CodeInvalid, Message: "no home folder is known: say where to keep the token with XDG_CONFIG_HOME"}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the credentials: %w", err)
	}
	return s.checkDir()
}

// checkDir refuses a folder that is not the user's alone: others could put their own plane there.
func (s *Store) checkDir() error {
	info, err := os.Lstat(s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), s.dir == "":
		return &revue.Error{Code: revue.CodeNotFound, Message: "no token is kept here: \"revue login URL\" keeps one"}
	case err != nil:
		return fmt.Errorf("look at the folder of the credentials: %w", err)
	case !info.IsDir():
		return unsafe(s.dir, "is no folder, or a link to one: remove it, and log in again with \"revue login URL\"")
	case open(info):
		return unsafe(s.dir, "is open to others: close it with \"chmod 700 "+s.dir+"\"")
	}
	return nil
}

// open reports whether others than the owner may do something with a file.
func open(info fs.FileInfo) bool { return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 }

func unsafe(path, problem string) error {
	return &revue.Error{Code: revue.CodeDenied, ID: path, Message: path + " " + problem}
}

// read returns what a file has. A link is not followed, and what others can read is not trusted.
func (s *Store) read(name string) (Credential, error) {
	path := filepath.Join(s.dir, name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Credential{}, &revue.Error{Code: revue.CodeNotFound, Message: "no such token is kept here: \"revue login URL\" keeps one"}
	case err != nil:
		return Credential{}, fmt.Errorf("look at the credential: %w", err)
	case !info.Mode().IsRegular():
		return Credential{}, unsafe(path, "is no regular file: remove it, and log in again with \"revue login URL\"")
	case open(info):
		return Credential{}, unsafe(path, "can be read by others, so its token is not safe any more: end that with \"revue token revoke\", remove the file and log in again")
	case info.Size() > maxFile:
		return Credential{}, unsafe(path, "is too large to be what revue wrote: remove it, and log in again with \"revue login URL\"")
	}
	f, err := os.OpenInRoot(s.dir, name)
	if err != nil {
		return Credential{}, fmt.Errorf("read the credential: %w", err)
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() || open(now) {
		return Credential{}, unsafe(path, "is being changed: try again")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return Credential{}, fmt.Errorf("read the credential: %w", err)
	}
	var r record
	// What is wrong with the JSON is not said: it could quote the token.
	if json.Unmarshal(b, &r) != nil || r.Version != 1 || file(r.URL, r.Kind) != name || (r.Token != "" && KindOf(r.Token) != r.Kind) {
		return Credential{}, unsafe(path, "is not what revue wrote: remove it, and log in again with \"revue login URL\"")
	}
	return Credential{
		URL: r.URL, Kind: r.Kind, Token: r.Token, Workspace: r.Workspace, Name: r.Name, Insecure: r.Insecure, SavedAt: r.SavedAt,
		InKeyring: r.Token == "", File: path,
	}, nil
}

// write replaces a file whole.
func (s *Store) write(path string, r record) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the credential: %w", err)
	}
	tmp, err := os.CreateTemp(s.dir, ".new-*") // 0600
	if err != nil {
		return fmt.Errorf("write the credential: %w", err)
	}
	_, err = tmp.Write(append(b, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("write the credential: %w", err)
	}
	return nil
}
