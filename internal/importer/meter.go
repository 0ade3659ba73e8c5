package importer

import (
	"fmt"
	"io"
	"time"

	"feedgate/feed"
)

// redraw is how often the line of progress is drawn.
const redraw = 200 * time.Millisecond

// Meter shows progress on one line of a terminal.
type Meter struct {
	to    io.Writer
	clock feed.Clock
	start time.Time
	last  time.Time
	shown bool
}

// NewMeter makes a meter for a terminal.
func NewMeter(to io.Writer, clock feed.Clock) *Meter {
	return &Meter{to: to, clock: clock, start: clock.Now()}
}

// Show draws p, unless it has just drawn.
func (m *Meter) Show(p Progress) {
	now := m.clock.Now()
	if p.Over {
		if m.shown {
			m.draw("")
		}
		return
	}
	if now.Sub(m.last) < redraw {
		return
	}
	m.last, m.shown = now, true
	if p.ToCount > 0 {
		m.draw(fmt.Sprintf("counting %d of %d", p.Counted, p.ToCount))
		return
	}
	rate := float64(p.Lines) / max(now.Sub(m.start).Seconds(), 0.001)
	share := ""
	if p.Size > 0 {
		share = fmt.Sprintf("%3.0f %%  ", 100*float64(p.Bytes)/float64(p.Size))
	}
	m.draw(fmt.Sprintf("%s  %s%d lines  %.0f a second", p.File, share, p.Lines, rate))
}

// draw overwrites the line. A terminal that fails shows no progress; the run goes on.
func (m *Meter) draw(text string) {
	_, _ = fmt.Fprintf(m.to, "\r\x1b[K%s", text)
}
