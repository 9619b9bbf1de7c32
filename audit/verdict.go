package audit

import (
	"fmt"
	"strings"
)

// conclude settles the overall verdict and says it in a sentence or two.
func (a *auditor) conclude() {
	r := a.report
	r.Verdict = Clean
	worsen := func(v Verdict) {
		if v == Failed {
			v = Unverifiable
		}
		if severity(v) > severity(r.Verdict) {
			r.Verdict = v
		}
	}
	if r.Job.Privacy == published {
		worsen(Leak)
	}
	for _, c := range r.Checks {
		worsen(c.Verdict)
	}
	for _, t := range r.Attacks {
		worsen(t.Verdict)
	}
	for _, l := range r.Ledger {
		if l.Kind != learnedAngles || l.Features > 0 {
			worsen(l.Verdict)
		}
	}
	r.Summary = a.summary()
}

// severity orders verdicts.
func severity(v Verdict) int {
	switch v {
	case Declared:
		return 1
	case Unverifiable:
		return 2
	case Leak:
		return 3
	}
	return 0
}

// summary says the verdict with its reasons, the most telling first.
func (a *auditor) summary() string {
	r := a.report
	switch r.Verdict {
	case Leak:
		return sentences("What the contract does not declare was given away", a.reasons(Leak))
	case Unverifiable:
		return sentences("The transcripts are not what an honest run of the contract leaves", a.reasons(Failed))
	case Declared:
		if len(r.Federations) > 0 {
			return "Totals over clients opened, as the contract says: " + a.federations() + "." + a.rest()
		}
		if len(r.Job.Servers) > 0 {
			return sentences("As the contract says, something about the clients follows from what opens", a.reasons(Declared)) + a.rest()
		}
		if a.isSealed() {
			return sentences("As the contract says, so much opens that others' values may follow from it", a.reasons(Declared)) + a.rest() + a.collusion()
		}
		return sentences("As the contract says, a party can rebuild what others hold", a.reasons(Declared)) + a.rest()
	}
	return fmt.Sprintf("No attack gained anything, and %s passed.", counted(uint64(a.passed()), "check")) + a.rest() + a.collusion()
}

// federations says what the servers whose transcripts were read have summed.
func (a *auditor) federations() string {
	var list []string
	for i := range a.report.Federations {
		list = append(list, a.report.Federations[i].sentence())
	}
	return strings.Join(list, "; ")
}

// reasons lists the details behind a verdict: rows rebuilt first, other attacks where there are none,
// then checks, then what follows from openings.
func (a *auditor) reasons(v Verdict) []string {
	list := a.gains(v, func(name string) bool { return name == "difference" })
	if len(list) == 0 {
		list = a.gains(v, func(string) bool { return true })
	}
	for _, c := range a.report.Checks {
		if c.Verdict == v {
			list = append(list, strings.TrimPrefix(c.Party+", ", ", ")+c.Name+": "+c.Detail)
		}
	}
	if len(list) == 0 {
		for _, l := range a.report.Ledger {
			if l.Verdict == v {
				list = append(list, fmt.Sprintf("%s learns %d %s: %s", l.Party, l.Declared, l.Kind, l.Meaning))
			}
		}
	}
	return list
}

// gains lists what attacks of some names with a verdict found, in short.
func (a *auditor) gains(v Verdict, wanted func(name string) bool) []string {
	var list []string
	for _, t := range a.report.Attacks {
		if t.Verdict == v && wanted(t.Name) {
			short, _, _ := strings.Cut(t.Detail, ";")
			list = append(list, short)
		}
	}
	return list
}

// sentences joins an opening with the first reasons.
func sentences(opening string, reasons []string) string {
	const most = 3
	text := opening
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons[:min(most, len(reasons))], "; ")
	}
	if n := len(reasons) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text + "."
}

// passed counts the checks that passed.
func (a *auditor) passed() int {
	n := 0
	for _, c := range a.report.Checks {
		if c.Verdict == Passed {
			n++
		}
	}
	return n
}

// rest says what the other attacks found.
func (a *auditor) rest() string {
	clean, skipped := 0, 0
	for _, t := range a.report.Attacks {
		switch t.Verdict {
		case Clean:
			clean++
		case Skipped:
			skipped++
		}
	}
	text := ""
	if clean > 0 {
		text += " " + counted(uint64(clean), "other attack") + " found nothing."
	}
	if skipped > 0 {
		text += fmt.Sprintf(" %d could not be tried.", skipped)
	}
	return text
}

// unchecked says what the audit did not look at.
func (a *auditor) unchecked() {
	r := a.report
	var unread []string
	for _, p := range r.Job.Parties {
		if !p.Audited {
			unread = append(unread, p.Name)
		}
	}
	if len(unread) > 0 {
		r.Unchecked = append(r.Unchecked, fmt.Sprintf("The transcripts of %s were not read: of what they saw, only their countersignatures speak.", listed(unread)))
	}
	for _, t := range r.Attacks {
		if t.Verdict == Skipped {
			r.Unchecked = append(r.Unchecked, fmt.Sprintf("%s, %s's view (%s): %s.", t.Name, t.Party, t.View, t.Detail))
		}
	}
	for _, c := range r.Checks {
		if c.Verdict == Skipped {
			r.Unchecked = append(r.Unchecked, fmt.Sprintf("%s: %s.", c.Name, c.Detail))
		}
	}
	a.sharesUnchecked()
	r.Unchecked = append(r.Unchecked,
		"Proposing, consenting and comparing row ids come before the contract and are not in transcripts; docs/threat-model.md says what they show.",
		"Transcripts tell what went over the links of the job. They do not tell whether a party trained on true data, or what it did with what it learned.")
}
