package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"feedgate/feed"
	"feedgate/internal/httpapi"
)

func get(query string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/graphql?query="+url.QueryEscape(query), http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

const makeEve = `mutation { createUser(input: {handle: "eve"}) { user { id } } }`

// eveExists reports whether makeEve was carried out.
func (w *world) eveExists() bool {
	w.tb.Helper()
	_, err := w.svc.UserByHandle(context.Background(), w.svc.Reader(0), "eve")
	if err != nil && feed.CodeOf(err) != feed.CodeNotFound {
		w.tb.Fatal(err)
	}
	return err == nil
}

func TestAMutationByGetIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.send(get(makeEve))
	if a.status != http.StatusMethodNotAllowed || a.code() != "BAD_USER_INPUT" || a.header.Get("Allow") != "POST" {
		t.Errorf("got %d %s", a.status, a.text)
	}
	if w.eveExists() {
		t.Error("eve was made all the same")
	}
	if a := w.send(get(`{ viewer { id } }`)); a.status != http.StatusOK || a.text != `{"data":{"viewer":null}}` {
		t.Errorf("a query by GET: got %d %s", a.status, a.text)
	}
}

func TestFormsAndOtherSitesCannotWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"query":` + fmt.Sprintf("%q", makeEve) + `}`
	for _, c := range []struct {
		contentType string
		headers     []string
		status      int
	}{
		{"application/x-www-form-urlencoded", nil, http.StatusUnsupportedMediaType},
		{"multipart/form-data; boundary=x", nil, http.StatusUnsupportedMediaType},
		{"text/plain", nil, http.StatusUnsupportedMediaType},
		{"text/plain; application/json", nil, http.StatusUnsupportedMediaType},
		{"", nil, http.StatusUnsupportedMediaType},
		{"application/graphql", nil, http.StatusUnsupportedMediaType},
		{"application/json", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"application/json", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
	} {
		r := post(strings.NewReader(body), c.headers...)
		r.Header.Set("Content-Type", c.contentType)
		a := w.send(r)
		if a.status != c.status || a.code() == "" {
			t.Errorf("%q %v: got %d %s, want %d with a code", c.contentType, c.headers, a.status, a.text, c.status)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch} {
		r := httptest.NewRequest(method, "http://localhost/graphql", strings.NewReader(body))
		a := w.send(r)
		if a.status != http.StatusMethodNotAllowed || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: got %d %v", method, a.status, a.header)
		}
	}
	if w.eveExists() {
		t.Error("eve was made all the same")
	}
	r := post(strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	if a := w.send(r); a.status != http.StatusOK || !w.eveExists() {
		t.Errorf("JSON with a charset: got %d %s", a.status, a.text)
	}
}

func TestOtherNamesThanLocalhostAreRefusedInDevelopment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:8080": true, "127.0.0.1:8080": true, "[::1]:8080": true, "app.localhost:80": true, "LOCALHOST:1": true,
		"evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "10.0.0.1:8080": false, "127.0.0.1.evil.example": false,
	} {
		r := get(`{ viewer { id } }`)
		r.Host = host
		if a := w.send(r); (a.status == http.StatusOK) != ok {
			t.Errorf("host %s: got %d %s", host, a.status, a.text)
		}
	}
	r := get(`{ viewer { id } }`, "Origin", "http://evil.example")
	if a := w.send(r); a.status != http.StatusForbidden {
		t.Errorf("a page of another site: got %d %s", a.status, a.text)
	}
	production := httpapi.New(func() httpapi.Config { c := w.config; c.Dev = false; return c }())
	r = get(`{ viewer { id } }`)
	r.Host = "feeds.example"
	rec := httptest.NewRecorder()
	production.ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		t.Errorf("production refuses its own name: %d %s", rec.Code, rec.Body)
	}
}

// endless is a body that never ends, and counts what was taken of it.
type endless struct{ taken int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.taken += len(p)
	return len(p), nil
}

func TestBodiesThatAreNoRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, body := range []string{
		`null`, `[]`, `""`, `1`, `{`, `{"query":`, `{"query":"{ viewer { id } }"`, `{"query":"{ viewer { id } }"} x`, ``, ` `, `{}`,
		`{"query":null}`, `{"query":1}`, `{"query":["SECRET"]}`, `[{"query":"{ viewer { id } }"}]`, `{"query":"{viewer{id}}","variables":"SECRET"}`,
		"\x00\x01", `{"query":"{ viewer { id } }","variables":[]}`, `{"query":"SECRET`, `{"query":""}`,
	} {
		a := w.send(post(strings.NewReader(body)))
		if a.status != http.StatusBadRequest || a.code() != "BAD_USER_INPUT" {
			t.Errorf("%q: got %d %s, want 400 BAD_USER_INPUT", body, a.status, a.text)
		}
		if strings.Contains(a.text, "SECRET") {
			t.Errorf("%q: the body is repeated: %s", body, a.text)
		}
	}
	var big endless
	a := w.send(post(io.LimitReader(&big, 20<<20)))
	if a.status != http.StatusRequestEntityTooLarge || a.code() != "TOO_COMPLEX" {
		t.Errorf("20 MB: got %d %s, want 413 TOO_COMPLEX", a.status, a.text)
	}
	if big.taken > 2<<20 {
		t.Errorf("%d bytes of a body were read, want about 1 MiB", big.taken)
	}
	r := post(iotestHalf{})
	if a := w.send(r); a.status != http.StatusBadRequest || a.code() == "" {
		t.Errorf("a body that breaks off: got %d %s", a.status, a.text)
	}
}

// iotestHalf is a body whose connection breaks.
type iotestHalf struct{}

func (iotestHalf) Read(p []byte) (int, error) {
	return copy(p, `{"query":`), io.ErrUnexpectedEOF
}

func TestQueriesThatAreTooMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	deep := "{ viewer " + strings.Repeat("{ followers(first: 1) { nodes ", 24) + "{ id }" + strings.Repeat(" } }", 24) + " }"
	aliases := &strings.Builder{}
	for i := range 500 {
		fmt.Fprintf(aliases, " a%d: viewer { id }", i)
	}
	bomb := &strings.Builder{}
	bomb.WriteString("query { viewer { ...f0 } } ")
	for i := range 40 {
		fmt.Fprintf(bomb, "fragment f%d on User { ...f%d ...f%d ...f%d } ", i, i+1, i+1, i+1)
	}
	bomb.WriteString("fragment f40 on User { id }")
	for name, c := range map[string]struct{ query, code string }{
		"20,000 directives":     {"{ viewer " + strings.Repeat("@skip(if: false) ", 20_000) + "{ id } }", "TOO_COMPLEX"},
		"many directives":       {"{ viewer " + strings.Repeat("@a ", 15_000) + "{ id } }", "TOO_COMPLEX"},
		"60 KB of one field":    {"{ viewer { " + strings.Repeat("id ", 20_000) + "} }", "TOO_COMPLEX"},
		"2,000 of one field":    {"{ viewer { " + strings.Repeat("id ", 1_980) + "} }", "TOO_COMPLEX"},
		"hidden repetition":     {"{ viewer { ... { " + strings.Repeat("id ", 4) + "} ... on User { " + strings.Repeat("id ", 2) + "} } }", "TOO_COMPLEX"},
		"repeated fragments":    {"{ viewer { " + strings.Repeat("...a ", 500) + "} } fragment a on User { id }", "TOO_COMPLEX"},
		"repeats in fragments":  {"{ viewer { ...a } } fragment a on User { " + strings.Repeat("id ", 1_900) + "}", "TOO_COMPLEX"},
		"500 aliases":           {"{" + aliases.String() + "}", "TOO_COMPLEX"},
		"101 aliases":           {"{" + strings.Join(strings.Fields(aliases.String())[:5*101], " ") + "}", "TOO_COMPLEX"},
		"depth 50":              {deep, "TOO_COMPLEX"},
		"lists in lists":        {`{ followFeed(first: 100) { nodes { author { followers(first: 100) { nodes { id } } } } } }`, "TOO_COMPLEX"},
		"negative sizes":        {`{ followFeed(first: -100) { nodes { author { followers(first: -100) { nodes { id } } } } } }`, "TOO_COMPLEX"},
		"a fragment bomb":       {bomb.String(), "TOO_COMPLEX"},
		"a fragment loop":       {`{ viewer { ...a } } fragment a on User { ...b } fragment b on User { ...a }`, "BAD_USER_INPUT"},
		"a fragment on itself":  {`{ viewer { ...a } } fragment a on User { id ...a }`, "BAD_USER_INPUT"},
		"nested introspection":  {`{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }`, "BAD_USER_INPUT"},
		"1,000 brackets":        {"{ viewer " + strings.Repeat("{ a ", 990), "BAD_USER_INPUT"},
		"a list value too deep": {`{ post(id: ` + strings.Repeat("[", 1500) + `) { id } }`, "TOO_COMPLEX"},
		"nothing":               {`#`, "BAD_USER_INPUT"},
		"no such field":         {`{ viewer { idd } }`, "BAD_USER_INPUT"},
		"no such operation":     {`query A { viewer { id } } query B { viewer { id } }`, "BAD_USER_INPUT"},
		"a subscription":        {`subscription { redDot { feedCount } }`, "BAD_USER_INPUT"},
		"deferred":              {`{ viewer { id ... @defer { handle } } }`, "BAD_USER_INPUT"},
	} {
		a := w.as(ann, c.query, nil)
		if a.status != http.StatusBadRequest || a.code() != c.code {
			t.Errorf("%s: got %d %.300s, want 400 %s", name, a.status, a.text, c.code)
		}
	}
	if a := w.as(ann, `{ followFeed(first: 100) { nodes { comments(first: 20) { nodes { id text author { handle } } } } } }`, nil); a.status != http.StatusOK || a.code() != "" {
		t.Errorf("a usual query is refused: %s", a.text)
	}
	size := map[string]any{"n": -5}
	if a := w.as(ann, `query($n: Int) { followFeed(first: 100) { nodes { author { followers(first: $n) { nodes { id } } } } } }`, size); a.code() != "TOO_COMPLEX" {
		t.Errorf("a negative size in a variable: got %s, want TOO_COMPLEX", a.text)
	}
}

func TestTheIntrospectionQueryOfToolsWorksInDevelopmentOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var got struct {
		Schema struct{ Types []any } `json:"__schema"`
	}
	w.as(0, introspection, nil).into(t, &got)
	if len(got.Schema.Types) < 30 {
		t.Errorf("got %d types", len(got.Schema.Types))
	}
	p := newWorld(t, func(c *httpapi.Config) { c.Dev = false })
	for _, q := range []string{introspection, `{ __type(name: "User") { name } }`, `{ ...a } fragment a on Query { __schema { types { name } } }`} {
		if a := p.as(0, q, nil); a.status != http.StatusBadRequest || a.code() != "BAD_USER_INPUT" || strings.Contains(a.text, "__Type") {
			t.Errorf("production answers introspection: %d %.200s", a.status, a.text)
		}
	}
	if a := p.as(0, `{ viewer { __typename } __typename }`, nil); a.text != `{"data":{"viewer":null,"__typename":"Query"}}` {
		t.Errorf("__typename in production: %s", a.text)
	}
}

func TestSuggestionsAreForDevelopmentOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	typos := []string{
		`{ viewr { id } }`, `{ viewer { handl } }`, `{ user(handel: "x") { id } }`, `{ viewer }`,
		`{ viewer { ... on Usr { id } } }`, `mutation { publishPost(input: {txt: "x"}) { post { id } } }`,
		`mutation { publishPost(input: {place: {latitude: 1, longitude: 1, precision: EXCT}}) { post { id } } }`,
		`{ viewer { id @skp(if: true) } }`, `query($x: Strng) { viewer { id } }`, `{ viewer { ...Frg } } fragment Frag on User { id }`,
	}
	found := false
	for _, q := range typos {
		found = found || strings.Contains(w.as(0, q, nil).text, "Did you mean")
	}
	if !found {
		t.Error("development gives no suggestion at all")
	}
	production := newWorld(t, func(c *httpapi.Config) { c.Dev = false })
	for _, q := range typos {
		if a := production.as(0, q, nil); a.code() != "BAD_USER_INPUT" || strings.Contains(strings.ToLower(a.text), "did you mean") {
			t.Errorf("%s: got %s", q, a.text)
		}
	}
	vars := map[string]any{"in": map[string]any{"txt": "x"}}
	if a := production.as(0, `mutation($in: PublishPostInput!) { publishPost(input: $in) { post { id } } }`, vars); strings.Contains(strings.ToLower(a.text), "did you mean") {
		t.Errorf("a typo in variables: got %s", a.text)
	}
}

func TestManyDifferentQueriesDoNotFillTheMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 10_000 {
		q := fmt.Sprintf(`{ a%d: __typename %s }`, i, strings.Repeat(" ", 100))
		if a := w.as(0, q, nil); a.status != http.StatusOK {
			t.Fatalf("got %d %s", a.status, a.text)
		}
	}
	if n, bytes := w.server.CachedQueries(); n > 1_000 || bytes > 32<<20 {
		t.Errorf("%d queries of about %d bytes are kept, want at most 1,000 and 32 MiB", n, bytes)
	}
}

// introspection is what tools ask to learn a schema.
const introspection = `query IntrospectionQuery { __schema { queryType { name } mutationType { name } subscriptionType { name }
  types { ...FullType } directives { name description locations args { ...InputValue } } } }
fragment FullType on __Type { kind name description
  fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
  inputFields { ...InputValue } interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
  ofType { kind name ofType { kind name ofType { kind name } } } } } } } }`
