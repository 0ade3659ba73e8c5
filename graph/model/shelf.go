package model

import (
	"context"
	"fmt"

	"feedgate/feed"
)

// Shelf holds what was loaded for the objects of one list, and the errors of
// what could not be. It does not change once the objects are handed to gqlgen.
type Shelf struct {
	Reader     feed.ID // 0 for none
	ServerTime int64   // ms, for the cursors of lists within the list

	Users     map[feed.ID]*feed.User // who is absent is hidden from the reader, or gone
	Counts    map[feed.ID]*feed.UserCounts
	Liked     feed.IDSet
	Reposted  feed.IDSet
	FollowsMe feed.IDSet
	Relations *feed.Relations

	Loaded   Part // the parts that were loaded, or tried
	Failed   Part // those of them that failed
	failures []failure

	// Place gives what the reader may know of a post's place.
	Place func(p *feed.Post) (feed.Place, bool)
	// FirstComments gives a post's first comments if its stats hold them.
	FirstComments func(ctx context.Context, st *feed.Stats, first int) (*feed.CommentPage, bool, error)
}

// Part names something that is loaded for a list.
type Part uint16

// The parts.
const (
	PartUsers Part = 1 << iota
	PartCounts
	PartLiked
	PartReposted
	PartFollowsMe
	PartRelations
	PartStats    // of the posts themselves
	PartOriginal // of reposts
	PartComments // the authors of first comments are among the users
)

// Has reports whether all of want are in p.
func (p Part) Has(want Part) bool { return p&want == want }

// Fail notes that a part could not be loaded.
func (s *Shelf) Fail(part Part, err error) {
	s.Loaded |= part
	s.Failed |= part
	s.failures = append(s.failures, failure{part, err})
}

type failure struct {
	part Part
	err  error
}

// check gives the error for a field that needs part.
func (s *Shelf) check(part Part) error {
	if s.Loaded.Has(part) && s.Failed&part == 0 {
		return nil
	}
	for _, f := range s.failures {
		if f.part&part != 0 {
			return f.err
		}
	}
	return fmt.Errorf("part %#x of a list was asked for, but not loaded", uint16(part))
}

// Ready reports whether all of want were loaded without a failure.
func (s *Shelf) Ready(want Part) bool { return s.Loaded.Has(want) && s.Failed&want == 0 }

// User gives a person whom the list shows, nil when there is none for the reader.
func (s *Shelf) User(id feed.ID) (*User, error) {
	if err := s.check(PartUsers); err != nil {
		return nil, err
	}
	var u *User
	if data := s.Users[id]; data != nil {
		u = &User{Data: data, Shelf: s}
	}
	return u, nil
}
