package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/internal/bench"
	"feedgate/internal/config"
)

// sharedBundle names a file of the real data, which is no part of the project.
func sharedBundle(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the real data takes a while")
	}
	path := filepath.Join(cmp.Or(os.Getenv("FEEDGATE_SHARED_DATA"), "../shared/data"), name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("THE REAL DATA IS ABSENT, SO THIS TEST SHOWS NOTHING: put %s there, or set FEEDGATE_SHARED_DATA", path)
	}
	return path
}

// excerpt is a bundle whole, or under the race detector with its first posts alone.
func excerpt(t *testing.T, path string) string {
	t.Helper()
	if !raced {
		return path
	}
	const posts = 5000
	var kept bytes.Buffer
	zip, left := gzip.NewWriter(&kept), posts
	eachLine(t, path, func(line []byte) {
		if bytes.Contains(line, []byte(`"type":"post"`)) {
			left--
		}
		if left >= 0 {
			_, _ = zip.Write(append(line, '\n'))
		}
	})
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "excerpt.ndjson.gz")
	if err := os.WriteFile(short, kept.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return short
}

func eachLine(t *testing.T, path string, take func(line []byte)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unpacked)
	for lines.Scan() {
		take(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// plainSort is a bundle as anybody would read it: whom each follows, and what each wrote.
type plainSort struct {
	follows map[feed.ID][]feed.ID
	posts   map[feed.ID][]feed.Position
	users   []feed.ID
}

func readPlainly(t *testing.T, path string) *plainSort {
	t.Helper()
	p := &plainSort{follows: map[feed.ID][]feed.ID{}, posts: map[feed.ID][]feed.Position{}}
	eachLine(t, path, func(line []byte) {
		var row struct {
			Type     string    `json:"type"`
			ID       feed.ID   `json:"id,string"`
			Author   feed.ID   `json:"author,string"`
			Follower feed.ID   `json:"follower,string"`
			Followee feed.ID   `json:"followee,string"`
			At       time.Time `json:"at"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		switch row.Type {
		case "user":
			p.users = append(p.users, row.ID)
		case "follow":
			p.follows[row.Follower] = append(p.follows[row.Follower], row.Followee)
		case "post":
			p.posts[row.Author] = append(p.posts[row.Author], feed.Position{At: row.At.UnixMilli(), ID: row.ID})
		}
	})
	return p
}

// feedOf is what a reader's feed must be.
func (p *plainSort) feedOf(reader feed.ID) []feed.Position {
	all := slices.Clone(p.posts[reader])
	for _, followee := range p.follows[reader] {
		all = append(all, p.posts[followee]...)
	}
	slices.SortFunc(all, feed.Position.Compare)
	return all
}

// imported opens a gateway on a record that holds a bundle.
func imported(t *testing.T, path string) *gateway {
	t.Helper()
	return importedWith(t, path, feed.DefaultSettings())
}

func importedWith(t *testing.T, path string, set feed.Settings) *gateway {
	t.Helper()
	data := t.TempDir()
	var said bytes.Buffer
	began := time.Now()
	if err := run(t.Context(), []string{"import", "-strict", "-data", data, path}, settings{}.getenv, &said); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	t.Logf("imported in %s\n%s", time.Since(began), said.String())
	g := newGateway(slog.New(slog.DiscardHandler), patience)
	t.Cleanup(func() {
		if err := g.stack.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := g.openStores(t.Context(), config.Stores{Data: data, Memory: 256}, bench.Taps{}); err != nil {
		t.Fatal(err)
	}
	if err := g.openService(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	return g
}

// pageThrough reads a feed to its end.
func pageThrough(t *testing.T, g *gateway, reader feed.ID, size int) []feed.Position {
	t.Helper()
	var got []feed.Position
	below := feed.Newest()
	for {
		page, err := g.service.FollowFeed(t.Context(), g.service.Reader(reader), size, below, feed.Want{})
		if err != nil {
			t.Fatalf("reader %d below %+v: %v", reader, below, err)
		}
		for _, item := range page.Items {
			got = append(got, item.Post.Position())
		}
		if !page.HasNext {
			return got
		}
		if !page.HasEnd || !page.End.Below(below) {
			t.Fatalf("reader %d: more is to come, but the page ends at %+v, not below %+v", reader, page.End, below)
		}
		below = page.End
	}
}

func compareFeeds(t *testing.T, g *gateway, plain *plainSort, readers []feed.ID, size int) {
	t.Helper()
	posts := 0
	for _, reader := range readers {
		got, want := pageThrough(t, g, reader, size), plain.feedOf(reader)
		posts += len(want)
		if slices.Equal(got, want) {
			continue
		}
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("reader %d: got %d posts, want %d; they differ from number %d on: got %v, want %v",
			reader, len(got), len(want), at, got[at:min(at+3, len(got))], want[at:min(at+3, len(want))])
	}
	t.Logf("%d readers, %d posts", len(readers), posts)
}

func TestNewYorkPagedBy37IsThePlainSortOfTheFile(t *testing.T) {
	t.Parallel()
	path := excerpt(t, sharedBundle(t, "nyc.ndjson.gz"))
	plain := readPlainly(t, path)
	g := imported(t, path)
	// The three who follow most, and others from all over.
	readers := slices.Clone(plain.users)
	slices.SortStableFunc(readers, func(a, b feed.ID) int { return len(plain.follows[b]) - len(plain.follows[a]) })
	others := 197
	if raced {
		others = 20
	}
	chosen := slices.Clone(readers[:3])
	for i := range others {
		chosen = append(chosen, readers[3+i*(len(readers)-3)/others])
	}
	compareFeeds(t, g, plain, chosen, 37)
}

func TestEarthquakesFromBefore1970PageToTheirEnd(t *testing.T) {
	t.Parallel()
	path := excerpt(t, sharedBundle(t, "quakes.ndjson.gz"))
	plain := readPlainly(t, path)
	g := imported(t, path)
	compareFeeds(t, g, plain, plain.users, 100)
}
