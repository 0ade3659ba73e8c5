package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the playground's page
	"encoding/base64"
	"net/http"
)

//go:embed playground.html
var playgroundPage []byte

// playground is the page on which developers try queries: one file, with
// nothing from elsewhere, so that it works offline and under a strict policy.
type playground struct {
	page   []byte
	policy string
}

func newPlayground() *playground {
	return &playground{
		page: playgroundPage,
		policy: "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
			"style-src 'sha256-" + digest(playgroundPage, "style") + "'; script-src 'sha256-" + digest(playgroundPage, "script") + "'",
	}
}

// digest is the hash by which a policy permits the page's own style or script.
func digest(page []byte, tag string) string {
	_, rest, _ := bytes.Cut(page, []byte("<"+tag+">"))
	text, _, _ := bytes.Cut(rest, []byte("</"+tag+">"))
	sum := sha256.Sum256(text)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (p *playground) serve(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policy)
	// A failing writer is a client that is gone.
	_, _ = w.Write(p.page)
}
