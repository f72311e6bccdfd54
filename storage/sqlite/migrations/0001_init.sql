-- Every row names its workspace by number, and every index but those of workspaces begins with it: nothing
-- crosses it. Times are microseconds since 1970 in UTC. A body is the JSON of the whole value; the
-- columns beside it are what queries need. There are few indexes, because each costs a commit a page:
-- queries that nobody makes often read the workspace's rows.

CREATE TABLE workspaces (
	n      INTEGER PRIMARY KEY,
	name   TEXT    UNIQUE,   -- NULL in row 0, which stands for the whole file
	change INTEGER NOT NULL, -- the number of the last commit; commits of the whole file are numbered
	at     INTEGER NOT NULL  -- Now of that commit
) STRICT;
INSERT INTO workspaces VALUES (0, NULL, 0, 0);

CREATE TABLE lots (
	ws      INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	id      TEXT    NOT NULL,
	status  TEXT    NOT NULL,
	kind    TEXT    NOT NULL,
	stream  TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	expires INTEGER,
	body    TEXT    NOT NULL,
	PRIMARY KEY (ws, id)
) STRICT;
CREATE INDEX lots_seq     ON lots (ws, seq);
CREATE INDEX lots_key     ON lots (ws, key, seq);
CREATE INDEX lots_open    ON lots (ws, seq) WHERE status = 'open';
CREATE INDEX lots_expires ON lots (ws, expires) WHERE status = 'open' AND expires IS NOT NULL;

CREATE TABLE asks (
	ws         INTEGER NOT NULL,
	seq        INTEGER NOT NULL,
	id         TEXT    NOT NULL,
	lot        TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	thread     TEXT    NOT NULL,
	credential TEXT    NOT NULL,
	decision   TEXT    NOT NULL,
	returned   INTEGER NOT NULL, -- whether there is a ReturnedAt
	body       TEXT    NOT NULL,
	PRIMARY KEY (ws, id)
) STRICT;
CREATE INDEX asks_lot         ON asks (ws, lot, seq);
CREATE INDEX asks_key         ON asks (ws, key, seq);
CREATE INDEX asks_decision    ON asks (ws, decision, seq) WHERE decision <> '';
CREATE INDEX asks_uncollected ON asks (ws, key, seq) WHERE decision <> '' AND returned = 0;

CREATE TABLE decisions (
	ws   INTEGER NOT NULL,
	seq  INTEGER NOT NULL,
	id   TEXT    NOT NULL,
	key  TEXT    NOT NULL,
	body TEXT    NOT NULL,
	PRIMARY KEY (ws, seq, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX decisions_id ON decisions (ws, id);

CREATE TABLE contexts (
	ws         INTEGER NOT NULL,
	seq        INTEGER NOT NULL,
	id         TEXT    NOT NULL,
	credential TEXT    NOT NULL,
	expires    INTEGER,
	removed    INTEGER NOT NULL,
	body       TEXT    NOT NULL,
	PRIMARY KEY (ws, seq, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX contexts_id ON contexts (ws, id);
CREATE INDEX contexts_expires   ON contexts (ws, expires) WHERE removed = 0;

CREATE TABLE events (
	ws   INTEGER NOT NULL,
	seq  INTEGER NOT NULL,
	body TEXT    NOT NULL,
	PRIMARY KEY (ws, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
	ws    INTEGER NOT NULL,
	kind  TEXT    NOT NULL,
	key   TEXT    NOT NULL,
	value BLOB    NOT NULL,
	PRIMARY KEY (ws, kind, key)
) STRICT, WITHOUT ROWID;
