package figures

import (
	"fmt"
	"io"
	"math"

	"github.com/hanse-project/hanse/internal/wording"
)

// The widths of what is printed, in characters.
const (
	lineWidth = 80
	nameWidth = 14 // of a class
)

// named prepares the name of a class for a table.
func named(class string) string { return fmt.Sprintf("%q", shortened(class, nameWidth)) }

// shortened makes one line of a text, cut to so many characters.
func shortened(text string, most int) string {
	r := []rune(wording.Line(text, 4*most))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

// Number writes a figure as all reports have it.
func Number(x float64) string {
	if math.Abs(x) >= 10 {
		return fmt.Sprintf("%.6g", x)
	}
	return fmt.Sprintf("%.4f", x)
}

// Text writes the estimate with its interval.
func (e *Estimate) Text() string {
	if e == nil {
		return "not defined"
	}
	if e.Interval == nil {
		return Number(e.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", Number(e.Value), Number(e.Interval[0]), Number(e.Interval[1]))
}

// Lines lists the figures for people: a name and a value with its interval each. The first are those of most use.
func (r *Report) Lines() [][2]string {
	var lines [][2]string
	add := func(name string, e *Estimate) {
		if e != nil {
			lines = append(lines, [2]string{name, e.Text()})
		}
	}
	switch {
	case r.Binary != nil:
		b := r.Binary
		wrong := fmt.Sprintf("error, %s above score %s", named(b.Classes[1]), Number(b.Threshold))
		if _, rare := r.Rarer(); rare {
			add("AUC", b.AUC)
			add(wrong, &b.Error)
		} else {
			add(wrong, &b.Error)
			add("AUC", b.AUC)
		}
		add("Gini", b.Gini)
		add("KS", b.KS)
		add("average precision", b.AveragePrecision)
		add("log loss", b.LogLoss)
		add("Brier", b.Brier)
		add(fmt.Sprintf("recall of %s", named(b.Classes[1])), b.Recall)
		add(fmt.Sprintf("precision of %s", named(b.Classes[1])), b.Precision)
		if b.FittedTo != "" {
			lines = append(lines, [2]string{"threshold, probabilities", "from " + shortened(b.FittedTo, 36)})
		}
	case r.Several != nil:
		add("error", &r.Several.Error)
		add("mean recall of the classes", &Estimate{Value: r.Several.MeanRecall})
	case r.Numbers != nil:
		n := r.Numbers
		add("RMSE", &n.RMSE)
		add("MAE", &n.MAE)
		add("R2", n.R2)
		lines = append(lines, [2]string{"mean of the labels", Number(n.Mean)}, [2]string{"predictions above it by",
			Number(n.Bias)})
	}
	return lines
}

// Rows is how many rows the figures are of.
func (r *Report) Rows() int {
	switch {
	case r.Binary != nil:
		return r.Binary.Rows
	case r.Several != nil:
		return r.Several.Rows
	case r.Numbers != nil:
		return r.Numbers.Rows
	}
	return 0
}

// Write prints the figures for people, in lines of at most 80 characters.
func (r *Report) Write(w io.Writer) error {
	if err := r.WriteShort(w); err != nil {
		return err
	}
	table := wording.NewTable(w, "")
	switch {
	case r.Binary != nil:
		b, c := r.Binary, r.Binary.Confusion
		no, yes := named(b.Classes[0]), named(b.Classes[1])
		fmt.Fprintf(table, "\n\tsaid %s\tsaid %s\nare %s\t%d\t%d\nare %s\t%d\t%d\n", no, yes, no, c.TrueNegatives,
			c.FalsePositives, yes, c.FalseNegatives, c.TruePositives)
		table.Flush()
		fmt.Fprintf(table, "\nthreshold\tabove it\trecall\tprecision\terror\trule, by these rows\n")
		for _, rule := range []Rule{{Kind: Zero}, {Kind: Youden}, {Kind: Rate, Amount: 0.1}, {Kind: Cost, Amount: 5}} {
			b.writeCut(table, rule)
		}
		table.Flush()
		if len(b.Lift) > 0 {
			fmt.Fprintf(table, "\ntenth\trows\t%s\tshare (95 %%)\tlift\n", yes)
			for i, g := range b.Lift {
				fmt.Fprintf(table, "%d\t%d\t%.4g\t%s\t%.2f\n", i+1, g.Rows, g.Positives, g.Share.Text(), g.Lift)
			}
			table.Flush()
			if b.Shared() {
				fmt.Fprint(w, wording.Wrap(lineWidth, "  ", SharedWords))
			}
		}
		if len(b.Calibration) > 0 {
			fmt.Fprintf(table, "\nprobability of %s\trows\tshare that came (95 %%)\n", yes)
			for _, bin := range b.Calibration {
				fmt.Fprintf(table, "%.4f\t%d\t%s\n", bin.Probability, bin.Rows, bin.Share.Text())
			}
		}
	case r.Several != nil:
		r.Several.write(table)
	}
	return table.Flush()
}

// WriteShort prints the figures and what they are against, without the tables.
func (r *Report) WriteShort(w io.Writer) error {
	if r.Notice != "" {
		fmt.Fprint(w, wording.Wrap(lineWidth, "", r.Notice), "\n")
	}
	fmt.Fprintf(w, "figures of %d %s", r.Rows(), r.Of)
	if b := r.Binary; b != nil {
		fmt.Fprintf(w, ", %d of them %s", b.Positives, named(b.Classes[1]))
	}
	fmt.Fprint(w, " (95 % intervals)\n")
	table := wording.NewTable(w, "")
	for _, l := range r.Lines() {
		fmt.Fprintf(table, "%s\t%s\n", l[0], l[1])
	}
	table.Flush()
	if len(r.Against) > 0 {
		fmt.Fprintln(w)
		r.writeAgainst(table)
		table.Flush()
	}
	for _, s := range r.Sentences() {
		fmt.Fprint(w, wording.Wrap(lineWidth, "  ", s))
	}
	return nil
}

// rivalWidth is how many characters the name of a rival has.
const rivalWidth = 32

// writeAgainst prints how rivals do: the AUC first where the error says little.
func (r *Report) writeAgainst(w io.Writer) {
	_, rare := r.Rarer()
	switch {
	case rare:
		fmt.Fprintf(w, "against\tAUC\tlower by (95 %%)\terror\n")
	case r.Binary != nil:
		fmt.Fprintf(w, "against\terror at score %s\tAUC\n", Number(r.Binary.Threshold))
	case r.Numbers != nil:
		fmt.Fprintf(w, "against\tRMSE\n")
	default:
		fmt.Fprintf(w, "against\terror\n")
	}
	for _, rival := range r.Against {
		name := shortened(rival.Name, rivalWidth)
		switch {
		case rare:
			auc, lower := "-", "-"
			if rival.AUC != nil && rival.AUCGain != nil { // a guess had none in reports of releases before
				auc, lower = Number(rival.AUC.Value), rival.AUCGain.Text()
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, auc, lower, Number(rival.Error.Value))
		case rival.RMSE != nil:
			fmt.Fprintf(w, "%s\t%s\n", name, rival.RMSE.Text())
		case rival.AUC != nil:
			fmt.Fprintf(w, "%s\t%s\t%s\n", name, rival.Error.Text(), Number(rival.AUC.Value))
		case r.Binary != nil:
			fmt.Fprintf(w, "%s\t%s\t-\n", name, rival.Error.Text())
		default:
			fmt.Fprintf(w, "%s\t%s\n", name, rival.Error.Text())
		}
	}
}

// writeCut prints what a rule would do.
func (b *Binary) writeCut(w io.Writer, r Rule) {
	last := b.Cuts[len(b.Cuts)-1]
	at := r.Choose(b.Cuts)
	c := b.Cuts[doing(b.Cuts, at)]
	precision := "-"
	if c.True+c.False > 0 {
		precision = Number(c.True / (c.True + c.False))
	}
	recall := "-"
	if last.True > 0 {
		recall = Number(c.True / last.True)
	}
	fmt.Fprintf(w, "%s\t%.0f\t%s\t%s\t%s\t%s\n", Number(at), c.True+c.False, recall, precision,
		Number((c.False+last.True-c.True)/(last.True+last.False)), r)
}

// mostClasses is how many classes a confusion matrix has that fits a line.
const mostClasses = 8

// write prints recall and precision of each class, and what its rows were said to be.
func (s *Several) write(w io.Writer) {
	fmt.Fprintf(w, "\nclass\trows\trecall (95 %%)\tprecision\n")
	for _, c := range s.Classes {
		precision := "-"
		if c.Precision != nil {
			precision = Number(c.Precision.Value)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", named(c.Name), c.Rows, c.Recall.Text(), precision)
	}
	if len(s.Classes) > mostClasses {
		return
	}
	fmt.Fprint(w, "\nrow said to be")
	for _, c := range s.Classes {
		fmt.Fprintf(w, "\t%s", shortened(c.Name, 5))
	}
	for _, c := range s.Classes {
		fmt.Fprintf(w, "\n%s", shortened(c.Name, 5))
		for _, n := range c.Said {
			fmt.Fprintf(w, "\t%d", n)
		}
	}
	fmt.Fprintln(w)
}
