package httpapi

import (
	"context"
	"sync"
	"time"

	"feedgate/feed"
)

// exchange is what is known of one request.
type exchange struct {
	id     string    // of the request, for logs and for whoever asks about an error
	reader feed.ID   // 0 for nobody
	until  time.Time // when the proof of that ends; the zero time is never

	mu     sync.Mutex
	logged map[string]struct{} // errors, so that each is logged once
}

type exchangeKey struct{}

// exchangeOf gives the exchange of a request; an empty one outside of any.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{}
}

// maxLogged bounds how many different errors of one request are logged.
const maxLogged = 10

// firstTime reports whether an error is to be logged: once, however many
// fields it has broken.
func (x *exchange) firstTime(text string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, seen := x.logged[text]; seen || len(x.logged) >= maxLogged {
		return false
	}
	if x.logged == nil {
		x.logged = make(map[string]struct{}, 1)
	}
	x.logged[text] = struct{}{}
	return true
}

// recent keeps what breaks all subscriptions at once from being logged for each
// of them. The zero value is ready.
type recent struct {
	mu   sync.Mutex
	said map[string]time.Time
}

const (
	recently  = 10 * time.Second
	maxRecent = 100
)

// first reports whether a text was not said within the last ten seconds.
func (r *recent) first(text string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.said[text]; ok && now.Sub(at) < recently {
		return false
	}
	if r.said == nil || len(r.said) >= maxRecent {
		r.said = make(map[string]time.Time)
	}
	r.said[text] = now
	return true
}
