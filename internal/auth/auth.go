// Package auth makes and checks the tokens that say who reads.
package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"feedgate/feed"
)

// MinSecret is the least length of a secret in bytes: HS256 is no stronger
// than its secret.
const MinSecret = 32

// leeway is how far clocks may be apart.
const leeway = 5 * time.Second

// issuer marks feedgate's own tokens.
const issuer = "feedgate"

// Tokens makes and checks tokens with one secret.
type Tokens struct {
	secret []byte
	clock  feed.Clock
	parser *jwt.Parser
}

// New takes the secret of FEEDGATE_AUTH_SECRET. Its error says what is wrong
// with the secret.
func New(secret string, clock feed.Clock) (*Tokens, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the secret for tokens needs at least %d bytes, this one has %d", MinSecret, len(secret))
	}
	return &Tokens{
		secret: []byte(secret),
		clock:  clock,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithExpirationRequired(),
			jwt.WithIssuedAt(),
			jwt.WithIssuer(issuer),
			jwt.WithLeeway(leeway),
			jwt.WithTimeFunc(clock.Now),
		),
	}, nil
}

// Mint makes a token for a user that holds for ttl from now.
func (t *Tokens) Mint(user feed.ID, ttl time.Duration) (string, error) {
	now := t.clock.Now()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Issuer:    issuer,
		Subject:   user.String(),
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
	}).SignedString(t.secret)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return token, nil
}

// Verify gives the user of a token, and until when it holds. Its error is
// UNAUTHENTICATED.
func (t *Tokens) Verify(token string) (feed.ID, time.Time, error) {
	var claims jwt.RegisteredClaims
	if _, err := t.parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return t.secret, nil }); err != nil {
		text := "this token does not hold: get a new one"
		if errors.Is(err, jwt.ErrTokenExpired) {
			text = "this token has expired: get a new one"
		}
		return 0, time.Time{}, &feed.Error{Code: feed.CodeUnauthenticated, Text: text, Cause: err}
	}
	user, err := feed.ParseID(claims.Subject)
	if err != nil {
		return 0, time.Time{}, &feed.Error{Code: feed.CodeUnauthenticated, Text: "this token names no user: get a new one", Cause: err}
	}
	return user, claims.ExpiresAt.Add(leeway), nil
}
