package plan

import (
	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/scalar"
)

func (o *output) post(s *Selection, p *model.Post) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		o.postField(s, f, p)
		if o.left {
			return
		}
	}
	o.end(s)
}

func (o *output) postField(s *Selection, f *field, p *model.Post) {
	d := p.Data
	switch f.op {
	case opTypename:
		o.str(s.Type.name())
	case opID:
		o.id(feed.NodePost, d.ID)
	case opAuthor:
		o.user(f.sub, p.Shelf, d.Author)
	case opKind:
		o.str(d.Kind)
	case opText:
		o.str(d.Text)
	case opPublishedAt:
		o.b = scalar.AppendDateTime(o.b, d.At)
	case opTopics:
		o.list(len(d.Topics), func(i int) { o.str(d.Topics[i]) })
	case opAttributes:
		if len(d.Attributes) == 0 {
			o.null()
		} else {
			o.b = append(o.b, d.Attributes...)
		}
	case opMedia:
		o.list(len(d.Media), func(i int) { o.media(f.sub, &d.Media[i]) })
	case opLink:
		o.link(f.sub, d.Link)
	case opPlace:
		o.place(f.sub, p.Place())
	case opRepostOf:
		o.repostOf(f.sub, p)
	case opLikeCount, opCommentCount, opRepostCount:
		o.postCount(f.op, p.Stats)
	case opViewerHasLiked:
		o.member(p.Shelf, model.PartLiked, p.Shelf.Liked, d.ID)
	case opViewerHasReposted:
		o.member(p.Shelf, model.PartReposted, p.Shelf.Reposted, d.ID)
	case opComments:
		o.firstComments(f, p)
	default:
		o.leave()
	}
}

func (o *output) repostOf(s *Selection, p *model.Post) {
	switch {
	case p.Data.RepostOf == 0:
		o.null()
	case !p.Shelf.Ready(model.PartOriginal):
		o.leave()
	case p.Original == nil:
		o.null()
	default:
		o.post(s, p.Original)
	}
}

func (o *output) postCount(which op, st *feed.Stats) {
	switch {
	case st == nil:
		o.leave()
	case which == opLikeCount:
		o.count(st.Likes)
	case which == opCommentCount:
		o.count(st.Comments)
	default:
		o.count(st.Reposts)
	}
}

// member writes whether id is in a set that was loaded as part.
func (o *output) member(s *model.Shelf, part model.Part, set feed.IDSet, id feed.ID) {
	if !s.Ready(part) {
		o.leave()
		return
	}
	o.bool(set.Has(id))
}

// firstComments writes the comments that stand in the post's stats, if they
// are enough.
func (o *output) firstComments(f *field, p *model.Post) {
	if p.Stats == nil || !p.Shelf.Ready(model.PartComments) {
		o.leave()
		return
	}
	page, ok, err := p.Shelf.FirstComments(o.ctx, p.Stats, f.first)
	if err != nil || !ok {
		o.leave()
		return
	}
	o.commentPage(f.sub, page, p.Shelf)
}

func (o *output) user(s *Selection, shelf *model.Shelf, id feed.ID) {
	if !shelf.Ready(model.PartUsers) {
		o.leave()
		return
	}
	u := shelf.Users[id]
	if u == nil {
		o.null()
		return
	}
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		o.userField(s, f, shelf, u)
		if o.left {
			return
		}
	}
	o.end(s)
}

func (o *output) userField(s *Selection, f *field, shelf *model.Shelf, u *feed.User) {
	switch f.op {
	case opTypename:
		o.str(s.Type.name())
	case opID:
		o.id(feed.NodeUser, u.ID)
	case opHandle:
		o.str(u.Handle)
	case opName:
		o.str(u.Name)
	case opAvatarURL:
		if u.AvatarURL == "" {
			o.null()
		} else {
			o.str(u.AvatarURL)
		}
	case opBio:
		o.str(u.Bio)
	case opCreatedAt:
		o.b = scalar.AppendDateTime(o.b, u.CreatedAt)
	case opFollowerCount, opFolloweeCount, opPostCount:
		o.userCount(f.op, shelf, u.ID)
	case opFollowsViewer:
		o.member(shelf, model.PartFollowsMe, shelf.FollowsMe, u.ID)
	case opViewerFollows, opViewerBlocks, opViewerMutes:
		o.relation(f.op, shelf, u.ID)
	default:
		o.leave()
	}
}

func (o *output) userCount(which op, shelf *model.Shelf, id feed.ID) {
	c := shelf.Counts[id]
	switch {
	case !shelf.Ready(model.PartCounts) || c == nil:
		o.leave()
	case which == opFollowerCount:
		o.count(c.Followers)
	case which == opFolloweeCount:
		o.count(c.Followees)
	default:
		o.count(c.Posts)
	}
}

func (o *output) relation(which op, shelf *model.Shelf, id feed.ID) {
	switch {
	case !shelf.Ready(model.PartRelations):
		o.leave()
	case which == opViewerFollows:
		o.bool(shelf.Relations.Follows(id))
	case which == opViewerBlocks:
		o.bool(shelf.Relations.Blocks.Has(id))
	default:
		o.bool(shelf.Relations.Mutes.Has(id))
	}
}

func (o *output) comment(s *Selection, c *feed.Comment, shelf *model.Shelf) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opID:
			o.id(feed.NodeComment, c.ID)
		case opAuthor:
			o.user(f.sub, shelf, c.Author)
		case opText:
			o.str(c.Text)
		case opPublishedAt:
			o.b = scalar.AppendDateTime(o.b, c.At)
		default:
			o.leave()
		}
	}
	o.end(s)
}

func (o *output) media(s *Selection, m *feed.Media) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opURL:
			o.str(m.URL)
		case opAlt:
			o.str(m.Alt)
		case opWidth:
			o.pixels(m.Width)
		case opHeight:
			o.pixels(m.Height)
		default:
			o.leave()
		}
	}
	o.end(s)
}

func (o *output) pixels(n int32) {
	if n == 0 {
		o.null()
		return
	}
	o.count(int64(n))
}

func (o *output) link(s *Selection, l *feed.Link) {
	if l == nil {
		o.null()
		return
	}
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opURL:
			o.str(l.URL)
		case opTitle:
			o.str(l.Title)
		default:
			o.leave()
		}
	}
	o.end(s)
}

func (o *output) place(s *Selection, p *feed.Place) {
	if p == nil {
		o.null()
		return
	}
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opLatitude:
			o.float(p.Latitude)
		case opLongitude:
			o.float(p.Longitude)
		case opPrecision:
			o.str(string(p.Precision))
		default:
			o.leave()
		}
	}
	o.end(s)
}
