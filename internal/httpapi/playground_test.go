package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestThePlaygroundStandsByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.send(httptest.NewRequest(http.MethodGet, "http://localhost/playground?reader=1", http.NoBody))
	if a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Fatalf("got %d %v", a.status, a.header)
	}
	policy := a.header.Get("Content-Security-Policy")
	for _, tag := range []string{"style", "script"} {
		_, rest, _ := strings.Cut(a.text, "<"+tag+">")
		text, _, _ := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(text))
		if want := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; text == "" || !strings.Contains(policy, want) {
			t.Errorf("the policy %q does not permit the page's own %s", policy, tag)
		}
	}
	for _, pattern := range []string{`\ssrc=`, `(?i)\son[a-z]+=`, `\sstyle="`, `https?://[^w']`, `@import`, `url\(`} {
		if found := regexp.MustCompile(pattern).FindString(a.text); found != "" {
			t.Errorf("the page has %q: nothing may come from elsewhere, and nothing inline", found)
		}
	}
	if n := strings.Count(a.text, "\n"); n >= 500 {
		t.Errorf("the page has %d lines, want less than 500", n)
	}
	if a := w.send(httptest.NewRequest(http.MethodGet, "http://localhost/", http.NoBody)); a.status != http.StatusFound || a.header.Get("Location") != "/playground" {
		t.Errorf("the root leads to %d %v", a.status, a.header)
	}
}

// TestThePlaygroundsExamplesAreValid runs each example of the page.
func TestThePlaygroundsExamplesAreValid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(3)
	page := w.send(httptest.NewRequest(http.MethodGet, "http://localhost/playground", http.NoBody)).text
	examples := regexp.MustCompile("(?s)`((?:query |mutation |\\{\\n).*?)`").FindAllStringSubmatch(page, -1)
	if len(examples) < 10 {
		t.Fatalf("found %d examples", len(examples))
	}
	for _, e := range examples {
		query := strings.ReplaceAll(e[1], "${page}", "pageInfo { hasNextPage endCursor }")
		vars := map[string]any{
			"id": "user:1", "ids": []string{"user:1"},
			"input": map[string]any{"handle": "newcomer"},
		}
		switch {
		case strings.Contains(query, "publishPost"):
			vars["input"] = map[string]any{"text": "x"}
		case strings.Contains(query, "followUser"):
			vars["input"] = map[string]any{"userId": "user:1"}
		case strings.Contains(query, "likePost"):
			vars["input"] = map[string]any{"postId": "post:1"}
		case strings.Contains(query, "commentOnPost"):
			vars["input"] = map[string]any{"postId": "post:1", "text": "x"}
		}
		as := reader
		if strings.Contains(query, "createUser") {
			as = 0 // in development, nobody can make people
		}
		a := w.as(as, query, vars)
		if a.status != http.StatusOK || a.code() != "" && a.code() != "NOT_FOUND" {
			t.Errorf("%s: got %d %s", query, a.status, a.text)
		}
	}
}
