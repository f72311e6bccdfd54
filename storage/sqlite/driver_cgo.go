//go:build cgo

package sqlite

import (
	"database/sql/driver"
	"errors"

	sqlite3 "github.com/mattn/go-sqlite3"
)

func newDriver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// resultCode returns the primary result code of an error of SQLite's, and whether it is one.
func resultCode(err error) (int, bool) {
	var e sqlite3.Error
	if errors.As(err, &e) {
		return int(e.Code) & 0xff, true
	}
	return 0, false
}
