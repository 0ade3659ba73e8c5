package importer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"feedgate/feed"
)

// Job is one run of the import command.
type Job struct {
	Files  []string // "-" is Stdin
	Stdin  io.Reader
	Out    io.Writer // for the report
	Strict bool      // a refused line makes the run end with an error
	// Generation is raised at the end, so that nothing hot is believed that was
	// read before the import; Settle is how long gateways may take to hear of it.
	Generation feed.MetaRecord
	Settle     time.Duration
}

// closing is how long the end of a run may take after it was told to stop.
const closing = 10 * time.Second

// Run imports the files of a job one after another, recounts, raises the hot
// generation and reports. When ctx ends it stops in order: what was written
// stays, and the generation is raised nevertheless.
func Run(ctx context.Context, cfg Config, job Job) error {
	im := New(cfg)
	start := cfg.Clock.Now()
	var failed error
	for _, name := range job.Files {
		if failed = im.named(ctx, name, job.Stdin); failed != nil {
			break
		}
	}
	failed = errors.Join(failed, im.finish(ctx, job))
	report := im.Report()
	if err := report.Print(job.Out); err != nil {
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return fmt.Errorf("the import is incomplete; it is safe to repeat: %w", failed)
	}
	if _, err := fmt.Fprintf(job.Out, "done in %s\n", cfg.Clock.Now().Sub(start).Round(10*time.Millisecond)); err != nil {
		return err
	}
	if job.Strict && report.Refused > 0 {
		return fmt.Errorf("%d lines were refused", report.Refused)
	}
	if report.Refused > 0 && report.taken() == 0 {
		return fmt.Errorf("all %d lines were refused, nothing was imported", report.Refused)
	}
	return nil
}

func (im *Importer) named(ctx context.Context, name string, stdin io.Reader) error {
	im.size = 0
	if name == "-" {
		return im.File(ctx, "(standard input)", stdin)
	}
	file, err := os.Open(name) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("opening a bundle: %w", err)
	}
	if info, statErr := file.Stat(); statErr == nil {
		im.size = info.Size()
	}
	return errors.Join(im.File(ctx, name, file), file.Close())
}

// finish makes what was written count.
func (im *Importer) finish(ctx context.Context, job Job) error {
	if len(im.report.Counts) == 0 {
		return nil
	}
	var failed error
	if ctx.Err() == nil { // else the workers' sweeper recounts
		failed = im.cfg.Record.RecountAll(ctx, func(done, total int64) {
			if im.cfg.Progress != nil {
				im.cfg.Progress(Progress{Counted: done, ToCount: total})
			}
		})
	}
	if im.cfg.Progress != nil {
		im.cfg.Progress(Progress{Over: true})
	}
	raiseCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	gen, err := job.Generation.Generation(raiseCtx)
	if err == nil {
		_, err = job.Generation.RaiseGeneration(raiseCtx, gen)
	}
	if err != nil {
		return errors.Join(failed, fmt.Errorf("readers may see old data until the import is repeated: %w", err))
	}
	settle := time.NewTimer(job.Settle)
	defer settle.Stop()
	select {
	case <-settle.C:
	case <-ctx.Done():
	}
	return failed
}

// Rejects writes refused lines as JSON, one a line.
type Rejects struct {
	to  io.WriteCloser
	buf *bufio.Writer
	enc *json.Encoder
	err error
}

// NewRejects writes to a file that [Rejects.Close] closes.
func NewRejects(to io.WriteCloser) *Rejects {
	buf := bufio.NewWriter(to)
	return &Rejects{to: to, buf: buf, enc: json.NewEncoder(buf)}
}

// Add writes one refused line.
func (r *Rejects) Add(reject Reject) {
	if r.err == nil {
		r.err = r.enc.Encode(reject)
	}
}

// Close ends the file, and returns the first thing that went wrong.
func (r *Rejects) Close() error {
	if err := errors.Join(r.err, r.buf.Flush(), r.to.Close()); err != nil {
		return fmt.Errorf("writing the refused lines: %w", err)
	}
	return nil
}
