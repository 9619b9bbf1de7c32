package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
)

// The exit codes of commands that end with an audit. 64 is a wrong command line, in all commands.
const (
	ExitClean        = 0 // everything was looked at, and nothing found that the contract had not announced
	ExitUnverifiable = 1
	ExitLeak         = 3
	ExitPartial      = 4 // nothing found that the contract had not announced, and not everything looked at
)

// found is what an audit came to, as far as its verdict depends on it.
type found struct {
	leak      bool // something was given away that the contract does not announce
	broken    bool // the transcripts, or the contract under its charter, are not what an honest run has
	disclosed bool // something can be rebuilt or is unprotected, as the contract had announced
	unseen    bool // something could have been looked at and was not
}

// ladder chooses the verdict and the exit code. The worst comes first; what was announced does not hide what was not
// looked at, nor the other way round: the word says the one, the exit code the other.
func ladder(f found) (finding.Verdict, int) {
	switch {
	case f.leak:
		return finding.Leak, ExitLeak
	case f.broken:
		return finding.Unverifiable, ExitUnverifiable
	case f.disclosed && f.unseen:
		return finding.Disclosed, ExitPartial
	case f.disclosed:
		return finding.Disclosed, ExitClean
	case f.unseen:
		return finding.Partial, ExitPartial
	}
	return finding.Clean, ExitClean
}

// account is what an audit was given, what it has found, and what it says of that.
type account struct {
	in     evidence.Input
	report *finding.Report
}

// conclude settles the verdict and says it in a few sentences.
func (a *account) conclude() {
	// Lists what could have been looked at and was not: each makes a clean audit partial.
	r := a.report
	if unread := a.unread(); len(unread) > 0 {
		r.NotLookedAt = append(r.NotLookedAt, fmt.Sprintf("The transcripts of %s were not read: of what "+
			"they saw, only the others' transcripts and signatures speak.", several(unread)))
	}
	for _, t := range r.Transcripts {
		told := func(c finding.Check) bool {
			return c.Party == t.Party && c.Name == finding.CheckComplete && c.Verdict != finding.Passed
		}
		if t.Cut && !slices.ContainsFunc(r.Checks, told) {
			r.NotLookedAt = append(r.NotLookedAt, fmt.Sprintf("The end of %s's transcript: it has no last "+
				"signature, as while the job is under way, or after a crash.", t.Party))
		}
	}
	for _, c := range r.Checks {
		if c.Verdict == finding.Skipped {
			r.NotLookedAt = append(r.NotLookedAt, capital(strings.TrimPrefix(c.Party+", ", ", ")+c.Name+": "+c.Detail)+".")
		}
	}
	for _, t := range r.Attacks {
		if t.Verdict == finding.Skipped {
			r.NotLookedAt = append(r.NotLookedAt, t.Sentence())
		}
	}
	f := a.found()
	a.report.Verdict, a.report.Exit = ladder(f)
	a.report.Summary = a.summary(f)
	if unread := a.unread(); len(unread) > 0 {
		not := "Not read: the transcripts of " + several(unread) + "."
		if v := a.report.Verdict; v == finding.Partial || v == finding.Disclosed {
			a.report.Summary = not + " " + a.report.Summary
		} else { // a leak counts more
			a.report.Summary += " " + not
		}
	}
}

// found gathers what checks, attacks and openings came to.
func (a *account) found() found {
	r := a.report
	f := found{unseen: len(r.NotLookedAt) > 0}
	note := func(v finding.Verdict) {
		switch v {
		case finding.Leak:
			f.leak = true
		case finding.Failed, finding.Unverifiable:
			f.broken = true
		case finding.Disclosed:
			f.disclosed = true
		}
	}
	for _, c := range r.Checks {
		note(c.Verdict)
	}
	for _, t := range r.Attacks {
		note(t.Verdict)
	}
	for _, l := range r.Ledger {
		if l.Kind != evidence.OpeningAngles || l.Features > 0 {
			note(l.Verdict)
		}
	}
	return f
}

