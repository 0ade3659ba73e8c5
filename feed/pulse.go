package feed

import "context"

// Pulse shows whether a Redis master has lost or turned back its data.
type Pulse interface {
	// Beat writes now (ms) as the beat of every master, unless a higher one is there,
	// and returns by name the beat that was there before: 0 where there was none, or
	// where another server process answers than the one it was written on. The
	// masters that answered are returned beside an error about those that did not.
	Beat(ctx context.Context, now int64) (map[string]int64, error)
	// SetGeneration tells the hot store the generation in force: what was written
	// under another one counts as missing from now on.
	SetGeneration(gen int64)
}
