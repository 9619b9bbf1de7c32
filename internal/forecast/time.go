package forecast

import "github.com/hanse-project/hanse/protocol/contract"

// Place is what this node knows of where a job's parties are.
type Place struct {
	Together bool    // all of them are on this machine, whose cores they share
	Trip     float64 // seconds of a word and its answer, to whoever is farthest of those known; 0: nobody knows
	Rate     float64 // bytes a second to and from the others, the slowest known; 0: nobody knows
}

// copiesOfMessage is how often a message's bytes are copied at one end, beside TLS: into words or out of them, and into
// a frame or out of it.
const copiesOfMessage = 2

// framePieces is what a frame takes at one end, in short messages over bare TLS: its stream, the checks of the session,
// the budget and the transcript take about as much each.
const framePieces = 4

// passings is how often a node carries what it passes on between a worker and another party: in and out.
const passings = 2

// seconds is how long work takes, with the messages of a session and of its shards; rates are seconds of a unit. What
// is not known of the line is not in it.
func seconds(w *work, t, inShards *traffic, c *contract.Contract, self int, s *Speeds, at Place) float64 {
	total := 0.0
	for i := range w.steps {
		total += w.steps[i].seconds(s, at, len(c.Parties))
	}
	total += messages(w, t, c, s, at, 0)
	if c.Job.Shards > 0 {
		total += messages(w, inShards, c, s, at, c.Job.Shards)
		passed := new(step)
		for p := range c.Parties {
			passed.add(p, Carried, passings*float64(inShards.sent[p].Most+inShards.received[p].Most))
			passed.add(p, Message, passings*float64(inShards.frames[p]))
		}
		total += passed.seconds(s, at, len(c.Parties))
	}
	if !at.Together && at.Rate > 0 {
		total += float64(max(t.sent[self].Most+inShards.sent[self].Most,
			t.received[self].Most+inShards.received[self].Most)) / at.Rate
	}
	return total
}

// messages is how long the messages of a session take at its ends: at nodes, or at so many workers of each party.
func messages(w *work, t *traffic, c *contract.Contract, s *Speeds, at Place, workers int) (total float64) {
	// Messages go on beside the work, on the same cores: what they take there adds up all the same.
	messages := &step{workers: workers}
	kept := 0.0
	if c.Job.Record == contract.RecordFull {
		kept = 1
	}
	for p := range c.Parties {
		bytes := float64(t.sent[p].Most + t.received[p].Most)
		messages.add(p, Carried, bytes)
		messages.add(p, Hashed, bytes*(1+kept))
		messages.add(p, Written, kept*bytes)
		messages.add(p, Moved, copiesOfMessage*bytes)
		messages.add(p, Message, framePieces*float64(t.frames[p]))
		messages.add(p, Masked, float64(t.masked[p])*float64(len(c.Parties)-1))
	}
	messages.trips = float64(t.rounds)
	if w.inTurn {
		for _, l := range messages.loads {
			total += l.units * s.Unit[l.kind] / messages.atOnce(s, at)
		}
		messages.loads = nil
	}
	return total + messages.seconds(s, at, len(c.Parties))
}

// atOnce is how many shards are worked on at the same time: 1 where there are none.
func (s *step) atOnce(speeds *Speeds, at Place) float64 {
	if at.Together {
		return float64(max(1, min(s.workers, speeds.Cores)))
	}
	return float64(max(1, s.workers))
}

// seconds is how long a step takes: as long as its slowest party or, where they share a machine, as its cores need for
// all of them.
func (s *step) seconds(speeds *Speeds, at Place, parties int) float64 {
	all, alone := make([]float64, parties), make([]float64, parties)
	for _, l := range s.loads {
		took := l.units * speeds.Unit[l.kind]
		all[l.party] += took
		if l.alone {
			alone[l.party] += took
		}
	}
	cores, slowest, sum := float64(speeds.Cores), 0.0, 0.0
	if s.workers > 0 {
		cores = s.atOnce(speeds, at)
	}
	for p := range parties {
		slowest = max(slowest, alone[p]+(all[p]-alone[p])/cores)
		sum += all[p]
	}
	if at.Together {
		return max(slowest, sum/float64(speeds.Cores)) + s.trips*2*speeds.Unit[Message]
	}
	return slowest + s.trips*max(at.Trip/2, 2*speeds.Unit[Message])
}
