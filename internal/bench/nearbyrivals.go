package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// The paths of the ways to find what is nearby.
const (
	pathCell   = "/cell"
	pathSearch = "/geosearch"
	pathAround = "/around/" // and how many entries of each cell are read first
)

// aroundHeads are how many entries of each cell around are read first: too few
// take another round trip, too many cost time. The best one counts.
func aroundHeads() []int { return []int{25, 50, 100} }

// Keys of the other ways.
const (
	searchKey    = "bench:geo"
	aroundPrefix = "bench:cell:"
)

// loadRivals writes all posts as the other ways need them.
func loadRivals(ctx context.Context, client *redis.Client, of []sight) error {
	for part := range slices.Chunk(of, zaddBatch) {
		pipe := client.Pipeline()
		for i := range part {
			p := &part[i]
			pipe.GeoAdd(ctx, searchKey, &redis.GeoLocation{Name: string(appendSight(nil, p)), Longitude: p.Longitude, Latitude: p.Latitude})
			pipe.ZAdd(ctx, aroundPrefix+string(geo.CellOf(p.Point)), redis.Z{Score: float64(p.At), Member: cellText(p)})
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A member of the set for GEOSEARCH holds time, id and position, eight bytes
// each, so that nothing needs to be looked up to choose the newest, and members
// compare as positions do.
const sightBytes = 32

func appendSight(b []byte, s *sight) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(s.At)) //nolint:gosec // after 1970
	b = binary.BigEndian.AppendUint64(b, uint64(s.ID)) //nolint:gosec // ids are positive
	return appendPoint(b, s.Point)
}

func appendPoint(b []byte, p geo.Point) []byte {
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(p.Latitude))
	return binary.BigEndian.AppendUint64(b, math.Float64bits(p.Longitude))
}

func number(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

func pointOf(s string) geo.Point {
	return geo.Point{Latitude: math.Float64frombits(number(s[:8])), Longitude: math.Float64frombits(number(s[8:16]))}
}

// A member of a cell is written as feedgate writes it: 20 digits of the id, and
// the position; see store/redis.
const (
	idDigits  = 20
	cellBytes = idDigits + 16
)

func cellText(s *sight) string {
	return string(appendPoint(fmt.Appendf(nil, "%0*d", idDigits, int64(s.ID)), s.Point))
}

// appendCell reads pairs of member and score. What is no post is left out.
func appendCell(to []sight, pairs []string) ([]sight, error) {
	for i := 0; i+1 < len(pairs); i += 2 {
		member := pairs[i]
		if len(member) != cellBytes || member[0] > '9' {
			continue // the floor, or a mark
		}
		id, err := strconv.ParseInt(member[:idDigits], 10, 64)
		if err != nil {
			return nil, err
		}
		at, err := strconv.ParseInt(pairs[i+1], 10, 64)
		if err != nil {
			return nil, err
		}
		to = append(to, sight{feed.Position{At: at, ID: feed.ID(id)}, pointOf(member[idDigits:])})
	}
	return to, nil
}

// rivals starts the plain handlers and gives their address.
func (b *bench) rivals(ctx context.Context) (string, error) {
	if err := loadRivals(ctx, b.redis, b.sights.of); err != nil {
		return "", fmt.Errorf("writing posts for the other ways: %w", err)
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return "", err
	}
	c, err := b.child("plain handlers", b.Program, "bench", "rivals", addr, b.redisURL)
	if err != nil {
		return "", err
	}
	return "http://" + addr, c.await(ctx, serving(newTarget("", 1).client, "http://"+addr+"/"))
}

// rivals answers nearbyQuery by hand: it finds the newest posts around in one of
// several ways, reads their details from where feedgate keeps them, and writes
// them with encoding/json. Nobody is hidden from anybody.
type rivals struct {
	client *redis.Client
	clock  feed.Clock
}

// Rivals serves the plain handlers of the part nearby until ctx ends. Its
// arguments are the bench's: an address and a Redis.
func Rivals(ctx context.Context, args []string, clock feed.Clock) error {
	if len(args) != 2 {
		return errors.New("bench rivals is started by bench itself")
	}
	client, err := connect(args[1], 64)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &rivals{client, clock}, ReadHeaderTimeout: 10 * time.Second}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", args[0])
	if err != nil {
		return errors.Join(err, client.Close())
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stopped <- server.Close()
	}()
	if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = <-stopped
	}
	return errors.Join(err, client.Close())
}

