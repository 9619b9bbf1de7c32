package main

import "fmt"

// ofmsftTable lays out the scores, one row for each case.
func ofmsftTable(rows []ofmsftRow) *table {
	t := newTable("algorithm", "B", "update", "ours", "earlier runs", "off by", "paper", "off by", "s a run")
	for _, r := range rows {
		t.add(r.Algorithm, r.of.budgetText(), r.updateText(), r.text(), r.Spec.clients(), r.Spec.offBy(r.Mean),
			r.Paper.clients(), r.Paper.offBy(r.Mean), fmt.Sprintf("%.1f", r.Seconds))
	}
	return t
}

// ofmsftRegretTable lays out the regrets, and what a run of OFMS-FT sends.
func ofmsftRegretTable(rows []ofmsftRow) *table {
	t := newTable("algorithm", "B", "update", "networks as tuned", "networks at first", "MB up", "MB down")
	for _, r := range rows {
		tuned, up, down := "", "", ""
		if r.Regret != nil {
			tuned = r.Regret.short()
		}
		if r.Downloaded > 0 {
			up, down = fmt.Sprintf("%.0f", r.Uploaded/1e6), fmt.Sprintf("%.0f", r.Downloaded/1e6)
		}
		t.add(r.Algorithm, r.of.budgetText(), r.updateText(), tuned, r.First.short(), up, down)
	}
	return t
}

// ofmsftTimesTable lays out table 5. The last two columns are against OFMS-FT at budget 5.
func ofmsftTimesTable(rows []ofmsftRow) *table {
	t := newTable("algorithm", "B", "ours, s", "paper, s", "ours, ratio", "paper, ratio")
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
		t.add(r.Algorithm, r.of.budgetText(), fmt.Sprintf("%.4f", r.Timed.Ours), fmt.Sprintf("%.2f", r.Timed.Paper), ours,
			paper)
	}
	return t
}

// text renders a score.
func (r *ofmsftRow) text() string {
	return fmt.Sprintf("%.2f ± %.2f (%.2f)", r.Mean, r.Deviation, r.Spread)
}

// updateText names the update, a step that is not the paper's, and how many rounds there are between uploads.
func (r *ofmsftRow) updateText() string {
	text := r.Update
	if r.Step > 0 {
		text += fmt.Sprintf(", step %g", r.Step)
	}
	if r.PerUpload > 1 {
		text += fmt.Sprintf(", n %d", r.PerUpload)
	}
	return text
}

// clients renders a published figure with its deviation over clients, nothing if there is none.
func (f *pofmklFigure) clients() string {
	switch {
	case f == nil:
		return ""
	case f.Deviation == 0:
		return fmt.Sprintf("%.2f", f.Value)
	}
	return fmt.Sprintf("%.2f (%.2f)", f.Value, f.Deviation)
}

// offBy renders how far a value is from a published figure.
func (f *pofmklFigure) offBy(v float64) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%+.2f", v-f.Value)
}

// short renders mean and deviation with two digits.
func (m measured) short() string { return fmt.Sprintf("%.2f ± %.2f", m.Mean, m.Deviation) }
