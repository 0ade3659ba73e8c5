package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"feedgate/feed"
)

// The names of what is read from /metrics.
const (
	metricGoroutines = "go_goroutines"
	metricResident   = "process_resident_memory_bytes"
	metricAlive      = "go_memstats_heap_alloc_bytes"
	metricHeap       = "go_memstats_heap_inuse_bytes"
	metricStacks     = "go_memstats_stack_inuse_bytes"
	metricCollected  = "go_gc_duration_seconds_count"
	metricRecord     = `feedgate_record_commands_total{command="` // and its name
)

// sample is one look at the /metrics of a server.
type sample map[string]float64

// look reads the metrics of the server at addr.
func look(ctx context.Context, addr string) (sample, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Close = true // so that the connection is none that counts
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	s := make(sample)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, value, ok := cutLast(lines.Text())
		if !ok {
			continue
		}
		if s[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("the metric %s: %w", name, err)
		}
	}
	return s, nil
}

func cutLast(line string) (name, value string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 || line[0] == '#' {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// Usage is what a process holds, in bytes. Alive is what is not garbage, soon
// after a collection; the heap in use has holes besides, which are filled again
// before it grows.
type Usage struct {
	Goroutines float64 `json:"goroutines"`
	Alive      float64 `json:"heap_alive_bytes"`
	Heap       float64 `json:"heap_in_use_bytes"`
	Stacks     float64 `json:"stacks_in_use_bytes"`
	Resident   float64 `json:"resident_bytes"`
}

func (s sample) usage() Usage {
	return Usage{Goroutines: s[metricGoroutines], Alive: s[metricAlive], Heap: s[metricHeap], Stacks: s[metricStacks], Resident: s[metricResident]}
}

func (u Usage) least(v Usage) Usage {
	return Usage{
		Goroutines: min(u.Goroutines, v.Goroutines), Alive: min(u.Alive, v.Alive), Heap: min(u.Heap, v.Heap),
		Stacks: min(u.Stacks, v.Stacks), Resident: min(u.Resident, v.Resident),
	}
}

// each is by how much u is above before, for each of n.
func (u Usage) each(before Usage, n int) Usage {
	per := func(a, b float64) float64 { return (a - b) / float64(n) }
	return Usage{
		Goroutines: per(u.Goroutines, before.Goroutines), Alive: per(u.Alive, before.Alive), Heap: per(u.Heap, before.Heap),
		Stacks: per(u.Stacks, before.Stacks), Resident: per(u.Resident, before.Resident),
	}
}

const (
	collections = 4       // that must end while memory is looked at: pools let go within two
	nudges      = 400_000 // requests to bring them about, at most
	nudgesALook = 250     // little garbage, so that a look soon after a collection sees next to none
	nudgers     = 4
	quietLooks  = 10 // when nothing happens
)

// usage is what the server at addr holds when nothing happens: the least of
// many looks. Queries bring collections of garbage about, which cannot be asked
// for from outside.
func (b *bench) usage(ctx context.Context, addr string, reader feed.ID) (Usage, error) {
	s, err := look(ctx, addr)
	if err != nil {
		return Usage{}, err
	}
	payload, err := body(simpleQuery, map[string]any{"first": b.First})
	if err != nil {
		return Usage{}, err
	}
	t := newTarget("http://"+addr+"/graphql", nudgers)
	bufs := make([]bytes.Buffer, nudgers)
	least := s.usage()
	for first, sent := s[metricCollected], 0; s[metricCollected] < first+collections; sent += nudgesALook {
		if sent >= nudges {
			return Usage{}, errors.New("the server collects no garbage")
		}
		if err := spread(nudgers, nudgesALook, func(worker, _ int) error {
			return t.post(ctx, reader, payload, &bufs[worker])
		}); err != nil {
			return Usage{}, err
		}
		if s, err = look(ctx, addr); err != nil {
			return Usage{}, err
		}
		least = least.least(s.usage())
	}
	t.client.CloseIdleConnections()
	for range quietLooks {
		if err := wait(ctx, b.Quiet/quietLooks); err != nil {
			return Usage{}, err
		}
		if s, err = look(ctx, addr); err != nil {
			return Usage{}, err
		}
		least = least.least(s.usage())
	}
	return least, nil
}
