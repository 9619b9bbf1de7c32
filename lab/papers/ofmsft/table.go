package ofmsft

import (
	"fmt"

	"github.com/hanse-project/hanse/lab/table"
)

// scoreTable lays out the scores, one row for each case.
func scoreTable(rows []Row) *table.Table {
	t := table.New("algorithm", "B", "update", "ours", "earlier runs", "off by", "paper", "off by", "s a run")
	for _, r := range rows {
		t.Add(r.Algorithm, r.of.budgetText(), r.updateText(), r.text(), r.Spec.Clients(), r.Spec.OffBy(r.Mean),
			r.Paper.Clients(), r.Paper.OffBy(r.Mean), fmt.Sprintf("%.1f", r.Seconds))
	}
	return t
}

// regretTable lays out the regrets, and what a run of OFMS-FT sends.
func regretTable(rows []Row) *table.Table {
	t := table.New("algorithm", "B", "update", "networks as tuned", "networks at first", "MB up", "MB down")
	for _, r := range rows {
		tuned, up, down := "", "", ""
		if r.Regret != nil {
			tuned = r.Regret.Text(2)
		}
		if r.Downloaded > 0 {
			up, down = fmt.Sprintf("%.0f", r.Uploaded/1e6), fmt.Sprintf("%.0f", r.Downloaded/1e6)
		}
		t.Add(r.Algorithm, r.of.budgetText(), r.updateText(), tuned, r.First.Text(2), up, down)
	}
	return t
}

// timesTable lays out table 5. The last two columns are against OFMS-FT at budget 5.
func timesTable(rows []Row) *table.Table {
	t := table.New("algorithm", "B", "ours, s", "paper, s", "ours, ratio", "paper, ratio")
	var unit *timed
	for _, r := range rows {
		if r.Algorithm == ofmsFT && r.Budget == tableOne {
			unit = r.Timed
		}
	}
	for _, r := range rows {
		ours, paper := "", ""
		if unit != nil {
			ours, paper = fmt.Sprintf("%.3f", r.Timed.Ours/unit.Ours), fmt.Sprintf("%.3f", r.Timed.Paper/unit.Paper)
		}
		t.Addf("%s|%s|%.4f|%.2f|%s|%s", r.Algorithm, r.of.budgetText(), r.Timed.Ours, r.Timed.Paper, ours, paper)
	}
	return t
}

// text renders a score.
func (r *Row) text() string {
	return fmt.Sprintf("%.2f ± %.2f (%.2f)", r.Mean, r.Deviation, r.Spread)
}

// updateText names the update, a step that is not the paper's, and how many rounds there are between uploads.
func (r *Row) updateText() string {
	text := r.Update
	if r.Step > 0 {
		text += fmt.Sprintf(", step %g", r.Step)
	}
	if r.PerUpload > 1 {
		text += fmt.Sprintf(", n %d", r.PerUpload)
	}
	return text
}
