package socket_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(crowdURL); url != "" { // this is the second process of a stress test
		runCrowd(url)
		return
	}
	goleak.VerifyTestMain(m)
}