// summary says the verdict with its reasons, the most telling first, and then what was not looked at.
func (a *account) summary(f found) string {
	text := ""
	switch a.report.Verdict {
	case finding.Leak:
		text = sentences("What the contract does not announce was given away", a.reasons(finding.Leak))
		if f.broken {
			const besides = "The transcripts are, besides, not what an honest run of the contract leaves"
			text += " " + sentences(besides, a.reasons(finding.Failed))
		}
	case finding.Unverifiable:
		text = sentences("The transcripts are not what an honest run of the contract leaves", a.reasons(finding.Failed))
	case finding.Disclosed:
		text = a.announced() + a.rest()
		if a.isSealed() {
			text += a.collusion()
		}
	case finding.Partial:
		text = "Nothing was found in what was looked at"
		if unseen := a.unseen(); unseen != "" {
			text += "; that leaves out " + unseen
		}
		return text + fmt.Sprintf(". %s passed.", wording.Count(a.passed(), "check")) + a.rest() + a.collusion()
	default:
		text = fmt.Sprintf("No attack gained anything, and %s passed.", wording.Count(a.passed(), "check")) +
			a.rest() + a.collusion()
	}
	if unseen := a.unseen(); unseen != "" {
		text += " Not looked at: " + unseen + "."
	}
	return text
}

// reasons lists the details behind a verdict: rows rebuilt first, other attacks where there are none,
// then checks, then what follows from openings.
func (a *account) reasons(v finding.Verdict) []string {
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
				list = append(list, l.Party+" learns "+l.Plain)
			}
		}
	}
	return list
}

// gains lists what attacks of some names with a verdict found, in short.
func (a *account) gains(v finding.Verdict, wanted func(name string) bool) []string {
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
func (a *account) passed() int {
	n := 0
	for _, c := range a.report.Checks {
		if c.Verdict == finding.Passed {
			n++
		}
	}
	return n
}

// rest says how many of the attacks found nothing.
func (a *account) rest() string {
	clean, gained := 0, false
	for _, t := range a.report.Attacks {
		if t.Verdict == finding.Clean {
			clean++
		}
		gained = gained || t.Verdict == finding.Disclosed
	}
	switch {
	case clean == 0:
		return ""
	case gained:
		return " " + wording.Count(clean, "other attack") + " found nothing."
	}
	return " " + wording.Count(clean, "attack") + " found nothing."
}

// unread names the parties whose transcripts were not read.
func (a *account) unread() []string {
	var list []string
	for _, p := range a.report.Job.Parties {
		if !p.Audited {
			list = append(list, p.Name)
		}
	}
	return list
}

// unseen sums up what else than transcripts was not looked at.
func (a *account) unseen() string {
	r := a.report
	var parts []string
	attacks, others := 0, len(r.NotLookedAt)
	if len(a.unread()) > 0 {
		others-- // the summary begins with them
	}
	for _, c := range r.Checks {
		if c.Name == finding.CheckCharter && c.Verdict == finding.Skipped {
			parts, others = append(parts, "the charter"), others-1
		}
	}
	for _, t := range r.Attacks {
		if t.Verdict == finding.Skipped {
			attacks++
		}
	}
	if attacks > 0 {
		parts, others = append(parts, wording.Count(attacks, "attack")+" not tried"), others-attacks
	}
	if others > 0 {
		parts = append(parts, wording.Count(others, "other thing"))
	}
	return wording.List(parts, "and")
}

// several lists names, and of many says how many more there are.
func several(names []string) string {
	const most = 8
	if len(names) <= most {
		return wording.List(names, "and")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most-1], ", "), len(names)-most+1)
}

// capital writes the first letter large.
func capital(s string) string {
	if s != "" && 'a' <= s[0] && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// limits says what no audit of transcripts can tell.
func (a *account) limits() {
	r := a.report
	for _, t := range r.Attacks {
		if t.Verdict == finding.NotApplicable {
			r.Unchecked = append(r.Unchecked, t.Sentence())
		}
	}
	a.sharesUnchecked()
	r.Unchecked = append(r.Unchecked,
		"Proposing, consenting and comparing row ids come before the contract and are not in transcripts; "+
			"docs/threat-model.md says what they show.",
		"Transcripts tell what went over the links of the job. They do not tell whether a party trained on true data, "+
			"or what it did with what it learned.")
}
