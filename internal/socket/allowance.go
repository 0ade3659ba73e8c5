package socket

import "time"

// allowance says how many operations a socket may begin now: it fills with
// time, and each one takes from it. Those that are refused take as well, so that
// a client that does not slow down gets deeper into debt.
type allowance struct {
	left float64   // below zero: debt
	at   time.Time // when left was right; the zero time before the first operation
}

// take takes one, and reports whether it was there: at most burst are at a time,
// and rate more come each second.
func (a *allowance) take(now time.Time, burst, rate int) bool {
	if a.at.IsZero() {
		a.left = float64(burst)
	} else {
		a.left = min(float64(burst), a.left+max(0, now.Sub(a.at).Seconds())*float64(rate))
	}
	a.at = now
	a.left--
	return a.left >= 0
}

// debt is how many were taken that were not there.
func (a *allowance) debt() int { return int(max(0, -a.left)) }
