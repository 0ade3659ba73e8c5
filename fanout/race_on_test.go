//go:build race

package fanout_test

// slow divides the numbers of followers in the cases told with thousands of
// them, tasks included: the race detector makes SQLite an order slower.
const slow = 10
