package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"feedgate/feed"
)

// Record is what the importer needs of a record.
type Record interface {
	feed.ImportRecord
	// PostsByID returns those that exist, in any order.
	PostsByID(ctx context.Context, ids []feed.ID) ([]feed.PostRow, error)
}

// batchRows is how many rows are written at once.
const batchRows = 2000

// Config is what an [Importer] works with.
type Config struct {
	Record Record
	Clock  feed.Clock
	// Progress is told how far the run is, every few thousand lines; nil for nobody.
	Progress func(Progress)
	// Reject is told of each refused line; nil for nobody.
	Reject func(Reject)
}

// Progress is how far a run is.
type Progress struct {
	File  string
	Lines int64
	Bytes int64 // read from the file, before decompression
	Size  int64 // of the file, 0 when unknown

	Counted, ToCount int64 // with ToCount: the counters are being recounted
	Over             bool  // nothing more comes
}

// Reject is a line that was refused.
type Reject struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
}

// Importer runs one import of any number of files.
type Importer struct {
	cfg    Config
	report Report
	file   string
	line   int64
	source *countReader
	size   int64

	users   batch[feed.User]
	follows batch[feed.Follow]
	posts   batch[feed.Post]
	likes   batch[feed.Like]
	future  bool // some post of the batch claims to come from the future
	// strangers are the users of this file whose lines were refused.
	strangers map[feed.ID]struct{}
}

// New makes an importer for one run.
func New(cfg Config) *Importer {
	return &Importer{cfg: cfg, report: Report{Ignored: map[string]int64{}, Counts: map[string]*Count{}}}
}

// File imports one bundle, compressed with gzip or not. An error means that
// the run cannot go on: the source broke off, the record failed, or ctx ended.
// What was written until then stays, and the report tells how much.
func (im *Importer) File(ctx context.Context, name string, r io.Reader) error {
	im.strangers = make(map[feed.ID]struct{})
	im.file, im.line, im.source = name, 0, &countReader{from: r}
	text, err := im.open()
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	lines := newLines(text)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		im.line++
		if im.line%4096 == 0 {
			im.progress()
		}
		switch {
		case errors.Is(err, errLong):
			im.reject(im.line, err.Error())
		case err != nil:
			err = fmt.Errorf("reading %s after line %d: %w", name, im.line-1, err)
			return errors.Join(err, im.flush(ctx, stageLikes))
		default:
			if err := im.take(ctx, line); err != nil {
				return fmt.Errorf("importing %s, line %d: %w", name, im.line, err)
			}
		}
	}
	if err := im.flush(ctx, stageLikes); err != nil {
		return fmt.Errorf("importing %s: %w", name, err)
	}
	im.progress()
	im.report.Files++
	return nil
}

// Report tells what the run did so far.
func (im *Importer) Report() *Report { return &im.report }

// open looks into the source whether it is compressed.
func (im *Importer) open() (io.Reader, error) {
	buffered := bufio.NewReaderSize(im.source, 256<<10)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return buffered, nil
	}
	return gzip.NewReader(buffered)
}

func (im *Importer) progress() {
	if im.cfg.Progress != nil {
		im.cfg.Progress(Progress{File: im.file, Lines: im.line, Bytes: im.source.bytes, Size: im.size})
	}
}

func (im *Importer) reject(line int64, reason string) {
	r := Reject{File: im.file, Line: line, Reason: reason}
	im.report.refuse(r)
	if im.cfg.Reject != nil {
		im.cfg.Reject(r)
	}
}

// take reads one line into its batch, and writes batches that are full.
func (im *Importer) take(ctx context.Context, line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	row, err := im.parse(line)
	if err != nil {
		im.reject(im.line, err.Error())
		return nil // a bad line is refused, and the run goes on
	}
	switch row := row.(type) {
	case feed.User:
		if im.users.add(row, im.line) {
			return im.flush(ctx, stageUsers)
		}
	case feed.Follow:
		if im.follows.add(row, im.line) {
			return im.flush(ctx, stageFollows)
		}
	case feed.Post:
		if im.posts.add(row, im.line) {
			return im.flush(ctx, stagePosts)
		}
	case feed.Like:
		if im.likes.add(row, im.line) {
			return im.flush(ctx, stageLikes)
		}
	}
	return nil
}
