package operation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.uber.org/goleak"

	"feedgate/feed"
	"feedgate/internal/operation"
	"feedgate/internal/operation/operationtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAppend(t *testing.T) {
	t.Parallel()
	for want, resp := range map[string]*graphql.Response{
		`{"data":{"a":1}}`: {Data: []byte(`{"a":1}`)},
		`{"data":null}`:    {},
		`{"errors":[{"message":"no"}],"data":{"a":null}}`: {Errors: gqlerror.List{{Message: "no"}}, Data: []byte(`{"a":null}`)},
		`{"data":{},"extensions":{"x":1}}`:                {Data: []byte(`{}`), Extensions: map[string]any{"x": 1}},
		`{"errors":[{"message":"something went wrong inside feedgate","extensions":{"code":"INTERNAL"}}],"data":null}`: {
			Errors: gqlerror.List{{Message: "odd", Extensions: map[string]any{"x": func() {}}}},
		},
	} {
		if got := string(operation.Append(nil, resp)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A listener that goes away ends the operation, and it is asked for nothing
// more.
func TestRunAsksForNothingMoreWhenNobodyListens(t *testing.T) {
	t.Parallel()
	exec := operationtest.NewExecutor(operationtest.NewHub(), "")
	var got []string
	failed := operation.Run(t.Context(), exec, &graphql.RawParams{Query: "subscription { countTo(n: 5) }"}, time.Minute, func(resp *graphql.Response) bool {
		got = append(got, string(resp.Data))
		return len(got) < 2
	})
	if len(failed) > 0 || len(got) != 2 || got[1] != `{"countTo":2}` {
		t.Errorf("got %v %v", got, failed)
	}
}

// A client that goes away is told nothing; one that waits too long is.
func TestRunOutOfTime(t *testing.T) {
	t.Parallel()
	exec := operationtest.NewExecutor(operationtest.NewHub(), "")
	nothing := func(*graphql.Response) bool { t.Error("there was a result"); return false }
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if failed := operation.Run(gone, exec, &graphql.RawParams{Query: "{ never }"}, time.Minute, nothing); len(failed) > 0 {
		t.Errorf("got %v", failed)
	}
	failed := operation.Run(t.Context(), exec, &graphql.RawParams{Query: "{ never }"}, time.Millisecond, nothing)
	if len(failed) != 1 || failed[0].Extensions["code"] != feed.CodeUnavailable {
		t.Errorf("got %v", failed)
	}
}

// Whatever breaks, also what presents errors: there is an answer.
func TestRunSurvivesPanics(t *testing.T) {
	t.Parallel()
	exec := operationtest.NewExecutor(operationtest.NewHub(), "")
	broken := func(*graphql.Response) bool { panic("the inside") }
	failed := operation.Run(t.Context(), exec, &graphql.RawParams{Query: "{ hello }"}, time.Minute, broken)
	if len(failed) != 1 || failed[0].Extensions["code"] != feed.CodeInternal {
		t.Errorf("got %v", failed)
	}
	exec.SetErrorPresenter(func(context.Context, error) *gqlerror.Error { panic(errors.New("the inside of the inside")) })
	failed = operation.Run(t.Context(), exec, &graphql.RawParams{Query: "{ panic }"}, time.Minute, broken)
	if len(failed) != 1 || failed[0].Extensions["code"] != feed.CodeInternal {
		t.Errorf("got %v", failed)
	}
}
