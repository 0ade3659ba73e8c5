package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
)

// panicError is a panic that was caught.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// recovered makes an error of a panic.
func recovered(_ context.Context, value any) error {
	return &panicError{value: value, stack: debug.Stack()}
}

// present makes of any error what a client may see of it: a code, a sentence,
// and where it happened. What is inside goes to the log, once.
func (s *Server) present(ctx context.Context, err error) *gqlerror.Error {
	known := s.classify(ctx, err)
	shown := &gqlerror.Error{
		Message:    known.Text,
		Path:       graphql.GetPath(ctx),
		Extensions: map[string]any{"code": known.Code},
	}
	if g, ok := errors.AsType[*gqlerror.Error](err); ok {
		shown.Path, shown.Locations = g.Path, g.Locations
	}
	if known.Field != "" {
		shown.Extensions["field"] = known.Field
	}
	if known.Code == feed.CodeInternal {
		shown.Extensions["requestId"] = exchangeOf(ctx).id
	}
	if known.Code == feed.CodeUnavailable && errors.Is(ctx.Err(), context.Canceled) {
		return shown // the client went away: nobody's fault, and nobody reads this
	}
	s.cfg.Metrics.fail(known.Code)
	s.log(ctx, known, shown.Path)
	return shown
}

// classify finds the code of an error, and what to tell about it.
func (s *Server) classify(ctx context.Context, err error) *feed.Error {
	if _, ok := errors.AsType[*panicError](err); ok {
		return internal(err)
	}
	if known, ok := errors.AsType[*feed.Error](err); ok {
		return known
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return feed.Unavailable("this took too long: try again, or ask for less", err)
	}
	g, ok := errors.AsType[*gqlerror.Error](err)
	if ok {
		switch g.Extensions["code"] {
		case errcode.ParseFailed, errcode.ValidationFailed:
			return s.invalid(g)
		}
	}
	if argument(ctx) {
		text := err.Error()
		if ok {
			text = g.Message
		}
		return feed.BadInput(lastName(graphql.GetPath(ctx)), text)
	}
	return internal(err)
}

// internal hides an error. Its place is left out of what is logged: one cause
// may break many fields.
func internal(cause error) *feed.Error {
	if g, ok := errors.AsType[*gqlerror.Error](cause); ok && g.Err != nil {
		cause = g.Err
	}
	return &feed.Error{Code: feed.CodeInternal, Text: "something went wrong inside feedgate: tell the operator the request id", Cause: cause}
}

// invalid is an error of gqlgen's parser or validator. In production it makes no
// suggestions: they would tell the schema to whoever guesses. (The validator
// can leave out some of them by itself, not all.)
func (s *Server) invalid(g *gqlerror.Error) *feed.Error {
	if strings.HasPrefix(g.Message, "exceeded token limit") || strings.HasPrefix(g.Message, "exceeded maximum nesting depth") {
		return tooComplex("this query is too long: ask for less at once")
	}
	text := g.Message
	if !s.cfg.Dev {
		text, _, _ = strings.Cut(text, " Did you mean")
	}
	return feed.BadInput(lastName(g.Path), text)
}

func tooComplex(text string) *feed.Error { return &feed.Error{Code: feed.CodeTooComplex, Text: text} }

// lastName is the input field that a path ends in, leaving out indexes.
func lastName(path ast.Path) string {
	for _, element := range slices.Backward(path) {
		if name, ok := element.(ast.PathName); ok {
			return string(name)
		}
	}
	return ""
}

// argument reports whether gqlgen is still reading the arguments of the
// current field: until it has, the field context holds none.
func argument(ctx context.Context) bool {
	fc := graphql.GetFieldContext(ctx)
	return fc != nil && fc.Args == nil && fc.Field.Field != nil && len(fc.Field.Arguments) > 0
}

// log tells operators of what is feedgate's own fault.
func (s *Server) log(ctx context.Context, known *feed.Error, path ast.Path) {
	level := slog.LevelError
	switch known.Code {
	case feed.CodeInternal:
	case feed.CodeUnavailable:
		level = slog.LevelWarn
	default:
		return
	}
	x := exchangeOf(ctx)
	detail := known.Error()
	if !x.firstTime(detail) || level == slog.LevelWarn && streaming(ctx) && !s.lately.first(detail, s.cfg.Clock.Now()) {
		return
	}
	s.cfg.Log.LogAttrs(ctx, level, "request failed",
		slog.String("request_id", x.id), slog.String("code", string(known.Code)),
		slog.String("path", path.String()), slog.String("error", detail), slog.Int64("reader", int64(x.reader)))
}

// refuse answers a request that never becomes an operation.
func refuse(w http.ResponseWriter, status int, code feed.Code, text string) {
	writeResponse(w, status, &graphql.Response{Errors: gqlerror.List{{
		Message: text, Extensions: map[string]any{"code": code},
	}}})
}

// refuseError answers with an error of the domain.
func (s *Server) refuseError(w http.ResponseWriter, r *http.Request, status int, err error) {
	writeResponse(w, status, &graphql.Response{Errors: gqlerror.List{s.present(r.Context(), err)}})
}
