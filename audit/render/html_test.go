package render

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/audit/finding"
)

// inspect reads a page as XML, which is stricter than HTML: every tag closed, every attribute
// quoted. It returns what the page contains and a fault, if there is one.
func inspect(page []byte) (ids map[string]int, refs, faults []string) {
	ids = map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(page))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return ids, refs, faults
		}
		if err != nil {
			return ids, refs, append(faults, err.Error())
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if forbidden[start.Name.Local] {
			faults = append(faults, "element "+start.Name.Local)
		}
		for _, a := range start.Attr {
			switch name := a.Name.Local; {
			case name == "id":
				ids[a.Value]++
			case name == "aria-labelledby":
				refs = append(refs, strings.Fields(a.Value)...)
			case name == "src" || name == "href" || strings.HasPrefix(name, "on"):
				faults = append(faults, "attribute "+name)
			case coordinates[name] && !plainNumber.MatchString(a.Value):
				faults = append(faults, fmt.Sprintf("%s of %s is %q", name, start.Name.Local, a.Value))
			}
		}
	}
}

// forbidden are elements that load or run something.
var forbidden = map[string]bool{"script": true, "link": true, "img": true, "iframe": true, "object": true,
	"embed": true, "form": true, "a": true, "image": true, "use": true}

// coordinates are attributes that must be numbers.
var coordinates = map[string]bool{"x": true, "y": true, "x1": true, "x2": true, "y1": true, "y2": true,
	"cx": true, "cy": true, "r": true, "height": true}

// plainNumber is a number with at most one decimal.
var plainNumber = regexp.MustCompile(`^-?[0-9]{1,5}(\.[0-9])?$`)

// checkPage fails when a page is not whole, not self-contained or not plain.
func checkPage(t interface{ Errorf(string, ...any) }, page []byte) {
	ids, refs, faults := inspect(page)
	for _, f := range faults {
		t.Errorf("the page has a fault: %s", f)
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("id %s is used %d times, want once", id, n)
		}
	}
	for _, ref := range refs {
		if ids[ref] != 1 {
			t.Errorf("a drawing is labelled by %s, which is not there", ref)
		}
	}
}

// checkText fails when a text could do more to a terminal than be read.
func checkText(t interface{ Errorf(string, ...any) }, text []byte) {
	for _, c := range string(text) {
		if c < ' ' && c != '\n' || c == 0x7f || 0x80 <= c && c < 0xa0 || 0x202a <= c && c <= 0x202e {
			t.Errorf("the text contains the character %U", c)
		}
	}
}

func TestPagesAreWholeAndSelfContained(t *testing.T) {
	for name, r := range fixtures() {
		page := render(t, ".html", r)
		checkPage(t, page)
		for _, outside := range []string{"http:", "https:", "url(", "@import", "<script"} {
			if bytes.Contains(page, []byte(outside)) {
				t.Errorf("%s contains %q, want nothing from outside", name, outside)
			}
		}
		for _, part := range []string{`lang="en"`, "What happened", "What no transcript can tell", "Who made this report",
			"Signature", "countersignature", strings.ToUpper(string(r.Verdict))} {
			if !bytes.Contains(page, []byte(part)) {
				t.Errorf("%s lacks %q", name, part)
			}
		}
	}
}

func TestEveryDrawingIsDescribed(t *testing.T) {
	page := string(render(t, ".html", disclosed()))
	n := strings.Count(page, "<svg ")
	if n < 9 {
		t.Errorf("%d drawings, want at least 9: two scatter plots with two controls each, two histograms, egress and equations", n)
	}
	for _, part := range []string{`role="img"`, "<title id=", "<desc id="} {
		if got := strings.Count(page, part); got != n {
			t.Errorf("%d times %s, want %d", got, part, n)
		}
	}
}

func TestAnyReportRenders(t *testing.T) {
	any := rapid.Make[finding.Report]()
	rapid.Check(t, func(t *rapid.T) {
		r := any.Draw(t, "report")
		for i := range r.Attacks {
			if p := r.Attacks[i].Plot; p != nil {
				p.Kind = rapid.SampledFrom([]string{"scatter", "histogram", p.Kind}).Draw(t, "kind")
			}
		}
		checkBoth(t, &r)
	})
}

// checkBoth renders a report in both forms and checks them.
func checkBoth(t interface{ Errorf(string, ...any) }, r *finding.Report) {
	var text, page bytes.Buffer
	if err := errors.Join(Text(&text, r), HTML(&page, r)); err != nil {
		t.Errorf("rendering: %v", err)
	}
	checkPage(t, page.Bytes())
	checkText(t, text.Bytes())
}

