package redis

import (
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

func (h *Hot) readLearning(b *batch, op *feed.ReadLearning) {
	got := b.text("get", learningKey)
	b.then(func() { op.Learning, op.Found = parseLearning(got.Val()) })
}

func (h *Hot) saveLearning(b *batch, op *feed.SaveLearning) {
	b.status("set", learningKey, learningText(&op.Learning))
}

// learningText makes the state of learning: serving|building|mark, and the
// generations of the first two.
func learningText(l *feed.Learning) string {
	b := strconv.AppendInt(nil, l.Serving, 10)
	for _, n := range []int64{l.Building, int64(l.Mark), l.ServingUnder, l.BuildingUnder} {
		b = strconv.AppendInt(append(b, '|'), n, 10)
	}
	return string(b)
}

// parseLearning undoes learningText.
func parseLearning(s string) (feed.Learning, bool) {
	parts := strings.Split(s, "|")
	if len(parts) != 5 {
		return feed.Learning{}, false
	}
	var n [5]int64
	for i, part := range parts {
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return feed.Learning{}, false
		}
		n[i] = v
	}
	return feed.Learning{Serving: n[0], Building: n[1], Mark: feed.ID(n[2]), ServingUnder: n[3], BuildingUnder: n[4]}, true
}

func (h *Hot) readLearned(b *batch, op *feed.ReadLearned) {
	got := b.text("get", learnedKey(op.Epoch, op.User))
	b.then(func() {
		r := reader{s: got.Val()}
		if op.Engaged = r.engaged(); r.bad {
			op.Engaged = nil
		}
	})
}

func (h *Hot) saveLearned(b *batch, op *feed.SaveLearned) {
	key := learnedKey(op.Epoch, op.User)
	if len(op.Engaged) == 0 {
		b.number("del", key)
		return
	}
	b.status("set", key, appendEngaged(nil, op.Engaged), "px", int64(feed.BoardTTL))
}

// markUnlearned leaves the time of an earlier note as it is.
func (h *Hot) markUnlearned(b *batch, op *feed.MarkUnlearned) {
	if len(op.Users) == 0 {
		return
	}
	args := make([]any, 0, 3+2*len(op.Users))
	args = append(args, "zadd", unlearnedKey, "nx")
	for _, user := range op.Users {
		args = append(args, op.Now, memberText(user))
	}
	b.number(args...)
}

func (h *Hot) takeUnlearned(b *batch, op *feed.TakeUnlearned) {
	op.Users = nil
	if op.Limit <= 0 {
		return
	}
	cmd := b.script(h.scripts.takeUnlearned, []string{unlearnedKey, untilKey}, op.Now, op.Until, op.Limit)
	b.then(func() { op.Users = takenUsers(cmd) })
}

func takenUsers(cmd *goredis.Cmd) []feed.ID {
	members, err := cmd.StringSlice()
	if err != nil {
		return nil
	}
	users := make([]feed.ID, 0, len(members))
	for _, member := range members {
		if id, ok := parseMember(member); ok {
			users = append(users, id)
		}
	}
	return users
}

func (h *Hot) dropUnlearned(b *batch, op *feed.DropUnlearned) {
	if len(op.Users) == 0 {
		return
	}
	args := make([]any, 0, 1+len(op.Users))
	args = append(args, op.Until)
	for _, user := range op.Users {
		args = append(args, memberText(user))
	}
	b.script(h.scripts.dropUnlearned, []string{untilKey}, args...)
}
