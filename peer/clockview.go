package peer

import (
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

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

// clocks is what this host has said of its own clock.
type clocks struct {
	members *members
	now     func() time.Time
	log     *slog.Logger
	wrong   atomic.Bool // it was said that this node's clock is likely wrong
}

// view compares the clocks of all connected members with this node's.
func (c *clocks) view() clockView {
	var ahead []time.Duration
	for _, l := range c.members.links() {
		d, _ := l.clock.get()
		ahead = append(ahead, d)
	}
	return viewClocks(ahead)
}

// note says that a link has news of its peer's clock, and what follows for this node's own.
func (c *clocks) note(l *link) {
	now, view := c.now(), c.view()
	wrong := view.own(now)
	fresh := c.wrong.Swap(view.wrong()) != view.wrong()
	c.members.wakeFor(l)
	ahead, said := l.clock.get()
	if said == 0 {
		c.log.Info("clocks agree again", "member", l.name)
	} else if text := view.of(l.name, ahead, now); text != "" {
		c.log.Warn("clocks differ", "member", l.name, "reason", text)
	}
	if fresh && wrong != "" {
		c.log.Warn("this machine's clock is likely wrong", "reason", wrong)
	}
}
