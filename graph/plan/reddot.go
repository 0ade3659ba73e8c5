package plan

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"feedgate/feed/live"
	"feedgate/graph/model"
	"feedgate/graph/scalar"
)

// Showing makes the newest post of a red dot, with what is asked of it; nil
// when there is none to show.
type Showing func(ctx context.Context, d *live.State, asked *Selection) (*model.Post, error)

func (o *output) redDot(s *Selection, d *live.State) {
	if d == nil || d.Err != nil || o.show == nil {
		o.leave()
		return
	}
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		o.redDotField(s, f, d)
		if o.left {
			return
		}
	}
	o.end(s)
}

func (o *output) redDotField(s *Selection, f *field, d *live.State) {
	switch f.op {
	case opTypename:
		o.str(s.Type.name())
	case opFeedCount:
		o.count(int64(d.Count))
	case opFeedCountCapped:
		o.bool(d.Capped)
	case opNoticeCount:
		o.count(int64(d.Notices))
	case opChangedAt:
		o.b = scalar.AppendDateTime(o.b, d.At)
	case opNewestPost:
		p, err := o.show(o.ctx, d, f.sub)
		switch {
		case err != nil:
			o.leave()
		case p == nil:
			o.null()
		default:
			o.post(f.sub, p)
		}
	default:
		o.leave()
	}
}

// Lasting reports whether all that is asked of a post stays as it is for as
// long as the post stands, so that one copy serves everybody.
func (s *Selection) Lasting() bool {
	return s.Need&^(model.PartUsers|model.PartOriginal) == 0 && !s.Changing
}

// streams reports whether the writer can write states without loading anything.
func (s *Selection) streams() bool {
	for i := range s.fields {
		if s.fields[i].op == opNewestPost && !s.fields[i].sub.Lasting() {
			return false
		}
	}
	return s.direct
}

// stream takes the place of gqlgen's stream of red dots: what gqlgen makes of
// a field that is a channel is a function that gives one result at a time.
// What takes more than writing is left to gqlgen, by giving the channel back.
func (w *Writer) stream(ctx context.Context, states <-chan *live.State) any {
	fc := graphql.GetFieldContext(ctx)
	asked := w.Plans.Of(ctx, RedDot)
	if !asked.streams() || w.NewestPost == nil {
		return states
	}
	head := append(append([]byte(`{"`), fc.Field.Alias...), `":`...)
	return func(ctx context.Context) graphql.Marshaler {
		select {
		case d, ok := <-states:
			if !ok {
				return nil
			}
			return w.event(ctx, head, asked, d)
		case <-ctx.Done():
			return nil
		}
	}
}

// event writes one state. One that could not be derived is an error of this
// response alone: the next state comes all the same.
func (w *Writer) event(ctx context.Context, head []byte, asked *Selection, d *live.State) graphql.Marshaler {
	if d.Err != nil {
		graphql.AddError(ctx, model.DotError(d))
		return graphql.Null
	}
	buf := w.buffer()
	out := output{ctx: ctx, show: w.NewestPost, b: append(buf.b[:0], head...)}
	out.redDot(asked, d)
	out.b = append(out.b, '}')
	buf.b = out.b
	if out.left {
		w.release(buf)
		graphql.AddErrorf(ctx, "a red dot cannot be written")
		return graphql.Null
	}
	return w.marshaler(buf)
}
