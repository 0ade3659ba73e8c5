package storetest

import (
	"context"
	"errors"

	"feedgate/feed"
)

func failureTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a request that was given up is unavailable": testCanceled,
		"a closed record is unavailable":             testClosed,
	}
}

// calls are methods that must fail when the record cannot be asked.
func (s *suite) calls() map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"CreateUser": func(ctx context.Context) error { return s.rec.CreateUser(ctx, feed.User{ID: 1, Handle: "a"}) },
		"UsersByID":  func(ctx context.Context) error { _, err := s.rec.UsersByID(ctx, []feed.ID{1}); return err },
		"PostsByID":  func(ctx context.Context) error { _, err := s.rec.PostsByID(ctx, []feed.ID{1}); return err },
		"InsertPost": func(ctx context.Context) error {
			_, err := s.rec.InsertPost(ctx, feed.Post{ID: 1}, feed.Duty{})
			return err
		},
		"DeletePost": func(ctx context.Context) error { _, err := s.rec.DeletePost(ctx, 1, now); return err },
		"StampPost":  func(ctx context.Context) error { _, err := s.rec.StampPost(ctx, 1, now); return err },
		"Entries": func(ctx context.Context) error {
			_, err := s.rec.Entries(ctx, []feed.ID{1}, feed.Newest(), 1)
			return err
		},
		"EntriesBelow": func(ctx context.Context) error {
			_, err := s.rec.Entries(ctx, []feed.ID{1}, feed.Position{At: 5}, 1)
			return err
		},
		"Follow": func(ctx context.Context) error {
			_, err := s.rec.Follow(ctx, feed.Follow{Follower: 1, Followee: 2})
			return err
		},
		"RelationsOf":   func(ctx context.Context) error { _, err := s.rec.RelationsOf(ctx, 1); return err },
		"LikedAmong":    func(ctx context.Context) error { _, err := s.rec.LikedAmong(ctx, 1, []feed.ID{1}); return err },
		"InsertComment": func(ctx context.Context) error { _, err := s.rec.InsertComment(ctx, feed.Comment{ID: 1}); return err },
		"Claim":         func(ctx context.Context) error { _, err := s.rec.Claim(ctx, feed.Claim{Author: 1}); return err },
		"BeginDuty":     func(ctx context.Context) error { _, err := s.rec.BeginDuty(ctx, 1, now, now); return err },
		"Generation":    func(ctx context.Context) error { _, err := s.rec.Generation(ctx); return err },
		"LeaseProcess":  func(ctx context.Context) error { _, err := s.rec.LeaseProcess(ctx, "a", 1, now, now); return err },
		"ImportUsers": func(ctx context.Context) error {
			_, err := s.rec.ImportUsers(ctx, []feed.User{{ID: 1, Handle: "a"}})
			return err
		},
		"Seen":       func(ctx context.Context) error { _, err := s.rec.Seen(ctx, 1); return err },
		"MarkSeen":   func(ctx context.Context) error { _, err := s.rec.MarkSeen(ctx, 1, feed.Seen{At: now}); return err },
		"FollowedAt": func(ctx context.Context) error { _, err := s.rec.FollowedAt(ctx, 1, []feed.ID{2}); return err },
		"AddNotice": func(ctx context.Context) error {
			_, _, err := s.rec.AddNotice(ctx, feed.NoticeEdge{ID: 1, To: 1, Kind: feed.NoticeFollowed, Actor: 2, At: now})
			return err
		},
		"RemoveNotice": func(ctx context.Context) error {
			_, err := s.rec.RemoveNotice(ctx, 1, feed.NoticeFollowed, 0, 2)
			return err
		},
		"Notices":    func(ctx context.Context) error { _, err := s.rec.Notices(ctx, 1, feed.Newest(), 1); return err },
		"NoticeByID": func(ctx context.Context) error { _, err := s.rec.NoticeByID(ctx, 1); return err },
		"Empty":      func(ctx context.Context) error { _, err := s.rec.Empty(ctx); return err },
	}
}

func testCanceled(s *suite) {
	t := s.t
	author := s.user(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range s.calls() {
		err := call(ctx)
		if feed.CodeOf(err) != feed.CodeUnavailable || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want UNAVAILABLE because it was canceled", name, err)
		}
	}
	// Nothing stays locked, and nothing was written.
	wantSet(t)(s.rec.AuthorsInFlight(t.Context()))
	s.post(t, author, now)
	s.wantCounts(t, author, feed.UserCounts{Posts: 1})
}

func testClosed(s *suite) {
	t := s.t
	s.user(t)
	wantNoError(t, s.rec.Close(t.Context()))
	for name, call := range s.calls() {
		if err := call(t.Context()); feed.CodeOf(err) != feed.CodeUnavailable {
			t.Errorf("%s: got %v, want UNAVAILABLE", name, err)
		}
	}
	wantNoError(t, s.rec.Close(t.Context()))
}
