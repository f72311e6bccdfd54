package sqlite

import (
	"errors"
	"io/fs"
	"os"

	"github.com/revuehq/revue"
)

// identify remembers which file is at the path. The name of an open file can be given to another one, a
// backup that is put back say, or be taken away; SQLite would go on to write to the file that it has opened,
// where nobody would ever find it. It is asked after the first connection was made: layered file systems
// give a file another identity when it is first opened for writing.
func (s *Store) identify() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	os.SameFile(info, info) // Windows looks the identity up when it is first asked for it: now
	s.file = info
	return nil
}

// inPlace fails unless the file at the path is the one that was opened. Once it was not, that stays so:
// others may have written to another one meanwhile. It costs one system call, less than two
// microseconds, and touches no lock of SQLite's, since on Unix it opens nothing.
func (s *Store) inPlace() error {
	if s.gone.Load() {
		return s.errReplaced()
	}
	if s.file == nil { // this is the first connection
		return nil
	}
	info, err := os.Stat(s.path)
	switch {
	case err == nil && os.SameFile(info, s.file):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return storageError("look at the file", err) // it may well be the same
	}
	s.gone.Store(true)
	return s.errReplaced()
}

func (s *Store) errReplaced() error {
	return &revue.Error{
		Code: revue.CodeUnavailable, Message: "the database file was replaced or removed while revue had it open; restart revue",
		Err: errors.New(s.path + " is no longer the file that was opened"),
	}
}
