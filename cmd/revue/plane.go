package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/sqlite"
)

// defaultWorkspace is the workspace of a plane that was told no other.
const defaultWorkspace = "default"

// plane is an open store with the desk over it.
type plane struct {
	*revue.Desk
	store revue.Store
	path  string
}

func (p *plane) close() error { return p.store.Close() }

// dbPath returns the database that the flags and the environment name, and whether they name one.
func (a *app) dbPath() (path string, named bool, err error) {
	path = a.db
	if path == "" {
		path = a.env("REVUE_DB")
	}
	if path != "" {
		if scheme, _, ok := strings.Cut(path, "://"); ok {
			return "", true, misuse(fmt.Sprintf("--db %s://…: this version keeps its data in an SQLite file; give its path", scheme))
		}
		return path, true, nil
	}
	data := a.env("XDG_DATA_HOME")
	if !filepath.IsAbs(data) { // the XDG specification has relative paths ignored
		home := a.home()
		if home == "" {
			return "", false, misuse("no home folder is known: say where the database is with --db PATH or REVUE_DB")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "revue", "revue.db"), false, nil
}

// home is the home folder of the user, "" where none is known.
func (a *app) home() string {
	if home := a.env("HOME"); home != "" {
		return home
	}
	return a.env("USERPROFILE")
}

// localPath returns the database for a command that works on a store directly. It refuses to fall back to the
// default one where commands work on a plane elsewhere: the command would act on the wrong data.
func (a *app) localPath() (string, error) {
	path, named, err := a.dbPath()
	if err != nil || named {
		return path, err
	}
	address, err := a.elsewhere()
	if err == nil && address != "" {
		err = fmt.Errorf("this needs the database itself, and your plane is %s: run it on the machine of the plane with --db PATH or REVUE_DB", address)
	}
	return path, err
}

// open opens the database that is there, for a command that only works on a store. One that works on a plane elsewhere
// too uses seated.
func (a *app) open(ctx context.Context) (*plane, error) {
	p, err := a.openAny(ctx, false)
	if err != nil {
		return nil, err
	}
	if err := p.hasWorkspace(ctx, a.human()); err != nil {
		_ = p.close()
		return nil, err
	}
	return p, nil
}

// onStore runs fn on the database that is there, for a command that only works on a store.
func (a *app) onStore(ctx context.Context, fn func(context.Context, *plane) error) error {
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	err = fn(ctx, p)
	if cerr := p.close(); err == nil {
		err = cerr
	}
	return err
}

// openAny opens the database, whatever workspaces are in it, and makes it where create says so.
func (a *app) openAny(ctx context.Context, create bool) (*plane, error) {
	path, err := a.localPath()
	if err != nil {
		return nil, err
	}
	return a.openHere(ctx, path, create)
}

func (a *app) openHere(ctx context.Context, path string, create bool) (*plane, error) {
	if !create {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, noDatabase(path)
		}
	}
	return openPlane(ctx, path, nil)
}

// nothingYet reports whether nobody has used revue here: no database and no plane is named, and the usual database is
// not there.
func (a *app) nothingYet() bool {
	path, named, err := a.dbPath()
	if err != nil || named || a.apiKey() != "" {
		return false
	}
	if address, err := a.elsewhere(); err != nil || address != "" {
		return false
	}
	_, err = os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func noDatabase(path string) error {
	return &revue.Error{
		Code:    revue.CodeNotFound,
		ID:      path,
		Message: "there is no database at " + path + `: "revue serve" or "revue mcp --db PATH" makes one`,
	}
}

func openPlane(ctx context.Context, path string, log *slog.Logger) (*plane, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, misuse(path + " is a folder: give the path of the database file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	store, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, opening(path, err)
	}
	return &plane{Desk: revue.New(store, memory.New(nil), &revue.Options{Log: log}), store: store, path: path}, nil
}

// opening says what stands in the way of a database, where that is a permission.
func opening(path string, err error) error {
	if revue.CodeOf(err) == revue.CodeInvalid {
		return err
	}
	f, why := os.OpenFile(path, os.O_RDWR, 0) // sqlite has closed it again, so no lock is lost by this
	if why != nil {
		return unwritable(path, why, err)
	}
	_ = f.Close()
	tmp, why := os.CreateTemp(filepath.Dir(path), ".revue-*")
	if why != nil {
		return unwritable("the folder of "+path, why, err)
	}
	_ = tmp.Close()
	_ = os.Remove(tmp.Name())
	return err
}

// unwritable returns an error that says what to do where why is a permission, else err.
func unwritable(what string, why, err error) error {
	if errors.Is(why, fs.ErrPermission) || errors.Is(why, syscall.EROFS) {
		return fmt.Errorf("you may not write to %s, and revue needs to, even to look: run the command as the user whose database it is", what)
	}
	return err
}

// hasWorkspace reports ErrNotFound for a workspace that is not there. A database that is new has the usual one.
func (p *plane) hasWorkspace(ctx context.Context, h revue.Human) error {
	all, err := p.Admin(h).Workspaces(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 && h.Workspace == defaultWorkspace {
		return nil
	}
	names := make([]string, len(all))
	for i, w := range all {
		if names[i] = w.Name; w.Name == h.Workspace {
			return nil
		}
	}
	there := "there are none"
	if len(names) > 0 {
		there = "there is " + strings.Join(names, ", ")
	}
	return &revue.Error{
		Code: revue.CodeNotFound, ID: h.Workspace,
		Message: fmt.Sprintf("there is no workspace %s in %s: %s, and \"revue workspace create\" makes one", h.Workspace, p.path, there),
	}
}

// ensureWorkspace makes the workspace where there is none of that name.
func (p *plane) ensureWorkspace(ctx context.Context, h revue.Human) error {
	all, err := p.Admin(h).Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.Name == h.Workspace {
			return nil
		}
	}
	_, err = p.Admin(h).CreateWorkspace(ctx, h.Workspace)
	if errors.Is(err, revue.ErrConflict) { // another process was faster
		return nil
	}
	return err
}

// human is the local user. No credential was checked, and what is decided says so.
func (a *app) human() revue.Human {
	return revue.Human{Workspace: a.workspaceName(), ID: "local", Name: a.userName(), Via: revue.LocalVia, Local: true}
}

// flags repeats the flags that say which data is meant, for the commands that are shown to the user.
func (a *app) flags() string {
	s := ""
	if a.db != "" {
		s += " --db " + shellWord(a.db)
	}
	if a.workspace != "" {
		s += " --workspace " + shellWord(a.workspace)
	}
	return s
}

func (a *app) workspaceName() string { return cmp.Or(a.pinned(), defaultWorkspace) }

// pinned is the workspace that the user named, "" for none.
func (a *app) pinned() string { return cmp.Or(a.workspace, a.env("REVUE_WORKSPACE_ID")) }

func (a *app) userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	for _, key := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name := a.env(key); name != "" {
			return name
		}
	}
	return "local user"
}
