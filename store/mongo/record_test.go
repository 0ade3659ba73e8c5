package mongo_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"feedgate/feed"
	"feedgate/store/mongo"
	"feedgate/store/storetest"
	"feedgate/store/storetest/mongoserver"
)

// server is what the tests run against, or why there is none.
var (
	server    *mongoserver.Server
	errServer error
	databases atomic.Int64
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	server, errServer = mongoserver.Start(context.Background())
	if errServer != nil && !errors.Is(errServer, mongoserver.ErrSkipped) {
		fmt.Fprintln(os.Stderr, "start a MongoDB server:", errServer)
		return 1
	}
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the MongoDB server:", err)
			code = max(code, 1)
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// need skips a test when there is no server.
func need(t *testing.T) {
	t.Helper()
	if errServer != nil {
		t.Skip(errServer)
	}
}

// fresh names a database that no other test uses, and drops it at the end.
func fresh(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("feedgate_test_%d_%d", os.Getpid(), databases.Add(1))
	t.Cleanup(func() {
		client, err := driver.Connect(options.Client().ApplyURI(server.URI))
		if err != nil {
			t.Errorf("drop the database: %v", err)
			return
		}
		if err := errors.Join(client.Database(name).Drop(context.Background()), client.Disconnect(context.Background())); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	return name
}

func open(t *testing.T, database string, opts ...mongo.Option) *mongo.Record {
	t.Helper()
	r, err := mongo.Open(t.Context(), server.URI, database, slog.New(slog.DiscardHandler), opts...)
	if err != nil {
		t.Fatalf("open a record: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("close the record: %v", err)
		}
	})
	return r
}

func TestRecordKeepsItsPromises(t *testing.T) {
	t.Parallel()
	need(t)
	storetest.RunRecord(t, 60, func(t *testing.T, hook func(string)) storetest.Record {
		t.Helper()
		return open(t, fresh(t), mongo.WithHook(hook))
	})
}

func TestARecordIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	need(t)
	database := fresh(t)
	first := open(t, database)
	want := feed.User{ID: 1 << 60, Handle: "ada", Name: "Ada"}
	if err := first.CreateUser(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	began, err := first.Generation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.RaiseGeneration(t.Context(), began); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := open(t, database)
	got, err := second.UserByHandle(t.Context(), "ada")
	if err != nil || got.User != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if g, err := second.Generation(t.Context()); err != nil || g != began+1 {
		t.Errorf("got generation %d, %v, want %d", g, err, began+1)
	}
}

func TestAWrongAddressIsRefused(t *testing.T) {
	t.Parallel()
	_, err := mongo.Open(t.Context(), "http://127.0.0.1:1", "x", slog.New(slog.DiscardHandler))
	if feed.CodeOf(err) != feed.CodeBadInput {
		t.Errorf("got %v, want BAD_USER_INPUT", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = mongo.Open(ctx, "mongodb://127.0.0.1:1/", "x", slog.New(slog.DiscardHandler))
	if feed.CodeOf(err) != feed.CodeUnavailable {
		t.Errorf("got %v, want UNAVAILABLE", err)
	}
}
