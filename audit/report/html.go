package report

import (
	"bytes"
	_ "embed" // the page and its style are files beside the code
	"fmt"
	"html/template"
	"io"

	"github.com/hanse-project/hanse/audit"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

// HTML writes a report as one file that needs no other: style and drawings are inside, there are
// no scripts. It fails when r is nil or w does.
func HTML(w io.Writer, r *audit.Report) error {
	if r == nil {
		return errNone
	}
	t, err := template.New("page").Funcs(template.FuncMap{"class": class, "capitals": capitals}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("report: page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newPage(printable(r))); err != nil {
		return fmt.Errorf("report: page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("report: html: %w", err)
	}
	return nil
}

// class returns the style of a verdict; a word that is no verdict has a neutral one.
func class(v audit.Verdict) string {
	switch v {
	case audit.Clean, audit.Passed:
		return "clean"
	case audit.Disclosed:
		return "declared"
	case audit.Leak, audit.Failed:
		return "leak"
	case audit.Unverifiable:
		return "unverifiable"
	}
	return "other"
}

// page is what the template shows.
type page struct {
	Style      template.CSS
	Verdict    audit.Verdict
	Summary    string
	Meaning    string
	Job        audit.Job
	Story      []string
	Findings   []finding
	Parties    *table
	Learners   []learner
	Scatters   []exhibit
	Histograms []exhibit
	Undrawn    int
	Charts     []figure
	Passed     string
	Skipped    []finding
	Unchecked  []string
	Tables     []*table
	Qualities  []*table
	Glossary   []term
}

// newPage prepares everything; the template only arranges.
func newPage(r *audit.Report) page {
	var draw artist
	p := page{
		Style:   template.CSS(styleText),
		Verdict: r.Verdict, Summary: named(r.Summary, "There is no summary."), Meaning: meaning(r.Verdict),
		Job: r.Job, Story: story(r), Findings: shorten(findings(r)), Parties: partyTable(r), Learners: learners(r),
		Passed: passed(r.Checks), Glossary: glossary(),
	}
	p.Scatters, p.Histograms, p.Undrawn = draw.exhibits(r)
	p.Charts = chosen(draw.egress(r), draw.systems(r))
	p.Skipped, p.Unchecked = skipped(r), unchecked(r)
	p.Tables, p.Qualities = tables(r), qualities(r)
	return p
}

// skipped lists the checks that neither passed nor failed.
func skipped(r *audit.Report) []finding {
	var out []finding
	for _, c := range r.Checks {
		if doubtful(c) {
			out = append(out, finding{c.Verdict, capital(checked(c)), sentence(c.Detail)})
		}
	}
	return shorten(out)
}

// unchecked lists what the audit leaves open.
func unchecked(r *audit.Report) []string {
	var out []string
	for _, s := range r.Unchecked[:min(len(r.Unchecked), maxRows)] {
		if s != "" {
			out = append(out, sentence(s))
		}
	}
	return out
}

// tables returns the tables that have a row.
func tables(r *audit.Report) []*table {
	var out []*table
	for _, t := range []*table{checkTable(r), transcriptTable(r), egressTable(r, classAndEncoding), ledgerTable(r), attackTableWide(r)} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// qualities returns the tables of columns of as many attacks as are drawn.
func qualities(r *audit.Report) []*table {
	var out []*table
	for _, a := range r.Attacks {
		if len(a.Columns) > 0 && len(out) < maxExhibits {
			out = append(out, qualityTable(a))
		}
	}
	return out
}
