package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
)

// maxColumns is how many of its own columns a report names.
const maxColumns = 200

// byline says in half a line who made a report and when; empty when it does not say.
func byline(o finding.Origin) string {
	var parts []string
	if who := signer(o); who != "" {
		parts = append(parts, "by "+who)
	}
	if at := moment(o.At); at != "" {
		parts = append(parts, "on "+at)
	}
	if len(parts) == 0 {
		return ""
	}
	return "Made " + strings.Join(parts, ", ")
}

// signer names who made a report, by the name of the member or by the key.
func signer(o finding.Origin) string {
	if o.Member != "" {
		return o.Member
	}
	return clip(o.ID, 40)
}

// moment writes an RFC 3339 time for people, empty when it is none.
func moment(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return wording.Time(at)
}

// origin says in sentences who made a report, with what, when, and what the maker's own columns are.
func origin(r *finding.Report) []string {
	o := r.Origin
	var out []string
	switch {
	case o.Member != "" && o.ID != "":
		out = append(out, fmt.Sprintf("%s made this report, with the key %s.", capital(o.Member), o.ID))
	case o.ID != "":
		out = append(out, fmt.Sprintf("The owner of the key %s made this report, who is no party of the job.", o.ID))
	default:
		out = append(out, "The report does not say who made it.")
	}
	if at := moment(o.At); at != "" {
		program := named(o.Program, "a program that did not say its version")
		out = append(out, sentence(fmt.Sprintf("It was made on %s, by %s", at, program)))
	}
	if n := len(o.Columns); n > 0 {
		list := strings.Join(o.Columns[:min(n, maxColumns)], ", ")
		if n > maxColumns {
			list += fmt.Sprintf(" and %d more", n-maxColumns)
		}
		who := capital(named(o.Member, "the auditor"))
		out = append(out, sentence(fmt.Sprintf("%s's own columns, as its table names them: %s", who, list)),
			"The columns of all other parties have numbers here, in the order of their tables; their names are theirs to tell.")
	}
	return out
}

// keyTable lists the parties with their whole keys.
func keyTable(r *finding.Report) *table {
	t := newTable("The parties' keys", "party", "key, by which its signatures are known")
	for _, p := range r.Job.Parties {
		if p.ID != "" {
			t.add(named(p.Name, "unnamed"), p.ID)
		}
	}
	return t
}

// digestTable lists the fingerprints of what was audited.
func digestTable(r *finding.Report) *table {
	t := newTable("Fingerprints of what was audited", "what", "fingerprint")
	t.Note = "Those of transcripts are SHA-256 of the files. Contract and charter have the " +
		"fingerprints by which the program " +
		"and the signatures name them."
	if r.Job.Contract != "" {
		t.add("contract", r.Job.Contract)
	}
	if r.Job.Charter != "" {
		t.add("charter", r.Job.Charter)
	}
	for _, f := range r.Transcripts {
		if f.SHA256 != "" {
			t.add("transcript of "+named(f.Party, "a party"), f.SHA256)
		}
	}
	if len(r.Tables) > 0 {
		t.Note += " So are those of tables."
	}
	for _, f := range r.Tables {
		by := "which nobody confirmed"
		if f.Confirmed {
			by = "which its record of consent names"
		}
		t.add("table of "+named(f.Party, "a party")+", "+by, named(f.SHA256, "unknown"))
	}
	return t
}
