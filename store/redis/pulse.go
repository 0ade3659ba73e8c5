package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

var _ feed.Pulse = (*Hot)(nil)

// SetGeneration implements [feed.Pulse].
func (h *Hot) SetGeneration(gen int64) { h.gen.Store(gen) }

// Beat implements [feed.Pulse]. It takes two round trips: a beat is moved only
// if it is still the one that was read, so that a loss in between is seen the
// next time instead of being written over. A beat names the server process that
// it was written on, and one of another process counts as none: the process was
// started anew or the server was replaced by a replica, either of which may
// have lost the last writes, even if not those of the beat.
//
// In a Cluster, the beats of the masters that answered are returned beside the
// error about those that did not.
func (h *Hot) Beat(ctx context.Context, now int64, seen map[string]int64) (map[string]int64, error) {
	places, err := h.beatPlaces(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]beatFound, len(places))
	for i, place := range places {
		key := beatKey(place.tag)
		found[i].cmd = goredis.NewCmd(ctx, "eval", peekBeatLua, 1, key)
		found[i].key, found[i].name = key, place.name
	}
	cmds := make([]goredis.Cmder, len(found))
	for i := range found {
		cmds[i] = found[i].cmd
	}
	h.exchange(ctx, cmds)

	beats := make(map[string]int64, len(found))
	var moves []goredis.Cmder
	for i := range found {
		f := &found[i]
		answer, e := f.cmd.Slice()
		if e != nil {
			err = unavailable("heartbeat", e)
			continue
		}
		was, process := textAt(answer, 0), textAt(answer, 1)
		beat, writer := parseBeat(was)
		if writer == process {
			beats[f.name] = beat
		} else {
			beats[f.name] = 0
		}
		if beats[f.name] < now && beats[f.name] >= seen[f.name] {
			moves = append(moves, goredis.NewCmd(ctx, "eval", moveBeatLua, 1, f.key, was, beatText(now, process)))
		}
	}
	// What a failed move leaves behind is found by the next beat.
	h.exchange(ctx, moves)
	return beats, err
}

type beatFound struct {
	name, key string
	cmd       *goredis.Cmd
}

// beatText is a beat: the time and the server process, parted by a space.
func beatText(at int64, process string) string {
	return strconv.FormatInt(at, 10) + " " + process
}

func parseBeat(s string) (at int64, process string) {
	text, process, _ := strings.Cut(s, " ")
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, process
	}
	return at, process
}

// exchange sends commands in one round trip and leaves errors in them.
func (h *Hot) exchange(ctx context.Context, cmds []goredis.Cmder) {
	if len(cmds) == 0 {
		return
	}
	pipe := h.client.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...)
	_, _ = pipe.Exec(ctx)
	h.onRoundTrip(len(cmds))
}

// beatPlace is where a master's heartbeat lies.
type beatPlace struct {
	name, tag string
}

// beatPlaces gives a place for each master. In a Cluster it is the lowest slot
// that the master serves: a replica that is promoted serves it from then on, so
// that it is asked about the same beat.
func (h *Hot) beatPlaces(ctx context.Context) ([]beatPlace, error) {
	c, ok := h.client.(*goredis.ClusterClient)
	if !ok {
		return []beatPlace{{name: "redis", tag: "0"}}, nil
	}
	shards, err := c.ClusterShards(ctx).Result()
	h.onRoundTrip(1)
	if err != nil {
		return nil, unavailable("cluster shards", err)
	}
	places := make([]beatPlace, 0, len(shards))
	for i := range shards {
		slot := int64(slots)
		for _, r := range shards[i].Slots {
			slot = min(slot, r.Start)
		}
		if slot == slots {
			continue // it serves nothing
		}
		tag, err := h.tagOf(int(slot))
		if err != nil {
			return nil, err
		}
		places = append(places, beatPlace{name: "slot-" + strconv.FormatInt(slot, 10), tag: tag})
	}
	return places, nil
}

// slots is the number of slots of a Cluster.
const slots = 16384

// tagOf gives the lowest number that, as a hash tag, falls into a slot.
func (h *Hot) tagOf(slot int) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if tag, ok := h.tags[slot]; ok {
		return tag, nil
	}
	for i := range 64 * slots {
		tag := strconv.Itoa(i)
		if slotOf(tag) == slot {
			h.tags[slot] = tag
			return tag, nil
		}
	}
	return "", fmt.Errorf("redis: no hash tag for slot %d", slot)
}

// slotOf gives the slot of a hash tag: its CRC-16 (XMODEM) modulo the slots.
func slotOf(tag string) int {
	crc := uint16(0)
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}
