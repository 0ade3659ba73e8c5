// Package socket serves GraphQL over WebSocket: the protocols
// graphql-transport-ws and, for older clients, graphql-ws (that of the package
// subscriptions-transport-ws).
//
// # One socket
//
//	            ┌────────── reader
//	client ────►│  init, subscribe, complete, ping
//	            └──────┬───────────────────────────────────────────
//	                   ▼ one goroutine for each operation
//	            run: result ─► its lane ─┐   waits until it is written,
//	            run: result ─► its lane ─┤   only then asks for the next
//	                                     ▼
//	client ◄───────────────────── writer (while there is something to write)
//
// Every sender, each operation and the reader, has one lane, which holds at
// most one message: what a socket can have queued is bounded by the number of
// its operations, and a client that reads slowly makes its own operations
// wait, at a point where the source of their results can still replace an old
// state by a newer one. The writer lives only while there is something to
// write, so that an idle socket costs no stack for it. Each write has a
// deadline; a client that does not take a message in that time is cut off.
//
// # Time
//
// One [wheel] turns for all sockets, while there are any: pings and their
// answers, the time limit for the first message, the end of a token, a drain,
// and the last moment of a socket that is being closed. An idle socket owns no
// timer.
//
// # Closing
//
// Whoever closes a socket (protocol errors, the wheel, a drain) ends its
// operations, takes back what is queued, and leaves a code to the writer. Then
// the reader goes on reading, and ignoring, until the client has answered the
// close frame or its time is over: closing at once would let the kernel reset
// the connection and take the code away from the client.
package socket
