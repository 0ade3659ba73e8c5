package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// send sends a query with variables and decodes the whole answer, numbers as they stand.
func (s *server) send(reader, query string, vars map[string]any, out any) {
	s.t.Helper()
	payload, err := json.Marshal(map[string]any{"query": query, "variables": vars})
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+s.addr+"/graphql", bytes.NewReader(payload))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Feedgate-User", reader)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Data   json.RawMessage   `json:"data"`
		Errors []json.RawMessage `json:"errors"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		s.t.Fatal(err)
	}
	if len(answer.Errors) > 0 {
		s.t.Fatalf("%s %v: %s", query, vars, answer.Errors[0])
	}
	if err := json.Unmarshal(answer.Data, out); err != nil {
		s.t.Fatal(err)
	}
}

// publishText publishes through the API and returns the text as the mutation and
// as a later query give it.
func (s *server) publishText(author, text string) (mutated, queried string) {
	s.t.Helper()
	var made struct {
		PublishPost struct{ Post struct{ ID, Text string } }
	}
	s.send(author, `mutation($text: String) { publishPost(input: {text: $text}) { post { id text } } }`, map[string]any{"text": text}, &made)
	var read struct{ Post struct{ Text string } }
	s.send(author, `query($id: ID!) { post(id: $id) { text } }`, map[string]any{"id": made.PublishPost.Post.ID}, &read)
	return made.PublishPost.Post.Text, read.Post.Text
}

func TestAwkwardTextsComeBackExactly(t *testing.T) {
	t.Parallel()
	var texts []string
	raw, err := os.ReadFile(sharedBundle(t, "text/blns.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &texts); err != nil {
		t.Fatal(err)
	}
	s := start(t, nil, "-data", t.TempDir(), "-sample=false")
	defer s.stop()
	author := s.newUser("author")
	sent := 0
	for _, text := range texts {
		if text == "" {
			continue
		}
		sent++
		if mutated, queried := s.publishText(author, text); mutated != text || queried != text {
			t.Errorf("published %q: got %q from the mutation, %q from a query", text, mutated, queried)
		}
	}
	if sent < 500 {
		t.Errorf("sent %d texts, want about 514", sent)
	}
	// Longest texts, by characters, in a script of four bytes each.
	long := strings.Repeat("\U0001F9D1\u200D\U0001F680", 10_000/3)
	if _, queried := s.publishText(author, long); queried != long {
		t.Error("a text of almost 10,000 characters was changed")
	}
}

func TestImportedSentencesComeBackExactly(t *testing.T) {
	t.Parallel()
	file, err := os.Open(sharedBundle(t, "text/sentences.tsv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var bundle bytes.Buffer
	bundle.WriteString(`{"type":"user","id":"1","handle":"polyglot"}` + "\n")
	want := map[string]string{}
	lines := bufio.NewScanner(unzipped)
	for n := 0; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), "\t")
		text := fields[len(fields)-1]
		if n%40 != 0 || text == "" {
			continue
		}
		id := strconv.Itoa(1_000 + n)
		want["post:"+id] = text
		line, err := json.Marshal(map[string]any{"type": "post", "id": id, "author": "1", "at": "2020-01-01T00:00:00Z", "text": text})
		if err != nil {
			t.Fatal(err)
		}
		bundle.Write(append(line, '\n'))
	}
	data := t.TempDir()
	path := filepath.Join(data, "sentences.ndjson")
	if err := os.WriteFile(path, bundle.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"import", "-data", data, path}, settings{}.getenv, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	s := start(t, nil, "-data", data)
	defer s.stop()
	after, got := any(nil), 0
	for range len(want) {
		var page struct {
			FollowFeed struct {
				Nodes    []struct{ ID, Text string }
				PageInfo struct {
					HasNextPage bool
					EndCursor   string
				}
			}
		}
		s.send("1", `query($after: String) { followFeed(first: 100, after: $after) { nodes { id text } pageInfo { hasNextPage endCursor } } }`,
			map[string]any{"after": after}, &page)
		for _, node := range page.FollowFeed.Nodes {
			got++
			if node.Text != want[node.ID] {
				t.Errorf("%s: got %q, want %q", node.ID, node.Text, want[node.ID])
			}
		}
		if !page.FollowFeed.PageInfo.HasNextPage {
			break
		}
		after = page.FollowFeed.PageInfo.EndCursor
	}
	if got != len(want) || got < 2_000 {
		t.Errorf("read %d sentences, want %d", got, len(want))
	}
}

// Attributes are free JSON: numbers beyond any float, the order of keys and
// escapes come back as they went in.
func TestAttributesComeBackAsTheyWentIn(t *testing.T) {
	t.Parallel()
	s := start(t, nil, "-data", t.TempDir(), "-sample=false")
	defer s.stop()
	author := s.newUser("author")
	for _, text := range []string{
		`{"z":1,"a":12345678901234567890,"m":1.10,"e":1e400,"n":null,"t":true,"u":"\u00e9 \ud83e\udd16","list":[3,2,1,{}]}`,
		`[]`, `"text"`, `0.1000`, `{"":{"":[[]]}}`,
	} {
		var made struct {
			PublishPost struct {
				Post struct{ Attributes json.RawMessage }
			}
		}
		s.send(author, `mutation($a: JSON) { publishPost(input: {text: "x", attributes: $a}) { post { attributes } } }`,
			map[string]any{"a": json.RawMessage(text)}, &made)
		var want, got any
		decode := func(raw []byte, into *any) {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			if err := d.Decode(into); err != nil {
				t.Fatal(err)
			}
		}
		decode([]byte(text), &want)
		decode(made.PublishPost.Post.Attributes, &got)
		if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Errorf("attributes: got %s, want %s", made.PublishPost.Post.Attributes, text)
		}
	}
}
