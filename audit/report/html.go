package report

import (
	"bytes"
	_ "embed" // the page and its style are files beside the code
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/hanse-project/hanse/audit"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

// HTML writes a report as one file that needs no other: style and drawings are inside, there are
// no scripts. What Sign made stands at its end. It fails when r is nil or w does.
func HTML(w io.Writer, r *audit.Report) error {
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
func renderPage(r *audit.Report, signed bool) ([]byte, error) {
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
func class(v audit.Verdict) string {
	switch v {
	case audit.Clean, audit.Passed:
		return "clean"
	case audit.Disclosed:
		return "disclosed"
	case audit.Partial, audit.Skipped:
		return "partial"
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
	Lead       string // the first sentence of the summary
	Summary    string // the rest of it
	Meaning    string
	Job        audit.Job
	Byline     string
	Story      []string
	Findings   []finding
	Unseen     []string
	Parties    *table
	Learners   []learner
	Scatters   []exhibit
	Histograms []exhibit
	Undrawn    int
	Charts     []figure
	Passed     string
	Skipped    []finding
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
func newPage(r *audit.Report) page {
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
	p.Tables = filled(checkTable(r), transcriptTable(r), egressTable(r), ledgerTable(r), attackTableWide(r))
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
func skipped(r *audit.Report) []finding {
	var out []finding
	for _, c := range r.Checks {
		if doubtful(c) && c.Verdict != audit.Skipped && c.Verdict != audit.Disclosed {
			out = append(out, finding{c.Verdict, capital(checked(c)), sentence(c.Detail)})
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
func qualities(r *audit.Report) []*table {
	var out []*table
	for _, a := range r.Attacks {
		if len(a.Columns) > 0 && len(out) < maxExhibits {
			out = append(out, qualityTable(a))
		}
	}
	return out
}
