package feed

import (
	"context"
	"log/slog"
	"sync"
)

// Reader is the person for whom one response is made. It keeps what the
// response has learned of the person; use a fresh one for each response.
// Reader is safe for concurrent use.
type Reader struct {
	id ID

	mu      sync.Mutex
	rel     *Relations
	profile *User
	absent  bool // the record has no such person
}

// Reader makes the reader of one response; id 0 is nobody.
func (s *Service) Reader(id ID) *Reader {
	r := &Reader{id: id}
	if id == 0 {
		r.rel = &Relations{}
	}
	return r
}

// ID gives the reader's id, 0 for nobody.
func (r *Reader) ID() ID { return r.id }

// known gives the reader's relations if the response has learned them, else nil.
func (r *Reader) known() *Relations {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rel
}

// learn keeps relations for the rest of the response.
func (r *Reader) learn(rel *Relations) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rel = rel
}

// forget drops what a mutation has changed.
func (r *Reader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.id != 0 {
		r.rel = nil
	}
	r.profile, r.absent = nil, false
}

// trip is one response's way to the hot data. It carries along fills that can
// wait for the next round trip, and remembers when the hot data failed, so
// that the response goes on with the record alone.
type trip struct {
	s       *Service
	pending []Op
	down    bool
}

func (s *Service) trip() *trip { return &trip{s: s} }

// do sends ops, and what is pending before them, in one round trip. It
// returns false when the hot data cannot be asked.
func (t *trip) do(ctx context.Context, ops ...Op) bool {
	if t.down {
		return false
	}
	if len(t.pending) > 0 {
		ops = append(t.pending, ops...)
		t.pending = nil
	}
	if err := t.s.hot.Do(ctx, ops...); err != nil {
		t.down = true
		t.s.count(EventHotUnavailable)
		t.s.log.DebugContext(ctx, "hot data unavailable, the record answers", slog.Any("error", err))
		return false
	}
	return true
}

// later adds ops to the next round trip.
func (t *trip) later(ops ...Op) {
	if !t.down {
		t.pending = append(t.pending, ops...)
	}
}

// flush sends what is still pending.
func (t *trip) flush(ctx context.Context) {
	if len(t.pending) > 0 {
		t.do(ctx)
	}
}

// view loads the reader's relations, once for a response.
func (s *Service) view(ctx context.Context, r *Reader) (view, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rel == nil {
		t := s.trip()
		if err := s.loadReader(ctx, t, r); err != nil {
			return view{}, err
		}
		t.flush(ctx)
	}
	return view{reader: r.id, rel: r.rel}, nil
}

// Standing gives all that stands between r and others. It must not be changed.
func (s *Service) Standing(ctx context.Context, r *Reader) (*Relations, error) {
	v, err := s.view(ctx, r)
	return v.rel, err
}

// RequireProfile gives r's own profile. UNAUTHENTICATED for nobody, and for a
// subject that has no profile yet.
func (s *Service) RequireProfile(ctx context.Context, r *Reader) (*User, error) {
	if r.id == 0 {
		return nil, Unauthenticated("this needs a reader: send a token, or in development mode the header X-Feedgate-User")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.profile == nil && !r.absent {
		t := s.trip()
		if err := s.loadReader(ctx, t, r); err != nil {
			return nil, err
		}
		t.flush(ctx)
	}
	return r.owner()
}

func (r *Reader) owner() (*User, error) {
	if r.profile == nil {
		return nil, Unauthenticated("this reader has no profile yet: make one with createUser")
	}
	return r.profile, nil
}

// loadReader brings profile and relations in one round trip. r.mu is held.
func (s *Service) loadReader(ctx context.Context, t *trip, r *Reader) error {
	rel := &ReadRelations{User: r.id}
	own := newUserLoad([]ID{r.id}, false, false)
	hot := t.do(ctx, append(own.ops(), rel)...)
	var err error
	if r.rel, err = s.relations(ctx, t, rel, hot); err != nil {
		return err
	}
	if err := own.finish(ctx, t, hot); err != nil {
		return err
	}
	r.adoptProfile(own.first.values[0])
	return nil
}

func (r *Reader) adoptProfile(u *User) { r.profile, r.absent = u, u == nil }

// relations takes them as read, or else from the record.
func (s *Service) relations(ctx context.Context, t *trip, read *ReadRelations, hot bool) (*Relations, error) {
	if hot && read.Found {
		return &read.Relations, nil
	}
	rel, err := s.record.RelationsOf(ctx, read.User)
	if err != nil {
		return nil, err
	}
	if hot && read.Version != "" {
		t.later(&FillRelations{User: read.User, Version: read.Version, Relations: rel, Generation: read.Generation})
	}
	return &rel, nil
}
