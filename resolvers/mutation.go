package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/plan"
)

type mutation struct{ *Root }

// CreateUser makes the reader's profile or, in development mode and without a
// reader, a new person.
func (m mutation) CreateUser(ctx context.Context, in model.CreateUserInput) (*model.UserPayload, error) {
	if reader(ctx).ID() == 0 && !m.Open {
		return nil, feed.Unauthenticated("createUser makes the profile of a token's subject: send a token")
	}
	u, err := m.Service.CreateUser(ctx, reader(ctx), feed.NewUser{
		Handle: in.Handle, Name: text(in.Name), AvatarURL: text(in.AvatarURL), Bio: text(in.Bio),
	})
	return m.userPayload(ctx, u, err)
}

// UpdateProfile changes the reader's profile: null clears, what is left out stays.
func (m mutation) UpdateProfile(ctx context.Context, in model.UpdateProfileInput) (*model.UserPayload, error) {
	u, err := m.Service.UpdateProfile(ctx, reader(ctx), feed.ProfilePatch{
		Name: change(in.Name), AvatarURL: change(in.AvatarURL), Bio: change(in.Bio),
	})
	return m.userPayload(ctx, u, err)
}

// change gives nil for what was left out, and an empty text for null.
func change(in graphql.Omittable[*string]) *string {
	v, ok := in.ValueOK()
	if !ok {
		return nil
	}
	s := text(v)
	return &s
}

// PublishPost publishes a post.
func (m mutation) PublishPost(ctx context.Context, in model.PublishPostInput) (*model.PostPayload, error) {
	p, err := newPost(in)
	if err != nil {
		return nil, err
	}
	made, err := m.Service.PublishPost(ctx, reader(ctx), p)
	return m.postPayload(ctx, made, err)
}

// DeletePost deletes one of the reader's posts.
func (m mutation) DeletePost(ctx context.Context, in model.PostTarget) (*model.DeletePostPayload, error) {
	id, err := parseID("postId", feed.NodePost, in.PostID)
	if err != nil {
		return nil, err
	}
	if err := m.Service.DeletePost(ctx, reader(ctx), id); err != nil {
		return nil, err
	}
	return &model.DeletePostPayload{DeletedPostID: &feed.NodeID{Kind: feed.NodePost, ID: id}}, nil
}

// FollowUser follows a person.
func (m mutation) FollowUser(ctx context.Context, in model.UserTarget) (*model.UserPayload, error) {
	return m.relate(ctx, in, m.Service.Follow)
}

// UnfollowUser ends a follow.
func (m mutation) UnfollowUser(ctx context.Context, in model.UserTarget) (*model.UserPayload, error) {
	return m.relate(ctx, in, m.Service.Unfollow)
}

// BlockUser blocks a person.
func (m mutation) BlockUser(ctx context.Context, in model.UserTarget) (*model.UserPayload, error) {
	return m.relate(ctx, in, m.Service.Block)
}

// UnblockUser lifts a block.
func (m mutation) UnblockUser(ctx context.Context, in model.UserTarget) (*model.UserPayload, error) {
	return m.relate(ctx, in, m.Service.Unblock)
}

// MuteUser mutes a person.
func (m mutation) MuteUser(ctx context.Context, in model.UserTarget) (*model.UserPayload, error) {
	return m.relate(ctx, in, m.Service.Mute)
}

// UnmuteUser lifts a mute.
func (m mutation) UnmuteUser(ctx context.Context, in model.UserTarget) (*model.UserPayload, error) {
	return m.relate(ctx, in, m.Service.Unmute)
}

// LikePost likes a post.
func (m mutation) LikePost(ctx context.Context, in model.PostTarget) (*model.PostPayload, error) {
	return m.judge(ctx, in, m.Service.Like)
}

// UnlikePost takes a like back.
func (m mutation) UnlikePost(ctx context.Context, in model.PostTarget) (*model.PostPayload, error) {
	return m.judge(ctx, in, m.Service.Unlike)
}

