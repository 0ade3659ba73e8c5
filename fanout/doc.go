// Package fanout delivers published posts into their followers' inboxes.
package fanout
