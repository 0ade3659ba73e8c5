package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"feedgate/internal/httpapi"
)

func TestTokensSayWhoReads(t *testing.T) {
	t.Parallel()
	for name, dev := range map[string]bool{"development": true, "production": false} {
		w := newWorld(t, func(c *httpapi.Config) { c.Dev = dev })
		ann := w.person("ann")
		token, err := w.tokens.Mint(ann, time.Hour)
		w.must(err)
		expired, err := w.tokens.Mint(ann, -time.Hour)
		w.must(err)
		a := w.send(post(operation(`{ viewer { handle } }`, nil), "Authorization", "Bearer "+token))
		if a.text != `{"data":{"viewer":{"handle":"ann"}}}` {
			t.Errorf("%s: got %d %s", name, a.status, a.text)
		}
		for _, bad := range []string{"Bearer " + expired, "Bearer x", "Bearer ", "Basic " + token, token, "Bearer " + token + "x"} {
			a := w.send(post(operation(`{ viewer { handle } }`, nil), "Authorization", bad))
			if a.status != http.StatusUnauthorized || a.code() != "UNAUTHENTICATED" || a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %q: got %d %s", name, bad, a.status, a.text)
			}
		}
	}
}

func TestTheUserHeaderIsForDevelopment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	for _, v := range []string{ann.String(), "user:" + ann.String()} {
		if a := w.send(post(operation(`{ viewer { handle } }`, nil), "X-Feedgate-User", v)); a.text != `{"data":{"viewer":{"handle":"ann"}}}` {
			t.Errorf("%s: got %d %s", v, a.status, a.text)
		}
	}
	for _, v := range []string{"x", "-1", "0", "post:1"} {
		if a := w.send(post(operation(`{ viewer { handle } }`, nil), "X-Feedgate-User", v)); a.status != http.StatusUnauthorized || a.code() != "UNAUTHENTICATED" {
			t.Errorf("%s: got %d %s", v, a.status, a.text)
		}
	}
	p := newWorld(t, func(c *httpapi.Config) { c.Dev = false })
	bob := p.person("bob")
	if a := p.send(post(operation(`{ viewer { handle } }`, nil), "X-Feedgate-User", bob.String())); a.status != http.StatusUnauthorized {
		t.Errorf("production believes the header: %d %s", a.status, a.text)
	}
}

func TestOnlyATokensOwnSubjectIsMadeInProduction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *httpapi.Config) { c.Dev = false })
	if a := w.send(post(operation(makeEve, nil))); a.code() != "UNAUTHENTICATED" || w.eveExists() {
		t.Errorf("nobody made somebody: %s", a.text)
	}
	token, err := w.tokens.Mint(77, time.Hour)
	w.must(err)
	if a := w.send(post(operation(makeEve, nil), "Authorization", "Bearer "+token)); a.text != `{"data":{"createUser":{"user":{"id":"user:77"}}}}` {
		t.Errorf("got %s", a.text)
	}
}
