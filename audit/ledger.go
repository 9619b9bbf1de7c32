package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/keys"
)

// ledger lists for every party what it learned by design, and what follows from it.
func (a *auditor) ledger() {
	for i, p := range a.in.Contract.Parties {
		for _, o := range a.in.Contract.Openings {
			if o.To != p.Name {
				continue
			}
			l := finding.Learned{Party: p.Name, Kind: o.Kind, Declared: o.Count, Meaning: o.Meaning, Unread: true,
				Verdict: a.follows(o.Kind)}
			w := phraseOf(a.in.Contract.Job, o.Kind, o.Meaning)
			l.One, l.Many, l.Plain = w.one, w.many, w.plain
			a.count(&l, i)
			switch {
			case !l.Unread && l.Count == 0 && a.whole(i):
				l.Verdict = finding.Clean // allowed, and not used
			case l.Unread && l.Verdict == finding.Clean:
				l.Verdict = finding.NotRead
			}
			switch {
			case len(a.in.Contract.Job.Servers) > 0:
			case a.isSealed():
				a.bits(&l, i)
			case o.Kind == evidence.OpeningAngles:
				a.equations(&l, i)
			case o.Kind == evidence.OpeningScores || o.Kind == evidence.OpeningDerivatives:
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
	if a.shards != nil && !a.shards.whole(party) {
		return false
	}
	e := a.exam(party)
	return e != nil && !slices.ContainsFunc(e.Checks, func(c finding.Check) bool {
		return (c.Name == finding.CheckComplete || c.Name == finding.CheckSessions) && c.Verdict != finding.Passed
	})
}

// follows judges a kind of opening.
func (a *auditor) follows(kind string) finding.Verdict {
	if len(a.in.Contract.Job.Servers) > 0 {
		if a.in.Contract.Job.Privacy == keys.PrivacyPublished {
			return finding.Leak
		}
		return finding.Disclosed
	}
	switch kind {
	case evidence.OpeningPartialAngles:
		return finding.Leak
	case evidence.OpeningAngles, evidence.OpeningDerivatives:
		if a.in.Contract.Job.Privacy == keys.PrivacyPublished {
			return finding.Leak
		}
		return finding.Disclosed
	}
	if !consent.Knows(kind) { // of another program's algorithm
		return finding.Disclosed
	}
	return finding.Clean
}

// count fills in what the party's transcript says of an opening.
func (a *auditor) count(l *finding.Learned, party int) {
	e := a.exam(party)
	if e == nil {
		return
	}
	shards := a.shards.of(party)
	// The algorithm says which messages open something, and what of them is counted.
	algorithm := a.in.Algorithms.OverClients(a.in.Contract.Job)
	l.Unread = len(shards) == 0 && a.opensInShards(l.Kind) || e.Served && algorithm.Name == ""
	learned := e.Learned
	for _, one := range shards {
		learned = append(slices.Clip(learned), one.Learned...)
	}
	for _, seen := range learned {
		if !slices.Contains(evidence.SourcesOf(l.Kind), seen.Kind) {
			continue
		}
		switch {
		case e.Served && slices.Contains(algorithm.Messages, l.Kind):
			l.Count += seen.Messages
		case e.Served:
			l.Count += seen.ServedValues(len(a.in.Contract.Parties))
		default:
			l.Count += seen.Values(l.Kind)
		}
		if seen.Contributors > 0 && (l.Contributors == 0 || seen.Contributors < l.Contributors) {
			l.Contributors = seen.Contributors
		}
	}
}

// equations says how many equations the angles of a row are, for how many unknown columns, and
// their rank: that of the attack where it was run, else that of random frequencies.
func (a *auditor) equations(l *finding.Learned, party int) {
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
		if t.Name == "difference" && t.Party == l.Party && t.View == views.ViewActive && t.Rank > 0 {
			l.Rank = t.Rank
		}
	}
}

// evaluations says how often the model was evaluated at each row, at most, against how many features it
// has: that many equations in its cosines a party may have of a row.
func (a *auditor) evaluations(l *finding.Learned) {
	params, _, err := a.in.Params()
	if err != nil {
		return
	}
	n := l.Declared
	if !l.Unread {
		n = l.Count
	}
	rows := int64(max(a.report.Job.Rows, 1))
	l.Features = params.Features
	l.Meaning = fmt.Sprintf("%s; at most %d values a row, against %d features", l.Meaning,
		(n+rows-1)/rows, params.Features)
}
