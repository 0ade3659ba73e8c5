package redis

import (
	"strconv"
	"strings"

	"feedgate/feed"
)

// disbelieved is the generation of floors that stand for none.
const disbelieved = -1

// floorText makes the floor member of a list.
func floorText(f *feed.Floor, gen int64) string {
	b := make([]byte, 0, 96)
	b = append(b, 'f', '|')
	b = strconv.AppendInt(b, f.At, 10)
	b = append(b, '|')
	b = append(b, f.Version...)
	b = append(b, '|')
	b = strconv.AppendInt(b, f.Epoch, 10)
	b = append(b, '|')
	b = strconv.AppendInt(b, gen, 10)
	b = append(b, '|')
	b = append(b, random()...)
	return string(b)
}

// parseFloor reads a floor member of the generation in force.
func parseFloor(member string, gen int64) (*feed.Floor, bool) {
	rest, ok := strings.CutPrefix(member, "f|")
	if !ok {
		return nil, false
	}
	at, rest, _ := strings.Cut(rest, "|")
	version, rest, _ := strings.Cut(rest, "|")
	epoch, rest, _ := strings.Cut(rest, "|")
	written, _, ok := strings.Cut(rest, "|")
	if !ok {
		return nil, false
	}
	f := &feed.Floor{Version: version, Raw: member}
	var err error
	if f.At, err = strconv.ParseInt(at, 10, 64); err != nil {
		return nil, false
	}
	if f.Epoch, err = strconv.ParseInt(epoch, 10, 64); err != nil {
		return nil, false
	}
	if g, err := strconv.ParseInt(written, 10, 64); err != nil || g != gen {
		return nil, false
	}
	return f, true
}

// memberDigits is the length of an entry's member: as many digits as the
// highest id has and one more, so that Redis' order of members is that of ids.
const memberDigits = 20

// appendMember appends the member of an entry.
func appendMember(b []byte, id feed.ID) []byte {
	var digits [memberDigits]byte
	d := strconv.AppendInt(digits[:0], int64(id), 10)
	for range memberDigits - len(d) {
		b = append(b, '0')
	}
	return append(b, d...)
}

func memberText(id feed.ID) string {
	return string(appendMember(make([]byte, 0, memberDigits), id))
}

// parseMember reads the member of an entry.
func parseMember(member string) (feed.ID, bool) {
	if len(member) != memberDigits || member[0] != '0' {
		return 0, false
	}
	id := uint64(0)
	for i := range len(member) {
		c := member[i] - '0'
		if c > 9 {
			return 0, false
		}
		id = id*10 + uint64(c)
	}
	return feed.ID(whole(id)), whole(id) > 0
}

// parseScore reads the score of an entry: a whole number, however it is written.
func parseScore(score string) (int64, bool) {
	if at, err := strconv.ParseInt(score, 10, 64); err == nil {
		return at, true
	}
	f, err := strconv.ParseFloat(score, 64)
	if err != nil || f != f || f > 1<<53 || f < -1<<53 {
		return 0, false
	}
	return int64(f), true
}
