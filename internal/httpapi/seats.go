package httpapi

import (
	"sync"

	"feedgate/feed"
)

// seats bounds how many of something each reader has at a time.
type seats struct {
	most int

	mu    sync.Mutex
	taken map[feed.ID]int
}

func newSeats(most int) *seats { return &seats{most: most, taken: make(map[feed.ID]int)} }

// take takes a seat for a reader, until the function that it returns is called,
// once. Nobody's seats are not counted. RATE_LIMITED when all are taken; text
// says what to do.
func (s *seats) take(reader feed.ID, text string) (release func(), err error) {
	if reader == 0 {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[reader] >= s.most {
		return nil, &feed.Error{Code: feed.CodeRateLimited, Text: text}
	}
	s.taken[reader]++
	return func() { s.leave(reader) }, nil
}

func (s *seats) leave(reader feed.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[reader]--
	if s.taken[reader] == 0 {
		delete(s.taken, reader)
	}
}