// CommentOnPost writes a comment.
func (m mutation) CommentOnPost(ctx context.Context, in model.CommentOnPostInput) (*model.CommentPayload, error) {
	id, err := parseID("postId", feed.NodePost, in.PostID)
	if err != nil {
		return nil, err
	}
	c, err := m.Service.CommentOn(ctx, reader(ctx), feed.NewComment{
		Post: id, Text: in.Text, ClientMutationID: text(in.ClientMutationID),
	})
	if err != nil {
		return nil, err
	}
	shelf := m.showAuthors(ctx, []feed.Comment{*c}, m.needs(ctx, plan.Payload))
	return &model.CommentPayload{Comment: &model.Comment{Data: c, Shelf: shelf}}, nil
}

// DeleteComment deletes one of the reader's comments.
func (m mutation) DeleteComment(ctx context.Context, in model.CommentTarget) (*model.DeleteCommentPayload, error) {
	id, err := parseID("commentId", feed.NodeComment, in.CommentID)
	if err != nil {
		return nil, err
	}
	if err := m.Service.DeleteComment(ctx, reader(ctx), id); err != nil {
		return nil, err
	}
	return &model.DeleteCommentPayload{DeletedCommentID: &feed.NodeID{Kind: feed.NodeComment, ID: id}}, nil
}

// MarkFeedSeen moves the reader's mark on the follow feed.
func (m mutation) MarkFeedSeen(ctx context.Context, in model.MarkFeedSeenInput) (*model.RedDotPayload, error) {
	var upTo *feed.CursorMark
	if in.UpTo != nil {
		mark, err := feed.DecodeMark(feed.CursorFollowFeed, "upTo", *in.UpTo)
		if err != nil {
			return nil, err
		}
		upTo = &mark
	}
	return m.redDotPayload(ctx, m.Service.MarkFeedSeen(ctx, reader(ctx), upTo))
}

// MarkNoticesSeen moves the reader's mark on the notices.
func (m mutation) MarkNoticesSeen(ctx context.Context) (*model.RedDotPayload, error) {
	return m.redDotPayload(ctx, m.Service.MarkNoticesSeen(ctx, reader(ctx)))
}

// redDotPayload derives the red dot as it is after a mutation.
func (m mutation) redDotPayload(ctx context.Context, err error) (*model.RedDotPayload, error) {
	if err != nil {
		return nil, err
	}
	return &model.RedDotPayload{Dot: m.dotBeside(ctx, m.Plans.Of(ctx, plan.Payload))()}, nil
}

func (m mutation) relate(ctx context.Context, in model.UserTarget, do func(context.Context, *feed.Reader, feed.ID) (*feed.User, error)) (*model.UserPayload, error) {
	id, err := parseID("userId", feed.NodeUser, in.UserID)
	if err != nil {
		return nil, err
	}
	u, err := do(ctx, reader(ctx), id)
	return m.userPayload(ctx, u, err)
}

func (m mutation) judge(ctx context.Context, in model.PostTarget, do func(context.Context, *feed.Reader, feed.ID) (*feed.Post, error)) (*model.PostPayload, error) {
	id, err := parseID("postId", feed.NodePost, in.PostID)
	if err != nil {
		return nil, err
	}
	p, err := do(ctx, reader(ctx), id)
	return m.postPayload(ctx, p, err)
}

func (m mutation) userPayload(ctx context.Context, u *feed.User, err error) (*model.UserPayload, error) {
	if err != nil {
		return nil, err
	}
	if u == nil {
		return &model.UserPayload{}, nil // done; for the reader this person is absent
	}
	return &model.UserPayload{User: m.showUser(ctx, u, m.needs(ctx, plan.Payload))}, nil
}

// postPayload shows the post as the reader sees it now, with its original.
func (m mutation) postPayload(ctx context.Context, p *feed.Post, err error) (*model.PostPayload, error) {
	if err != nil {
		return nil, err
	}
	item := feed.Item{Post: p}
	need := m.needs(ctx, plan.Payload)
	if p.RepostOf != 0 && need.Has(model.PartOriginal) {
		items, err := m.Service.Posts(ctx, reader(ctx), []feed.ID{p.ID})
		if err != nil {
			return nil, err
		}
		item.Original = items[0].Original
	}
	return &model.PostPayload{Post: m.showPosts(ctx, []feed.Item{item}, need)[0]}, nil
}
