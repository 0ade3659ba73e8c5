package importer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that is read, in bytes. It leaves room for the
// largest post with every character escaped.
const MaxLine = 1 << 20

var errLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)

// lines cuts a stream into lines; a line that is too long is skipped whole.
type lines struct {
	from *bufio.Reader
	buf  []byte
}

func newLines(r io.Reader) *lines {
	return &lines{from: bufio.NewReaderSize(r, 64<<10)}
}

// next returns a line without its end, valid until the next call. It returns
// errLong for a line that was skipped, and io.EOF at the end.
func (l *lines) next() ([]byte, error) {
	l.buf = l.buf[:0]
	long := false
	for {
		part, err := l.from.ReadSlice('\n')
		if !long {
			l.buf = append(l.buf, part...)
			long = len(l.buf) > MaxLine+1
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(part) == 0 && len(l.buf) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, errLong
		}
		return l.buf, nil
	}
}

// countReader counts what is read from a source.
type countReader struct {
	from  io.Reader
	bytes int64
}

func (c *countReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.bytes += int64(n)
	return n, err
}
