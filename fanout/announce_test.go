package fanout_test

import (
	"testing"
	"time"

	"feedgate/feed"
)

func TestGatewaysHearOfAPostWhoseAuthorsGatewayDied(t *testing.T) {
	t.Parallel()
	each(t, 3, func(w *world) {
		author := w.author(3)
		place, err := w.hot.LastEvent(w.t.Context())
		w.check(err)
		post := w.publish(author, feed.LaneSmall) // and not a word to anybody
		w.start(nil)
		w.wantDone(post.ID, 3)
		want := feed.GatewayEvent{Kind: feed.EventAnnounced, Post: post.ID, Author: author, At: post.At}
		events, _, _, err := w.hot.EventsAfter(w.t.Context(), place, time.Second)
		w.check(err)
		if len(events) != 1 || events[0] != want {
			w.t.Errorf("the gateways hear %+v, want %+v once", events, want)
		}
	})
}
