package plan

import "feedgate/graph/model"

// Type is a type of the schema that a [Selection] can be of.
type Type uint8

// The types. The rest of the schema has nothing that is loaded along.
const (
	noType Type = iota
	FollowFeedConnection
	FollowFeedEdge
	NearbyFeedConnection
	NearbyFeedEdge
	RecommendFeedConnection
	RecommendFeedEdge
	RecommendReason
	PostConnection
	PostEdge
	Post
	UserConnection
	UserEdge
	User
	CommentConnection
	CommentEdge
	Comment
	PageInfo
	Media
	Link
	Place
	RedDot
	Payload // of any mutation
)

// op says how the writer writes a field.
type op uint8

const (
	// opLoaded fields load something by themselves: gqlgen's business.
	opLoaded op = iota
	opTypename
	opID
	opAuthor
	opText
	opPublishedAt
	opKind
	opMedia
	opLink
	opRepostOf
	opTopics
	opAttributes
	opPlace
	opLikeCount
	opCommentCount
	opRepostCount
	opViewerHasLiked
	opViewerHasReposted
	opComments
	opHandle
	opName
	opAvatarURL
	opBio
	opCreatedAt
	opFollowerCount
	opFolloweeCount
	opPostCount
	opViewerFollows
	opFollowsViewer
	opViewerBlocks
	opViewerMutes
	opEdges
	opNodes
	opPageInfo
	opCompleteSince
	opCursor
	opNode
	opHasNextPage
	opHasPreviousPage
	opStartCursor
	opEndCursor
	opURL
	opAlt
	opWidth
	opHeight
	opTitle
	opLatitude
	opLongitude
	opPrecision
	opRedDot
	opFeedCount
	opFeedCountCapped
	opNewestPost
	opNoticeCount
	opChangedAt
	opDistanceMeters
	opReason
	opReasonKind
	opTopic
)

// definition is what is known of a field of the schema.
type definition struct {
	op    op
	sub   Type
	need  model.Part
	apart bool // what sub needs is not loaded along, but for itself
}

// satisfies gives the names that a fragment may name to mean the type.
func (t Type) satisfies() []string {
	switch t {
	case Post, User, Comment:
		return []string{t.name(), "Node"}
	case Payload:
		return nil // any
	default:
		return []string{t.name()}
	}
}

func (t Type) name() string {
	switch t {
	case FollowFeedConnection:
		return "FollowFeedConnection"
	case FollowFeedEdge:
		return "FollowFeedEdge"
	case NearbyFeedConnection:
		return "NearbyFeedConnection"
	case NearbyFeedEdge:
		return "NearbyFeedEdge"
	case RecommendFeedConnection:
		return "RecommendFeedConnection"
	case RecommendFeedEdge:
		return "RecommendFeedEdge"
	case RecommendReason:
		return "RecommendReason"
	case PostConnection:
		return "PostConnection"
	case PostEdge:
		return "PostEdge"
	case Post:
		return "Post"
	case UserConnection:
		return "UserConnection"
	case UserEdge:
		return "UserEdge"
	case User:
		return "User"
	case CommentConnection:
		return "CommentConnection"
	case CommentEdge:
		return "CommentEdge"
	case Comment:
		return "Comment"
	case PageInfo:
		return "PageInfo"
	case Media:
		return "Media"
	case Link:
		return "Link"
	case Place:
		return "Place"
	case RedDot:
		return "RedDot"
	default:
		return ""
	}
}

// field finds what is known of a field; what is not known is opLoaded.
func (t Type) field(name string) definition {
	if name == "__typename" {
		return definition{op: opTypename}
	}
	switch t {
	case FollowFeedConnection:
		return followFeedField(name)
	case NearbyFeedConnection:
		return connection(name, NearbyFeedEdge, Post)
	case RecommendFeedConnection:
		return connection(name, RecommendFeedEdge, Post)
	case RecommendFeedEdge:
		return recommendEdge(name)
	case RecommendReason:
		return reasonField(name)
	case PostConnection:
		return connection(name, PostEdge, Post)
	case UserConnection:
		return connection(name, UserEdge, User)
	case CommentConnection:
		return connection(name, CommentEdge, Comment)
	case FollowFeedEdge, PostEdge:
		return edge(name, Post)
	case NearbyFeedEdge:
		if name == "distanceMeters" {
			return definition{op: opDistanceMeters}
		}
		return edge(name, Post)
	case UserEdge:
		return edge(name, User)
	case CommentEdge:
		return edge(name, Comment)
	case Post:
		return postField(name)
	case User:
		return userField(name)
	case Comment:
		return commentField(name)
	case RedDot:
		return redDotField(name)
	case Payload:
		return payloadField(name)
	default:
		return leafField(name)
	}
}

func followFeedField(name string) definition {
	switch name {
	case "completeSince":
		return definition{op: opCompleteSince}
	case "redDot":
		return definition{op: opRedDot, sub: RedDot, apart: true}
	default:
		return connection(name, FollowFeedEdge, Post)
	}
}

