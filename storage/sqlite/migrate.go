package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/revuehq/revue"
)

// The schema is the sum of these files, applied in order of their names. A released file never changes;
// a change of the schema is a new file.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a file as revue's, in the header field that SQLite keeps for it: "rvue".
const applicationID = 0x72767565

// migrate brings the schema up to date. Any number of processes may do it at once.
func (s *Store) migrate(ctx context.Context, se *session) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	done, err := s.schemaVersion(se, len(files))
	if err != nil {
		return err
	}
	var mode string // kept in the file, so every connection of every process has it
	if err := se.row("PRAGMA journal_mode = WAL", nil, &mode); err != nil {
		return err
	}
	if mode != "wal" {
		return &revue.Error{Code: revue.CodeUnavailable, ID: s.path, Message: "the file system of " + s.path + " does not allow SQLite a write-ahead log; name a file on a local disk"}
	}
	if done == len(files) {
		return nil
	}
	if err := s.patiently(ctx, func() error { return se.exec("BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			se.rollback()
		}
	}()
	if done, err = s.schemaVersion(se, len(files)); err != nil { // another process may have been faster
		return err
	}
	for _, name := range files[done:] {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if err := execOn(se.conn, string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, p := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", len(files)),
	} {
		if err := execOn(se.conn, p); err != nil {
			return err
		}
	}
	if err := se.exec("COMMIT"); err != nil {
		return err
	}
	committed = true
	return nil
}

// schemaVersion returns how many migrations the file has seen. It refuses a file of another program or
// of a newer revue, without having changed it.
func (s *Store) schemaVersion(se *session, known int) (int, error) {
	var app, version, tables int
	err := se.row("SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)",
		nil, &app, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case app == 0 && version == 0 && tables == 0:
		return 0, nil
	case app != applicationID:
		return 0, &revue.Error{Code: revue.CodeInvalid, ID: s.path, Message: s.path + " is a database of another program; name another file"}
	case version > known:
		return 0, &revue.Error{Code: revue.CodeInvalid, ID: s.path, Message: fmt.Sprintf(
			"%s was made by a newer revue (schema %d, this program knows up to %d); update revue", s.path, version, known)}
	}
	return version, nil
}
