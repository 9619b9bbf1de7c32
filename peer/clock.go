package peer

import (
	"fmt"
	"sync"
	"time"
)

const (
	// clockLimit is how far two clocks may differ before it is said.
	clockLimit = 2 * time.Minute
	// clockRoundTrip is the longest round trip that is taken for a measurement: half of it may
	// be wrong.
	clockRoundTrip = 30 * time.Second
	// clockMost bounds a difference. A clock that says more is as wrong as one that says this.
	clockMost = 100 * 365 * 24 * time.Hour
	// clockPause is the least time between two words about one link, whose other end may send
	// another time of day every second.
	clockPause = time.Minute
)

// clockEnd is the last time of day that a peer may say, in milliseconds since 1970: the end of
// the year 9999.
const clockEnd = 253402300799999

// What wrong clocks do, and how a person sees which one it is.
const (
	clockHarm = "invitations and proposals expire too early or too late, and the times in charters, transcripts and " +
		"logs do not agree"
	clockCheck = "timedatectl status shows the time and whether it is kept"
)

// clockMillis is a time of day as sent. Times before 1970 are sent as 1970.
func clockMillis(t time.Time) uint64 { return uint64(max(t.UnixMilli(), 0)) }

// clockAhead returns how far the clock of a peer is ahead of this node's, negative when it is
// behind. The peer sent its time of day half a round trip before heard, the time of day here when
// it came. Nothing but sentences for people hangs on the result.
func clockAhead(theirs uint64, heard time.Time, rtt time.Duration) time.Duration {
	at := time.UnixMilli(int64(min(theirs, clockEnd)))
	ahead := min(max(at.Sub(heard), -clockMost), clockMost) // Sub stops at 292 years by itself
	return min(max(ahead+rtt/2, -clockMost), clockMost)
}

// clockWatch keeps how far a peer's clock is ahead, and when that is worth a word.
type clockWatch struct {
	mu    sync.Mutex
	ahead time.Duration // as last measured
	said  time.Duration // the difference last spoken of; 0 when there was none to speak of
	when  time.Time     // of the last word; zero before the first
}

// set takes a measurement and reports whether the link has news: the clocks differ now, or not
// any longer, or otherwise than before.
func (w *clockWatch) set(ahead time.Duration) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead = ahead
	next := w.said
	switch {
	case w.said == 0 && ahead.Abs() > clockLimit, w.said != 0 && (ahead-w.said).Abs() > clockLimit:
		next = ahead
	}
	if ahead.Abs() <= clockLimit/2 { // a limit of its own, so that a drift says each of the two once
		next = 0
	}
	if next == w.said || !w.when.IsZero() && time.Since(w.when) < clockPause {
		return false
	}
	w.said, w.when = next, time.Now()
	return true
}

// get returns how far the peer's clock is ahead, and the difference last spoken of.
func (w *clockWatch) get() (ahead, said time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ahead, w.said
}

// clockDate writes a time of day for a person who looks at a clock on the wall.
func clockDate(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// clockPlace says where a clock is that is so far ahead.
func clockPlace(ahead time.Duration) string {
	if ahead < 0 {
		return spell(-ahead) + " behind"
	}
	return spell(ahead) + " ahead of"
}

// spell writes a difference of clocks in its two largest units.
func spell(d time.Duration) string {
	const day = 24 * time.Hour
	if d = d.Round(time.Second); d >= clockMost {
		return "100 years or more"
	}
	large, unit, small, lesser := d/time.Minute, "m", d%time.Minute/time.Second, "s"
	if d >= day {
		large, unit, small, lesser = d/day, "d", d%day/time.Hour, "h"
	} else if d >= time.Hour {
		large, unit, small, lesser = d/time.Hour, "h", d%time.Hour/time.Minute, "m"
	}
	if small == 0 { // the second unit is left out
		return fmt.Sprintf("%d%s", large, unit)
	}
	return fmt.Sprintf("%d%s %d%s", large, unit, small, lesser)
}
