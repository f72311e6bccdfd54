package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/credentials"
	"github.com/revuehq/revue/transport/revuehttp"
)

// place is where the data of a command is: in a database here, or on a plane elsewhere.
type place struct {
	db    string // the database
	named bool   // --db or REVUE_DB named it
	url   string // the plane; "" for a database
	token string // a human token for it

	insecure bool // the token may travel readable
}

// place resolves --db, REVUE_DB, REVUE_API_URL, the last "revue login" and the default database, in this order.
func (a *app) place(ctx context.Context) (place, error) {
	path, named, dbErr := a.dbPath()
	if named {
		return place{db: path, named: true}, dbErr
	}
	if a.env("REVUE_API_URL") != "" {
		return a.placeOfEnv(ctx)
	}
	if a.apiKey() != "" {
		return place{}, misuse("REVUE_API_KEY is set and REVUE_API_URL is not: say which plane it is for, or unset it")
	}
	last, err := a.lastLogin()
	if err != nil || last == nil {
		return place{db: path}, errors.Join(err, dbErr)
	}
	c, err := a.credentials().Load(ctx, last.URL, revue.TokenHuman)
	return place{url: c.URL, token: c.Token, insecure: c.Insecure}, err
}

// placeOfEnv is the plane of REVUE_API_URL.
func (a *app) placeOfEnv(ctx context.Context) (place, error) {
	address, plain, err := a.apiURL()
	if err != nil {
		return place{}, err
	}
	key := a.apiKey()
	kind := credentials.KindOf(key)
	switch {
	case kind == revue.TokenHuman && plain && !a.insecureEnv():
		return place{}, errPlain
	case kind == revue.TokenHuman:
		return place{url: address, token: key, insecure: plain}, nil
	case key != "" && kind == "":
		return place{}, misuse("REVUE_API_KEY is no token of revue: one begins with rvu_h_ or rvu_a_")
	}
	c, err := a.credentials().Load(ctx, address, revue.TokenHuman)
	switch {
	case errors.Is(err, revue.ErrNotFound) && kind == revue.TokenAgent:
		err = fmt.Errorf("REVUE_API_KEY is an agent token, and this takes a human one: \"revue login %s\" keeps yours", address)
	case errors.Is(err, revue.ErrNotFound):
		err = fmt.Errorf("you are not logged in to %s: \"revue login %[1]s\" keeps your token, or set REVUE_API_KEY to a human one", address)
	}
	return place{url: address, token: c.Token, insecure: c.Insecure}, err
}

// apiURL is REVUE_API_URL, and whether tokens travel readable to it.
func (a *app) apiURL() (address string, plain bool, err error) {
	address, plain, err = credentials.ParseURL(a.env("REVUE_API_URL"))
	if err != nil {
		err = fmt.Errorf("REVUE_API_URL: %w", err)
	}
	return address, plain, err
}

// apiKey is REVUE_API_KEY. What reads it from a file likes to leave a line end.
func (a *app) apiKey() string { return strings.TrimSpace(a.env("REVUE_API_KEY")) }

// errPlain refuses to send the token of a variable over http to another machine.
const errPlain = misuse("REVUE_API_URL: the token would travel readable over http to another machine: use https, or REVUE_INSECURE=1 where nobody else is on the way")

// lastLogin is the plane that a human logged in to last, nil where there is none.
func (a *app) lastLogin() (*credentials.Credential, error) {
	c, err := a.credentials().Last(revue.TokenHuman)
	switch {
	case errors.Is(err, revue.ErrNotFound):
		return nil, nil //nolint:nilnil // never logged in is no error
	case err != nil:
		return nil, err
	}
	return &c, nil
}

// elsewhere returns the plane that commands work on where nothing names a database, "" for none.
func (a *app) elsewhere() (string, error) {
	if _, named, err := a.dbPath(); named {
		return "", err
	}
	if a.env("REVUE_API_URL") != "" {
		address, _, err := a.apiURL()
		return address, err
	}
	last, err := a.lastLogin()
	if err != nil || last == nil {
		return "", err
	}
	return last.URL, nil
}

