package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol"
)

// Kinds of openings from which something about other parties' rows or labels follows.
const (
	learnedAngles      = "angles"
	learnedPartial     = "partial angles"
	learnedDerivatives = "derivatives"
	learnedScores      = "scores"
	learnedReach       = "reach"      // one number that all are told
	learnedCheck       = sealed.Check // whether the steps of a sealed training were taken
)

// sources are the operations that a kind of opening comes from, where it is not one of its own name.
func sources(kind string) []string {
	switch kind {
	case learnedAngles:
		return []string{"angles", "published-angles"}
	case learnedPartial:
		return []string{"published-angles"}
	case "products":
		return []string{"products-total", "objective-total"}
	case "class names", "target moments":
		return []string{"target"}
	}
	return []string{kind}
}

// ledger lists for every party what it learned by design, and what follows from it.
func (a *auditor) ledger() {
	for i, p := range a.in.Contract.Parties {
		for _, o := range a.in.Contract.Openings {
			if o.To != p.Name {
				continue
			}
			l := Learned{Party: p.Name, Kind: o.Kind, Declared: o.Count, Meaning: o.Meaning, Unread: true, Verdict: a.follows(o.Kind)}
			w := wordingOf(a.in.Contract.Job, o.Kind, o.Meaning)
			l.One, l.Many, l.Plain = w.one, w.many, w.plain
			a.count(&l, i)
			if !l.Unread && l.Count == 0 && a.whole(i) {
				l.Verdict = Clean // allowed, and not used
			}
			switch {
			case len(a.in.Contract.Job.Servers) > 0:
			case a.isSealed():
				a.bits(&l, i)
			case o.Kind == learnedAngles:
				a.equations(&l, i)
			case o.Kind == learnedScores || o.Kind == learnedDerivatives:
				a.evaluations(&l)
			}
			l.Plain += strings.TrimPrefix(l.Meaning, o.Meaning) // what was found out about the number of values
			a.report.Ledger = append(a.report.Ledger, l)
		}
	}
}

// whole reports whether the transcript of a party ends as it should, so that what it does not have did not happen. Of
// another as much may have opened as the contract allows.
func (a *auditor) whole(party int) bool {
	for _, e := range a.exams {
		if e.self != party {
			continue
		}
		return !slices.ContainsFunc(e.checks, func(c Check) bool {
			return (c.Name == checkComplete || c.Name == checkSessions) && c.Verdict != Passed
		})
	}
	return false
}

// follows judges a kind of opening.
func (a *auditor) follows(kind string) Verdict {
	if len(a.in.Contract.Job.Servers) > 0 {
		return a.followsServed()
	}
	switch kind {
	case learnedPartial:
		return Leak
	case learnedAngles, learnedDerivatives:
		if a.in.Contract.Job.Privacy == published {
			return Leak
		}
		return Disclosed
	}
	return Clean
}

// count fills in what the party's transcript says of an opening.
func (a *auditor) count(l *Learned, party int) {
	for _, e := range a.exams {
		if e.self != party {
			continue
		}
		l.Unread = false
		for _, seen := range e.learned {
			if !slices.Contains(sources(l.Kind), seen.Kind) {
				continue
			}
			switch {
			case e.served && inMessages(a.in.Contract.Job, l.Kind):
				l.Count += seen.Messages
			case e.served:
				l.Count += seen.servedValues(len(a.in.Contract.Parties))
			default:
				l.Count += seen.values(l.Kind)
			}
			if seen.Contributors > 0 && (l.Contributors == 0 || seen.Contributors < l.Contributors) {
				l.Contributors = seen.Contributors
			}
		}
		return
	}
}

// values returns how many values of a kind of opening were recorded.
func (l *learning) values(kind string) int64 {
	switch kind {
	case "class names", "target moments":
		return 2 * l.Told
	case learnedReach:
		return l.Told
	case protocol.KindRowset:
		return l.MostTold // a later session tells the same again
	case "products":
		return l.ToldBytes / 8
	case "labelled":
		return 8 * l.ToldBytes
	case learnedPartial:
		return l.Partial
	}
	return l.Words
}

// equations says how many equations the angles of a row are, for how many unknown columns, and
// their rank: that of the attack where it was run, else that of random frequencies.
func (a *auditor) equations(l *Learned, party int) {
	l.Features = int(l.Declared) / max(a.report.Job.Rows, 1)
	for i, p := range a.in.Contract.Parties {
		if i == party {
			continue
		}
		if c := a.in.Columns[i]; c != nil {
			l.UnknownColumns += len(c.Names)
		} else {
			l.UnknownColumns += p.Columns
		}
	}
	l.Rank = min(l.Features, l.UnknownColumns)
	for _, t := range a.report.Attacks {
		if t.Name == "difference" && t.Party == l.Party && t.View == viewActive && t.Rank > 0 {
			l.Rank = t.Rank
		}
	}
}

// evaluations says how often the model was evaluated at each row, at most, against how many features it
// has: that many equations in its cosines a party may have of a row.
func (a *auditor) evaluations(l *Learned) {
	params, _, err := a.in.params()
	if err != nil {
		return
	}
	n := l.Declared
	if !l.Unread {
		n = l.Count
	}
	rows := int64(max(a.report.Job.Rows, 1))
	l.Features = params.Features
	l.Meaning = fmt.Sprintf("%s; at most %d values a row, against %d features", l.Meaning, (n+rows-1)/rows, params.Features)
}
