package report

import (
	"fmt"

	"github.com/hanse-project/hanse/audit"
)

// maxExhibits is how many attacks a page draws.
const maxExhibits = 24

// exhibit is one attack in pictures.
type exhibit struct {
	Title   string
	Verdict audit.Verdict
	Detail  string
	Figures []figure // the plot
	Beside  []figure // its controls
}

// exhibits draws the attacks that have something to draw; left is how many more there are.
func (a *artist) exhibits(r *audit.Report) (scatters, histograms []exhibit, left int) {
	for _, t := range r.Attacks {
		if t.Plot == nil || t.Plot.Kind != "scatter" && t.Plot.Kind != "histogram" {
			continue
		}
		if len(scatters)+len(histograms) == maxExhibits {
			left++
			continue
		}
		x := exhibit{Title: capital(attacked(t)), Verdict: t.Verdict, Detail: sentence(t.Detail)}
		if t.Plot.Kind == "scatter" {
			x.Figures = []figure{a.scatter(t)}
			x.Beside = chosen(a.shares(t), a.errors(t))
			scatters = append(scatters, x)
			continue
		}
		x.Figures = []figure{a.histogram(t)}
		histograms = append(histograms, x)
	}
	return scatters, histograms, left
}

// chosen drops the figures that are not there.
func chosen(figures ...*figure) []figure {
	var out []figure
	for _, f := range figures {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// scatter draws true against rebuilt values.
func (a *artist) scatter(t audit.Attack) figure {
	svg, outside := scatter(a.id(), t.Plot)
	caption := "Each dot is one cell of another party's table, as the difference between two rows. On the diagonal: rebuilt exactly. " +
		"Away from it: wrong."
	if outside > 0 {
		caption += fmt.Sprintf(" %s outside the drawing and %s shown at its edge or left out.",
			plural(outside, "dot lies", "dots lie"), map[bool]string{true: "is", false: "are"}[outside == 1])
	}
	return figure{capital(named(t.Plot.Title, "True value, rebuilt value")), svg, caption}
}

// histogram draws the distribution of words.
func (a *artist) histogram(t audit.Attack) figure {
	caption := "Each bar counts the words whose value falls in it; the line is what perfect noise puts in every bar."
	if t.Name == "uniformity" && present(t.Statistic) {
		caption += " The smallest p-value of the tests is " + chance(*t.Statistic) + "; noise gives one below 0.001 once in a thousand audits."
	}
	return figure{capital(named(t.Plot.Title, "Distribution")), histogram(a.id(), t.Plot), caption}
}
