package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// isSealed reports whether the job computes on shares, and opens no angles.
func (a *account) isSealed() bool {
	return a.report.Job.Privacy == keys.PrivacySealed && a.in.OverColumns()
}

// bits says how many bits an opening of a sealed job tells, and of predictions how many of each row, against what the
// other parties' columns have.
func (a *auditor) bits(l *finding.Learned, party int) {
	params, _, err := a.in.Params()
	if err != nil && l.Kind == evidence.OpeningScores {
		return // the bits of a score are the model's
	}
	training := a.in.Contract.Job.Task == contract.TaskTrain
	n := l.Declared
	if !l.Unread {
		n = l.Count
	}
	each := int64(sealed.OpeningBits(params, l.Kind, training))
	l.Bits = n * each
	switch {
	case l.Kind == evidence.OpeningScores && training && n > 0: // as the logistic loss had it in an earlier version
		l.Meaning += "; trainings of this version open none, and it does not say how many bits of a row these are"
		l.Verdict = finding.Disclosed
	case l.Kind == evidence.OpeningScores && n > 0:
		rows := int64(max(a.report.Job.Rows, 1))
		a.bitsOfRows(l, party, max((n+rows-1)/rows, int64(params.Scores())), each) // not all rows may be asked for
	case l.Bits > 0:
		l.Meaning += fmt.Sprintf("; about %d bits in all", l.Bits)
	}
}

// bitsOfRows says what scores of rows under so many models tell, and whether that is as many numbers of a row as there
// are columns that the party does not have, or as many bits. A prediction is what the job is for.
func (a *auditor) bitsOfRows(l *finding.Learned, party int, models, each int64) {
	l.Models, l.BitsPerRow = int(models), int(models*each)
	l.UnknownColumns = a.unknownColumns(party)
	enough := int64(l.UnknownColumns) <= models
	l.Entropy = a.entropy(party)
	if l.Entropy != nil && float64(l.BitsPerRow) >= *l.Entropy {
		enough = true
	}
	if enough {
		l.Meaning += "; that can be as much as these columns have, so that values of columns with few values may follow"
	}
}

// unknownColumns counts the columns of all other parties, as the contract has them.
func (a *auditor) unknownColumns(party int) int {
	n := 0
	for i, p := range a.in.Contract.Parties {
		if i != party {
			n += p.Columns
		}
	}
	return n
}

// entropy bounds what a row of the other parties' columns can tell: the sum of the columns' entropies, in bits, over a
// sample of rows. It is nil when not all of them are known.
func (a *auditor) entropy(party int) *float64 {
	rows, sum := evidence.SampleRows(evidence.JobRows(a.in.Contract), a.in.Rows), 0.0
	for i := range a.in.Contract.Parties {
		c := a.in.Columns[i]
		switch {
		case i == party || evidence.WithoutData(&a.in.Contract.Parties[i]):
		case c == nil:
			return nil
		default:
			sum += entropyOf(c, rows)
		}
	}
	return &sum
}

// entropyOf adds up the entropies of the columns over some rows, in bits.
func entropyOf(c *evidence.Columns, rows []int) float64 {
	counts := make([]map[float64]int, len(c.Names))
	for i := range counts {
		counts[i] = make(map[float64]int)
	}
	for _, j := range rows {
		c.Rows.EachInRow(j, func(i int, v float64) { counts[i][v]++ })
	}
	sum := 0.0
	for _, values := range counts {
		rest := len(rows)
		for v, n := range values {
			if v != 0 {
				rest -= n
			}
		}
		delete(values, 0) // a row may leave it out
		if rest > 0 {
			values[0] = rest
		}
		for _, n := range slices.Sorted(maps.Values(values)) { // in one order, for a sum of one last digit
			p := float64(n) / float64(len(rows))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// sharesUnchecked says what the transcripts of a sealed job cannot tell.
func (a *account) sharesUnchecked() {
	names := a.shareholders()
	if len(names) == 0 {
		return
	}
	a.report.Unchecked = append(a.report.Unchecked,
		fmt.Sprintf("Whether two of %s, who hold shares as label holder, keeper and helper, put together "+
			"what they have: any two of them can rebuild every column, the labels and the model, and no transcript "+
			"shows it, neither one party's nor all of them.", wording.List(names, "and")))
	for _, l := range a.report.Ledger {
		if l.Kind == evidence.OpeningScores && l.BitsPerRow > 0 {
			a.report.Unchecked = append(a.report.Unchecked, "Scores that opened in other jobs: each contract "+
				"on the same people adds its bits, and an audit counts those of one job.")
			break
		}
	}
}

// collusion is the sentence on the three that belongs to every verdict on a sealed job which passed.
func (a *account) collusion() string {
	names := a.shareholders()
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" Any two of %s together could rebuild everything, which no transcript shows.",
		wording.List(names, "and"))
}

// shareholders names the parties of a sealed job that hold shares: label holder, keeper and helper.
func (a *account) shareholders() []string {
	names := make([]string, rss.Roles)
	found := 0
	for _, p := range a.report.Job.Parties {
		for r := range names {
			if p.Share == rss.Role(r).String() {
				names[r] = p.Name
				found++
			}
		}
	}
	if found != rss.Roles {
		return nil
	}
	return names
}
