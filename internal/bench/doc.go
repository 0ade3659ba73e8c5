// Package bench measures feedgate beside what it cannot be faster than: the
// bare Redis commands that a query needs, a plain handler that runs the same
// commands and writes the same JSON, and bare ZADDs. Both sides alternate
// within one run, in processes of their own, and medians are compared, so that
// the ratios mean something on a machine that is not quiet.
//
//	bench ──▶ redis-server (own, unless one is given)
//	  ├─────▶ feedgate serve (child): gateway and workers
//	  ├─────▶ feedgate bench plain (child): the plain handler
//	  ├─────▶ feedgate bench crowd (child): clients that are subscribed to red dots
//	  └─ a gateway in this process, whose round trips are counted
//
// The part live has nothing to be compared with but itself: posts of an author
// whose followers are all connected alternate with those of one who has many
// more that are not there. What a server holds and asks for is read from its
// /metrics and from Redis, so it is measured as an operator would see it.
package bench
