//go:build race

package main

// raced says that the race detector is on, which makes everything slower by
// far: the longest tests then do a part of their work.
const raced = true
