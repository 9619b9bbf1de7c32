package summary

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Exposure is how much a job tells another party of single rows of one.
type Exposure string

// The exposures, from the least to the most.
const (
	Hidden  Exposure = "hidden"  // nothing of a single row
	Partial Exposure = "partial" // some bits of a row, or that the row is there
	Rebuilt Exposure = "rebuilt" // enough to work out rows or labels
)

// exposures are in order.
var exposures = []Exposure{Hidden, Partial, Rebuilt}

// Lead is the sentence that a person reads before all others: what others learn of the person's rows.
type Lead struct {
	Text     string
	Exposure Exposure
}

// LeadOf returns what a contract's other parties learn of the rows of the named one.
func LeadOf(c *contract.Contract, party string, k Known) Lead {
	switch {
	case c.Job.OverClients():
		return clientsLead(c, party, k)
	case c.Job.Task == contract.TaskAlign:
		return alignmentLead(c, party, k.Told)
	}
	return columnsLead(c, party, k)
}

// columnsLead is the Lead of a job over columns.
func columnsLead(c *contract.Contract, party string, k Known) Lead {
	own := &c.Parties[c.Job.Index(party)]
	if own.Rows == 0 {
		return Lead{"You bring no rows to this job: nothing of yours is learned.", Hidden}
	}
	lead := Lead{Exposure: Hidden}
	var says []string
	who := make(map[string][]string) // by what they will learn
	for i := range c.Parties {
		f := &c.Parties[i]
		if f.Name == party {
			continue
		}
		for _, l := range learnedOf(c, own, f, k.Told) {
			if who[l.Text] == nil {
				says = append(says, l.Text)
			}
			who[l.Text] = append(who[l.Text], f.Name)
			lead.Exposure = exposures[max(slices.Index(exposures, lead.Exposure), slices.Index(exposures, l.Exposure))]
		}
	}
	for i, text := range says {
		says[i] = wording.Named(who[text]) + " will " + text
	}
	idle := len(says) == 0
	sealed := c.Job.Privacy == keys.PrivacySealed
	if idle {
		who := map[bool]string{true: "No party alone", false: "No other party"}[sealed]
		says = append(says, who+" learns anything of a single one of your rows")
	}
	if sealed { // whatever the job computes
		three := k.Algorithms.Sharers(c)
		says = append(says, fmt.Sprintf("any two of %s together could rebuild %s of %s",
			wording.List([]string{three.Holder, three.Keeper, three.Helper}, "and"), brought(c, own), people(c)))
	}
	if lead.Text = strings.Join(says, "; ") + "."; !idle {
		return lead
	}
	for i := range c.Parties {
		for _, l := range learnedOf(c, &c.Parties[i], own, nil) {
			if l.Exposure == Rebuilt {
				lead.Text += " You will be able to rebuild the others' columns."
				return lead
			}
		}
	}
	return lead
}

// brought is what a party brings to a job over columns.
func brought(c *contract.Contract, own *contract.Facts) string {
	switch labels := holdsLabels(c, own); {
	case labels && own.Columns > 0:
		return ownColumns(own) + " and your labels"
	case labels:
		return "your labels"
	}
	return ownColumns(own)
}

// ownColumns counts a party's columns, to the party.
func ownColumns(own *contract.Facts) string {
	if own.Columns == 1 {
		return "your column"
	}
	return "your " + wording.Count(own.Columns, "column")
}

// people is of how many people a job is, at most.
func people(c *contract.Contract) string {
	if n := c.Job.Requests; n > 0 {
		return fmt.Sprintf("up to %s", persons(n))
	}
	return persons(c.Rows())
}

// persons counts people.
func persons(n int) string {
	if n == 1 {
		return "1 person"
	}
	return grouped(n) + " people"
}

// holdsLabels reports whether a party has labels in a job.
func holdsLabels(c *contract.Contract, f *contract.Facts) bool {
	return c.Job.Task == contract.TaskTrain && f.Role == consent.RoleActive
}

// rowsOfBin is how many rows a bin has at least for its points to hide them, if all bins had as many.
const rowsOfBin = 4