// redDotField: the newest post is loaded by itself, see [Showing].
func redDotField(name string) definition {
	switch name {
	case "feedCount":
		return definition{op: opFeedCount}
	case "feedCountCapped":
		return definition{op: opFeedCountCapped}
	case "newestPost":
		return definition{op: opNewestPost, sub: Post, apart: true}
	case "noticeCount":
		return definition{op: opNoticeCount}
	case "changedAt":
		return definition{op: opChangedAt}
	default:
		return definition{}
	}
}

func connection(name string, edge, node Type) definition {
	switch name {
	case "edges":
		return definition{op: opEdges, sub: edge}
	case "nodes":
		return definition{op: opNodes, sub: node}
	case "pageInfo":
		return definition{op: opPageInfo, sub: PageInfo}
	default:
		return definition{}
	}
}

func edge(name string, node Type) definition {
	switch name {
	case "cursor":
		return definition{op: opCursor}
	case "node":
		return definition{op: opNode, sub: node}
	default:
		return definition{}
	}
}

func recommendEdge(name string) definition {
	if name == "reason" {
		return definition{op: opReason, sub: RecommendReason}
	}
	return edge(name, Post)
}

// reasonField: the post and the user that a reason names load by themselves.
func reasonField(name string) definition {
	switch name {
	case "kind":
		return definition{op: opReasonKind}
	case "topic":
		return definition{op: opTopic}
	default:
		return definition{}
	}
}

func postField(name string) definition {
	switch name {
	case "id":
		return definition{op: opID}
	case "author":
		return definition{op: opAuthor, sub: User, need: model.PartUsers}
	case "kind":
		return definition{op: opKind}
	case "text":
		return definition{op: opText}
	case "media":
		return definition{op: opMedia, sub: Media}
	case "link":
		return definition{op: opLink, sub: Link}
	case "repostOf":
		return definition{op: opRepostOf, sub: Post, need: model.PartOriginal}
	case "topics":
		return definition{op: opTopics}
	case "attributes":
		return definition{op: opAttributes}
	case "publishedAt":
		return definition{op: opPublishedAt}
	case "place":
		return definition{op: opPlace, sub: Place}
	case "likeCount":
		return definition{op: opLikeCount, need: model.PartStats}
	case "commentCount":
		return definition{op: opCommentCount, need: model.PartStats}
	case "repostCount":
		return definition{op: opRepostCount, need: model.PartStats}
	case "viewerHasLiked":
		return definition{op: opViewerHasLiked, need: model.PartLiked}
	case "viewerHasReposted":
		return definition{op: opViewerHasReposted, need: model.PartReposted}
	case "comments":
		return definition{op: opComments, sub: CommentConnection, need: model.PartStats | model.PartComments}
	default:
		return definition{}
	}
}

func userField(name string) definition {
	switch name {
	case "id":
		return definition{op: opID}
	case "handle":
		return definition{op: opHandle}
	case "name":
		return definition{op: opName}
	case "avatarUrl":
		return definition{op: opAvatarURL}
	case "bio":
		return definition{op: opBio}
	case "createdAt":
		return definition{op: opCreatedAt}
	case "followerCount":
		return definition{op: opFollowerCount, need: model.PartCounts}
	case "followeeCount":
		return definition{op: opFolloweeCount, need: model.PartCounts}
	case "postCount":
		return definition{op: opPostCount, need: model.PartCounts}
	case "viewerFollows":
		return definition{op: opViewerFollows, need: model.PartRelations}
	case "followsViewer":
		return definition{op: opFollowsViewer, need: model.PartFollowsMe}
	case "viewerBlocks":
		return definition{op: opViewerBlocks, need: model.PartRelations}
	case "viewerMutes":
		return definition{op: opViewerMutes, need: model.PartRelations}
	default:
		return definition{}
	}
}

func commentField(name string) definition {
	switch name {
	case "id":
		return definition{op: opID}
	case "author":
		return definition{op: opAuthor, sub: User, need: model.PartUsers}
	case "text":
		return definition{op: opText}
	case "publishedAt":
		return definition{op: opPublishedAt}
	default:
		return definition{}
	}
}

func payloadField(name string) definition {
	switch name {
	case "user":
		return definition{op: opNode, sub: User}
	case "post":
		return definition{op: opNode, sub: Post}
	case "comment":
		return definition{op: opNode, sub: Comment}
	case "redDot":
		return definition{op: opRedDot, sub: RedDot, apart: true}
	default:
		return definition{}
	}
}

func leafField(name string) definition {
	switch name {
	case "hasNextPage":
		return definition{op: opHasNextPage}
	case "hasPreviousPage":
		return definition{op: opHasPreviousPage}
	case "startCursor":
		return definition{op: opStartCursor}
	case "endCursor":
		return definition{op: opEndCursor}
	case "url":
		return definition{op: opURL}
	case "alt":
		return definition{op: opAlt}
	case "width":
		return definition{op: opWidth}
	case "height":
		return definition{op: opHeight}
	case "title":
		return definition{op: opTitle}
	case "latitude":
		return definition{op: opLatitude}
	case "longitude":
		return definition{op: opLongitude}
	case "precision":
		return definition{op: opPrecision}
	default:
		return definition{}
	}
}
