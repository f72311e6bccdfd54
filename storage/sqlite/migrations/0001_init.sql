-- Each table's primary key begins with the workspace: nothing crosses it.
-- Times are microseconds since 1970 in UTC. A body is the JSON of the whole value; the columns beside
-- it are what queries need.

CREATE TABLE clocks (
	change    INTEGER PRIMARY KEY, -- numbers the commits of the whole file; that of the workspace's last one
	workspace TEXT    NOT NULL UNIQUE,
	at        INTEGER NOT NULL     -- Now of that commit
) STRICT;

CREATE TABLE lots (
	workspace TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	seq       INTEGER NOT NULL,
	status    TEXT    NOT NULL,
	kind      TEXT    NOT NULL,
	stream    TEXT    NOT NULL,
	key       TEXT    NOT NULL,
	expires   INTEGER,
	body      TEXT    NOT NULL,
	PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX lots_seq     ON lots (workspace, seq, id);
CREATE INDEX lots_status  ON lots (workspace, status, seq, id);
CREATE INDEX lots_key     ON lots (workspace, key, seq, id);
CREATE INDEX lots_expires ON lots (workspace, expires) WHERE expires IS NOT NULL;

CREATE TABLE asks (
	workspace  TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	seq        INTEGER NOT NULL,
	lot        TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	thread     TEXT    NOT NULL,
	credential TEXT    NOT NULL,
	decision   TEXT    NOT NULL,
	body       TEXT    NOT NULL,
	PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX asks_seq      ON asks (workspace, seq, id);
CREATE INDEX asks_lot      ON asks (workspace, lot, seq, id);
CREATE INDEX asks_key      ON asks (workspace, key, seq, id);
CREATE INDEX asks_decision ON asks (workspace, decision, seq, id) WHERE decision <> '';

CREATE TABLE decisions (
	workspace TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	seq       INTEGER NOT NULL,
	key       TEXT    NOT NULL,
	body      TEXT    NOT NULL,
	PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX decisions_seq ON decisions (workspace, seq, id);
CREATE INDEX decisions_key ON decisions (workspace, key, seq, id);

CREATE TABLE contexts (
	workspace  TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	seq        INTEGER NOT NULL,
	credential TEXT    NOT NULL,
	expires    INTEGER,
	removed    INTEGER NOT NULL,
	body       TEXT    NOT NULL,
	PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX contexts_seq     ON contexts (workspace, seq, id);
CREATE INDEX contexts_expires ON contexts (workspace, expires) WHERE removed = 0;

CREATE TABLE events (
	workspace TEXT    NOT NULL,
	seq       INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	body      TEXT    NOT NULL,
	PRIMARY KEY (workspace, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
	workspace TEXT NOT NULL,
	kind      TEXT NOT NULL,
	key       TEXT NOT NULL,
	value     BLOB NOT NULL,
	PRIMARY KEY (workspace, kind, key)
) STRICT;
