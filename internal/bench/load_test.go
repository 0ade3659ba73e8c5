package bench

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPercentilesAndMedians(t *testing.T) {
	t.Parallel()
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(i+1))
	}
	if a, b, c := percentile(took, 0.5), percentile(took, 0.99), percentile(took[:1], 0.99); a != 51 || b != 100 || c != 1 {
		t.Errorf("p50 %d, p99 %d, p99 of one %d; want 51, 100, 1", a, b, c)
	}
	if a, b := median([]float64{9, 1, 5}), median([]float64{4, 1, 2, 9}); a != 5 || b != 3 {
		t.Errorf("medians %g and %g, want 5 and 3", a, b)
	}
}

func TestSpreadDoesEachThingOnceAndTellsWhatFailed(t *testing.T) {
	t.Parallel()
	var sum atomic.Int64
	if err := spread(7, 1000, func(_, i int) error { sum.Add(int64(i)); return nil }); err != nil || sum.Load() != 499500 {
		t.Errorf("got %d, %v", sum.Load(), err)
	}
	broke := errors.New("broke")
	if err := spread(3, 10, func(_, i int) error {
		if i == 5 {
			return broke
		}
		return nil
	}); !errors.Is(err, broke) {
		t.Errorf("got %v, want the failure", err)
	}
}

func TestAProcessThatEndsAtOnceSaysWhy(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	c, err := start("go", program, "no-such-command")
	if err != nil {
		t.Fatal(err)
	}
	err = c.await(t.Context(), func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("got %v, want what it said", err)
	}
	c.stop()
}

func TestArgumentsAreWrittenAsTheDriverWould(t *testing.T) {
	t.Parallel()
	key := "post:{1}"
	for want, arg := range map[string]any{"get": "get", "post:{1}": &key, "-5": int64(-5), "7": 7, "x": []byte("x")} {
		if got := argument(arg); got != want {
			t.Errorf("%T: got %q, want %q", arg, got, want)
		}
	}
	if id, ok := keyed(key, "post"); !ok || id != 1 {
		t.Errorf("the key %s holds %d, %v", key, id, ok)
	}
	if _, ok := keyed("postlease:{1}", "post"); ok {
		t.Error("a lease counts as a post")
	}
}