func (p *rivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusOK) // alive
		return
	}
	var asked struct {
		Variables struct {
			Latitude  float64 `json:"latitude"`
			Longitude float64 `json:"longitude"`
			First     int     `json:"first"`
		} `json:"variables"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v := &asked.Variables
	at := geo.Point{Latitude: v.Latitude, Longitude: v.Longitude}
	found, err := p.find(r.Context(), r.URL.Path, at, v.First+1)
	var out []byte
	if err == nil {
		out, err = p.answer(r.Context(), at, found, v.First)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out) // the client is gone
}

// find gives the newest n posts around, newest first.
func (p *rivals) find(ctx context.Context, path string, at geo.Point, n int) ([]sight, error) {
	switch path {
	case pathCell:
		return p.inCell(ctx, at, n)
	case pathSearch:
		return p.search(ctx, at, n)
	}
	head, err := strconv.Atoi(strings.TrimPrefix(path, pathAround))
	if err != nil {
		return nil, errors.New("no such way")
	}
	return p.around(ctx, at, n, head)
}

func near(at geo.Point, all []sight, n int) []sight {
	found := make([]sight, 0, n)
	for i := range all {
		if len(found) == n {
			break
		}
		if geo.Distance(at, all[i].Point) <= geo.MaxRadius {
			found = append(found, all[i])
		}
	}
	return found
}

// wholeCell begins the floor of a cell that holds all there is.
const wholeCell = "f|-9223372036854775808|"

// inCell reads feedgate's own cell: its head and, if that is not enough, all of it.
func (p *rivals) inCell(ctx context.Context, at geo.Point, n int) ([]sight, error) {
	key := "cell:{" + string(geo.CellOf(at)) + "}"
	for _, last := range []int{100, -1} {
		cmd := redis.NewStringSliceCmd(ctx, "zrevrange", key, 0, last, "withscores")
		if err := p.client.Process(ctx, cmd); err != nil {
			return nil, err
		}
		pairs := cmd.Val()
		all, err := appendCell(make([]sight, 0, len(pairs)/2), pairs)
		if err != nil {
			return nil, err
		}
		found := near(at, all, n)
		if len(found) == n || len(pairs)/2 <= last {
			return found, nil
		}
		if complete := len(pairs) > 0 && strings.HasPrefix(pairs[0], wholeCell); last < 0 && complete {
			return found, nil
		}
	}
	return nil, errors.New("the cell is not enough, and the plain handler has no record")
}

// searchRim is by how many metres GEOSEARCH looks farther: it takes the earth
// for greater, and positions for rounded. What is too far is left out afterwards.
const searchRim = 5

// search asks Redis for all that is around and keeps the newest.
func (p *rivals) search(ctx context.Context, at geo.Point, n int) ([]sight, error) {
	all, err := p.client.GeoSearch(ctx, searchKey, &redis.GeoSearchQuery{
		Longitude: at.Longitude, Latitude: at.Latitude, Radius: geo.MaxRadius + searchRim, RadiusUnit: "m",
	}).Result()
	if err != nil {
		return nil, err
	}
	newest := make([]string, 0, n+1) // newest first
	for _, member := range all {
		if len(member) != sightBytes {
			return nil, errors.New("no member of the bench")
		}
		if len(newest) == n && member <= newest[n-1] {
			continue
		}
		if geo.Distance(at, pointOf(member[16:])) > geo.MaxRadius {
			continue
		}
		i, _ := slices.BinarySearchFunc(newest, member, func(a, b string) int { return strings.Compare(b, a) })
		newest = slices.Insert(newest, i, member)
		newest = newest[:min(n, len(newest))]
	}
	found := make([]sight, len(newest))
	for i, m := range newest {
		//nolint:gosec // written from an int64 and an id
		found[i] = sight{feed.Position{At: int64(number(m[:8])), ID: feed.ID(number(m[8:16]))}, pointOf(m[16:])}
	}
	return found, nil
}

// around reads the newest posts of each cell that comes within the radius, each
// post being in its own cell only, and more of them until those are sure to be
// the newest.
func (p *rivals) around(ctx context.Context, at geo.Point, n, head int) ([]sight, error) {
	cells := geo.Touched(at)
	read := make([]int, len(cells)) // entries of each
	open := make([]bool, len(cells))
	ends := make([]feed.Position, len(cells)) // the last one of each
	for i := range open {
		open[i] = true
	}
	var found, all []sight
	for size := head; ; size *= 4 {
		pipe := p.client.Pipeline()
		cmds := make([]*redis.StringSliceCmd, len(cells))
		for i, cell := range cells {
			if open[i] {
				cmds[i] = redis.NewStringSliceCmd(ctx, "zrevrange", aroundPrefix+string(cell), read[i], read[i]+size-1, "withscores")
				_ = pipe.Process(ctx, cmds[i]) // Exec tells
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
		for i, cmd := range cmds {
			if cmd == nil {
				continue
			}
			var err error
			if all, err = appendCell(all[:0], cmd.Val()); err != nil {
				return nil, err
			}
			read[i] += len(all)
			if open[i] = len(all) == size; open[i] {
				ends[i] = all[len(all)-1].Position
			}
			found = append(found, near(at, all, len(all))...)
		}
		slices.SortFunc(found, func(a, b sight) int { return a.Compare(b.Position) })
		if found = found[:min(n, len(found))]; settled(found, n, open, ends) {
			return found, nil
		}
	}
}

// settled reports whether no cell can hold something newer than what was found:
// each is read to its end or below the last of n, and then needs no more.
func settled(found []sight, n int, open []bool, ends []feed.Position) bool {
	done := true
	for i := range open {
		if open[i] && (len(found) < n || found[n-1].Below(ends[i])) {
			done = false
		} else {
			open[i] = false
		}
	}
	return done
}
