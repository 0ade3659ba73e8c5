package loaders

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/graph-gophers/dataloader/v7"

	"feedgate/feed"
)

const (
	// window is how long a batch waits for keys from several lists.
	window = time.Millisecond
	// batchLimit starts a batch before its window ends, and bounds it.
	batchLimit = 1000
	// batchDeadline bounds one batch, whatever the response's own deadline.
	batchDeadline = 5 * time.Second
)

// Loader loads values by id for one response, each at most once. Values are
// kept; errors are not, so that a later field may find the store again.
type Loader[V any] struct {
	set   *Set
	name  string
	fetch func(ctx context.Context, s *Set, ids []feed.ID) ([]V, error) // values at the indexes of the ids

	once  sync.Once
	inner *dataloader.Loader[feed.ID, V]
	cache dataloader.Cache[feed.ID, V]
}

// open makes the dataloader at first use: most responses need few of them.
func (l *Loader[V]) open() {
	l.once.Do(func() {
		l.cache = dataloader.NewCache[feed.ID, V]()
		l.inner = dataloader.NewBatchedLoader(l.batch,
			dataloader.WithCache(l.cache),
			dataloader.WithWait[feed.ID, V](window),
			dataloader.WithBatchCapacity[feed.ID, V](batchLimit),
		)
	})
}

// batch is called by the dataloader with the context of whoever asked first.
// It uses the response's own instead, so that nobody's cancellation takes
// values from others.
func (l *Loader[V]) batch(_ context.Context, ids []feed.ID) []*dataloader.Result[V] {
	ctx, cancel := l.set.detached(batchDeadline)
	defer cancel()
	values, err := l.load(ctx, ids) //nolint:contextcheck // see above
	results := make([]*dataloader.Result[V], len(ids))
	for i := range ids {
		results[i] = &dataloader.Result[V]{Error: err}
		if err == nil {
			results[i].Data = values[i]
		}
	}
	return results
}

func (l *Loader[V]) load(ctx context.Context, ids []feed.ID) ([]V, error) {
	l.set.observe(l.name, len(ids))
	values, err := safely(l.name, func() ([]V, error) { return l.fetch(ctx, l.set, ids) })
	if err == nil && len(values) != len(ids) {
		err = fmt.Errorf("loading %s gave %d values for %d ids", l.name, len(values), len(ids))
	}
	return values, err
}

// safely makes an error of a panic, which would end the process: a load runs in
// a goroutine of its own.
func safely[V any](name string, load func() (V, error)) (v V, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("loading %s panicked: %v\n%s", name, r, debug.Stack())
		}
	}()
	return load()
}

// One loads one value together with what others ask for at the same time.
func (l *Loader[V]) One(ctx context.Context, id feed.ID) (V, error) {
	l.open()
	v, err := l.inner.Load(ctx, id)()
	if err != nil {
		l.inner.Clear(ctx, id)
	}
	return v, err
}

// Many loads the values of ids, at the same indexes, together with what others
// ask for at the same time.
func (l *Loader[V]) Many(ctx context.Context, ids []feed.ID) ([]V, error) {
	l.open()
	thunks := make([]dataloader.Thunk[V], len(ids))
	for i, id := range ids {
		thunks[i] = l.inner.Load(ctx, id)
	}
	return l.collect(ctx, ids, thunks)
}

// All loads the values of ids, at the same indexes, at once: for callers who
// know that nobody else asks at the same time.
func (l *Loader[V]) All(ctx context.Context, ids []feed.ID) ([]V, error) {
	l.open()
	var missing []feed.ID
	for _, id := range ids {
		if _, ok := l.cache.Get(ctx, id); !ok {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		missing = feed.NewIDSet(missing)
		values, err := l.load(ctx, missing)
		if err != nil {
			return nil, err
		}
		for i, id := range missing {
			l.inner.Prime(ctx, id, values[i])
		}
	}
	return l.Many(ctx, ids)
}

// collect waits for all thunks and gives the first error, if any.
func (l *Loader[V]) collect(ctx context.Context, ids []feed.ID, thunks []dataloader.Thunk[V]) ([]V, error) {
	values := make([]V, len(ids))
	var first error
	for i, thunk := range thunks {
		v, err := thunk()
		if err != nil {
			l.inner.Clear(ctx, ids[i])
			if first == nil {
				first = err
			}
			continue
		}
		values[i] = v
	}
	return values, first
}

// Prime gives the loader what is known already.
func (l *Loader[V]) Prime(ctx context.Context, id feed.ID, v V) {
	l.open()
	l.inner.Prime(ctx, id, v)
}

// First gives the one value of a load by one id.
func First[V any](values []V, err error) (V, error) {
	if err != nil {
		var none V
		return none, err
	}
	return values[0], nil
}
