package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"feedgate/feed"
)

const simpleQuery = `query($first: Int) { followFeed(first: $first) {
  nodes { id text publishedAt likeCount author { handle } } pageInfo { hasNextPage endCursor } } }`

const fullQuery = `query($first: Int) { followFeed(first: $first) {
  nodes { id kind text publishedAt likeCount commentCount repostCount viewerHasLiked viewerHasReposted
    author { id handle name followerCount viewerFollows }
    comments(first: 2) { nodes { id text publishedAt author { id handle } } } }
  pageInfo { hasNextPage endCursor } } }`

// body makes the request of a query.
func body(query string, variables map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{"query": query, "variables": variables})
}

// target is where requests go.
type target struct {
	client *http.Client
	url    string
	token  string
}

// newTarget keeps a connection for each client.
func newTarget(url string, clients int) *target {
	return &target{url: url, client: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: clients, MaxConnsPerHost: clients, DisableCompression: true},
	}}
}

func request(ctx context.Context, url string, reader feed.ID, token string, payload []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else {
		req.Header.Set("X-Feedgate-User", reader.String())
	}
	return req, nil
}

// post sends one request as a reader into buf, and checks that all went well.
func (t *target) post(ctx context.Context, reader feed.ID, payload []byte, buf *bytes.Buffer) error {
	req, err := request(ctx, t.url, reader, t.token, payload)
	if err != nil {
		return err
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	buf.Reset()
	_, err = io.Copy(buf, resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	return wellAnswered(resp.StatusCode, buf.Bytes())
}

func wellAnswered(status int, answer []byte) error {
	if status != http.StatusOK || !bytes.HasPrefix(answer, []byte(`{"data":{`)) || bytes.Contains(answer, []byte(`"errors":[`)) {
		return fmt.Errorf("the answer is %d: %.300s", status, answer)
	}
	return nil
}

// timed does n things one after another and gives how long each took, sorted.
func timed(clock feed.Clock, n int, do func(i int) error) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range n {
		start := clock.Now()
		if err := do(i); err != nil {
			return nil, err
		}
		took[i] = clock.Now().Sub(start)
	}
	slices.Sort(took)
	return took, nil
}

// spread does n things by a number of workers.
func spread(workers, n int, do func(worker, i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	failed := make([]error, workers)
	for worker := range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if failed[worker] = do(worker, i); failed[worker] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// percentile of sorted times.
func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*p))]
}

// median of what the rounds gave.
func median(of []float64) float64 {
	sorted := slices.Clone(of)
	slices.Sort(sorted)
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
