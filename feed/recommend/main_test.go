package recommend_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Each of the random tests' runs is a world of its own; more by -rapid.checks.
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue {
		if err := f.Value.Set("12"); err != nil {
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m,
		// The driver's look-out for a dead server ends within a second of the pool's end.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
