package bench

import (
	"fmt"
	"io"
)

// Live is what red dots of connected readers cost. Times are in microseconds.
type Live struct {
	Sockets   int        `json:"sockets"`
	Offline   int        `json:"offline_followers"`
	Active    bool       `json:"offline_followers_are_active"`
	Opened    float64    `json:"opened_us"` // all sockets, to their first state
	Before    Usage      `json:"before"`
	Idle      Usage      `json:"idle"`
	Each      Usage      `json:"each_socket"`
	Near      []Wave     `json:"waves"`              // the author's followers are all connected
	Far       []Wave     `json:"waves_with_offline"` // and as many offline ones
	Ratio50   float64    `json:"p50_over_p50"`
	RatioLast float64    `json:"last_over_last"`
	Commands  []Commands `json:"commands_a_publish"`
}

// Commands are those of one publish, when so many followers are connected: for
// Redis as it counts them itself, those inside scripts included.
type Commands struct {
	Online   int     `json:"online"`
	Redis    float64 `json:"redis"`
	Record   float64 `json:"record"`
	ByRedis  tally   `json:"by_redis_command"`
	ByRecord tally   `json:"by_record_command"`
}

func (l *Live) print(w io.Writer) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) } // into memory
	const kib = 1024
	say("\n%d idle sockets, each subscribed to redDot, open after %.1f s", l.Sockets, l.Opened/1e6)
	say("  %-18s %12s %12s %12s %12s %12s", "", "goroutines", "alive KiB", "stacks KiB", "heap KiB", "resident KiB")
	for _, row := range []struct {
		name string
		u    Usage
	}{{"without sockets", l.Before}, {"with them", l.Idle}} {
		say("  %-18s %12.0f %12.0f %12.0f %12.0f %12.0f", row.name, row.u.Goroutines, row.u.Alive/kib, row.u.Stacks/kib, row.u.Heap/kib, row.u.Resident/kib)
	}
	say("  %-18s %12.2f %12.2f %12.2f %12.2f %12.2f", "each socket", l.Each.Goroutines, l.Each.Alive/kib, l.Each.Stacks/kib, l.Each.Heap/kib, l.Each.Resident/kib)
	for _, side := range []struct {
		title string
		waves []Wave
	}{
		{fmt.Sprintf("from publishPost to %d sockets, no other followers (ms)", l.Sockets), l.Near},
		{fmt.Sprintf("the same with %d further followers who are not there (ms)", l.Offline), l.Far},
	} {
		say("\n%s", side.title)
		say("  %-8s %10s %10s %10s %10s", "round", "returned", "p50", "p99", "last")
		for i, m := range side.waves {
			say("  %-8d %10.1f %10.1f %10.1f %10.1f", i+1, m.Answered/1000, m.P50/1000, m.P99/1000, m.Last/1000)
		}
		of := func(f func(Wave) float64) float64 { return median(column(side.waves, f)) / 1000 }
		say("  %-8s %10.1f %10.1f %10.1f %10.1f", "median", of(func(m Wave) float64 { return m.Answered }),
			of(func(m Wave) float64 { return m.P50 }), of(func(m Wave) float64 { return m.P99 }), of(func(m Wave) float64 { return m.Last }))
	}
	say("  ratio of the medians: p50 %.2f, last %.2f", l.Ratio50, l.RatioLast)
	say("\ncommands a publish on a gateway without workers (no fan-out), less those of the background;\nRedis counts those inside scripts too")
	say("  %-18s %8s %8s", "followers online", "Redis", "record")
	for _, c := range l.Commands {
		say("  %-18d %8.1f %8.1f", c.Online, c.Redis, c.Record)
	}
}
