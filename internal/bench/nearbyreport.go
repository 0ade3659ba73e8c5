package bench

import (
	"fmt"
	"strings"
)

// Nearby is nearbyFeed over HTTP by one client.
type Nearby struct {
	Posts   int             `json:"posts"`
	Page    int             `json:"page"`
	Places  []*NearbyPlace  `json:"places"`
	Written []NearbyWritten `json:"cells_written"`
}

// NearbyPlace is what it is like to read at one place. Read is beside the bare
// commands; P50 is from the rounds beside the other ways.
type NearbyPlace struct {
	Name      string      `json:"name"`
	Latitude  float64     `json:"latitude"`
	Longitude float64     `json:"longitude"`
	Spot      int         `json:"posts_at_the_spot"`
	Within    int         `json:"posts_within_5_km"`
	Around    int         `json:"cells_within_5_km"`
	Read      *Read       `json:"read"`
	P50       float64     `json:"p50_us"`
	Ways      []NearbyWay `json:"ways"`
}

// NearbyWay is another way to find the same page, in a plain handler over HTTP.
type NearbyWay struct {
	Name         string  `json:"name"`
	P50          float64 `json:"p50_us"`
	OverFeedgate float64 `json:"p50_over_feedgate"`
	OverCell     float64 `json:"p50_over_own_cell"` // over the plain handler that reads feedgate's cell
}

// NearbyWritten is into how many cells a post at a latitude is written.
type NearbyWritten struct {
	Latitude float64 `json:"latitude"`
	Mean     float64 `json:"mean"`
	Most     int     `json:"most"`
}

func (r *Report) printNearby(b *strings.Builder) {
	if m := r.Nearby; m != nil {
		fmt.Fprintf(b, "\nnearbyFeed(first: %d, radiusMeters: 5000) over HTTP, one client, warm; %d posts\n", m.Page, m.Posts)
		fmt.Fprintf(b, "                  at the spot  within 5 km   p50 us   p99 us   p50 us of its bare commands   ratio\n")
		for _, p := range m.Places {
			fmt.Fprintf(b, "  %-15s %11d %12d %8.0f %8.0f   %10.0f (%d in %d trips) %9.2f\n",
				p.Name, p.Spot, p.Within, p.Read.P50, p.Read.P99, p.Read.Bare, p.Read.Commands, p.Read.Trips, p.Read.Ratio)
		}
		for _, p := range m.Places {
			fmt.Fprintf(b, "\nother ways to the same page, %s (%d cells around)     p50 us   over feedgate   over own cell\n", p.Name, p.Around)
			fmt.Fprintf(b, "  %-50s %12.0f\n", "feedgate", p.P50)
			for _, w := range p.Ways {
				fmt.Fprintf(b, "  %-50s %12.0f %15.2f %15.2f\n", w.Name, w.P50, w.OverFeedgate, w.OverCell)
			}
		}
		fmt.Fprintf(b, "\ncells that a post is written into\n  latitude   mean   most\n")
		for _, w := range m.Written {
			fmt.Fprintf(b, "  %8.1f %6.1f %6d\n", w.Latitude, w.Mean, w.Most)
		}
	}
	if len(r.NearbyTrips) > 0 {
		fmt.Fprintf(b, "\nround trips a query       warm: Redis  record    cold: Redis  record\n")
		for _, t := range r.NearbyTrips {
			fmt.Fprintf(b, "  nearbyFeed %-9s %4d %12d %7d %14d %7d\n", t.Shape, t.First, t.WarmRedis, t.WarmRecord, t.ColdRedis, t.ColdRecord)
		}
	}
}
