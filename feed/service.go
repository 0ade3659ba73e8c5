package feed

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Settings are what an operator may choose about feeds.
type Settings struct {
	BigAuthorFollowers int64         // followers from which a post goes out in the bulk lane
	ActiveWindow       time.Duration // a reader who read within it has an inbox that is kept up
	InboxLength        int           // posts an inbox keeps
	InboxSlack         int           // posts above InboxLength before it is trimmed
	OutboxLength       int           // posts an outbox keeps
	// MarkGrace is how long an in-flight mark outlives its author's last
	// unfinished duty. A reader may be two fifths of it late between reading an
	// inbox and reading the marks.
	MarkGrace time.Duration
	// NearbyCellLength is how many posts a cell of the nearby index keeps, and
	// NearbyCellAge how old they may be, 0 for any age. Older ones come from the
	// record.
	NearbyCellLength int
	NearbyCellAge    time.Duration
}

// DefaultSettings are the design's.
func DefaultSettings() Settings {
	return Settings{
		BigAuthorFollowers: 10_000,
		ActiveWindow:       14 * 24 * time.Hour,
		InboxLength:        1_000,
		InboxSlack:         100,
		OutboxLength:       200,
		MarkGrace:          12 * time.Second,
		NearbyCellLength:   1_000,
		NearbyCellAge:      30 * 24 * time.Hour,
	}
}

// inboxTTL is how long an inbox lives after its reader's last read: less than
// the reader's active mark does, so that no inbox outlives the mark that keeps
// it up.
func (s Settings) inboxTTL() int64 {
	return max(s.ActiveWindow-48*time.Hour, s.ActiveWindow/2).Milliseconds()
}

// Config is what a Service is made of.
type Config struct {
	Record  Record
	Hot     Hot
	Pulse   Pulse
	Beats   HeartbeatRecord
	Seen    SeenRecord
	Notices NoticeRecord
	Tastes  TasteRecord
	Views   ViewRecord
	// Recommender ranks posts for recommendFeed.
	Recommender Recommender
	Clock       Clock
	IDs         IDs
	Kinds       *Kinds // nil: the kinds that feedgate knows
	Log         *slog.Logger
	Settings    Settings
	// Count is told of events that operators should see, by the names that
	// start with Event. Optional.
	Count func(event Event)
}

// Event names something that operators should see.
type Event string

// The events.
const (
	EventHotUnavailable   Event = "hot_unavailable"   // the hot data could not be asked; the record answered
	EventInboxRebuilt     Event = "inbox_rebuilt"     // an inbox was built anew from the record
	EventInboxExtended    Event = "inbox_extended"    // a short inbox was filled up in the background
	EventOutboxFilled     Event = "outbox_filled"     // an outbox was built from the record
	EventCellFilled       Event = "cell_filled"       // a cell of the nearby index was filled from the record
	EventRecordPage       Event = "record_page"       // a page, or its lower part, came from the record
	EventRefill           Event = "refill"            // so much of a page was filtered that more was read
	EventGenerationRaised Event = "generation_raised" // hot data was found lost or turned back
	EventJobDropped       Event = "job_dropped"       // the background queue was full
	EventGhostEntry       Event = "ghost_entry"       // an inbox or a cell named a post that is not on the record
	EventReleaseFailed    Event = "release_failed"    // a mutation is on the record, but caches could not be told
	EventMarksUnknown     Event = "marks_unknown"     // in-flight marks were lost; the record was asked
	EventSessionLost      Event = "session_lost"      // a cursor of recommendFeed began a new session
)

// Service answers for all feeds and carries out all mutations.
type Service struct {
	record      Record
	seenBy      SeenRecord
	notices     NoticeRecord
	tastes      TasteRecord
	views       ViewRecord
	recommender Recommender
	hot         Hot
	pulse       Pulse
	beats       HeartbeatRecord
	clock       Clock
	ids         IDs
	kinds       *Kinds
	log         *slog.Logger
	set         Settings
	count       func(Event)

	gen  atomic.Int64
	seen map[string]int64 // the last beat seen of each master; of Start and Run alone

	jobs    chan job
	mu      sync.Mutex
	working map[any]struct{} // lists and cells that this process is filling
}

// New makes a Service. Call Start before use, and Run beside it.
func New(cfg Config) *Service {
	s := &Service{
		record: cfg.Record, seenBy: cfg.Seen, notices: cfg.Notices,
		tastes: cfg.Tastes, views: cfg.Views, recommender: cfg.Recommender, hot: cfg.Hot, pulse: cfg.Pulse, beats: cfg.Beats,
		clock: cfg.Clock, ids: cfg.IDs, kinds: cfg.Kinds, log: cfg.Log, set: cfg.Settings, count: cfg.Count,
		seen:    make(map[string]int64),
		jobs:    make(chan job, jobQueue),
		working: make(map[any]struct{}),
	}
	if s.kinds == nil {
		s.kinds = NewKinds()
	}
	if s.count == nil {
		s.count = func(Event) {}
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// Start reads the generation and compares the hot data with the record's
// memory of it. Its error says which store could not be asked.
func (s *Service) Start(ctx context.Context) error {
	if err := s.readGeneration(ctx); err != nil {
		return err
	}
	saved, err := s.beats.Heartbeats(ctx)
	if err != nil {
		return err
	}
	maps.Copy(s.seen, saved)
	if err := s.beat(ctx, slog.LevelInfo); err != nil {
		return err
	}
	return s.beat(ctx, slog.LevelInfo) // looks at the first one, so that a loss is seen from now on
}

// Run watches the generation and works off background jobs until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for range jobWorkers {
		wg.Go(func() { s.work(ctx) })
	}
	wg.Go(func() { s.watch(ctx) })
	wg.Wait()
	return nil
}

func newToken() Token { return Token(rand.Text()) }

func (s *Service) now() int64 { return millis(s.clock) }
