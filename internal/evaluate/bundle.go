package evaluate

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"feedgate/feed"
	"feedgate/internal/importer"
)

// Bundle is what the split needs to know of a bundle.
type Bundle struct {
	Users, Follows, Posts int
	// Likes are the posts that each person likes, each once.
	Likes map[feed.ID]feed.IDSet
	// Own are likes of one's own posts, or of posts and people without a line: they
	// can't be recommended, and are never hidden.
	Own int
	// Newest is the time of the newest line that has one, in ms.
	Newest int64
}

// line holds the fields of a bundle's lines that matter here.
type line struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Author string `json:"author"`
	User   string `json:"user"`
	Post   string `json:"post"`
	At     string `json:"at"`
}

// ids reads two fields as ids; it returns false when one of them is none.
func ids(a, b string) (pair, bool) {
	one, err := feed.ParseID(a)
	if err != nil {
		return pair{}, false
	}
	two, err := feed.ParseID(b)
	return pair{one, two}, err == nil
}

// ReadBundle looks through a bundle. Lines that it cannot read are left to the
// importer, which says what is wrong with them.
func ReadBundle(from io.Reader) (*Bundle, error) {
	b := &Bundle{Likes: make(map[feed.ID]feed.IDSet)}
	users := make(map[feed.ID]struct{})
	authors := make(map[feed.ID]feed.ID) // by post
	var likes []pair
	text := scan(from)
	for text.Scan() {
		var l line
		if json.Unmarshal(text.Bytes(), &l) != nil {
			continue
		}
		switch l.Type {
		case "user":
			if id, err := feed.ParseID(l.ID); err == nil {
				users[id] = struct{}{}
			}
		case "follow":
			b.Follows++
		case "post":
			if p, ok := ids(l.Author, l.ID); ok {
				authors[p.post] = p.user
			}
		case "like":
			if p, ok := ids(l.User, l.Post); ok {
				likes = append(likes, p)
			}
		}
		if at, err := time.Parse(time.RFC3339, l.At); err == nil {
			b.Newest = max(b.Newest, at.UnixMilli())
		}
	}
	if err := text.Err(); err != nil {
		return nil, broken(err)
	}
	b.Users, b.Posts = len(users), len(authors)
	for _, l := range likes {
		_, user := users[l.user]
		author, post := authors[l.post]
		if !user || !post || author == l.user {
			b.Own++
			continue
		}
		b.Likes[l.user] = append(b.Likes[l.user], l.post)
	}
	for user, posts := range b.Likes {
		b.Likes[user] = feed.NewIDSet(posts)
	}
	return b, nil
}

func broken(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line is longer than %d bytes", importer.MaxLine)
	}
	return err
}

func scan(from io.Reader) *bufio.Scanner {
	text := bufio.NewScanner(from)
	text.Buffer(make([]byte, 0, 64<<10), importer.MaxLine)
	return text
}

// withoutHidden reads a bundle without the likes that are hidden.
type withoutHidden struct {
	text   *bufio.Scanner
	hidden map[pair]Part
	rest   []byte
}

// Read implements [io.Reader].
func (w *withoutHidden) Read(p []byte) (int, error) {
	for len(w.rest) == 0 {
		if !w.text.Scan() {
			if err := w.text.Err(); err != nil {
				return 0, broken(err)
			}
			return 0, io.EOF
		}
		if !w.hides(w.text.Bytes()) {
			w.rest = append(w.rest[:0], w.text.Bytes()...)
			w.rest = append(w.rest, '\n')
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *withoutHidden) hides(text []byte) bool {
	if !bytes.Contains(text, []byte("like")) {
		return false
	}
	var l line
	if json.Unmarshal(text, &l) != nil || l.Type != "like" {
		return false
	}
	p, ok := ids(l.User, l.Post)
	_, hidden := w.hidden[p]
	return ok && hidden
}

// open opens a bundle, compressed or not.
func open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("opening the bundle: %w", err)
	}
	buffered := bufio.NewReaderSize(file, 256<<10)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("reading the bundle: %w", err), file.Close())
	}
	b := &bundleFile{Reader: buffered, file: file}
	if bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if b.Reader, err = gzip.NewReader(buffered); err != nil {
			return nil, errors.Join(fmt.Errorf("unpacking the bundle: %w", err), file.Close())
		}
	}
	return b, nil
}

// bundleFile closes the file beneath a reader.
type bundleFile struct {
	io.Reader
	file *os.File
}

func (b *bundleFile) Close() error { return b.file.Close() }
