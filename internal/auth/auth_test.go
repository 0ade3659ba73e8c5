package auth_test

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"feedgate/feed"
	"feedgate/internal/auth"
)

const secret = "a secret for tests, of at least 32 bytes"

// clock can be set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newTokens(t *testing.T, secret string) (*auth.Tokens, *clock) {
	t.Helper()
	c := &clock{now: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)}
	tokens, err := auth.New(secret, c)
	if err != nil {
		t.Fatal(err)
	}
	return tokens, c
}

func TestATokenNamesItsUserUntilItExpires(t *testing.T) {
	t.Parallel()
	tokens, c := newTokens(t, secret)
	token, err := tokens.Mint(45, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	end := c.now.Add(time.Hour)
	user, until, err := tokens.Verify(token)
	if err != nil || user != 45 || until.Before(end) || until.After(end.Add(10*time.Second)) {
		t.Errorf("got %v until %v, %v, want 45 until about %v", user, until, err, end)
	}
	c.now = c.now.Add(time.Hour + time.Minute)
	user, _, err = tokens.Verify(token)
	if user != 0 || feed.CodeOf(err) != feed.CodeUnauthenticated || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an hour later: got %v, %v", user, err)
	}
}

func TestTokensOfOthersDoNotHold(t *testing.T) {
	t.Parallel()
	tokens, c := newTokens(t, secret)
	foreign, _ := newTokens(t, strings.Repeat("another secret ", 3))
	stolen, err := foreign.Mint(45, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
		s, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	soon := c.now.Add(time.Hour).Unix()
	good := jwt.MapClaims{"iss": "feedgate", "sub": "45", "exp": soon}
	for name, token := range map[string]string{
		"another secret":    stolen,
		"no signature":      sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good),
		"another method":    sign(jwt.SigningMethodHS512, []byte(secret), good),
		"no expiry":         sign(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"iss": "feedgate", "sub": "45"}),
		"no subject":        sign(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"iss": "feedgate", "exp": soon}),
		"a name as subject": sign(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"iss": "feedgate", "sub": "ann", "exp": soon}),
		"nobody as subject": sign(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"iss": "feedgate", "sub": "0", "exp": soon}),
		"another issuer":    sign(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"iss": "x", "sub": "45", "exp": soon}),
		"from the future":   sign(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"iss": "feedgate", "sub": "45", "exp": soon, "iat": soon - 60}),
		"nonsense":          "x.y.z",
		"nothing":           "",
	} {
		user, _, err := tokens.Verify(token)
		if user != 0 || feed.CodeOf(err) != feed.CodeUnauthenticated || err == nil {
			t.Errorf("%s: got %v, %v, want UNAUTHENTICATED", name, user, err)
		}
	}
}

func TestAShortSecretIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := auth.New("short", &clock{}); err == nil {
		t.Error("a secret of 5 bytes was taken")
	}
}
