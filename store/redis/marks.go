package redis

import (
	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

func (h *Hot) touchActive(b *batch, op *feed.TouchActive) {
	key := activeKey(activeShards.of(op.Reader))
	b.number("zadd", key, "gt", op.Day, int64(op.Reader))
	if op.Make != 0 {
		b.number("zadd", key, "nx", op.Make, sentinel)
	}
	epoch := b.text("zscore", key, sentinel)
	b.then(func() { op.Epoch, _ = parseScore(epoch.Val()) })
}

// sharded is a question about members of shards, one command for each shard.
type sharded struct {
	shard []int // of each id
	place []int // of each id: the index of its score in the answer of its shard
	cmds  []*goredis.SliceCmd
}

// askShards asks for the sentinel of each shard that is touched and for the
// score of each id.
func askShards(b *batch, of shards, key func(int) string, ids []feed.ID) *sharded {
	s := &sharded{shard: make([]int, len(ids)), place: make([]int, len(ids)), cmds: make([]*goredis.SliceCmd, of)}
	count := make([]int, of)
	for i, id := range ids {
		n := of.of(id)
		count[n]++
		s.shard[i], s.place[i] = n, count[n]
	}
	args := make([][]any, of)
	for i, id := range ids {
		n := s.shard[i]
		if s.place[i] == 1 {
			args[n] = make([]any, 0, 3+count[n])
			args[n] = append(args[n], "zmscore", key(n), sentinel)
		}
		args[n] = append(args[n], int64(id))
	}
	for n := range args {
		if count[n] > 0 {
			s.cmds[n] = b.slice(args[n]...)
		}
	}
	return s
}

// known gives the sentinel's score of an id's shard.
func (s *sharded) known(i int) (int64, bool) {
	return parseScore(textAt(s.cmds[s.shard[i]].Val(), 0))
}

// score gives an id's score in its shard.
func (s *sharded) score(i int) (int64, bool) {
	return parseScore(textAt(s.cmds[s.shard[i]].Val(), s.place[i]))
}

// marked reports whether an id is a member of its shard.
func (s *sharded) marked(i int) bool {
	return textAt(s.cmds[s.shard[i]].Val(), s.place[i]) != ""
}

func (h *Hot) readMarks(b *batch, op *feed.ReadMarks) {
	gen := h.gen.Load()
	asked := askShards(b, inflightShards, inflightKey, op.Authors)
	b.then(func() {
		op.InFlight, op.Unknown, op.Generation = nil, false, gen
		for i, author := range op.Authors {
			if known, ok := asked.known(i); !ok || known != gen {
				op.Unknown = true
			}
			if asked.marked(i) {
				op.InFlight = append(op.InFlight, author)
			}
		}
	})
}

// versionFrom gives the lowest version of a mark that is made at a time: ms
// since the start of 2024, with room for 1,024 marks of one author in each,
// below 2^53 for the next 278 years.
func versionFrom(now int64) int64 { return (now - startOf2024) << 10 }

const startOf2024 = 1_704_067_200_000

func (h *Hot) markInFlight(b *batch, op *feed.MarkInFlight) {
	// Two commands: whatever comes between them only makes the version higher.
	key := inflightKey(inflightShards.of(op.Author))
	b.number("zadd", key, "gt", versionFrom(op.Now), int64(op.Author))
	b.text("zincrby", key, 1, int64(op.Author))
}

func (h *Hot) fillMarks(b *batch, op *feed.FillMarks) {
	version := versionFrom(op.Now)
	var args [inflightShards][]any
	for n := range args {
		args[n] = append(args[n], "zadd", inflightKey(n), "gt")
	}
	for _, author := range op.Authors {
		n := inflightShards.of(author)
		args[n] = append(args[n], version, int64(author))
	}
	for n := range args {
		b.number(append(args[n], op.Generation, sentinel)...)
	}
}
