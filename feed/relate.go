package feed

import "context"

// followTake is how many of a followee's newest posts come into the inbox with
// the follow itself.
const followTake = 100

// Follow makes r follow a user: the followee's newest posts are in r's feed
// when it returns, and every older one below them. To follow twice is once.
// BAD_USER_INPUT for oneself, FORBIDDEN across a block, NOT_FOUND.
func (s *Service) Follow(ctx context.Context, r *Reader, of ID) (*User, error) {
	user, rel, err := s.other(ctx, r, of)
	if err != nil {
		return nil, err
	}
	if rel.Blocks.Has(of) || rel.BlockedBy.Has(of) {
		return nil, acrossABlock()
	}
	token := newToken()
	inbox := &HoldList{List: List{Kind: Inbox, Owner: r.id}, Token: token}
	counts := []ID{r.id, of}
	take := min(followTake, s.set.InboxLength)
	commit := &CommitList{List: inbox.List, Token: token}
	var events []GatewayEvent
	err = s.mutate(ctx, mutation{
		hold: []Op{
			inbox,
			&HoldRelations{Users: []ID{r.id}, Token: token},
			&HoldDetails[UserCounts]{IDs: counts, Token: token},
		},
		write: func(ctx context.Context) error {
			at, err := s.followTime(ctx, of)
			if err != nil {
				return err
			}
			created, err := s.record.Follow(ctx, Follow{Follower: r.id, Followee: of, At: at})
			if err != nil {
				return err
			}
			if created {
				if err := s.undoAcrossABlock(ctx, r.id, of); err != nil {
					return err
				}
				events = []GatewayEvent{{Kind: EventRelated, User: r.id, Author: of, At: at}}
			}
			// Read after the follow is on the record: what is published from now on is pushed.
			all, err := s.record.Entries(ctx, []ID{of}, Newest(), take+1)
			if err != nil {
				return err
			}
			commit.Entries, commit.Raise = keepNewest(all, take)
			noticed, err := s.notify(ctx, NoticeEdge{To: of, Kind: NoticeFollowed, Actor: r.id})
			events = append(events, noticed...)
			return err
		},
		release: func(written bool) []Op {
			if written {
				commit.Was = inbox.Was
			}
			return []Op{
				commit,
				&ReleaseRelations{Users: []ID{r.id}, Token: token},
				&ReleaseDetails[UserCounts]{IDs: counts, Token: token},
				&TrimList{List: inbox.List, Keep: s.set.InboxLength, Slack: s.set.InboxSlack},
				&Announce{Events: events},
			}
		},
	})
	r.forget()
	if err != nil {
		return nil, err
	}
	return user, nil
}

// followTime is the time of a follow that begins now: above that of every post
// that the followee has published before, so that a red dot can tell old from new.
func (s *Service) followTime(ctx context.Context, of ID) (int64, error) {
	last, err := s.record.Entries(ctx, []ID{of}, Newest(), 1)
	if err != nil {
		return 0, err
	}
	at := s.now()
	if len(last) > 0 {
		at = max(at, last[0].At+1)
	}
	return at, nil
}

func acrossABlock() *Error {
	return Forbidden("one of you blocks the other: nobody can be followed across a block")
}

// undoAcrossABlock ends a follow that was just written if a block was written
// before it, after the reader's relations had been read.
func (s *Service) undoAcrossABlock(ctx context.Context, follower, followee ID) error {
	rel, err := s.record.RelationsOf(ctx, follower)
	if err != nil || (!rel.Blocks.Has(followee) && !rel.BlockedBy.Has(followee)) {
		return err
	}
	if _, err := s.record.Unfollow(ctx, follower, followee); err != nil {
		return err
	}
	return acrossABlock()
}

