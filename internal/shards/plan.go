package shards

import "time"

// plan is what the coordinator asks for next, as it follows from how the shards stand at all parties.
type plan struct {
	offers   []Offer // to be delegated: all parties have a worker that waits
	release  []Offer // done at all parties, and not told yet
	done     []uint32
	complete bool  // all shards are done at all parties, with the generations of done
	waits    int   // the first shard that waits for workers
	missing  []int // the parties that have none for it; nil: no shard waits
}

// planOf makes a plan, where some shards are released already. The answers are in the order of the parties, each with
// the Standing of all shards.
func planOf(all []Response, released []bool) plan {
	p := plan{complete: true}
	for i, told := range released {
		s, missing := together(all, i)
		p.done = append(p.done, s.Done)
		switch {
		case s.Done > 0 && !s.Running:
			if !told {
				p.release = append(p.release, Offer{Shard: i, Generation: s.Done})
			}
			continue
		case s.Ready && !s.Running:
			p.offers = append(p.offers, Offer{Shard: i, Generation: s.Latest + 1})
		case !s.Running && p.missing == nil:
			p.waits, p.missing = i, missing
		}
		p.complete = false
	}
	return p
}

// together is how a shard stands at all parties: Latest of all, Running at any, Ready and Done at each. It returns the
// parties where it is not Ready.
func together(all []Response, shard int) (s Standing, missing []int) {
	s.Ready, s.Done = true, all[0].Standing[shard].Done
	for p, a := range all {
		at := a.Standing[shard]
		if at.Done != s.Done {
			s.Done = 0
		}
		if !at.Ready {
			s.Ready, missing = false, append(missing, p)
		}
		s.Latest, s.Running = max(s.Latest, at.Latest), s.Running || at.Running
	}
	return s, missing
}

// waiting is a wait for workers.
type waiting struct{ since, told time.Time }

// due reports whether people are to hear now that workers are awaited: when it has lasted for waitTime, and again.
func (w *waiting) due(awaited bool, now time.Time) bool {
	switch {
	case !awaited:
		w.since = time.Time{}
	case w.since.IsZero():
		w.since, w.told = now, now
	case now.Sub(w.told) >= waitTime:
		w.told = now
		return true
	}
	return false
}
