// Package bench compares a lookup in revue's memory with the full-text searches that one could have used instead:
// bleve and SQLite's FTS5. It is a module of its own, so that nobody who uses revue downloads them.
//
//	go test -tags sqlite_fts5 -run Compare -v -timeout 60m -sizes 10000,100000,1000000
//
// or "make bench-memory" at the root, prints one table.
//
// Each engine holds the same short questions, and each query goes to all of them in turn, so that whatever else the
// machine does falls on all alike. What is measured of revue is a whole recall: it looks for news in the journal,
// finds, compares and says how far each match may be reused. The others find ten ids and no more.
package bench