// credentials is what "revue login" keeps, below the configuration folder of the user.
func (a *app) credentials() *credentials.Store {
	opts := &credentials.Options{}
	if a.env("REVUE_KEYRING") != "off" {
		opts.Keyring = osKeyring{}
	}
	dir := a.env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification has relative paths ignored
		home := a.home()
		if home == "" {
			return credentials.New("", nil) // never what is in the working directory
		}
		dir = filepath.Join(home, ".config")
	}
	return credentials.New(filepath.Join(dir, "revue", "credentials"), opts)
}

// dial makes a client of a plane elsewhere. Nothing is sent before it is used.
func dial(address, token string, opts *revuehttp.ClientOptions) (*revuehttp.Client, error) {
	return revuehttp.NewClient(address, token, opts)
}

// dialAs makes a client for a human at the command line.
func (a *app) dialAs(at place) (*revuehttp.Client, error) {
	return dial(at.url, at.token, &revuehttp.ClientOptions{Workspace: a.pinned(), Via: "cli", Insecure: at.insecure})
}

// insecureEnv reports whether the user allows tokens to travel readable to the plane of REVUE_API_URL.
func (a *app) insecureEnv() bool { return a.env("REVUE_INSECURE") == "1" }

// seat is where a human works from: one workspace, of a database that was opened here or of a plane elsewhere.
type seat struct {
	revue.Reviewer
	admin  revue.Admin
	local  *plane            // the database; nil elsewhere
	remote *revuehttp.Client // the plane; nil here
	url    string            // its address
}

func (s *seat) close() error {
	if s.local != nil {
		return s.local.close()
	}
	return s.remote.Close()
}

// run does the work in the background that makes Events prompt, until ctx ends. A plane elsewhere does its own.
func (s *seat) run(ctx context.Context) error {
	if s.local != nil {
		return s.local.Run(ctx)
	}
	<-ctx.Done()
	return nil
}

// seat opens the place of a command. A database that is not there is made where create says so.
func (a *app) seat(ctx context.Context, create bool) (*seat, error) {
	at, err := a.place(ctx)
	if err != nil {
		return nil, err
	}
	if at.url != "" {
		c, err := a.dialAs(at)
		if err != nil {
			return nil, err
		}
		return &seat{Reviewer: c, admin: c.Admin(), remote: c, url: at.url}, nil
	}
	p, err := a.openHere(ctx, at.db, create)
	if err != nil {
		return nil, err
	}
	h := a.human()
	if create && h.Workspace == defaultWorkspace {
		err = p.ensureWorkspace(ctx, h)
	}
	if err == nil {
		err = p.hasWorkspace(ctx, h)
	}
	if err != nil {
		_ = p.close()
		return nil, err
	}
	return &seat{Reviewer: p.Reviewer(h), admin: p.Admin(h), local: p}, nil
}

// seated runs fn on the place of a command: the database that is there, or the plane elsewhere.
func (a *app) seated(ctx context.Context, fn func(context.Context, *seat) error) error {
	return a.seatedAt(ctx, false, fn)
}

func (a *app) seatedAt(ctx context.Context, create bool, fn func(context.Context, *seat) error) error {
	s, err := a.seat(ctx, create)
	if err != nil {
		return err
	}
	err = a.remedied(explained(s, fn(ctx, s)))
	if cerr := s.close(); err == nil {
		err = cerr
	}
	return err
}

// explained is an error as a human at a command line reads it.
func explained(s *seat, err error) error {
	if s.local != nil {
		return err
	}
	return refused(s.url, err)
}

// remedied is an error whose remedy names REVUE_API_URL only where that named the plane.
func (a *app) remedied(err error) error {
	if a.env("REVUE_API_URL") == "" {
		return withoutVariable(err)
	}
	return err
}

// refused is an error of a plane elsewhere as a human reads it: what a plane refuses reads as it does on a database,
// and of a token that is not good it says which plane, and what to do.
func refused(address string, err error) error {
	var e *revue.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case revue.CodeInternal, revue.CodeUnavailable, revue.CodeRateLimited:
		return err
	case revue.CodeDenied:
		said := *e
		said.Err = nil
		said.Message = fmt.Sprintf("%s: %s (\"revue whoami\" says who you are there, and \"revue login %s\" takes another token)", address, e.Message, address)
		return &said
	}
	return &revue.Error{Code: e.Code, ID: e.ID, Message: e.Message}
}
