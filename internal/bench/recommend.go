package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"feedgate/feed"
)

const recommendQuery = `query($first: Int, $after: String) { recommendFeed(first: $first, after: $after) {
  edges { cursor reason { kind } node { id text publishedAt likeCount author { id handle name } } }
  pageInfo { hasNextPage endCursor } } }`

// learnLimit is how long learning may take.
const learnLimit = 30 * time.Minute

// learned waits until the server has counted what everybody likes, so that
// nothing is measured beside that.
func (b *bench) learned(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, learnLimit)
	defer cancel()
	for said := false; ; said = true {
		gen, err := b.gateway.Generation.Generation(ctx)
		if err != nil {
			return err
		}
		state := &feed.ReadLearning{}
		if err := b.gateway.Hot.Do(ctx, state); err != nil {
			return err
		}
		if l := &state.Learning; l.Serving != 0 && l.Building == 0 && l.ServingUnder == gen {
			return nil
		}
		if !said {
			b.say("waiting until the server has learned what everybody likes")
		}
		if err := wait(ctx, 10*pollEvery); err != nil {
			return fmt.Errorf("learning does not end: %w", err)
		}
	}
}

// measureRecommend compares recommendFeed over HTTP with its bare commands: the
// first page of a new session each time, and the second one of a session.
func (b *bench) measureRecommend(ctx context.Context) error {
	first, err := body(recommendQuery, map[string]any{"first": b.First})
	if err != nil {
		return err
	}
	var firsts, seconds []*script
	var nexts [][]byte
	for i := range min(b.Readers, b.Fans) {
		reader := firstFan + feed.ID(i)
		if err := b.warm(ctx, reader, first); err != nil {
			return err
		}
		s, answer, err := b.record(ctx, reader, first)
		if err != nil {
			return err
		}
		next, err := nextPage(b.First, answer)
		if err != nil {
			return err
		}
		if err := b.warm(ctx, reader, next); err != nil {
			return err
		}
		s2, _, err := b.record(ctx, reader, next)
		if err != nil {
			return err
		}
		firsts, seconds, nexts = append(firsts, s), append(seconds, s2), append(nexts, next)
	}
	r := &Recommend{People: b.Fans, Posts: b.Wares, Likes: b.Tastes, Followees: b.Friends, Page: b.First}
	if r.First, err = b.beside(ctx, firsts, func(int) []byte { return first }); err != nil {
		return err
	}
	if r.Next, err = b.beside(ctx, seconds, func(i int) []byte { return nexts[i] }); err != nil {
		return err
	}
	b.report.Recommend = r
	return b.recommendTrips(ctx, firstFan)
}

// warm asks the server and the gateway in this process, so that neither misses
// anything afterwards.
func (b *bench) warm(ctx context.Context, reader feed.ID, payload []byte) error {
	var buf bytes.Buffer
	if err := newTarget(b.url(), 1).post(ctx, reader, payload, &buf); err != nil {
		return err
	}
	_, err := b.ask(ctx, reader, payload)
	return err
}

// nextPage makes the query of the page below that of an answer.
func nextPage(first int, answer []byte) ([]byte, error) {
	var page struct {
		Data struct {
			RecommendFeed struct {
				Edges    []json.RawMessage `json:"edges"`
				PageInfo struct {
					HasNextPage bool   `json:"hasNextPage"`
					EndCursor   string `json:"endCursor"`
				} `json:"pageInfo"`
			} `json:"recommendFeed"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &page); err != nil {
		return nil, err
	}
	got := &page.Data.RecommendFeed
	if len(got.Edges) != first || !got.PageInfo.HasNextPage {
		return nil, fmt.Errorf("a page of %d has %d posts: make more of them", first, len(got.Edges))
	}
	if got.PageInfo.EndCursor == "" {
		return nil, errors.New("a page has no end")
	}
	return body(recommendQuery, map[string]any{"first": first, "after": got.PageInfo.EndCursor})
}

// recommendTrips counts the round trips of recommendFeed: of first and next
// pages, warm, and of a first page when all details are missing.
func (b *bench) recommendTrips(ctx context.Context, reader feed.ID) error {
	if err := wait(ctx, feed.LeaseTTL*time.Millisecond); err != nil { // as for the other feeds
		return err
	}
	for _, first := range []int{20, 100} {
		payload, err := body(recommendQuery, map[string]any{"first": first})
		if err != nil {
			return err
		}
		if err := b.chill(ctx); err != nil {
			return err
		}
		t := RecommendTrips{First: first}
		if t.ColdRedis, t.ColdRecord, _, err = b.countAs(ctx, reader, payload); err != nil {
			return err
		}
		if err := wait(ctx, heard); err != nil {
			return err
		}
		// What has been learned is counted anew under the new generation: other boards.
		if err := b.learned(ctx); err != nil {
			return err
		}
		if err := b.warm(ctx, reader, payload); err != nil {
			return err
		}
		var answer []byte
		if t.FirstRedis, t.FirstRecord, answer, err = b.countWarm(ctx, reader, payload); err != nil {
			return err
		}
		next, err := nextPage(first, answer)
		if err != nil {
			return err
		}
		if err := b.warm(ctx, reader, next); err != nil {
			return err
		}
		if t.NextRedis, t.NextRecord, _, err = b.countWarm(ctx, reader, next); err != nil {
			return err
		}
		b.report.RecommendTrips = append(b.report.RecommendTrips, t)
	}
	return nil
}
