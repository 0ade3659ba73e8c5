// Package bench measures feedgate beside what it cannot be faster than: the
// bare Redis commands that a query needs, a plain handler that runs the same
// commands and writes the same JSON, and bare ZADDs. Both sides alternate
// within one run, in processes of their own, and medians are compared, so that
// the ratios mean something on a machine that is not quiet.
//
//	bench ──▶ redis-server (own, unless one is given)
//	  ├─────▶ feedgate serve (child): gateway and workers
//	  ├─────▶ feedgate bench plain (child): the plain handler
//	  └─ a gateway in this process, whose round trips are counted
package bench
