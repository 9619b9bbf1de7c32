package fdskl

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
)

// paperSection is a table with what stands above and below it.
type paperSection struct {
	title string
	table *table.Table
	notes []string
}

// sections lays the report out.
func (r *PaperReport) sections() []paperSection {
	var list []paperSection
	for _, f := range r.Figure3 {
		list = append(list, figure3Section(f))
	}
	if r.Figure4 != nil {
		list = append(list, figure4Section(r.Figure4))
	}
	for _, g := range r.Figure5 {
		list = append(list, figure5Section(g))
	}
	for few := range slices.Chunk(r.Figure6, 3) { // more do not fit a terminal
		list = append(list, figure6Section(few))
	}
	if len(r.Table4) > 0 {
		list = append(list, table4Section(r.Table4))
	}
	if r.Bound != nil {
		list = append(list, boundSection(r.Bound))
	}
	return list
}

// figure3Section has the first, the middle and the last point of each curve.
func figure3Section(f *Figure3) paperSection {
	t := table.New(f.Set, "early s", "error", "half s", "error", "full s", "error")
	for _, c := range f.Curves {
		cells := []string{c.Method}
		last := len(c.Points) - 1
		for _, i := range []int{0, max(0, last-1), last} {
			cells = append(cells, seconds(c.Points[i].CPUSeconds), fmt.Sprintf("%.4f", c.Points[i].Error))
		}
		t.Add(cells...)
	}
	s := paperSection{title: fmt.Sprintf("Figure 3: error against time, %d training rows", f.Rows), table: t}
	if f.Missing != "" {
		s.notes = append(s.notes, f.Missing)
	}
	return s
}

// figure4Section has a row for each way to link and number of nodes.
func figure4Section(f *Figure4) paperSection {
	t := table.New("seconds by the clock", "nodes", "tree", "star", "ring", "best")
	for _, s := range f.Shapes {
		for i, q := range s.Nodes {
			best := "tree"
			if s.Star[i] < min(s.Tree[i], s.Ring[i]) {
				best = "star"
			} else if s.Ring[i] < s.Tree[i] {
				best = "ring"
			}
			t.Add(s.Name, fmt.Sprint(q), seconds(s.Tree[i]), seconds(s.Star[i]), seconds(s.Ring[i]), best)
		}
	}
	return paperSection{
		title: fmt.Sprintf("Figure 4: sum of a linear kernel matrix, %d rows of %s, %.1f MB a node, medians of %d",
			f.Rows,
			f.Set, float64(f.Bytes)/1e6, f.Repeat),
		table: t, notes: []string{"lines are simulated in memory: a line of each node's own, and 5 ms under way"},
	}
}

// figure5Section has a row for each number of rows.
func figure5Section(g *Growth) paperSection {
	t := table.New(g.Set, g.Curves[0].Method, g.Curves[1].Method, g.Curves[2].Method, "products", "sums", "SVM")
	for i, at := range g.Curves[0].Points {
		cells := []string{fmt.Sprint(at.Size), seconds(at.CPUSeconds), seconds(g.Curves[1].Points[i].CPUSeconds),
			"", "",
			"", ""}
		if i < len(g.Kernel) {
			k := g.Kernel[i]
			cells = append(cells[:3], seconds(g.Curves[2].Points[i].CPUSeconds), seconds(k.Products), seconds(k.Sums),
				seconds(k.SVM))
		}
		t.Add(cells...)
	}
	s := paperSection{title: "Figure 5: time against rows", table: t}
	s.notes = append(s.notes, fmt.Sprintf("%s holds a matrix of 4 bytes a pair of rows: %d MB are enough for %d rows",
		NamePPSVMV, g.Limit>>20, g.Most))
	if g.Refused != "" {
		s.notes = append(s.notes, g.Refused)
	}
	return s
}

// figure6Section has a row for each method and a column for each of a few sets.
func figure6Section(figures []*Figure6) paperSection {
	head := []string{"test error"}
	for _, f := range figures {
		head = append(head, f.Set)
	}
	t := table.New(head...)
	for k, trial := range figures[0].Trials {
		cells := []string{trial.Method}
		for _, f := range figures {
			if len(f.Trials[k].Errors) == 0 {
				cells = append(cells, "")
				continue
			}
			cells = append(cells, lab.Spread(f.Trials[k].Errors).Text(4))
		}
		t.Add(cells...)
	}
	splits := 0
	for _, trial := range figures[0].Trials {
		splits = max(splits, len(trial.Errors))
	}
	s := paperSection{title: fmt.Sprintf("Figure 6: errors over %d splits of 3:1", splits), table: t}
	for _, f := range figures {
		s.notes = append(s.notes, fmt.Sprintf("%s: %d training rows, width %v, steps %.3g and %.3g/(1 + t/%.3g)",
			f.Set,
			f.Rows, f.Steps.Width, f.Steps.Constant, f.Steps.Gamma, f.Steps.Turn))
		for _, trial := range f.Trials {
			if trial.Missing != "" && len(trial.Errors) == 0 {
				s.notes = append(s.notes, fmt.Sprintf("%s: without %s: %s", f.Set, trial.Method, trial.Missing))
			}
		}
	}
	return s
}

// table4Section has a row for each set.
func table4Section(all []*Table4) paperSection {
	t := table.New("set", "FDSKL s", "CPU", "fixed s", "CPU", "trees", "paper min", "SecureB.")
	for _, r := range all {
		t.Add(r.Set, seconds(r.Own.Seconds), seconds(r.Own.CPUSeconds), seconds(r.Fixed.Seconds),
			seconds(r.Fixed.CPUSeconds), seconds(r.Trees.CPUSeconds),
			r.Paper.FDSKL, r.Paper.SecureBoost)
	}
	return paperSection{
		title: "Table 4: time to train, four parties over TLS on one machine; trees in one place", table: t,
		notes: []string{
			"s: by the clock; CPU, trees: processor seconds", "the last two columns: minutes that the paper " +
				"prints, on 24 cores",
		},
	}
}

// boundSection has a row for each setting.
func boundSection(b *Bounds) paperSection {
	t := table.New("lambda", "step", "cap", "iterations", "f = 0", "measured", "bound")
	for _, r := range b.All {
		last := r.Points[len(r.Points)-1]
		t.Addf("%v|%v|%.2g|%v|%.2g|%.2g|%.2g", r.Lambda, r.Gamma, r.Cap, last.Iterations, r.Zero, last.Measured,
			last.Bound)
	}
	return paperSection{
		title: fmt.Sprintf("Theorem 4: mean (f_t - f*)^2, logistic, %d rows of %s, %d runs", b.Rows, b.Set,
			b.Runs), table: t,
		notes: []string{"cap: what the step must be below for scores right to within 1"},
	}
}

// seconds renders a time.
func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.2f", s)
	}
	return fmt.Sprintf("%.1f", s)
}
