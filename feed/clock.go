package feed

import "time"

// Clock tells the time; tests bring their own.
type Clock interface {
	Now() time.Time
}

// IDs makes new ids: unique among all processes, time-ordered, above 2^53.
type IDs interface {
	NextID() (ID, error)
}

func millis(c Clock) int64 { return c.Now().UnixMilli() }
