package peer

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/keys"
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

// clockView is what the clocks of all connected members say of this node's own.
type clockView struct {
	members int           // connected
	agree   int           // of them, those whose clock is as this node's
	others  int           // those who agree with each other on another time
	ahead   time.Duration // how far these are ahead of this node
}

// viewClocks looks at the differences of all connected members.
func viewClocks(ahead []time.Duration) clockView {
	v := clockView{members: len(ahead)}
	if len(ahead) == 0 {
		return v
	}
	slices.Sort(ahead)
	middle := ahead[len(ahead)/2]
	for _, d := range ahead {
		if d.Abs() <= clockLimit {
			v.agree++
		}
		if (d - middle).Abs() <= clockLimit {
			v.others++
		}
	}
	if v.ahead = middle; middle.Abs() <= clockLimit {
		v.others, v.ahead = 0, 0
	}
	return v
}

// wrong reports whether it is likely this node's own clock that is wrong: most of the members,
// and at least two, agree with each other on another time.
func (v clockView) wrong() bool { return v.others >= 2 && 2*v.others > v.members }

// own is a sentence about this node's clock, which says now; it is empty unless that is likely
// wrong.
func (v clockView) own(now time.Time) string {
	if !v.wrong() {
		return ""
	}
	return fmt.Sprintf("this machine's clock says %s and is %s those of %d of %d connected members, "+
		"which agree with each other: %s; set it (%s)",
		clockDate(now), clockPlace(-v.ahead), v.others, v.members, clockHarm, clockCheck)
}

// of is a sentence about one member's clock, while this node's says now; it is empty unless the
// two differ.
func (v clockView) of(name string, ahead time.Duration, now time.Time) string {
	if ahead.Abs() <= clockLimit {
		return ""
	}
	advice := "set the one that is wrong"
	switch {
	case v.wrong() && (ahead-v.ahead).Abs() <= clockLimit:
		advice = fmt.Sprintf("it is likely this machine's that is wrong: "+
			"that of %s is the time of %d of %d connected members", name, v.others, v.members)
	case v.wrong():
		advice = "others agree with neither: set both"
	case v.agree > 0 && 2*v.agree >= v.members:
		advice = fmt.Sprintf("it is likely that of %s that is wrong: "+
			"this machine's is the time of %d of %d connected members", name, v.agree, v.members)
	}
	return fmt.Sprintf("the clock of %s is %s this machine's, which says %s: %s; %s (%s)",
		name, clockPlace(ahead), clockDate(now), clockHarm, advice, clockCheck)
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

// ClockDifference returns how far a member's clock is ahead of this node's, negative when it is
// behind, as last measured. It is false without a connection to the member. What a member says
// of its clock is its own claim: good for a sentence, and for nothing that must be right.
func (h *Host) ClockDifference(id keys.ID) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members[id]
	if m == nil || m.link == nil {
		return 0, false
	}
	ahead, _ := m.link.clock.get()
	return ahead, true
}

// ClockTrouble returns a sentence when it is likely this node's own clock that is wrong, since
// most connected members agree with each other on another time; it is empty otherwise. Status has
// a sentence for each member whose clock differs.
func (h *Host) ClockTrouble() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.viewClocks().own(h.cfg.Now())
}

// viewClocks compares the clocks of all connected members with this node's. Host.mu is held.
func (h *Host) viewClocks() clockView {
	var ahead []time.Duration
	for _, m := range h.members {
		if m.link != nil {
			d, _ := m.link.clock.get()
			ahead = append(ahead, d)
		}
	}
	return viewClocks(ahead)
}

// noteClock says that a link has news of its peer's clock, and what follows for this node's own.
func (h *Host) noteClock(l *link) {
	now := h.cfg.Now()
	h.mu.Lock()
	view := h.viewClocks()
	wrong := view.own(now)
	fresh := view.wrong() != h.clockWrong
	h.clockWrong = view.wrong()
	if m := h.members[l.peer]; m != nil && m.link == l {
		h.notify(m)
	}
	h.mu.Unlock()
	ahead, said := l.clock.get()
	if said == 0 {
		h.log.Info("clocks agree again", "member", l.name)
	} else if text := view.of(l.name, ahead, now); text != "" {
		h.log.Warn("clocks differ", "member", l.name, "reason", text)
	}
	if fresh && wrong != "" {
		h.log.Warn("this machine's clock is likely wrong", "reason", wrong)
	}
}
