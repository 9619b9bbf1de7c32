package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
)

// alike are sessions of shards of which the same is said.
type alike struct {
	first    *shardSession
	sessions int
	shards   []int // distinct, ascending
}

// add counts a session, and reports whether it is the one to show: the first that is done, or the first. Sessions come
// in the order of their shards.
func (a *alike) add(one *shardSession) (shown bool) {
	if shown = a.first == nil || !a.first.done && one.done; shown {
		a.first = one
	}
	a.sessions++
	if n := len(a.shards); n == 0 || a.shards[n-1] != one.shard {
		a.shards = append(a.shards, one.shard)
	}
	return shown
}

// text names the sessions.
func (a *alike) text(of int) string {
	switch {
	case a.sessions == 1:
		return a.first.name()
	case len(a.shards) == of:
		return "in all " + wording.Count(of, "shard")
	case len(a.shards) > 1:
		return fmt.Sprintf("in %d of %s", len(a.shards), wording.Count(of, "shard"))
	}
	return fmt.Sprintf("in %s of shard %d", wording.Count(a.sessions, "session"), a.shards[0])
}

// merge adds to the report what was found in the shards: by shard what is wrong there, and in one line what is the same
// in several.
func (s *sharded) merge() {
	type key struct {
		name, party, view string
		verdict           finding.Verdict
		detail            string // of what is not merged whatever it says
	}
	of := len(s.cuts)
	checks, seen := make(map[key]*alike), []key(nil)
	shown := make(map[key]finding.Check)
	for _, one := range s.sessions {
		for _, c := range one.audit.report.Checks {
			k := key{name: c.Name, party: c.Party, verdict: c.Verdict}
			if c.Verdict != finding.Passed {
				k.detail = c.Detail
			}
			if checks[k] == nil {
				checks[k] = new(alike)
				seen = append(seen, k)
			}
			if checks[k].add(one) {
				shown[k] = c
			}
		}
	}
	for _, k := range seen {
		a, c := checks[k], shown[k]
		if a.sessions > 1 && k.detail == "" {
			c.Detail = a.text(of) + "; in " + a.first.name() + ": " + c.Detail
		} else {
			c.Detail = a.text(of) + ": " + c.Detail
		}
		s.report.Checks = append(s.report.Checks, c)
	}
	attacks, order := make(map[key]*alike), []key(nil)
	best := make(map[key]finding.Attack)
	in := make(map[key]*shardSession)
	rows := make(map[key]int)
	for _, one := range s.sessions {
		for _, t := range one.audit.report.Attacks {
			t = s.unfinished(one, t)
			k := key{name: t.Name, party: t.Party, view: t.View, verdict: t.Verdict}
			switch t.Verdict {
			case finding.Leak:
				k.detail = one.name()
			case finding.Skipped, finding.NotApplicable:
				k.detail = t.Detail
			}
			if attacks[k] == nil {
				attacks[k] = new(alike)
				order = append(order, k)
			}
			if attacks[k].add(one); attacks[k].sessions == 1 || gain(t) > gain(best[k]) {
				best[k], in[k] = t, one
			}
			rows[k] += t.Rows
		}
	}
	for _, k := range order {
		a, t := attacks[k], best[k]
		t.Shards = a.text(of)
		switch {
		case t.Verdict == finding.Skipped || t.Verdict == finding.NotApplicable: // its sentence names them
		case a.sessions == 1:
			t.Detail = a.first.name() + ": " + t.Detail
		case t.Verdict == finding.Clean:
			t.Rows = rows[k]
			t.Detail = a.text(of) + "; in " + in[k].name() + ": " + t.Detail
		case t.Verdict == finding.Disclosed: // the first part is what the summary shows
			t.Detail = in[k].name() + ": " + t.Detail + "; the like " + a.text(of)
		}
		s.report.Attacks = append(s.report.Attacks, t)
	}
}

// unfinished judges an attack that was not tried on a session that broke off: too little was seen there, where it was
// tried on the same view of the session that is done.
func (s *sharded) unfinished(one *shardSession, t finding.Attack) finding.Attack {
	if one.done || t.Verdict != finding.Skipped {
		return t
	}
	done := s.find(one.shard, s.done[one.shard])
	if done != nil && slices.ContainsFunc(done.audit.report.Attacks, func(o finding.Attack) bool {
		return o.Name == t.Name && o.Party == t.Party && o.View == t.View && o.Verdict != finding.Skipped
	}) {
		t.Verdict = finding.NotApplicable
	}
	return t
}

// gain is how much an attack found, to choose the most telling of several.
func gain(t finding.Attack) float64 {
	zero := 0.0
	share := *cmp.Or(t.RecoveredShare, &zero)
	if t.Name == "known rows" || t.Name == "label leakage" { // of other attacks smaller is worse
		return share + *cmp.Or(t.Statistic, &zero)
	}
	return share - *cmp.Or(t.Statistic, &zero)
}
