package sqlite

// applicationID marks the file as feedgate's ("fgat"), as the SQLite header allows.
const applicationID = 0x66676174

// migrations returns the steps from each schema version to the next; the
// version is the number of steps done and stands in user_version.
func migrations() []step {
	return []step{script(schemaV1), script(schemaV2), toV3}
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

// schemaV3 keeps with each post the cell of its published position, "" for
// none, and serves what recommends posts. The indexes of schemaV3Indexes come
// when the cells are there.
const schemaV3 = `
ALTER TABLE posts ADD COLUMN place_cell TEXT NOT NULL DEFAULT '';

CREATE TABLE views (
	user INTEGER NOT NULL,
	post INTEGER NOT NULL,
	at   INTEGER NOT NULL,
	PRIMARY KEY (user, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX views_by_time ON views (user, at, post);

CREATE INDEX posts_by_time ON posts (at) WHERE deleted_at = 0;
CREATE INDEX posts_by_reposter ON posts (author, repost_of, at) WHERE repost_of <> 0 AND deleted_at = 0;
CREATE INDEX likes_by_time ON likes (user, at, post);
CREATE INDEX comments_by_author ON comments (author, post, at) WHERE deleted_at = 0;
`

const schemaV3Indexes = `
CREATE INDEX posts_by_cell ON posts (place_cell, at) WHERE place_cell <> '' AND deleted_at = 0;
`
