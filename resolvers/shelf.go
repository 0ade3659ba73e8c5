package resolvers

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/plan"
	"feedgate/loaders"
)

// want says what a feed is to load along with its posts.
func want(need model.Part) feed.Want {
	return feed.Want{
		Stats:      need&(model.PartStats|model.PartComments) != 0,
		Users:      need.Has(model.PartUsers),
		Comments:   need.Has(model.PartComments),
		Liked:      need.Has(model.PartLiked),
		Reposted:   need.Has(model.PartReposted),
		UserCounts: need.Has(model.PartCounts),
	}
}

// pageParts are what a feed loads by itself.
const pageParts = model.PartStats | model.PartUsers | model.PartComments | model.PartLiked |
	model.PartReposted | model.PartCounts | model.PartOriginal

func (r *Root) shelf(ctx context.Context) *model.Shelf {
	who := reader(ctx)
	return &model.Shelf{
		Reader:     who.ID(),
		ServerTime: r.now(),
		Place:      func(p *feed.Post) (feed.Place, bool) { return r.Service.PublicPlace(who, p) },
		FirstComments: func(ctx context.Context, st *feed.Stats, first int) (*feed.CommentPage, bool, error) {
			return r.Service.FirstComments(ctx, who, st, first)
		},
	}
}

// list says which list of posts to read a page of.
type list struct {
	kind  feed.CursorKind
	after *string
	read  func(feed.Want) (*feed.Page, error)
}

// connection reads a page of posts with what the query needs of them. When a
// part of that cannot be loaded, the page is read without, and each part is
// tried by itself: what is broken then is null, and the page stands.
func (r *Root) connection(ctx context.Context, l list, need model.Part) (*model.PostConnection, int64, error) {
	now := r.now()
	p, err := l.read(want(need))
	broken := err != nil && feed.CodeOf(err) == feed.CodeUnavailable && need&pageParts != 0 && ctx.Err() == nil
	if broken {
		p, err = l.read(feed.Want{})
	}
	if err != nil {
		return nil, 0, err
	}
	c := &model.PostConnection{Page: model.Page{
		Kind: l.kind, ServerTime: now, After: l.after != nil,
		HasNext: p.HasNext, End: p.End, HasEnd: p.HasEnd,
	}}
	if broken {
		c.Posts = r.loadPosts(ctx, p.Items, need)
	} else {
		c.Posts = posts(p.Items, r.primed(ctx, p, need))
	}
	return c, p.CompleteSince, nil
}

// primed gives the shelf of a page that was read with what it needs, and loads
// the little that a page does not bring.
func (r *Root) primed(ctx context.Context, p *feed.Page, need model.Part) *model.Shelf {
	shelf := r.shelf(ctx)
	shelf.Users, shelf.Counts = p.Users, p.UserCounts
	shelf.Liked, shelf.Reposted = p.Liked, p.Reposted
	shelf.Loaded = need & pageParts
	if rest := need &^ pageParts; rest != 0 {
		l := &load{Root: r, shelf: shelf, need: rest, set: loaders.From(ctx), alone: alone(ctx)}
		l.relations(ctx)
		l.people(ctx, keys(p.Users))
		l.wg.Wait()
	}
	return shelf
}

// posts makes the edges of a page, and all their posts in one piece of memory.
func posts(items []feed.Item, shelf *model.Shelf) []model.PostEdge {
	edges := make([]model.PostEdge, len(items))
	held := make([]model.Post, 0, 2*len(items))
	for i := range items {
		it := &items[i]
		if it.Post == nil {
			continue
		}
		held = append(held, model.Post{Data: it.Post, Stats: it.Stats, Shelf: shelf})
		p := &held[len(held)-1]
		if it.Original != nil {
			held = append(held, model.Post{Data: it.Original, Stats: it.OriginalStats, Shelf: shelf})
			p.Original = &held[len(held)-1]
		}
		edges[i] = model.PostEdge{At: it.Post.Position(), Post: p}
	}
	return edges
}

// alone reports whether no other field can ask for the same kind of thing at
// the same time: the current field is in no list, and the only root field.
func alone(ctx context.Context) bool {
	for fc := graphql.GetFieldContext(ctx); fc != nil; fc = fc.Parent {
		if fc.Index != nil {
			return false
		}
	}
	op := graphql.GetOperationContext(ctx).Operation
	if op.Operation == ast.Mutation {
		return true // its root fields run one after the other
	}
	if len(op.SelectionSet) != 1 {
		return false
	}
	_, field := op.SelectionSet[0].(*ast.Field)
	return field
}

// load brings what is needed for a list onto its shelf. What fails is noted
// there, and is the error of the fields that need it.
type load struct {
	*Root
	set   *loaders.Set
	shelf *model.Shelf
	need  model.Part
	alone bool

	wg sync.WaitGroup
	mu sync.Mutex
}

// run does one part of the load beside the others.
func (l *load) run(part model.Part, f func() error) {
	if l.need&part == 0 {
		return
	}
	l.wg.Go(func() {
		err := guarded(f)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err != nil {
			l.shelf.Fail(part, err)
			return
		}
		l.shelf.Loaded |= part
	})
}

// guarded makes an error of a panic, which gqlgen could not catch in another
// goroutine than its own.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// many loads values one of two ways, see [loaders.Loader].
func many[V any](ctx context.Context, l *load, from *loaders.Loader[V], ids []feed.ID) ([]V, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if l.alone {
		return from.All(ctx, ids)
	}
	return from.Many(ctx, ids)
}

