package live

import (
	"slices"

	"feedgate/feed"
)

const (
	noticesQueue = 20 // notices that wait for a slow subscription
	toldAgain    = 20 // notices that are told from the record after a gap, at most
	toldKept     = 64 // places that a subscription remembers
)

// told is what a subscription to notices was told. A notice is told at each
// place that it takes: somebody who joins moves it.
type told struct {
	begun  bool          // base is known
	base   feed.Position // what stood here or lower is never told from the record
	places []place       // told since, at most toldKept
}

type place struct {
	feed.Position
	again bool // told from the record: the event of it may still come
}

// add remembers a place.
func (t *told) add(p place) {
	t.places = append(t.places, p)
	if len(t.places) > toldKept {
		if t.base.Below(t.places[0].Position) {
			t.base = t.places[0].Position
		}
		t.places = slices.Delete(t.places, 0, 1)
	}
}

func (t *told) find(at feed.Position) int {
	return slices.IndexFunc(t.places, func(p place) bool { return p.Position == at })
}

// tellNotice tells of an event, unless the record was faster.
func (s *Subscription) tellNotice(at feed.Position) {
	if s.Notices == nil {
		return
	}
	if i := s.told.find(at); i >= 0 && s.told.places[i].again {
		s.told.places[i].again = false // whoever joins in the same millisecond has an event too
		return
	}
	s.told.add(place{Position: at})
	s.offerNotice(at.ID)
}

// hearsNotices reports whether the places of a reader's notices are needed: to
// begin a subscription, or because events were missed.
func (r *reader) hearsNotices(missed bool) bool {
	for s := range r.subs {
		if s.Notices != nil && (missed || !s.told.begun) {
			return true
		}
	}
	return false
}

// tellMissed takes the places of a reader's newest notices. If events were
// missed, subscriptions that had begun are told what they were not, the oldest
// first.
func (r *reader) tellMissed(newest []feed.Position, missed bool) {
	for s := range r.subs {
		switch {
		case s.Notices == nil:
		case !s.told.begun:
			s.told.begun = true
			if len(newest) > 0 {
				s.told.base = newest[0]
			}
		case missed:
			for _, at := range slices.Backward(newest) {
				if s.told.base.Below(at) && s.told.find(at) < 0 {
					s.told.add(place{Position: at, again: true})
					s.offerNotice(at.ID)
				}
			}
		}
	}
}

// offerNotice hands a notice over; the oldest that was not taken makes room.
func (s *Subscription) offerNotice(id feed.ID) {
	for {
		select {
		case s.Notices <- id:
			return
		default:
		}
		select {
		case <-s.Notices:
		default:
		}
	}
}
