package jobview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// CardFacts lists what a card says of its model, but for figures: a name and a value each.
func CardFacts(c *node.Card) [][2]string {
	day := func(t *time.Time) string {
		if t == nil {
			return "not known here"
		}
		return wording.Time(*t)
	}
	facts := [][2]string{
		{"model", fmt.Sprintf("%s, contract %.8s", c.Job, c.Contract)},
		{"algorithm", fmt.Sprintf("%s, privacy %s", c.Algorithm, c.Privacy)},
		{"trained", day(c.Trained)},
		{"data", fmt.Sprintf("table %s of %s, digest %.8s, consented to %s", c.Table, c.Self, c.Data, day(c.Consented))},
	}
	for i, p := range c.Parties {
		name := ""
		if i == 0 {
			name = "parties"
		}
		facts = append(facts, [2]string{name, fmt.Sprintf("%s, %s: %s", p.Name, p.Role, wording.Count(p.Columns, "column"))})
	}
	label := fmt.Sprintf("%q, a number", c.Label)
	if len(c.Classes) > 0 {
		label = fmt.Sprintf("%q, one of %s", c.Label, strings.Join(c.Classes, ", "))
	}
	if c.Positive != "" {
		label += fmt.Sprintf("; the event is %s", c.Positive)
	}
	facts = append(facts, [2]string{"label", terminal.Printable(label)})
	if len(c.Columns) > 0 {
		facts = append(facts, [2]string{c.Self + "'s columns", terminal.Printable(strings.Join(c.Columns, ", "))})
	}
	lambda := fmt.Sprintf("lambda %.4g", c.Lambda)
	if c.Lambda == 0 {
		lambda = "lambda chosen on the way, at the label holder"
	}
	of := fmt.Sprintf("%d features, sigma %.4g", c.Features, c.Sigma)
	if c.Binned {
		of = wording.Count(c.Features, "bin")
	}
	if c.Loss != "" { // of an algorithm that has these
		facts = append(facts, [2]string{"parameters", fmt.Sprintf("loss %s, %s, %s", c.Loss, lambda, of)})
	}
	if d := c.Decision; d != nil {
		said := ""
		if c.Positive != "" {
			said = fmt.Sprintf("%q above score %.4g (%s), ", c.Positive, d.Threshold, d.Rule)
		}
		facts = append(facts, [2]string{"threshold", terminal.Printable(fmt.Sprintf("%sfrom %s of %s", said,
			wording.Count(d.Rows, "score"), d.Of))})
	}
	for i, o := range c.Openings {
		name := ""
		if i == 0 {
			name = "opened"
		}
		facts = append(facts, [2]string{name, fmt.Sprintf("%s: %d %s", o.To, o.Count, o.Kind)})
	}
	return facts
}

// NoFigures says why a card has none.
func NoFigures(c *node.Card) string {
	return fmt.Sprintf("%s has no figures of this training: they are with who has labels and scores of the same rows. A "+
		"prediction of rows that have labels makes them, and hanse result of that prediction prints them.", c.Self)
}

// Card prints a model card, in lines of at most 80 characters.
func Card(out io.Writer, c *node.Card) error {
	var table strings.Builder
	w := wording.NewTable(&table, "")
	facts := CardFacts(c)
	for _, f := range facts {
		fmt.Fprintf(w, "%s\t|\n", f[0])
	}
	w.Flush()
	indent := strings.Index(table.String(), "|")
	for _, f := range facts {
		text := wording.Wrap(80, strings.Repeat(" ", indent), f[1])
		fmt.Fprintf(out, "%-*s%s", indent, f[0], text[indent:])
	}
	fmt.Fprintln(out)
	if c.Figures == nil {
		terminal.Sentence(out, "", NoFigures(c))
		return nil
	}
	if s := OtherThreshold(c); s != "" {
		terminal.Sentence(out, "", s)
	}
	return c.Figures.Write(out)
}

// OtherThreshold says that a card's figures are at another threshold than the one that the model has today; "" where
// they are not.
func OtherThreshold(c *node.Card) string {
	if c.Decision == nil || c.Figures == nil || c.Figures.Binary == nil ||
		c.Figures.Binary.Threshold == c.Decision.Threshold {
		return ""
	}
	return fmt.Sprintf("the figures below are at score %s, the threshold at the end of the training; the one of today, "+
		"%s, was chosen since", figures.Number(c.Figures.Binary.Threshold), figures.Number(c.Decision.Threshold))
}
