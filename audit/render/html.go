package render

import (
	"bytes"
	_ "embed" // the page and its style are files beside the code
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/audit/finding"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

// HTML writes a report as one file that needs no other: style and drawings are inside, there are
// no scripts. What Sign made stands at its end. It fails when r is nil or w does.
func HTML(w io.Writer, r *finding.Report) error {
	if r == nil {
		return errNone
	}
	statement := statementOf(r)
	front, back, err := pageParts(r, statement != "")
	if err != nil {
		return err
	}
	for _, part := range [][]byte{front, []byte(statement), back} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("report: html: %w", err)
		}
	}
	return nil
}

// renderPage makes the page, with an empty element for the statement when there is to be one.
func renderPage(r *finding.Report, signed bool) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"class": class, "capitals": capitals}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("report: page: %w", err)
	}
	p := newPage(printable(r))
	p.Signed = signed
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("report: page: %w", err)
	}
	return b.Bytes(), nil
}

// class returns the style of a verdict; a word that is no verdict has a neutral one.
func class(v finding.Verdict) string {
	switch v {
	case finding.Clean, finding.Passed:
		return "clean"
	case finding.Disclosed:
		return "disclosed"
	case finding.Partial, finding.Skipped, finding.NotRead:
		return "partial"
	case finding.Leak, finding.Failed:
		return "leak"
	case finding.Unverifiable:
		return "unverifiable"
	}
	return "other"
}

// page is what the template shows.
type page struct {
	Style      template.CSS
	Verdict    finding.Verdict
	Lead       string // the first sentence of the summary
	Summary    string // the rest of it
	Meaning    string
	Job        finding.Job
	Byline     string
	Story      []string
	Findings   []item
	Unseen     []string
	Parties    *table
	Learners   []learner
	Scatters   []exhibit
	Histograms []exhibit
	Undrawn    int
	Charts     []figure
	Passed     string
	Skipped    []item
	Unchecked  []string
	Origin     []string
	Digests    []*table
	Tables     []*table
	Qualities  []*table
	Glossary   []term
	Signed     bool
	Signer     string
}

// newPage prepares everything; the template only arranges.
func newPage(r *finding.Report) page {
	var draw artist
	p := page{
		Style:   template.CSS(styleText),
		Verdict: r.Verdict, Meaning: meaning(r.Verdict), Byline: byline(r.Origin),
		Job: r.Job, Story: story(r), Findings: shorten(findings(r)), Parties: partyTable(r), Learners: learners(r),
		Passed: passed(r.Checks), Glossary: glossary(), Origin: origin(r), Signer: capital(signer(r.Origin)),
	}
	p.Lead, p.Summary = lead(named(r.Summary, "There is no summary."))
	p.Scatters, p.Histograms, p.Undrawn = draw.exhibits(r)
	p.Charts = chosen(draw.egress(r), draw.systems(r))
	p.Skipped = skipped(r)
	p.Unseen, p.Unchecked = listOf(r.NotLookedAt), listOf(r.Unchecked)
	p.Digests = filled(keyTable(r), digestTable(r))
	p.Tables = filled(checkTable(r), transcriptTable(r), shardTable(r), egressTable(r), ledgerTable(r), attackTableWide(r))
	p.Qualities = qualities(r)
	return p
}

// lead parts the first sentence from a text.
func lead(text string) (first, rest string) {
	if at := strings.Index(text, ". "); at > 0 {
		return text[:at+1], text[at+2:]
	}
	return text, ""
}

// skipped lists the checks that neither passed nor failed, and that do not stand elsewhere on the page.
func skipped(r *finding.Report) []item {
	var out []item
	for _, c := range r.Checks {
		if doubtful(c) && c.Verdict != finding.Skipped && c.Verdict != finding.Disclosed {
			out = append(out, item{c.Verdict, capital(checked(c)), sentence(c.Detail)})
		}
	}
	return shorten(out)
}

// listOf makes sentences of the first of them.
func listOf(list []string) []string {
	var out []string
	for _, s := range list[:min(len(list), maxRows)] {
		if s != "" {
			out = append(out, sentence(s))
		}
	}
	if n := len(list) - maxRows; n > 0 {
		out = append(out, "And "+count(n)+" more, which the JSON report lists.")
	}
	return out
}

