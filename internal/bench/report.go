package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"

	"feedgate/internal/config"
)

// Report is what was measured. Times are in microseconds.
type Report struct {
	Go     string  `json:"go"`
	CPUs   int     `json:"cpus"`
	Users  int     `json:"users"`
	Posts  int     `json:"posts"`
	Inbox  int     `json:"inbox"`
	First  int     `json:"first"`
	Rounds int     `json:"rounds"`
	Read   *Read   `json:"read,omitempty"`
	CPU    *CPU    `json:"cpu,omitempty"`
	Fanout *Fanout `json:"fanout,omitempty"`
	Trips  []Trips `json:"trips,omitempty"`
	Live   *Live   `json:"live,omitempty"`
	Target *Target `json:"target,omitempty"`

	Recommend      *Recommend       `json:"recommend,omitempty"`
	RecommendTrips []RecommendTrips `json:"recommend_trips,omitempty"`

	Nearby      *Nearby `json:"nearby,omitempty"`
	NearbyTrips []Trips `json:"nearby_trips,omitempty"`
}

// Read is followFeed over HTTP by one client.
type Read struct {
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Bare     float64 `json:"bare_redis_p50_us"`
	Ratio    float64 `json:"p50_over_bare"`
	Trips    int     `json:"redis_round_trips"`
	Commands int     `json:"redis_commands"`
}

// CPU is processor time a request.
type CPU struct {
	Micros    float64 `json:"cpu_us"`
	Plain     float64 `json:"plain_cpu_us"`
	Ratio     float64 `json:"cpu_over_plain"`
	Rate      float64 `json:"requests_per_second"`
	PlainRate float64 `json:"plain_requests_per_second"`
	Clients   int     `json:"clients"`
}

// Fanout is how fast posts reach inboxes.
type Fanout struct {
	Followers int     `json:"followers"`
	Rate      float64 `json:"inbox_writes_per_second"`
	Bare      float64 `json:"bare_zadds_per_second"`
	Ratio     float64 `json:"rate_over_bare"`
	Parallel  int     `json:"bare_pipelines_at_a_time"`
}

// Trips are the round trips of one query shape.
type Trips struct {
	Shape      string `json:"shape"`
	First      int    `json:"first"`
	WarmRedis  int    `json:"warm_redis"`
	WarmRecord int    `json:"warm_record"`
	ColdRedis  int    `json:"cold_redis"`
	ColdRecord int    `json:"cold_record"`
}

// Target is what a running server does.
type Target struct {
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Rate    float64 `json:"requests_per_second"`
	Clients int     `json:"clients"`
}

func newReport(c *config.Bench) *Report {
	return &Report{
		Go: runtime.Version(), CPUs: runtime.NumCPU(),
		Users: c.Users, Posts: c.Posts, Inbox: c.Inbox, First: c.First, Rounds: c.Rounds,
	}
}

func splitIDs(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func (r *Report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d processors, medians of %d rounds\n", r.Go, r.CPUs, r.Rounds)
	if t := r.Target; t != nil {
		fmt.Fprintf(&b, "\nfollowFeed(first: %d), one client\n  p50 %8.0f us   p99 %8.0f us\n", r.First, t.P50, t.P99)
		fmt.Fprintf(&b, "%d clients\n  %.0f requests a second\n", t.Clients, t.Rate)
	} else if r.Read != nil || r.CPU != nil || r.Fanout != nil || len(r.Trips) > 0 {
		fmt.Fprintf(&b, "%d people, %d posts, inboxes of about %d\n", r.Users, r.Posts, r.Inbox)
	}
	if m := r.Read; m != nil {
		fmt.Fprintf(&b, "\nfollowFeed(first: %d) over HTTP, one client, warm\n", r.First)
		fmt.Fprintf(&b, "  p50 %27.0f us\n  p99 %27.0f us\n", m.P50, m.P99)
		fmt.Fprintf(&b, "  p50 of its bare commands %6.0f us   %d commands in %d round trips\n", m.Bare, m.Commands, m.Trips)
		fmt.Fprintf(&b, "  ratio of the p50s %13.2f\n", m.Ratio)
	}
	if m := r.CPU; m != nil {
		fmt.Fprintf(&b, "\nprocessor time a request, %d clients\n", m.Clients)
		fmt.Fprintf(&b, "  feedgate %22.0f us   %.0f requests a second\n", m.Micros, m.Rate)
		fmt.Fprintf(&b, "  plain handler %17.0f us   %.0f requests a second\n", m.Plain, m.PlainRate)
		fmt.Fprintf(&b, "  ratio %25.2f\n", m.Ratio)
	}
	if m := r.Fanout; m != nil {
		fmt.Fprintf(&b, "\nfan-out to %d followers\n", m.Followers)
		fmt.Fprintf(&b, "  inbox writes a second %9.0f\n", m.Rate)
		fmt.Fprintf(&b, "  bare ZADDs a second %11.0f   %d pipelines of %d at a time\n", m.Bare, m.Parallel, zaddBatch)
		fmt.Fprintf(&b, "  ratio %25.2f\n", m.Ratio)
	}
	if len(r.Trips) > 0 {
		fmt.Fprintf(&b, "\nround trips a query       warm: Redis  record    cold: Redis  record\n")
		for _, t := range r.Trips {
			fmt.Fprintf(&b, "  followFeed %-6s %4d %15d %7d %14d %7d\n", t.Shape, t.First, t.WarmRedis, t.WarmRecord, t.ColdRedis, t.ColdRecord)
		}
	}
	r.printRecommend(&b)
	r.printNearby(&b)
	if r.Live != nil {
		r.Live.print(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
