package feed

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"unicode/utf8"
)

// The bounds of what people may write. Characters are Unicode code points;
// whatever is longer is refused, never cut.
const (
	MaxText       = 10_000 // characters of a post
	MaxComment    = 2_000  // characters
	MaxHandle     = 30
	MaxName       = 100      // characters
	MaxBio        = 1_000    // characters
	MaxURL        = 2_048    // bytes
	MaxTopics     = 10       // per post
	MaxTopic      = 50       // characters
	MaxMedia      = 9        // per post
	MaxAttributes = 16 << 10 // bytes
	MaxKind       = 30       // characters
	MaxClientID   = 128      // characters of a clientMutationId
	maxAlt        = 1_000    // characters
)

func checkText(field, text string, most int) error {
	if !utf8.ValidString(text) {
		return BadInput(field, field+" must be valid Unicode text")
	}
	if len(text) > most && utf8.RuneCountInString(text) > most {
		return BadInput(field, fmt.Sprintf("%s may have at most %d characters: shorten it", field, most))
	}
	return nil
}

func checkURL(field, text string) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || len(text) > MaxURL {
		return BadInput(field, fmt.Sprintf("%s must be a whole http or https address of at most %d bytes", field, MaxURL))
	}
	return nil
}

// CheckHandle checks a handle: 1 to 30 of a-z 0-9 _.
func CheckHandle(handle string) error {
	ok := handle != "" && len(handle) <= MaxHandle
	for _, c := range []byte(handle) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_')
	}
	if !ok {
		return BadInput("handle", "a handle has 1 to 30 characters out of a-z, 0-9 and _")
	}
	return nil
}

// CheckPlace checks a position: latitude -90 to 90, longitude -180 to 180.
func CheckPlace(p Place) error {
	if math.IsNaN(p.Latitude) || p.Latitude < -90 || p.Latitude > 90 {
		return BadInput("latitude", "latitude must be between -90 and 90 degrees")
	}
	if math.IsNaN(p.Longitude) || p.Longitude < -180 || p.Longitude > 180 {
		return BadInput("longitude", "longitude must be between -180 and 180 degrees")
	}
	switch p.Precision {
	case PrecisionExact, PrecisionNeighbourhood, PrecisionCity, PrecisionHidden:
		return nil
	default:
		return BadInput("precision", "precision is one of EXACT, NEIGHBOURHOOD, CITY and HIDDEN")
	}
}

func checkProfile(name, avatarURL, bio string) error {
	if err := checkText("name", name, MaxName); err != nil {
		return err
	}
	if err := checkText("bio", bio, MaxBio); err != nil {
		return err
	}
	if avatarURL != "" {
		return checkURL("avatarUrl", avatarURL)
	}
	return nil
}

func checkClientID(id string) error { return checkText("clientMutationId", id, MaxClientID) }

// CheckPost checks the bounds of a post, whatever its kind.
func CheckPost(p *NewPost) error {
	if err := checkText("kind", p.Kind, MaxKind); err != nil {
		return err
	}
	if err := checkText("text", p.Text, MaxText); err != nil {
		return err
	}
	if err := checkClientID(p.ClientMutationID); err != nil {
		return err
	}
	if len(p.Topics) > MaxTopics {
		return BadInput("topics", fmt.Sprintf("a post may have at most %d topics", MaxTopics))
	}
	for _, topic := range p.Topics {
		if topic == "" {
			return BadInput("topics", "a topic must not be empty")
		}
		if err := checkText("topics", topic, MaxTopic); err != nil {
			return err
		}
	}
	if err := checkMedia(p.Media); err != nil {
		return err
	}
	if p.Link != nil {
		if err := checkURL("link", p.Link.URL); err != nil {
			return err
		}
		if err := checkText("link", p.Link.Title, MaxName); err != nil {
			return err
		}
	}
	if p.Place != nil {
		if err := CheckPlace(*p.Place); err != nil {
			return err
		}
	}
	if len(p.Attributes) > MaxAttributes || (len(p.Attributes) > 0 && !json.Valid(p.Attributes)) {
		return BadInput("attributes", fmt.Sprintf("attributes must be JSON of at most %d bytes", MaxAttributes))
	}
	return nil
}

func checkMedia(media []Media) error {
	if len(media) > MaxMedia {
		return BadInput("media", fmt.Sprintf("a post may have at most %d items of media", MaxMedia))
	}
	for _, m := range media {
		if err := checkURL("media", m.URL); err != nil {
			return err
		}
		if err := checkText("media", m.Alt, maxAlt); err != nil {
			return err
		}
		if m.Width < 0 || m.Height < 0 {
			return BadInput("media", "width and height of media must not be negative")
		}
	}
	return nil
}
