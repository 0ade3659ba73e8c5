//go:build !race

package fanout_test

const slow = 1
