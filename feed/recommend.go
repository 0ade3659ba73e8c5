package feed

import "context"

// ReasonKind says why a post is recommended.
type ReasonKind string

// The reasons.
const (
	ReasonLikedSimilar  ReasonKind = "LIKED_SIMILAR"  // it goes with Reason.Post, which the reader engaged with: by the same people, or by its author
	ReasonTopic         ReasonKind = "TOPIC"          // the reader likes Reason.Topic
	ReasonFolloweeLiked ReasonKind = "FOLLOWEE_LIKED" // Reason.User, whom the reader follows, liked it
	ReasonTrending      ReasonKind = "TRENDING"       // many engage with it now
	ReasonFresh         ReasonKind = "FRESH"          // it is new, and nobody has viewed it yet
)

// Reason is why a post is recommended, with its subject.
type Reason struct {
	Kind  ReasonKind
	Post  ID     // of LIKED_SIMILAR, else 0
	User  ID     // of FOLLOWEE_LIKED, else 0
	Topic string // of TOPIC, else ""
}

// Recommendation is one post that is worth a reader's while.
type Recommendation struct {
	Post   ID
	Reason Reason
}

// RecommendQuery asks for recommendations.
type RecommendQuery struct {
	Reader    ID         // 0 for nobody
	Relations *Relations // of the reader; never nil
	Tastes    *Tastes    // of the reader; never nil
	Skip      func(ID) bool
	Limit     int
	Load      Loader
	Rest      *Rest // moves on; nil begins with the newest post
}

// Rest is what is left of the record's posts when all that speaks for posts has
// been asked: they come in time order, a bounded number of them at a time.
type Rest struct {
	Below Position // what is above it has been looked at
	Done  bool     // nothing is left
}

// Recommender ranks posts.
type Recommender interface {
	// Recommend gives the best posts for a reader, best first, each once, at most
	// Limit: none of the reader's own, none of hidden or muted people, none to be
	// skipped, no deleted ones, no reposts without words of their own. There are
	// no more when Rest is done: before that there may be fewer than Limit, or
	// none. What can't be asked is left out.
	Recommend(ctx context.Context, q RecommendQuery) ([]Recommendation, error)
}

// Loader brings what is known of posts and people, through the caches. The
// answers stand at the indexes of the ids; nil is what is missing or deleted.
type Loader interface {
	LoadPosts(ctx context.Context, ids []ID) ([]*Post, []*Stats, error)
	LoadTastes(ctx context.Context, users []ID) ([]*Tastes, error)
}
