// Package sse serves GraphQL operations as Server-Sent Events, in the distinct
// connections mode of the GraphQL over SSE protocol: one POST for each
// operation, answered by a stream of events "next" and one event "complete".
//
// The handler's goroutine writes; the operation runs in one of its own, and
// asks for its next result only when the one before has been written. So a
// client that reads slowly makes its own operation wait, where a newer state
// can still replace an older one. Every write has a deadline. Comments keep
// the connection alive, and notice that a client is gone.
//
// A stream that ends without "complete" was broken off (by a drain, or a lost
// connection) and is for the client to open again. One that ends with it is
// over: an expired token is told as an error and completed, so that nobody
// comes back with the same token.
package sse
