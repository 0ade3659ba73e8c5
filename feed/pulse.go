package feed

import "context"

// Pulse shows whether a Redis master has lost or turned back its data.
type Pulse interface {
	// Beat returns by name the beat of every master: 0 where there is none, or where
	// another server process answers than the one it was written on. It then writes
	// now (ms) as the beat, unless a higher one is there, or the one found is below
	// that in seen: a loss stays to be seen, by everybody, until the caller has
	// dealt with it and calls with what it found. The masters that answered are
	// returned beside an error about those that did not.
	Beat(ctx context.Context, now int64, seen map[string]int64) (map[string]int64, error)
	// SetGeneration tells the hot store the generation in force: what was written
	// under another one counts as missing from now on.
	SetGeneration(gen int64)
}