func FuzzReport(f *testing.F) {
	for _, r := range fixtures() {
		for i := range r.Attacks {
			r.Attacks[i].Columns = nil
			if p := r.Attacks[i].Plot; p != nil {
				p.Points, p.Counts = p.Points[:min(len(p.Points), 3)], p.Counts[:min(len(p.Counts), 3)]
			}
		}
		r.Checks, r.Egress = r.Checks[:2], r.Egress[:2]
		b, err := json.Marshal(r)
		must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r finding.Report
		if json.Unmarshal(b, &r) != nil {
			t.Skip()
		}
		checkBoth(t, &r)
	})
}

// hostile is a name that tries to leave its place.
const hostile = "</title></svg><script>alert(1)</script>\x1b[2J\r\n\u202e\" onload=\"x\x00\xff{{.Verdict}}"

func TestHostileNamesAreOnlyRead(t *testing.T) {
	r := disclosed()
	r.Verdict, r.Summary = finding.Verdict(hostile), hostile
	r.Job = finding.Job{Name: hostile, Algorithm: hostile, Task: hostile, Privacy: hostile,
		Topology: hostile, Contract: hostile,
		Parties: []finding.Party{{Name: hostile, Role: "active", Columns: math.MinInt},
			{Name: strings.Repeat("w", 1<<20), Role: hostile}}}
	r.Transcripts[0].Party, r.Transcripts[0].Path, r.Transcripts[0].First = hostile, hostile, hostile
	for i := range r.Attacks {
		a := &r.Attacks[i]
		a.Name, a.Party, a.View, a.Detail, a.Verdict = hostile, hostile, hostile, hostile, finding.Verdict(hostile)
		if a.Plot != nil {
			a.Plot.Title, a.Plot.X, a.Plot.Y = hostile, hostile, hostile
		}
	}
	for i := range r.Egress {
		r.Egress[i].From, r.Egress[i].Kind, r.Egress[i].Bytes = hostile, hostile, math.MaxInt64
	}
	r.Unchecked = append(r.Unchecked, hostile, "", "\n")
	checkBoth(t, r)
	if page := render(t, ".html", r); len(page) > 1<<20 {
		t.Errorf("the page has %d bytes, want names of a megabyte cut", len(page))
	}
}

func TestLongListsAreCut(t *testing.T) {
	r := disclosed()
	for range 800 {
		r.Checks = append(r.Checks, finding.Check{Name: "seals", Verdict: finding.Failed, Detail: "wrong"})
		r.Attacks = append(r.Attacks, r.Attacks[0])
		r.Ledger = append(r.Ledger, r.Ledger[0])
		r.Unchecked = append(r.Unchecked, "more")
	}
	page := render(t, ".html", r)
	checkPage(t, page)
	if len(page) > 3<<20 {
		t.Errorf("the page has %d bytes, want at most 3 MB", len(page))
	}
	if want := "and 319 rows more, which the JSON report lists"; !bytes.Contains(page, []byte(want)) {
		t.Errorf("the page does not say %q", want)
	}
}

func TestNumbersThatAreNoneAreNotShown(t *testing.T) {
	r := disclosed()
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a := &r.Attacks[i]
		a.RMS, a.ControlRMS, a.ControlShare, a.RecoveredShare, a.Statistic = &v, &v, &v, &v, &v
		a.Columns = []finding.Column{{RMS: v, R2: v}}
		a.Plot.Lo, a.Plot.Hi, a.Plot.Expect = v, v, v
		a.Plot.Points = append(a.Plot.Points, [2]float64{v, 0}, [2]float64{0, v})
		r.Transcripts[i].Countersigned, r.Seconds = v, v
	}
	checkBoth(t, r)
	for ending := range renderings {
		for _, word := range []string{"NaN", "Inf"} {
			if bytes.Contains(render(t, ending, r), []byte(word)) {
				t.Errorf("%s contains %s", ending, word)
			}
		}
	}
}

func TestAnEmptyReportRenders(t *testing.T) {
	checkBoth(t, &finding.Report{})
	checkBoth(t, &finding.Report{Attacks: []finding.Attack{{Plot: &finding.Plot{Kind: "scatter"}},
		{Plot: &finding.Plot{Kind: "histogram"}}}})
}

func TestNoReportIsAnError(t *testing.T) {
	for ending, renderTo := range renderings {
		if err := renderTo(io.Discard, nil); err == nil || err.Error() != "report: there is no report to write, want one" {
			t.Errorf("%s: got %v", ending, err)
		}
	}
}

// shut is a writer that takes nothing.
type shut struct{}

func (shut) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriterThatFailsIsReported(t *testing.T) {
	want := map[string]string{".txt": "report: text: disk full", ".html": "report: html: disk full"}
	for ending, renderTo := range renderings {
		if err := renderTo(shut{}, disclosed()); err == nil || err.Error() != want[ending] {
			t.Errorf("%s: got %v, want %s", ending, err, want[ending])
		}
	}
}
