package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/hanse-project/hanse/protocol/contract"

	"github.com/hanse-project/hanse/audit/finding"
)

// maxNamed is how many parties a sentence names.
const maxNamed = 8

// story tells in three paragraphs who did what and when, how, and what was read of it; in jobs over clients
// another one for each server tells what was summed.
func story(r *finding.Report) []string {
	what := strings.Fields(deed(r.Job) + " " + when(r.Transcripts) + " " + holders(r.Job))
	said := []string{strings.Join(what, " ")}
	if len(r.Job.Purpose) > 0 {
		said = append(said, stated(r.Job.Purpose))
	}
	return append(append(said, mode(r.Job), read(r)), federations(r.Federations)...)
}

// stated says what the parties signed as the job's purpose.
func stated(purpose []finding.Stated) string {
	parts := make([]string, len(purpose))
	for i, s := range purpose {
		parts[i] = fmt.Sprintf("%s: %q", s.Field, s.Text)
	}
	return "What it is for, as all parties have signed it: " + strings.Join(parts, "; ") + "."
}

// deed says who did what, on what.
func deed(j finding.Job) string {
	did := "ran a job together"
	switch j.Task {
	case "train":
		did = "trained a model together"
	case "predict":
		did = "scored rows with their model"
	case "align":
		did = "found the rows that all of them have"
	}
	names := make([]string, 0, len(j.Parties))
	for _, p := range j.Parties {
		names = append(names, named(p.Name, "an unnamed party"))
	}
	who := list(names)
	switch {
	case len(j.Servers) > maxNamed:
		who = plural(len(j.Servers), "server", "servers") + " and " + plural(len(names)-len(j.Servers), "client", "clients")
	case len(j.Servers) > 0:
		who = list(j.Servers) + " and " + plural(len(names)-len(j.Servers), "client", "clients")
	case len(names) > maxNamed:
		who = fmt.Sprintf("%s and %d other parties", strings.Join(names[:maxNamed-1], ", "), len(names)-maxNamed+1)
	}
	s := fmt.Sprintf("%s %s in the job %q", named(who, "unknown parties"), did, j.Name)
	if j.Rows > 0 && j.Task != contract.TaskAlign { // tables of different lengths
		s += ", on " + plural(j.Rows, "row", "rows")
	}
	return sentence(s)
}

// holders says who brought labels and who only features.
func holders(j finding.Job) string {
	if j.Task == contract.TaskAlign {
		return ""
	}
	var active []string
	passive, columns := 0, 0
	for _, p := range j.Parties {
		switch p.Role {
		case "active":
			active = append(active, named(p.Name, "an unnamed party"))
		case "passive":
			passive++
		}
		columns += max(p.Columns, 0)
	}
	if len(active) == 0 || len(active) > maxNamed {
		return ""
	}
	s := list(active) + " held the labels"
	if passive > 0 {
		s += "; the others brought only columns"
	}
	return sentence(fmt.Sprintf("%s; together they had %s", s, plural(columns, "column", "columns")))
}

// mode says how the parties computed.
func mode(j finding.Job) string {
	s := fmt.Sprintf("The algorithm was %s, the privacy mode %s", named(j.Algorithm, "not named"),
		named(j.Privacy, "not named"))
	if j.Task == contract.TaskAlign {
		return sentence("The algorithm was psi: two of the parties compared rows under secrets of both, by points or by " +
			"codes that a third counted; where enough are common, all learned how many and then which, and else nothing more")
	}
	switch j.Privacy {
	case "published":
		s += ": the protocol as it was published, which is known to leak and serves to reproduce and to compare"
	case "masked":
		if j.Aggregation == "he" && len(j.Servers) > 0 {
			s += ": what clients send is encrypted under a key that some of them hold together, sums are formed " +
				"of the ciphertexts, and only totals are opened, to the clients' server"
			break
		}
		if j.Aggregation == "he" {
			s += ": what passes between the parties is encrypted under a key of which each holds a share, sums " +
				"are formed of the ciphertexts, and only totals are opened, by all together, to the party that the contract names"
			break
		}
		s += ": what passes between the parties lies under masks that are used once, and only totals are " +
			"opened, to the party that the contract names"
	case "sealed":
		s += ": what passes between the parties lies under masks and pads that are used once, three of " +
			"them compute on shares, and only predictions and numbers over all rows are opened"
	}
	if j.Beside != "" {
		s += "; beside the totals " + j.Beside
	}
	if j.Topology != "" {
		s += fmt.Sprintf("; sums ran over a %s", j.Topology)
	}
	return sentence(s) + shareholders(j)
}

// shareholders names the three of a sealed job that hold shares, and what two of them could do.
func shareholders(j finding.Job) string {
	var who []string
	for _, p := range j.Parties {
		if p.Share != "" {
			who = append(who, fmt.Sprintf("%s is the %s", named(p.Name, "an unnamed party"), p.Share))
		}
	}
	if len(who) == 0 {
		return ""
	}
	return " " + sentence(list(who)) + " Any two of these three together can rebuild every column, the " +
		"labels and the model; that they do not is trusted, and transcripts cannot show it."
}

// roleOf is a party's role in the job, and among the three of a sealed one.
func roleOf(p finding.Party) string {
	if p.Share == "" || p.Share == p.Role {
		return p.Role
	}
	return p.Role + ", " + p.Share
}

// when says between which times the transcripts lie.
func when(transcripts []finding.Transcript) string {
	var first, last time.Time
	for _, t := range transcripts {
		from, err1 := time.Parse(time.RFC3339, t.First)
		to, err2 := time.Parse(time.RFC3339, t.Last)
		if err1 != nil || err2 != nil {
			continue
		}
		if first.IsZero() || from.Before(first) {
			first = from
		}
		if to.After(last) {
			last = to
		}
	}
	if first.IsZero() {
		return ""
	}
	return fmt.Sprintf("It ran %s.", span(first.UTC(), last.UTC()))
}

// span writes two times of one day or of two.
func span(first, last time.Time) string {
	const day, clock = time.DateOnly, "15:04:05"
	if first.Format(day) == last.Format(day) {
		return fmt.Sprintf("on %s, from %s to %s UTC", first.Format(day), first.Format(clock), last.Format(clock))
	}
	return fmt.Sprintf("from %s %s to %s %s UTC", first.Format(day), first.Format(clock),
		last.Format(day), last.Format(clock))
}

// read says what the audit had before it.
func read(r *finding.Report) string {
	audited := 0
	for _, p := range r.Job.Parties {
		if p.Audited {
			audited++
		}
	}
	s := fmt.Sprintf("The audit read the transcripts of %d of the %s", audited,
		plural(len(r.Job.Parties), "party", "parties"))
	if took := duration(r.Seconds); took != none {
		s += " and took " + took
	}
	return s + "."
}
