package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// applicationID marks the file as feedgate's ("fgat"), as the SQLite header allows.
const applicationID = 0x66676174

// migrations returns the steps from each schema version to the next; the
// version is the number of steps done and stands in user_version.
func migrations() []string {
	return []string{schemaV1, schemaV2}
}

const schemaV1 = `
CREATE TABLE users (
	id           INTEGER PRIMARY KEY,
	handle       TEXT    NOT NULL UNIQUE,
	name         TEXT    NOT NULL,
	avatar_url   TEXT    NOT NULL,
	bio          TEXT    NOT NULL,
	created_at   INTEGER NOT NULL,
	followers    INTEGER NOT NULL DEFAULT 0,
	followees    INTEGER NOT NULL DEFAULT 0,
	posts        INTEGER NOT NULL DEFAULT 0,
	last_post_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE posts (
	id              INTEGER PRIMARY KEY,
	author          INTEGER NOT NULL,
	at              INTEGER NOT NULL,
	kind            TEXT    NOT NULL,
	text            TEXT    NOT NULL,
	detail          TEXT    NOT NULL,
	repost_of       INTEGER NOT NULL,
	original_author INTEGER NOT NULL,
	latitude        REAL    NOT NULL,
	longitude       REAL    NOT NULL,
	precision       TEXT    NOT NULL,
	attributes      BLOB    NOT NULL,
	deleted_at      INTEGER NOT NULL DEFAULT 0,
	likes           INTEGER NOT NULL DEFAULT 0,
	comments        INTEGER NOT NULL DEFAULT 0,
	reposts         INTEGER NOT NULL DEFAULT 0,
	first           TEXT    NOT NULL DEFAULT '',
	state           TEXT    NOT NULL,
	lane            TEXT    NOT NULL,
	op              INTEGER NOT NULL DEFAULT 0,
	mark            INTEGER NOT NULL DEFAULT 0,
	total           INTEGER NOT NULL DEFAULT 0,
	delivered       INTEGER NOT NULL DEFAULT 0,
	duty            INTEGER
) STRICT;
CREATE INDEX posts_by_author ON posts (author, at) WHERE deleted_at = 0;
CREATE INDEX posts_by_original ON posts (repost_of, author) WHERE repost_of <> 0 AND deleted_at = 0;
CREATE INDEX posts_by_duty ON posts (duty, at, id) WHERE duty IS NOT NULL;
CREATE INDEX posts_in_flight ON posts (author) WHERE duty IS NOT NULL;

CREATE TABLE follows (
	follower INTEGER NOT NULL,
	followee INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	PRIMARY KEY (follower, followee)
) STRICT, WITHOUT ROWID;
CREATE INDEX follows_by_followee ON follows (followee, follower);
CREATE INDEX follows_by_time ON follows (follower, at, followee);

CREATE TABLE bars (
	by_user INTEGER NOT NULL,
	of_user INTEGER NOT NULL,
	kind    TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (by_user, of_user, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX bars_by_target ON bars (of_user, kind, by_user);

CREATE TABLE likes (
	user   INTEGER NOT NULL,
	post   INTEGER NOT NULL,
	at     INTEGER NOT NULL,
	weight INTEGER NOT NULL,
	PRIMARY KEY (user, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX likes_by_post ON likes (post);

CREATE TABLE comments (
	id         INTEGER PRIMARY KEY,
	post       INTEGER NOT NULL,
	author     INTEGER NOT NULL,
	at         INTEGER NOT NULL,
	text       TEXT    NOT NULL,
	deleted_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX comments_by_post ON comments (post, at) WHERE deleted_at = 0;

CREATE TABLE claims (
	author    INTEGER NOT NULL,
	kind      TEXT    NOT NULL,
	client_id TEXT    NOT NULL,
	object    INTEGER NOT NULL,
	hash      BLOB    NOT NULL,
	PRIMARY KEY (author, kind, client_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE dirty (
	kind TEXT    NOT NULL,
	id   INTEGER NOT NULL,
	PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
	name  TEXT    PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- The time, in ms: a new record on a used Redis must not believe what it finds there.
INSERT INTO meta (name, value) SELECT 'generation', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER);

CREATE TABLE heartbeats (
	name TEXT    PRIMARY KEY,
	beat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE processes (
	number INTEGER PRIMARY KEY,
	owner  TEXT    NOT NULL,
	until  INTEGER NOT NULL
) STRICT;
`

const schemaV2 = `
CREATE TABLE seen (
	user        INTEGER PRIMARY KEY,
	position_at INTEGER NOT NULL DEFAULT 0,
	position_id INTEGER NOT NULL DEFAULT 0,
	at          INTEGER NOT NULL DEFAULT 0,
	notices_at  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE notices (
	id      INTEGER PRIMARY KEY,
	to_user INTEGER NOT NULL,
	kind    TEXT    NOT NULL,
	subject INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	total   INTEGER NOT NULL DEFAULT 0,
	actors  TEXT    NOT NULL DEFAULT '[]',
	UNIQUE (to_user, kind, subject)
) STRICT;
CREATE INDEX notices_by_time ON notices (to_user, at, id);

CREATE TABLE notice_actors (
	notice INTEGER NOT NULL,
	actor  INTEGER NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (notice, actor)
) STRICT, WITHOUT ROWID;
CREATE INDEX notice_actors_by_time ON notice_actors (notice, at, actor);
`

// migrate brings the file to the newest schema, in one transaction.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()

	var version, application int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if err := tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return fmt.Errorf("read the application's id: %w", err)
	}
	steps := migrations()
	switch {
	case version > 0 && application != applicationID:
		return fmt.Errorf("the file holds another application's data (id %#x, version %d)", application, version)
	case version > len(steps):
		return fmt.Errorf("the file has schema version %d, this program knows %d: use a newer feedgate", version, len(steps))
	case version == len(steps):
		return nil
	}
	for i, step := range steps[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("go to schema version %d: %w", version+i+1, err)
		}
	}
	seal := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps))
	if _, err := tx.ExecContext(ctx, seal); err != nil {
		return fmt.Errorf("write the schema's version: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
