package mongo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"feedgate/feed"
)

const (
	// commandTimeout bounds a command whose context has no deadline.
	commandTimeout = 30 * time.Second
	// selectionTimeout bounds the wait for a primary.
	selectionTimeout = 5 * time.Second
	// chunk is how many ids one command is asked about.
	chunk = 1_000
)

var (
	_ feed.Record          = (*Record)(nil)
	_ feed.DutyRecord      = (*Record)(nil)
	_ feed.CounterRecord   = (*Record)(nil)
	_ feed.HeartbeatRecord = (*Record)(nil)
	_ feed.ProcessRecord   = (*Record)(nil)
	_ feed.ImportRecord    = (*Record)(nil)
	_ feed.SeenRecord      = (*Record)(nil)
	_ feed.NoticeRecord    = (*Record)(nil)
	_ feed.TasteRecord     = (*Record)(nil)
	_ feed.ViewRecord      = (*Record)(nil)
	_ feed.PlaceRecord     = (*Record)(nil)
)

// Record is the record in a MongoDB database. It is safe for concurrent use.
type Record struct {
	log   *slog.Logger
	hook  func(command string)
	close func(ctx context.Context) error
	gates *gates // to the notices

	cellsAtOnce int64 // how many posts fillCells looks at with one set of commands

	users, posts, follows, bars, likes, comments, claims, dirty, meta, heartbeats, processes *mongo.Collection
	notices, noticeActors, views                                                             *mongo.Collection
}

// Option changes how a record is opened.
type Option func(*Record)

// WithHook has hook called once for each command that is sent and awaited,
// with the command's name in MongoDB. It may be called concurrently.
func WithHook(hook func(command string)) Option {
	return func(r *Record) { r.hook = hook }
}

// Open connects to the database, creates the indexes that are missing and gives
// posts their cells where an earlier feedgate gave none. Its
// errors are BAD_USER_INPUT (field "uri") for a URI that cannot be read and
// UNAVAILABLE for all else.
func Open(ctx context.Context, uri, database string, log *slog.Logger, opts ...Option) (*Record, error) {
	r := &Record{log: log, hook: func(string) {}, gates: newGates(), cellsAtOnce: cellsAtOnce}
	for _, opt := range opts {
		opt(r)
	}
	journaled := true
	durable := writeconcern.Majority()
	durable.Journal = &journaled
	settings := options.Client().ApplyURI(uri).
		SetAppName("feedgate").
		SetWriteConcern(durable).
		SetReadPreference(readpref.Primary()).
		SetTimeout(commandTimeout).
		SetServerSelectionTimeout(selectionTimeout).
		SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) { r.hook(e.CommandName) }})
	if err := settings.Validate(); err != nil {
		return nil, &feed.Error{
			Code: feed.CodeBadInput, Field: "uri", Cause: err,
			Text: "the address of MongoDB cannot be read: write it as mongodb://host:port",
		}
	}
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, unavailable("open", err)
	}
	db := client.Database(database)
	for name, c := range map[string]**mongo.Collection{
		"users": &r.users, "posts": &r.posts, "follows": &r.follows, "bars": &r.bars, "likes": &r.likes,
		"comments": &r.comments, "claims": &r.claims, "dirty": &r.dirty,
		"meta": &r.meta, "heartbeats": &r.heartbeats, "processes": &r.processes,
		"notices": &r.notices, "noticeActors": &r.noticeActors, "views": &r.views,
	} {
		*c = db.Collection(name)
	}
	var once sync.Once
	r.close = func(ctx context.Context) (err error) {
		once.Do(func() { err = client.Disconnect(ctx) })
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return nil, unavailable("open", errors.Join(err, r.close(context.WithoutCancel(ctx))))
	}
	log.DebugContext(ctx, "mongo record is open", slog.String("database", database))
	return r, nil
}

// Close ends the connections. Closing again does nothing.
func (r *Record) Close(ctx context.Context) error {
	if err := r.close(ctx); err != nil {
		return unavailable("close", err)
	}
	return nil
}

// prepare creates indexes and what must be there once.
func (r *Record) prepare(ctx context.Context) error {
	key := func(fields ...string) bson.D {
		var d bson.D
		for _, f := range fields {
			d = append(d, bson.E{Key: f, Value: int32(1)})
		}
		return d
	}
	for _, of := range []struct {
		collection *mongo.Collection
		indexes    []mongo.IndexModel
	}{
		{r.users, []mongo.IndexModel{
			{Keys: key("handle"), Options: options.Index().SetUnique(true)},
		}},
		{r.posts, []mongo.IndexModel{
			{Keys: key("author", "publishedAt", "_id")},
			{Keys: key("duty"), Options: options.Index().SetSparse(true)},
			{Keys: key("repostOf", "author")},
			{Keys: key("author", "repostOf", "publishedAt")},
			{Keys: key(placeCell, "publishedAt", "_id")},
			{Keys: key("publishedAt", "_id")},
		}},
		{r.follows, []mongo.IndexModel{
			{Keys: key("follower", "at", "followee")},
			{Keys: key("followee", "follower")},
		}},
		{r.bars, []mongo.IndexModel{{Keys: key("by")}, {Keys: key("of", "kind")}}},
		{r.likes, []mongo.IndexModel{{Keys: key("post")}, {Keys: key("user", "at", "post")}}},
		{r.comments, []mongo.IndexModel{{Keys: key("post", "at", "_id")}, {Keys: key("author", "at", "post")}}},
		{r.views, []mongo.IndexModel{{Keys: key("user", "at", "post")}}},
		{r.notices, []mongo.IndexModel{
			{Keys: key("to", "kind", "subject"), Options: options.Index().SetUnique(true)},
			{Keys: key("to", "at", "_id")},
		}},
		{r.noticeActors, []mongo.IndexModel{{Keys: key("notice", "in", "at", "actor")}}},
		{r.dirty, []mongo.IndexModel{{Keys: key("at")}}},
	} {
		// One command each, because FerretDB breaks when several of one command
		// are there already.
		for _, index := range of.indexes {
			if _, err := of.collection.Indexes().CreateOne(ctx, index); err != nil {
				return fmt.Errorf("create the indexes of %s: %w", of.collection.Name(), err)
			}
		}
	}
	_, err := r.meta.UpdateOne(ctx, bson.D{{Key: "_id", Value: generation}},
		bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "value", Value: firstGeneration()}}}}, options.UpdateOne().SetUpsert(true))
	if err != nil && !mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("write the first generation: %w", err)
	}
	if err := r.fillCells(ctx); err != nil {
		return fmt.Errorf("give posts their cells: %w", err)
	}
	return nil
}