// found makes a map of what was found.
func found[V any](ids []feed.ID, values []*V) map[feed.ID]*V {
	m := make(map[feed.ID]*V, len(ids))
	for i, v := range values {
		if v != nil {
			m[ids[i]] = v
		}
	}
	return m
}

// which makes a set of those that have a property.
func which(ids []feed.ID, is []bool) feed.IDSet {
	var set []feed.ID
	for i, yes := range is {
		if yes {
			set = append(set, ids[i])
		}
	}
	return feed.NewIDSet(set)
}

func keys[V any](m map[feed.ID]V) []feed.ID {
	ids := make([]feed.ID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	return feed.NewIDSet(ids)
}

func (l *load) relations(ctx context.Context) {
	l.run(model.PartRelations, func() error {
		rel, err := l.Service.Standing(ctx, l.set.Reader)
		l.shelf.Relations = rel
		return err
	})
}

// people loads what is needed of people.
func (l *load) people(ctx context.Context, ids []feed.ID) {
	l.run(model.PartUsers, func() error {
		users, err := many(ctx, l, &l.set.Users, ids)
		l.shelf.Users = found(ids, users)
		return err
	})
	l.run(model.PartCounts, func() error {
		counts, err := many(ctx, l, &l.set.UserCounts, ids)
		l.shelf.Counts = found(ids, counts)
		return err
	})
	l.run(model.PartFollowsMe, func() error {
		follow, err := many(ctx, l, &l.set.FollowsMe, ids)
		l.shelf.FollowsMe = which(ids, follow)
		return err
	})
}

// opinions loads what the reader thinks of posts.
func (l *load) opinions(ctx context.Context, ids []feed.ID) {
	l.run(model.PartLiked, func() error {
		liked, err := many(ctx, l, &l.set.Liked, ids)
		l.shelf.Liked = which(ids, liked)
		return err
	})
	l.run(model.PartReposted, func() error {
		reposted, err := many(ctx, l, &l.set.Reposted, ids)
		l.shelf.Reposted = which(ids, reposted)
		return err
	})
}

// showPosts makes posts of single items, with what the query needs of them.
// An item without a post gives nil.
func (r *Root) showPosts(ctx context.Context, items []feed.Item, need model.Part) []*model.Post {
	edges := r.loadPosts(ctx, items, need)
	shown := make([]*model.Post, len(edges))
	for i := range edges {
		shown[i] = edges[i].Post
	}
	return shown
}

// loadPosts makes edges of items and loads what the query needs of their posts.
func (r *Root) loadPosts(ctx context.Context, items []feed.Item, need model.Part) []model.PostEdge {
	shelf := r.shelf(ctx)
	edges := posts(items, shelf)
	var all []*model.Post
	var ids, people []feed.ID
	for i := range edges {
		for p := edges[i].Post; p != nil; p = p.Original {
			all = append(all, p)
			ids = append(ids, p.Data.ID)
			people = append(people, p.Data.Author)
		}
	}
	ids = feed.NewIDSet(ids)
	shelf.Loaded = need & model.PartOriginal
	l := &load{Root: r, shelf: shelf, need: need, set: loaders.From(ctx), alone: alone(ctx)}
	l.relations(ctx)
	l.opinions(ctx, ids)
	stats := l.stats(ctx, ids)
	if need.Has(model.PartComments) {
		l.wg.Wait() // their authors are among the people
		for _, st := range stats {
			for i := range st.First {
				people = append(people, st.First[i].Author)
			}
		}
	}
	l.people(ctx, feed.NewIDSet(people))
	l.wg.Wait()
	for _, p := range all {
		p.Stats = stats[p.Data.ID]
	}
	return edges
}

// stats loads the stats of posts into the map that it returns, which is
// complete when l.wg is done.
func (l *load) stats(ctx context.Context, ids []feed.ID) map[feed.ID]*feed.Stats {
	all := make(map[feed.ID]*feed.Stats, len(ids))
	l.run(model.PartStats|model.PartComments, func() error {
		stats, err := many(ctx, l, &l.set.Stats, ids)
		for i, st := range stats {
			if st != nil {
				all[ids[i]] = st
			}
		}
		return err
	})
	return all
}

// showUsers puts people, with what the query needs of them, onto a shelf.
func (r *Root) showUsers(ctx context.Context, ids []feed.ID, need model.Part) *model.Shelf {
	l := &load{
		Root: r, shelf: r.shelf(ctx), set: loaders.From(ctx), alone: alone(ctx),
		need: need | model.PartUsers,
	}
	l.relations(ctx)
	l.people(ctx, feed.NewIDSet(slices.Clone(ids))) // the callers have an order of their own
	l.wg.Wait()
	return l.shelf
}

// showUser makes the person of a result that is known already.
func (r *Root) showUser(ctx context.Context, u *feed.User, need model.Part) *model.User {
	loaders.From(ctx).Users.Prime(ctx, u.ID, u)
	return &model.User{Data: u, Shelf: r.showUsers(ctx, []feed.ID{u.ID}, need)}
}

// needs gives what the current field's selection needs of a type.
func (r *Root) needs(ctx context.Context, t plan.Type) model.Part { return r.Plans.Of(ctx, t).Need }