// Unfollow ends a follow; the followee's posts are out of r's feed when it
// returns. The user is nil if hidden from r. To unfollow somebody who is not followed changes nothing.
func (s *Service) Unfollow(ctx context.Context, r *Reader, of ID) (*User, error) {
	token := newToken()
	counts := []ID{r.id, of}
	var events []GatewayEvent
	return s.relate(ctx, r, of, mutation{
		hold: []Op{
			&HoldRelations{Users: []ID{r.id}, Token: token},
			&HoldDetails[UserCounts]{IDs: counts, Token: token},
		},
		write: func(ctx context.Context) error {
			if _, err := s.record.Unfollow(ctx, r.id, of); err != nil {
				return err
			}
			var err error
			events, err = s.unnotify(ctx, NoticeEdge{To: of, Kind: NoticeFollowed, Actor: r.id})
			return err
		},
		release: func(bool) []Op {
			return []Op{
				&ReleaseRelations{Users: []ID{r.id}, Token: token},
				&ReleaseDetails[UserCounts]{IDs: counts, Token: token},
				&Announce{Events: append(events, GatewayEvent{Kind: EventRelated, User: r.id})},
			}
		},
	})
}

// Block makes each absent for the other; follows between them are suspended.
func (s *Service) Block(ctx context.Context, r *Reader, of ID) (*User, error) {
	return s.bar(ctx, r, of, Block, true, []ID{r.id, of})
}

// Unblock ends a block; follows that were not ended meanwhile stand again.
func (s *Service) Unblock(ctx context.Context, r *Reader, of ID) (*User, error) {
	return s.bar(ctx, r, of, Block, false, []ID{r.id, of})
}

// Mute hides a user's posts, and others' reposts of them, from r's feeds.
func (s *Service) Mute(ctx context.Context, r *Reader, of ID) (*User, error) {
	return s.bar(ctx, r, of, Mute, true, []ID{r.id})
}

// Unmute ends a mute.
func (s *Service) Unmute(ctx context.Context, r *Reader, of ID) (*User, error) {
	return s.bar(ctx, r, of, Mute, false, []ID{r.id})
}

// bar adds or removes a block or a mute; touched are those whose relations it changes.
func (s *Service) bar(ctx context.Context, r *Reader, of ID, kind BarKind, add bool, touched []ID) (*User, error) {
	token := newToken()
	return s.relate(ctx, r, of, mutation{
		hold: []Op{&HoldRelations{Users: touched, Token: token}},
		write: func(ctx context.Context) error {
			var err error
			if add {
				_, err = s.record.AddBar(ctx, Bar{Kind: kind, By: r.id, Of: of, At: s.now()})
			} else {
				_, err = s.record.RemoveBar(ctx, kind, r.id, of)
			}
			return err
		},
		release: func(bool) []Op {
			events := make([]GatewayEvent, len(touched))
			for i, id := range touched {
				events[i] = GatewayEvent{Kind: EventRelated, User: id}
			}
			return []Op{&ReleaseRelations{Users: touched, Token: token}, &Announce{Events: events}}
		},
	})
}

// relate carries out what may be done to anybody, also to those who block r:
// else nobody could end a follow, or block back. The user is nil if hidden from r.
func (s *Service) relate(ctx context.Context, r *Reader, of ID, m mutation) (*User, error) {
	user, rel, err := s.other(ctx, r, of)
	if err != nil {
		return nil, err
	}
	err = s.mutate(ctx, m)
	r.forget()
	if err != nil {
		return nil, err
	}
	if rel.BlockedBy.Has(of) {
		return nil, nil //nolint:nilnil // done, and nothing to show: for r this person is absent
	}
	return user, nil
}

// other loads the person that a mutation of r's is about, hidden from r or not.
// NOT_FOUND.
func (s *Service) other(ctx context.Context, r *Reader, of ID) (*User, *Relations, error) {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return nil, nil, err
	}
	if of == r.id {
		return nil, nil, BadInput("userId", "this is yourself: pass the id of somebody else")
	}
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	t := s.trip()
	load := newUserLoad([]ID{of}, false, false)
	if err := load.load(ctx, t); err != nil {
		return nil, nil, err
	}
	t.flush(ctx)
	if load.first.values[0] == nil {
		return nil, nil, &Error{Code: CodeNotFound, Field: "userId", Text: "there is no such user"}
	}
	return load.first.values[0], v.rel, nil
}
