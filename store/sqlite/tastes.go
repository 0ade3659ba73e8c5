package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"feedgate/feed"
	"feedgate/store/internal/taste"
)

// selectTastes gives a row for each of some users: the newest ?1 posts that the
// user likes, comments and reposts, each a JSON array of post and time. Likes
// are read in the order of their index; comments and reposts may repeat a post,
// so that all of one person's are grouped, from an index that has all it takes.
// The limit is an expression, as in arms.
const selectTastes = `SELECT j.value,
	(SELECT json_group_array(json_array(post, at)) FROM (
		SELECT l.post, l.at FROM likes AS l WHERE l.user = j.value
		ORDER BY l.at DESC, l.post DESC LIMIT ?1 + 0)),
	(SELECT json_group_array(json_array(post, at)) FROM (
		SELECT c.post, max(c.at) AS at FROM comments AS c WHERE c.author = j.value AND c.deleted_at = 0
		GROUP BY c.post ORDER BY 2 DESC, 1 DESC LIMIT ?1 + 0)),
	(SELECT json_group_array(json_array(post, at)) FROM (
		SELECT p.repost_of AS post, max(p.at) AS at FROM posts AS p
		WHERE p.author = j.value AND p.repost_of <> 0 AND p.deleted_at = 0
		GROUP BY p.repost_of ORDER BY 2 DESC, 1 DESC LIMIT ?1 + 0))
	FROM json_each(?2) AS j`

// TastesOf implements [feed.TasteRecord].
func (r *Record) TastesOf(ctx context.Context, users []feed.ID, limit int) ([]feed.Tastes, error) {
	if limit <= 0 {
		return nil, nil
	}
	all, err := listByID(ctx, r, "TastesOf", distinct(users), func(rows *sql.Rows) (t feed.Tastes, err error) {
		var likes, comments, reposts sql.RawBytes
		if err := rows.Scan(&t.User, &likes, &comments, &reposts); err != nil {
			return t, err
		}
		for _, of := range []struct {
			kind feed.EngagementKind
			list []byte
		}{{feed.EngagedLike, likes}, {feed.EngagedComment, comments}, {feed.EngagedRepost, reposts}} {
			if t.Engaged, err = appendEngaged(t.Engaged, of.kind, of.list); err != nil {
				return t, fmt.Errorf("tastes of %s: %w", t.User, err)
			}
		}
		t.Engaged = taste.Merge(t.Engaged, limit)
		return t, nil
	}, selectTastes, limit)
	if err != nil {
		return nil, err
	}
	engaged := all[:0]
	for _, t := range all {
		if len(t.Engaged) > 0 {
			engaged = append(engaged, t)
		}
	}
	return engaged, nil
}

func appendEngaged(to []feed.Engagement, kind feed.EngagementKind, list []byte) ([]feed.Engagement, error) {
	var pairs [][2]int64
	if err := json.Unmarshal(list, &pairs); err != nil {
		return nil, err
	}
	for _, p := range pairs {
		to = append(to, feed.Engagement{Post: feed.ID(p[0]), At: p[1], Kind: kind})
	}
	return to, nil
}

// nextEngaged gives the lowest id above x of somebody who likes, comments or
// reposts, NULL for none: three steps into indexes, however much there is.
const nextEngaged = `(SELECT min(id) FROM (
	SELECT min(l.user) AS id FROM likes AS l WHERE l.user > x
	UNION ALL SELECT min(c.author) FROM comments AS c WHERE c.author > x AND c.deleted_at = 0
	UNION ALL SELECT min(p.author) FROM posts AS p WHERE p.author > x AND p.repost_of <> 0 AND p.deleted_at = 0))`

// selectEngaged steps from one person to the next.
const selectEngaged = `WITH RECURSIVE engaged(x) AS (
	SELECT ?1 UNION ALL SELECT ` + nextEngaged + ` FROM engaged WHERE x IS NOT NULL LIMIT ?2 + 1)
	SELECT x FROM engaged WHERE x IS NOT NULL LIMIT -1 OFFSET 1`

// Engaged implements [feed.TasteRecord].
func (r *Record) Engaged(ctx context.Context, after feed.ID, limit int) ([]feed.ID, error) {
	return list(ctx, r, "Engaged", scanID, selectEngaged, after, max(0, limit))
}

const selectRecent = `SELECT at, id, author FROM posts
	WHERE deleted_at = 0 AND (at, id) < (?1, ?2) ORDER BY at DESC, id DESC LIMIT ?3 + 0`

// RecentPosts implements [feed.TasteRecord].
func (r *Record) RecentPosts(ctx context.Context, below feed.Position, limit int) ([]feed.Entry, error) {
	return list(ctx, r, "RecentPosts", scanEntry, selectRecent, below.At, below.ID, max(0, limit))
}
