package resolvers

import (
	"context"
	"log/slog"
	"time"

	"feedgate/feed"
	"feedgate/feed/live"
	"feedgate/graph/model"
)

type subscription struct{ *Root }

const (
	// deliveryPoll is the time between two looks at a delivery.
	deliveryPoll = 250 * time.Millisecond
	// noticeTries is how often a notice is asked for while the record is away.
	noticeTries = 10
	noticeRetry = 500 * time.Millisecond
)

// RedDot gives the reader's badge and its changes. The hub's own channel is
// the stream: nothing runs for a subscription that waits.
func (s subscription) RedDot(ctx context.Context) (<-chan *live.State, error) {
	sub, err := s.connect(ctx, (*live.Hub).Subscribe)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, sub.Close)
	return sub.States, nil
}

// NoticeAdded gives each notice that is new, or that somebody joined.
func (s subscription) NoticeAdded(ctx context.Context) (<-chan *model.Notice, error) {
	who := reader(ctx).ID()
	sub, err := s.connect(ctx, (*live.Hub).SubscribeNotices)
	if err != nil {
		return nil, err
	}
	out := make(chan *model.Notice)
	go func() {
		defer close(out)
		defer sub.Close()
		for {
			select {
			case id, ok := <-sub.Notices:
				if !ok || !s.tellNotice(ctx, who, id, out) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// tellNotice gives a notice, unless its reader can't see it any more. False
// ends the stream.
func (s subscription) tellNotice(ctx context.Context, who, id feed.ID, out chan<- *model.Notice) bool {
	var n *feed.Notice
	var err error
	for range noticeTries {
		err = guarded(func() (err error) {
			n, err = s.Service.Notice(ctx, s.Service.Reader(who), id) // a reader keeps what it has learned: a fresh one each time
			return err
		})
		if feed.CodeOf(err) != feed.CodeUnavailable || !wait(ctx, noticeRetry) {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		if feed.CodeOf(err) != feed.CodeNotFound {
			s.Log.WarnContext(ctx, "a notice could not be told", slog.Int64("notice", int64(id)), slog.Any("error", err))
		}
		return true
	}
	select {
	case out <- &model.Notice{Data: n}:
		return true
	case <-ctx.Done():
		return false
	}
}

// DeliveryProgress gives the state of the fan-out of one of the reader's posts
// and its changes, up to the last one.
func (s subscription) DeliveryProgress(ctx context.Context, postID string) (<-chan *feed.Delivery, error) {
	id, err := parseID("postId", feed.NodePost, postID)
	if err != nil {
		return nil, err
	}
	if _, err := s.Service.RequireProfile(ctx, reader(ctx)); err != nil {
		return nil, err
	}
	who := reader(ctx).ID()
	d, err := s.Service.Delivery(ctx, s.Service.Reader(who), id)
	if err != nil {
		return nil, err
	}
	out := make(chan *feed.Delivery)
	go func() {
		defer close(out)
		for d != nil {
			select {
			case out <- d:
			case <-ctx.Done():
				return
			}
			d = s.nextDelivery(ctx, who, id, *d)
		}
	}()
	return out, nil
}

// nextDelivery waits until a delivery has changed; nil: it won't any more.
func (s subscription) nextDelivery(ctx context.Context, who, post feed.ID, was feed.Delivery) *feed.Delivery {
	if was.State == feed.DeliveryDone || was.State == feed.DeliveryFailed {
		return nil
	}
	failed := false
	for wait(ctx, deliveryPoll) {
		var d *feed.Delivery
		err := guarded(func() (err error) {
			d, err = s.Service.Delivery(ctx, s.Service.Reader(who), post)
			return err
		})
		switch {
		case err == nil && *d != was:
			return d
		case err == nil:
		case feed.CodeOf(err) != feed.CodeUnavailable:
			return nil // deleted
		case !failed && ctx.Err() == nil:
			failed = true
			s.Log.WarnContext(ctx, "a delivery cannot be watched now", slog.Int64("post", int64(post)), slog.Any("error", err))
		}
	}
	return nil
}

// connect subscribes the reader. UNAUTHENTICATED without one.
func (s subscription) connect(ctx context.Context, subscribe func(*live.Hub, feed.ID) (*live.Subscription, error)) (*live.Subscription, error) {
	if _, err := s.Service.RequireProfile(ctx, reader(ctx)); err != nil {
		return nil, err
	}
	if s.Hub == nil {
		return nil, feed.Unavailable("nothing can be subscribed to here: ask another gateway", nil)
	}
	return subscribe(s.Hub, reader(ctx).ID())
}

// wait waits for a while. False: ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