// learnedOf returns what a party will learn of another's rows in a job over columns, as it follows on "will".
func learnedOf(c *contract.Contract, own, to *contract.Facts, told *consent.Told) []Lead {
	if own.Name == to.Name || own.Rows == 0 {
		return nil
	}
	var list []Lead
	var bits, binned int64
	rebuilt, labels := false, false
	for i := range c.Openings {
		o := &c.Openings[i]
		if o.To != to.Name {
			continue
		}
		switch o.Kind {
		case fdskl.KindAngles, "partial angles":
			rebuilt = own.Columns > 0 // however few they are: cells have few values
		case fdskl.KindDerivatives:
			labels = holdsLabels(c, own)
		case "points", "z-scores":
			if holdsLabels(c, own) {
				binned = max(binned, o.Count)
			}
		case fdskl.KindLabelled:
			if !holdsLabels(c, own) {
				continue // it is of the label holders' rows
			}
		}
		if !consent.Knows(o.Kind) {
			list = append(list, Lead{fmt.Sprintf("learn %d %s, %s: what follows from that is not known here, so take it for "+
				"all of your rows", o.Count, wording.Clip(o.Kind), wording.Clip(o.Meaning)), Rebuilt})
			continue
		}
		its, _ := consent.Weigh(c, o)
		bits = min(bits, math.MaxInt64-its) + its
	}
	switch {
	case binned*rowsOfBin >= int64(c.Rows()): // so many that bins of one row may be the rule
		list = append(list, Lead{"be able to work out labels of yours, which are those of bins of one row", Rebuilt})
	case binned > 0:
		list = append(list, Lead{"learn how your labels lie in bins, of a bin of one row that row's label", Partial})
	}
	if rebuilt {
		list = append(list, Lead{fmt.Sprintf("be able to rebuild %s of %s", ownColumns(own), people(c)), Rebuilt})
	}
	if labels {
		list = append(list, Lead{fmt.Sprintf("be able to work out your labels of %s", people(c)), Rebuilt})
	}
	const counted = " (numbers to an eighth)" // of their rows: see docs/policy.md, row_bits
	of, exposure := "", Partial
	if told != nil { // not what of these bits is new: that is an estimate, and this is what opens
		switch {
		case told.Entropy > 0 && float64(bits) >= told.Entropy:
			of, exposure = fmt.Sprintf(", enough for all cells%s: your columns have about %.0f", counted, told.Entropy), Rebuilt
		case told.Entropy > 0:
			of = fmt.Sprintf(", of about %.0f that your columns have%s", told.Entropy, counted)
		}
	}
	if bits > 0 && !rebuilt {
		text := fmt.Sprintf("learn %s of each of %s%s", wording.Count(bits, "bit"), people(c), of)
		list = append(list, Lead{text, exposure})
	}
	return list
}

// few is below how many clients a total is none: who knows the own part knows the others'.
const few = 3

// clientsLead is the Lead of a job over clients.
func clientsLead(c *contract.Contract, party string, k Known) Lead {
	j := c.Job
	self := j.Index(party)
	if j.Serves(self) {
		return Lead{"You bring no rows to this job: nothing of yours is learned.", Hidden}
	}
	server := j.Parties[j.ServerOf(self)]
	if j.Privacy == keys.PrivacyPublished {
		return Lead{server + " will be able to rebuild your rows and labels: it gets each of your updates as it is.", Rebuilt}
	}
	others := ""
	if slices.ContainsFunc(c.Openings, func(o contract.Opening) bool { return o.To != party && o.To != server }) {
		others = "; the other parties get models made of them"
	}
	n, beside := 1., "" // of an algorithm of which nothing is known
	if summed := k.Algorithms.OverClients(j).Summed; summed != nil {
		n, beside = summed(j, server)
	}
	fewest := int(math.Ceil(min(float64(max(k.Least, j.MinContributors, 2)), n)))
	if fewest < few {
		return Lead{fmt.Sprintf("%s will be able to rebuild your rows: it learns totals of as few as %s%s.", server,
			wording.Count(fewest, "client"), others), Rebuilt}
	}
	return Lead{fmt.Sprintf("%s will learn totals of %d clients' updates or more%s.%s", server, fewest, others, beside),
		Partial}
}

// alignmentLead is the Lead of an alignment: of how many ids each other party learns whether they are this party's,
// and how many the asker has listed lately. The asker comes first.
func alignmentLead(c *contract.Contract, party string, told *consent.Told) Lead {
	p, err := psi.ParamsOf(c.Job)
	if err != nil { // no such job has become a contract
		return Lead{"The job's parameters cannot be read.", Rebuilt}
	}
	holders, own := 0, false
	var others []*contract.Facts
	for i := range c.Parties {
		f := &c.Parties[i]
		switch {
		case len(f.IDs) == 0:
			continue
		case f.Name == party:
			own = true
		case f.Name == p.Asker:
			others = slices.Insert(others, 0, f)
		default:
			others = append(others, f)
		}
		holders++
	}
	if len(others) == 0 {
		return Lead{"Nobody else lists ids: nothing of yours is learned.", Hidden}
	}
	whose, exposure := "in all tables", Hidden
	if own {
		exposure = Partial
	}
	switch {
	case own && holders == 2:
		whose = "yours"
	case own:
		whose = "yours and all others'"
	}
	text := fmt.Sprintf("%s will learn which of the %s it lists are %s", others[0].Name, listing(others[0]), whose)
	var more []string
	for _, f := range others[1:] {
		more = append(more, fmt.Sprintf("%s of its %s", f.Name, listing(f)))
	}
	if len(more) > 0 {
		text += ", and so will " + wording.List(more, "and")
	}
	if told != nil && told.Listed > 0 && others[0].Name == p.Asker {
		who := "it"
		if len(more) > 0 {
			who = p.Asker
		}
		text += fmt.Sprintf("; %s has listed %s in 30 days", who, grouped(told.Listed))
	}
	if l, ok := consent.ListsOf(c, party); ok && l.Percent() > consent.StandardPercent {
		text += fmt.Sprintf("; %s lists %s %% of the %s of %s, more than the usual %d %%: the rest is common in no "+
			"case, and may be guesses",
			l.Longest.Name, grouped(int(l.Percent())), listing(l.Shortest), l.Shortest.Name, consent.StandardPercent)
	}
	if p.MinRows < keys.DefaultMinRows {
		text += fmt.Sprintf("; this opens from %s on, fewer than the usual %d: so few come close to asking about single "+
			"people", wording.Count(p.MinRows, "common row"), keys.DefaultMinRows)
	}
	return Lead{text + ".", exposure}
}
