package plan

import (
	"context"
	"io"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"feedgate/feed/live"
	"feedgate/graph/model"
)

// Writer is a gqlgen extension that writes whole objects in one pass where
// all that is asked of them has been loaded.
type Writer struct {
	Plans *Cache
	// NewestPost shows the newest post of red dots. Nil: they are left to gqlgen.
	NewestPost Showing

	buffers sync.Pool
}

var _ interface {
	graphql.HandlerExtension
	graphql.FieldInterceptor
} = (*Writer)(nil)

// ExtensionName names the extension.
func (*Writer) ExtensionName() string { return "DirectWriter" }

// Validate accepts every schema.
func (*Writer) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptField resolves the field, and writes its object if it can.
func (w *Writer) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	res, err := next(ctx)
	if err != nil {
		return res, err
	}
	if states, ok := res.(<-chan *live.State); ok {
		return w.stream(ctx, states), nil
	}
	t := typeOf(res)
	if t == noType {
		return res, nil
	}
	if m := w.write(ctx, w.Plans.Of(ctx, t), res); m != nil {
		return m, nil
	}
	return res, nil
}

// typeOf says which type an object has that the writer can begin with.
func typeOf(res any) Type {
	switch o := res.(type) {
	case *model.FollowFeedConnection:
		if o != nil {
			return FollowFeedConnection
		}
	case *model.NearbyFeedConnection:
		if o != nil {
			return NearbyFeedConnection
		}
	case *model.RecommendFeedConnection:
		if o != nil {
			return RecommendFeedConnection
		}
	case *model.PostConnection:
		if o != nil {
			return PostConnection
		}
	case *model.CommentConnection:
		if o != nil {
			return CommentConnection
		}
	case *model.UserConnection:
		if o != nil {
			return UserConnection
		}
	case *model.Post:
		if o != nil {
			return Post
		}
	case *live.State:
		if o != nil {
			return RedDot
		}
	}
	return noType
}

// write gives nil when the object is for gqlgen to write.
func (w *Writer) write(ctx context.Context, s *Selection, res any) graphql.Marshaler {
	if !s.direct {
		return nil
	}
	buf := w.buffer()
	out := output{ctx: ctx, show: w.NewestPost, b: buf.b[:0]}
	switch o := res.(type) {
	case *model.FollowFeedConnection:
		out.followFeed(s, o)
	case *model.NearbyFeedConnection:
		out.nearbyFeed(s, o)
	case *model.RecommendFeedConnection:
		out.recommendFeed(s, o)
	case *model.PostConnection:
		out.posts(s, o)
	case *model.CommentConnection:
		out.commentConnection(s, o)
	case *model.UserConnection:
		out.users(s, o)
	case *model.Post:
		out.post(s, o)
	case *live.State:
		out.redDot(s, o)
	}
	buf.b = out.b
	if out.left {
		w.release(buf)
		return nil
	}
	return w.marshaler(buf)
}

// marshaler writes what is in a buffer, once, and gives the buffer back.
func (w *Writer) marshaler(buf *buffer) graphql.Marshaler {
	return graphql.WriterFunc(func(dst io.Writer) {
		// A failing writer is the transport's business: it finds the connection gone.
		_, _ = dst.Write(buf.b)
		w.release(buf)
	})
}

const (
	initialBuffer = 16 << 10
	keptBuffer    = 1 << 20 // larger ones are left to the garbage collector
)

type buffer struct{ b []byte }

func (w *Writer) buffer() *buffer {
	if buf, ok := w.buffers.Get().(*buffer); ok {
		return buf
	}
	return &buffer{b: make([]byte, 0, initialBuffer)}
}

func (w *Writer) release(buf *buffer) {
	if cap(buf.b) <= keptBuffer {
		w.buffers.Put(buf)
	}
}