// filled returns the tables that have a row.
func filled(all ...*table) []*table {
	var out []*table
	for _, t := range all {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// qualities returns the tables of columns of as many attacks as are drawn.
func qualities(r *finding.Report) []*table {
	var out []*table
	for _, a := range r.Attacks {
		if len(a.Columns) > 0 && len(out) < maxExhibits {
			out = append(out, qualityTable(a))
		}
	}
	return out
}

// maxExhibits is how many attacks a page draws.
const maxExhibits = 24

// exhibit is one attack in pictures.
type exhibit struct {
	Title   string
	Verdict finding.Verdict
	Detail  string
	Figures []figure // the plot
	Beside  []figure // its controls
}

// exhibits draws the attacks that have something to draw; left is how many more there are.
func (a *artist) exhibits(r *finding.Report) (scatters, histograms []exhibit, left int) {
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
func (a *artist) scatter(t finding.Attack) figure {
	svg, outside := scatter(a.id(), t.Plot)
	caption := "Each dot is one cell of another party's table, as the difference between two rows. On " +
		"the diagonal: rebuilt exactly. " +
		"Away from it: wrong."
	if outside > 0 {
		caption += fmt.Sprintf(" %s outside the drawing and %s shown at its edge or left out.",
			plural(outside, "dot lies", "dots lie"), map[bool]string{true: "is", false: "are"}[outside == 1])
	}
	return figure{capital(named(t.Plot.Title, "True value, rebuilt value")), svg, caption}
}

// histogram draws the distribution of words.
func (a *artist) histogram(t finding.Attack) figure {
	caption := "Each bar counts the words whose value falls in it; the line is what perfect noise puts in every bar."
	if t.Name == "uniformity" && present(t.Statistic) {
		caption += " The smallest p-value of the tests is " + chance(*t.Statistic) +
			"; noise gives one below 0.001 once in a thousand audits."
	}
	return figure{capital(named(t.Plot.Title, "Distribution")), histogram(a.id(), t.Plot), caption}
}

// learner is what one party learned, and what was tried with its view.
type learner struct {
	Name    string
	Role    string
	Member  bool     // it is a party, not all transcripts together
	Learned []item   // openings
	Found   []item   // attacks that are not clean
	Quiet   []string // the attacks that are
	Untried []string // the attacks that were not tried; why stands among what was not looked at
}

type gathering struct {
	list  []learner
	index map[string]int
}

// at returns the learner of a name, a new one if need be.
func (g *gathering) at(name, role string) *learner {
	i, known := g.index[name]
	if !known {
		i = len(g.list)
		g.index[name] = i
		g.list = append(g.list, learner{Name: name, Role: role})
	}
	return &g.list[i]
}

// learners returns the parties of the job, then whoever else the ledger or the attacks name.
func learners(r *finding.Report) []learner {
	g := gathering{index: map[string]int{}}
	for _, p := range r.Job.Parties {
		g.at(p.Name, roleOf(p)).Member = true
	}
	for _, l := range r.Ledger {
		p := g.at(l.Party, "")
		detail := strings.TrimSpace(sentence(plain(l)) + " " + sentence(system(l)))
		p.Learned = append(p.Learned, item{l.Verdict, openings(l), detail})
	}
	for _, a := range r.Attacks {
		p := g.at(a.Party, "")
		switch name := tried(a); {
		case a.Verdict == finding.Skipped:
			if !slices.Contains(p.Untried, name) && len(p.Untried) < maxFindings {
				p.Untried = append(p.Untried, name)
			}
		case a.Verdict != finding.Clean:
			p.Found = append(p.Found, item{a.Verdict, "Attack: " + name, sentence(a.Detail)})
		case !slices.Contains(p.Quiet, name) && len(p.Quiet) < maxFindings:
			p.Quiet = append(p.Quiet, name)
		}
	}
	for i := range g.list {
		p := &g.list[i]
		p.Learned, p.Found = shorten(p.Learned), shorten(p.Found)
		p.Name = named(p.Name, "All transcripts together")
	}
	return g.list[:min(len(g.list), maxRows)]
}

// openings says how many values of a kind were opened.
func openings(l finding.Learned) string {
	switch {
	case l.Verdict == finding.NotRead:
		return "May learn " + values(l, l.Declared) + ", by the contract"
	case l.Unread:
		return "May learn " + values(l, l.Declared) + ", by the contract; what it learned was not counted"
	case l.Declared == l.Count:
		return "Learned " + values(l, l.Count) + ", as many as the contract allows"
	}
	return "Learned " + values(l, l.Count) + ", where the contract allows " + count(l.Declared)
}

// tried names an attack with what it looked at.
func tried(a finding.Attack) string {
	if a.View == "" {
		return named(a.Name, "attack")
	}
	return named(a.Name, "attack") + " (" + a.View + ")"
}
