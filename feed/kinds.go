package feed

import (
	"maps"
	"slices"
)

// The kinds of post that feedgate knows. Others pass through as they are.
const (
	KindOriginal = "original"
	KindRepost   = "repost"
	KindLink     = "link"
	KindPhoto    = "photo"
	KindVideo    = "video"
)

// KindParser checks what an author hands in as one kind of post, and completes it.
type KindParser func(p *NewPost) error

// Kinds is the registry of kinds: one parser each.
type Kinds struct {
	parsers map[string]KindParser
}

// NewKinds makes the registry of the kinds that feedgate knows.
func NewKinds() *Kinds {
	k := &Kinds{parsers: make(map[string]KindParser)}
	k.Register(KindOriginal, parseOriginal)
	k.Register(KindRepost, parseRepost)
	k.Register(KindLink, parseLink)
	k.Register(KindPhoto, parseMedia)
	k.Register(KindVideo, parseMedia)
	return k
}

// Register sets the parser of a kind. It is not safe for use while serving.
func (k *Kinds) Register(kind string, parse KindParser) { k.parsers[kind] = parse }

// Names lists the registered kinds.
func (k *Kinds) Names() []string { return slices.Sorted(maps.Keys(k.parsers)) }

// parse completes and checks p by its kind. A kind that is left out follows
// from the content. Kinds that nobody registered pass through.
func (k *Kinds) parse(p *NewPost) error {
	if p.Kind == "" {
		switch {
		case p.RepostOf != 0:
			p.Kind = KindRepost
		case p.Link != nil && len(p.Media) == 0:
			p.Kind = KindLink
		default:
			p.Kind = KindOriginal
		}
	}
	if p.RepostOf != 0 && p.Kind != KindRepost {
		return BadInput("repostOf", "repostOf goes with the kind \"repost\" only: leave the kind out, or leave repostOf out")
	}
	if parse, ok := k.parsers[p.Kind]; ok {
		return parse(p)
	}
	return nil
}

func parseOriginal(p *NewPost) error {
	if p.Text == "" && len(p.Media) == 0 && p.Link == nil && len(p.Attributes) == 0 {
		return BadInput("text", "a post needs a text, media, a link or attributes")
	}
	return nil
}

func parseRepost(p *NewPost) error {
	if p.RepostOf == 0 {
		return BadInput("repostOf", "a repost needs repostOf: the id of the post to repost")
	}
	return nil
}

func parseLink(p *NewPost) error {
	if p.Link == nil {
		return BadInput("link", "a post of the kind \"link\" needs a link with its url")
	}
	return nil
}

func parseMedia(p *NewPost) error {
	if len(p.Media) == 0 {
		return BadInput("media", "a post of the kind \""+p.Kind+"\" needs at least one item of media")
	}
	return nil
}
