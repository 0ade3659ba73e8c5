package watch

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"feedgate/feed"
)

// maxText is how much of a text is shown, in characters.
const maxText = 60

// dot is a red dot.
type dot struct {
	FeedCount       int   `json:"feedCount"`
	FeedCountCapped bool  `json:"feedCountCapped"`
	NoticeCount     int   `json:"noticeCount"`
	NewestPost      *post `json:"newestPost"`
}

type post struct {
	Text   string  `json:"text"`
	Author *person `json:"author"`
}

type person struct {
	Handle string `json:"handle"`
}

// notice is what others did.
type notice struct {
	Kind       string   `json:"kind"`
	ActorCount int      `json:"actorCount"`
	Actors     []person `json:"actors"`
	Post       *post    `json:"post"`
}

// paper is what lines are written on. The first failure is kept, and ends it.
type paper struct {
	to     io.Writer
	clock  feed.Clock
	colour bool
	err    error
}

const (
	red   = "\x1b[31m"
	faint = "\x1b[2m"
	usual = "\x1b[0m"
)

func (p *paper) paint(colour, text string) string {
	if !p.colour {
		return text
	}
	return colour + text + usual
}

func (p *paper) line(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.to, "%s  %s\n", p.paint(faint, p.clock.Now().Format("15:04:05")), text)
	}
}

// note says what is no news.
func (p *paper) note(text string) { p.line(p.paint(faint, "- "+text)) }

func (p *paper) dot(d *dot) {
	count := strconv.Itoa(d.FeedCount)
	if d.FeedCountCapped {
		count += "+"
	}
	mark := p.paint(faint, "○")
	if d.FeedCount > 0 || d.NoticeCount > 0 {
		mark = p.paint(red, "●")
	}
	text := fmt.Sprintf("%s %s new, %s", mark, count, plural(d.NoticeCount, "notice"))
	if d.NewestPost != nil {
		text += "  " + d.NewestPost.String()
	}
	p.line(text)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// String names the author and quotes the beginning.
func (p *post) String() string {
	by := "somebody"
	if p.Author != nil {
		by = "@" + plain(p.Author.Handle)
	}
	return by + ": " + plain(p.Text)
}

func (p *paper) notice(n *notice) { p.line(p.paint(red, "♦") + " " + n.String()) }

// String says it in a sentence: "ann, bob and 3 others like your post".
func (n *notice) String() string {
	did := map[string]string{
		"LIKED": "liked your post", "COMMENTED": "answered your post", "FOLLOWED": "followed you",
		"REPOSTED": "reposted your post", "MENTIONED": "mentioned you",
	}[n.Kind]
	if did == "" {
		did = "did something (" + plain(n.Kind) + ")"
	}
	text := n.people() + " " + did
	if n.Post != nil {
		text += ": " + plain(n.Post.Text)
	}
	return text
}

// people names two of them, and counts the rest.
func (n *notice) people() string {
	names := make([]string, 0, 2)
	for _, a := range n.Actors[:min(2, len(n.Actors))] {
		names = append(names, "@"+plain(a.Handle))
	}
	rest := n.ActorCount - len(names)
	switch {
	case len(names) == 0:
		return plural(n.ActorCount, "person")
	case rest == 1:
		names = append(names, "1 other")
	case rest > 1:
		names = append(names, fmt.Sprintf("%d others", rest))
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// plain makes one line of a stranger's text, without anything that a terminal
// could take for a command, and cuts it at a word.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) && r != '\u200d': // what joins an emoji stays
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= maxText {
		return text
	}
	cut := string(runes[:maxText])
	if at := strings.LastIndexByte(cut, ' '); at > 0 && runes[maxText] != ' ' {
		cut = cut[:at]
	}
	return cut + " …"
}
