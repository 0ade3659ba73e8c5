package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"feedgate/feed"
)

const (
	zaddBatch   = 1000 // as many as the workers put into one pipeline
	fanoutLimit = 5 * time.Minute
	dayMillis   = 24 * 60 * 60 * 1000
)

// measureFanout compares the inbox writes of the workers with bare ZADDs.
func (b *bench) measureFanout(ctx context.Context) error {
	if err := b.activate(ctx, firstFollower, b.Followers); err != nil {
		return err
	}
	bare := newZadds(b.redis, b.Followers)
	t := newTarget(b.url(), 1)
	// The first round of each makes the keys.
	if _, err := b.deliver(ctx, t, 0); err != nil {
		return err
	}
	if _, err := bare.run(ctx, b.Clock, 1, 0); err != nil {
		return err
	}
	var workers, alone, ratio []float64
	var most int
	for round := range b.Rounds {
		took, err := b.deliver(ctx, t, round+1)
		if err != nil {
			return err
		}
		best, bestAt := 0.0, 0
		for i, parallel := range []int{1, 2, 4} {
			d, err := bare.run(ctx, b.Clock, parallel, round*3+i+1)
			if err != nil {
				return err
			}
			if rate := float64(b.Followers) / d.Seconds(); rate > best {
				best, bestAt = rate, parallel
			}
		}
		workers = append(workers, float64(b.Followers)/took.Seconds())
		alone = append(alone, best)
		ratio = append(ratio, workers[round]/best)
		most = bestAt
	}
	b.report.Fanout = &Fanout{
		Followers: b.Followers, Rate: median(workers), Bare: median(alone), Ratio: median(ratio), Parallel: most,
	}
	return nil
}

// activate marks n followers as active readers, as reading the feed would.
func (b *bench) activate(ctx context.Context, first feed.ID, n int) error {
	now := b.Clock.Now().UnixMilli()
	ops := make([]feed.Op, 0, zaddBatch)
	for i := range n {
		ops = append(ops, &feed.TouchActive{Reader: first + feed.ID(i), Day: now / dayMillis, Make: now})
		if len(ops) == zaddBatch || i == n-1 {
			if err := b.gateway.Hot.Do(ctx, ops...); err != nil {
				return err
			}
			ops = ops[:0]
		}
	}
	return nil
}

const publishQuery = `mutation($text: String) { publishPost(input: {text: $text}) { post { id } } }`

const deliveryQuery = `query($id: ID!) { post(id: $id) { delivery { state total delivered } } }`

// deliver publishes a post and waits until it is in every inbox.
func (b *bench) deliver(ctx context.Context, t *target, round int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, fanoutLimit)
	defer cancel()
	payload, err := body(publishQuery, map[string]any{"text": fmt.Sprintf("round %d", round)})
	if err != nil {
		return 0, err
	}
	var buf bytes.Buffer
	start := b.Clock.Now()
	if err := t.post(ctx, bigAuthor, payload, &buf); err != nil {
		return 0, err
	}
	post, err := publishedID(buf.Bytes())
	if err != nil {
		return 0, err
	}
	err = b.delivered(ctx, t, bigAuthor, post, b.Followers)
	return b.Clock.Now().Sub(start), err
}

// delivered waits until a post is in the inboxes of all its author's followers.
func (b *bench) delivered(ctx context.Context, t *target, author feed.ID, post string, followers int) error {
	ctx, cancel := context.WithTimeout(ctx, fanoutLimit)
	defer cancel()
	payload, err := body(deliveryQuery, map[string]any{"id": post})
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	for {
		if err := t.post(ctx, author, payload, &buf); err != nil {
			return err
		}
		var seen struct {
			Data struct {
				Post struct {
					Delivery struct {
						State     feed.DeliveryState `json:"state"`
						Delivered int                `json:"delivered"`
					} `json:"delivery"`
				} `json:"post"`
			} `json:"data"`
		}
		if err := json.Unmarshal(buf.Bytes(), &seen); err != nil {
			return err
		}
		switch d := seen.Data.Post.Delivery; d.State {
		case feed.DeliveryDone:
			if d.Delivered != followers {
				return fmt.Errorf("delivered to %d of %d followers", d.Delivered, followers)
			}
			return nil
		case feed.DeliveryFailed:
			return fmt.Errorf("the delivery failed: %s", buf.Bytes())
		case feed.DeliveryPending, feed.DeliveryRunning:
		}
		if err := wait(ctx, pollEvery/2); err != nil {
			return fmt.Errorf("the fan-out does not end: %w: %s", err, buf.Bytes())
		}
	}
}

// zadds are the same writes as a fan-out's, to keys of their own.
type zadds struct {
	client *redis.Client
	keys   []string
}

func newZadds(client *redis.Client, n int) *zadds {
	z := &zadds{client: client}
	for i := range n {
		z.keys = append(z.keys, fmt.Sprintf("bench:{%d}", firstFollower+feed.ID(i)))
	}
	return z
}

// run writes one entry to each key, in pipelines of zaddBatch.
func (z *zadds) run(ctx context.Context, clock feed.Clock, parallel, round int) (time.Duration, error) {
	batches := slices.Collect(slices.Chunk(z.keys, zaddBatch))
	member := fmt.Sprintf("%020d", int64(1)<<60+int64(round))
	score := strconv.FormatInt(clock.Now().UnixMilli(), 10)
	start := clock.Now()
	err := spread(parallel, len(batches), func(_, i int) error {
		pipe := z.client.Pipeline()
		for _, key := range batches[i] {
			pipe.Do(ctx, "zadd", key, score, member)
		}
		_, err := pipe.Exec(ctx)
		return err
	})
	return clock.Now().Sub(start), err
}
