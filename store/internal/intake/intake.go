// Package intake decides what becomes of imported rows. Both records read what
// is there already, ask here, and write the rows that are judged Added.
//
// A row is judged against what is there and against the rows before it in its
// batch. The functions note what they accept in the maps that they are given.
package intake

import (
	"fmt"

	"feedgate/feed"
)

func refused(format string, args ...any) feed.Outcome {
	return feed.Outcome{State: feed.Refused, Reason: fmt.Sprintf(format, args...)}
}

// Handles says which handle each id has and which id each handle has.
type Handles struct {
	ByID     map[feed.ID]string
	ByHandle map[string]feed.ID
}

// Users judges users.
func Users(rows []feed.User, there Handles) []feed.Outcome {
	out := make([]feed.Outcome, len(rows))
	for i, u := range rows {
		handle, known := there.ByID[u.ID]
		owner, taken := there.ByHandle[u.Handle]
		switch {
		case u.ID <= 0:
			out[i] = refused("A user's id is a whole number above 0, not %d.", u.ID)
		case known && handle == u.Handle:
			out[i].State = feed.Same
		case known:
			out[i] = refused("The id %d belongs to the user with the handle %q.", u.ID, handle)
		case taken:
			out[i] = refused("The handle %q belongs to the user %d.", u.Handle, owner)
		default:
			there.ByID[u.ID], there.ByHandle[u.Handle] = u.Handle, u.ID
		}
	}
	return out
}

// Known is what tells one post from another.
type Known struct {
	Author   feed.ID
	At       int64
	Text     string
	RepostOf feed.ID
}

// Posts judges posts and sets the OriginalAuthor of accepted reposts. The map
// holds the posts there with an id of the rows, and the originals of the rows.
func Posts(rows []feed.Post, users map[feed.ID]bool, there map[feed.ID]Known) []feed.Outcome {
	out := make([]feed.Outcome, len(rows))
	for i := range rows {
		p := &rows[i]
		is, known := there[p.ID]
		original, found := there[p.RepostOf]
		switch {
		case p.ID <= 0:
			out[i] = refused("A post's id is a whole number above 0, not %d.", p.ID)
		case known && is == Known{Author: p.Author, At: p.At, Text: p.Text, RepostOf: p.RepostOf}:
			out[i].State = feed.Same
		case known:
			out[i] = refused("The id %d belongs to another post, of the user %d.", p.ID, is.Author)
		case !users[p.Author]:
			out[i] = refused("Its author, the user %d, is missing.", p.Author)
		case p.RepostOf != 0 && !found:
			out[i] = refused("Its original, the post %d, is missing.", p.RepostOf)
		case p.RepostOf != 0 && original.RepostOf != 0:
			out[i] = refused("Its original, the post %d, is a repost itself.", p.RepostOf)
		default:
			p.OriginalAuthor = original.Author
			there[p.ID] = Known{Author: p.Author, At: p.At, Text: p.Text, RepostOf: p.RepostOf}
		}
	}
	return out
}

// Edge is a pair that a follow or a like makes.
type Edge struct{ From, To feed.ID }

// Follows judges follows.
func Follows(rows []feed.Follow, users map[feed.ID]bool, there map[Edge]bool) []feed.Outcome {
	out := make([]feed.Outcome, len(rows))
	for i, f := range rows {
		edge := Edge{From: f.Follower, To: f.Followee}
		switch {
		case f.Follower == f.Followee:
			out[i] = refused("The user %d cannot follow themselves.", f.Follower)
		case there[edge]:
			out[i].State = feed.Same
		case !users[f.Follower]:
			out[i] = refused("The follower, the user %d, is missing.", f.Follower)
		case !users[f.Followee]:
			out[i] = refused("The followee, the user %d, is missing.", f.Followee)
		default:
			there[edge] = true
		}
	}
	return out
}

// Likes judges likes.
func Likes(rows []feed.Like, users, posts map[feed.ID]bool, there map[Edge]bool) []feed.Outcome {
	out := make([]feed.Outcome, len(rows))
	for i, l := range rows {
		edge := Edge{From: l.User, To: l.Post}
		switch {
		case there[edge]:
			out[i].State = feed.Same
		case !users[l.User]:
			out[i] = refused("The user %d is missing.", l.User)
		case !posts[l.Post]:
			out[i] = refused("The post %d is missing.", l.Post)
		default:
			there[edge] = true
		}
	}
	return out
}

// Accepted returns the rows that are to be written.
func Accepted[T any](rows []T, outcomes []feed.Outcome) []T {
	var accepted []T
	for i, row := range rows {
		if outcomes[i].State == feed.Added {
			accepted = append(accepted, row)
		}
	}
	return accepted
}
