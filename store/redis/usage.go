package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// Usage is what the keys of one kind take.
type Usage struct {
	Kind  string // the name that the keys begin with, without epochs and ids
	Keys  int64
	Bytes int64 // about: the mean of some keys, times their number
}

const (
	scanAtOnce  = 1_000
	usageAtOnce = 100
)

// Usage tells what each kind of key takes, by name. It looks at every key's
// name and asks for the size of at most sample keys of a kind on each master,
// spread evenly over what was found. UNAVAILABLE when a server can't be asked, or
// has no MEMORY USAGE.
func (h *Hot) Usage(ctx context.Context, sample int) ([]Usage, error) {
	var mu sync.Mutex
	sums := make(map[string]*Usage)
	err := h.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		kinds := make(map[string][]string)
		keys := c.Scan(ctx, 0, "", scanAtOnce).Iterator()
		for keys.Next(ctx) {
			kind := keyKind(keys.Val())
			kinds[kind] = append(kinds[kind], keys.Val())
		}
		if err := keys.Err(); err != nil {
			return err
		}
		for kind, all := range kinds {
			size, err := meanUsage(ctx, c, all, sample)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			mu.Lock()
			if sums[kind] == nil {
				sums[kind] = &Usage{Kind: kind}
			}
			sums[kind].Keys += int64(len(all))
			sums[kind].Bytes += int64(size * float64(len(all)))
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return nil, unavailable("memory usage", err)
	}
	out := make([]Usage, 0, len(sums))
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, *sums[kind])
	}
	return out, nil
}

// keyKind leaves of a key what its kind is called: of board:similar:17:{5}
// board:similar.
func keyKind(key string) string {
	name, _, _ := strings.Cut(key, ":{")
	parts := strings.Split(name, ":")
	parts = slices.DeleteFunc(parts, func(part string) bool {
		_, err := strconv.ParseInt(part, 10, 64)
		return err == nil
	})
	return strings.Join(parts, ":")
}

// meanUsage asks for the size of some keys of one kind. Keys that are gone
// meanwhile don't count.
func meanUsage(ctx context.Context, c *goredis.Client, keys []string, sample int) (float64, error) {
	step := max(1, len(keys)/max(1, sample))
	var some []string
	for i := 0; i < len(keys); i += step {
		some = append(some, keys[i])
	}
	total, counted := int64(0), 0
	for chunk := range slices.Chunk(some, usageAtOnce) {
		pipe := c.Pipeline()
		sizes := make([]*goredis.IntCmd, len(chunk))
		for i, key := range chunk {
			sizes[i] = pipe.MemoryUsage(ctx, key, 0) // all members
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for _, size := range sizes {
			switch err := size.Err(); err {
			case nil:
				total += size.Val()
				counted++
			case goredis.Nil: //nolint:errorlint // the driver returns it bare
			default:
				return 0, err
			}
		}
	}
	return float64(total) / float64(max(1, counted)), nil
}

// Keys tells how many keys the masters hold, those of others included.
func (h *Hot) Keys(ctx context.Context) (int64, error) {
	var mu sync.Mutex
	total := int64(0)
	err := h.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		n, err := c.DBSize(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		total += n
		return err
	})
	if err != nil {
		return 0, unavailable("dbsize", err)
	}
	return total, nil
}

// Clear removes all keys, those of others included. It is for those who found
// no keys and leave none.
func (h *Hot) Clear(ctx context.Context) error {
	err := h.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error { return c.FlushDB(ctx).Err() })
	if err != nil {
		return unavailable("flushdb", err)
	}
	return nil
}
