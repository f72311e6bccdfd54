//go:build !cgo

package sqlite

import (
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
)

func newDriver() driver.Driver { return &sqlite.Driver{} }

// resultCode returns the primary result code of an error of SQLite's, and whether it is one.
func resultCode(err error) (int, bool) {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff, true
	}
	return 0, false
}
