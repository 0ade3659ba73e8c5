package redis

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// shards is a number of parts that marks are cut into, a power of two.
type shards int

// Active marks are many, so that one key of all of them would be a burden to a
// server. In-flight marks are few, and each page of a feed asks every shard that
// its followees touch. The keys name the number: another one makes every mark
// unknown.
const (
	activeShards   shards = 16
	inflightShards shards = 8
)

// sentinel is the member of a shard that says that the shard is known. It
// sorts above every id.
const sentinel = "~"

// of gives the shard of a user. The low bits of an id tell who made it, so that
// they would not spread users over the shards.
func (n shards) of(id feed.ID) int {
	return int(bits(int64(id))*0x9e3779b97f4a7c15>>48) & int(n-1)
}

func (n shards) key(name string, shard int) string {
	return name + ":{" + strconv.Itoa(shard) + "/" + strconv.Itoa(int(n)) + "}"
}

// tagged gives name:{id}: keys of one id share a slot of a Cluster.
func tagged(name string, id int64) string {
	b := make([]byte, 0, len(name)+24)
	return string(appendTagged(b, name, id))
}

func appendTagged(b []byte, name string, id int64) []byte {
	b = append(b, name...)
	b = append(b, ":{"...)
	b = strconv.AppendInt(b, id, 10)
	return append(b, '}')
}

// relverKey holds the version of a reader's relations.
func relverKey(user feed.ID) string { return tagged("relver", int64(user)) }

// relKey holds a reader's relations.
func relKey(user feed.ID) string { return tagged("rel", int64(user)) }

// listKey holds the entries and the floor of a list.
func listKey(l feed.List) string { return tagged(string(l.Kind), int64(l.Owner)) }

// listverKey holds the version of a list.
func listverKey(l feed.List) string { return tagged(string(l.Kind)+"ver", int64(l.Owner)) }

// inboxName is the name in the keys of inboxes, for those who build many.
const inboxName = string(feed.Inbox)

// activeKey holds the last day of each active reader of a shard.
func activeKey(shard int) string { return activeShards.key("active", shard) }

// inflightKey holds the version of each author in flight of a shard.
func inflightKey(shard int) string { return inflightShards.key("inflight", shard) }

// takenKey holds a named lease of a user.
func takenKey(name string, user feed.ID) string { return tagged("taken:"+name, int64(user)) }

// bellsKey is the stream of bells of a lane.
func bellsKey(lane feed.Lane) string { return "bells:{" + string(lane) + "}" }

// tasksKey is the stream of tasks of a lane.
func tasksKey(lane feed.Lane) string { return "tasks:{" + string(lane) + "}" }

// deadKey is the stream of tasks of a lane that failed too often.
func deadKey(lane feed.Lane) string { return "dead:{" + string(lane) + "}" }

// acksKey holds the acks of one Op of a post's duty.
func acksKey(post feed.ID, op int64) string {
	return tagged("acks", int64(post)) + ":" + strconv.FormatInt(op, 10)
}

// ackbellKey is a list that holds an element when an ack has come.
func ackbellKey(post feed.ID, op int64) string {
	return tagged("ackbell", int64(post)) + ":" + strconv.FormatInt(op, 10)
}

// cellKey holds the posts of a cell of the nearby index.
func cellKey(cell geo.Cell) string { return "cell:{" + string(cell) + "}" }

// boardKey holds a ranking of posts. Topics are any text, and named by a hash.
func boardKey(b *feed.Board) string {
	name := "board:" + string(b.Kind)
	switch b.Kind {
	case feed.BoardSimilar:
		return tagged(name+":"+strconv.FormatInt(b.Epoch, 10), int64(b.Post))
	case feed.BoardTopic:
		sum := sha256.Sum256([]byte(b.Topic))
		return name + ":" + strconv.FormatInt(b.Epoch, 10) + ":{" + hex.EncodeToString(sum[:16]) + "}"
	default:
		return tagged(name, b.Epoch)
	}
}

// learningKey holds the state of learning.
const learningKey = "learning"

// learnedKey holds which engagements of a user are counted in an epoch.
func learnedKey(epoch int64, user feed.ID) string {
	return tagged("learned:"+strconv.FormatInt(epoch, 10), int64(user))
}

// unlearnedKey holds the users whose tastes have changed, by when that was
// noted; untilKey those of them that somebody took, by the time until when
// that one has them. They share a slot.
const (
	unlearnedKey = "unlearned:{tastes}"
	untilKey     = "until:{tastes}"
)

// sessionKey holds what a session has ranked.
func sessionKey(token feed.Token) string { return "session:{" + string(token) + "}" }

// beatKey is the heartbeat on the master that serves the slot of tag.
func beatKey(tag string) string { return "beat:{" + tag + "}" }

// taggedKeys makes the keys of many ids out of one string.
func taggedKeys(name string, ids []feed.ID) []string {
	ends := make([]int, len(ids))
	text := make([]byte, 0, len(ids)*(len(name)+23))
	for i, id := range ids {
		text = appendTagged(text, name, int64(id))
		ends[i] = len(text)
	}
	all := string(text)
	keys := make([]string, len(ids))
	from := 0
	for i, end := range ends {
		keys[i] = all[from:end]
		from = end
	}
	return keys
}

// keyArg passes a key to the driver without a copy. In a Cluster the driver
// looks into the key, for its slot, and wants the plain string.
func (h *Hot) keyArg(key *string) any {
	if h.cluster {
		return *key
	}
	return key
}
