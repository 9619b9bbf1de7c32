package render

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/audit/finding"
)

func TestTheFirstLineIsTheVerdict(t *testing.T) {
	for name, r := range fixtures() {
		text := string(render(t, ".txt", r))
		if want := strings.ToUpper(name) + ": " + r.Summary[:40]; !strings.HasPrefix(text, want) {
			t.Errorf("%s begins with %q, want %q", name, clip(text, 80), want)
		}
	}
}

func TestLinesFitATerminal(t *testing.T) {
	for name, r := range fixtures() {
		for line := range strings.Lines(string(render(t, ".txt", r))) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
		}
	}
}

func TestTextIsPlain(t *testing.T) {
	for name, r := range fixtures() {
		for _, c := range render(t, ".txt", r) {
			if c != '\n' && (c < ' ' || c > '~') {
				t.Errorf("%s: contains the byte %#x, want letters a log can hold", name, c)
			}
		}
	}
}

func TestWrappedTextKeepsItsCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := clean(rapid.String().Draw(t, "text"))
		indent := strings.Repeat(" ", rapid.IntRange(0, 10).Draw(t, "indent"))
		lines := wrap(indent, text)
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width {
				t.Fatalf("a line of %d characters, want at most %d", n, width)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := squeeze(strings.Join(lines, " ")), squeeze(text); got != want {
			t.Fatalf("wrapped %q, want %q", got, want)
		}
	})
}

func TestFailedChecksComeFirst(t *testing.T) {
	text := render(t, ".txt", broken())
	at := func(part string) int { return bytes.Index(text, []byte(part)) }
	if f, p := at("FAILED: hash chain (telco)"), at("18 checks passed:"); f < 0 || f >= p {
		t.Errorf("failed at %d, passed at %d, want them in this order", f, p)
	}
}

// TestWhatWasNotLookedAtStandsAtTheTop of both forms, before what was.
func TestWhatWasNotLookedAtStandsAtTheTop(t *testing.T) {
	for ending, after := range map[string]string{".txt": "WHO TOOK PART", ".html": "What happened"} {
		text := string(render(t, ending, partial()))
		heading, line, next := strings.Index(strings.ToLower(text), "what was not looked at"),
			strings.Index(text, "The transcripts of insurer"), strings.Index(text, after)
		if heading < 0 || line < heading || next < line {
			t.Errorf("%s: heading at %d, line at %d, what follows at %d", ending, heading, line, next)
		}
		if text := string(render(t, ending, spotless())); strings.Contains(strings.ToLower(text), "what was not looked at") {
			t.Errorf("%s: a clean report has something that was not looked at", ending)
		}
	}
}

func TestTablesAreAligned(t *testing.T) {
	table := newTable("", "name", ">count", "word")
	table.add("bank", "1", "a")
	table.add("insurer", "12,345", "bc")
	got := strings.Join(table.lines("  ", 20), "\n")
	want := "  name      count  word\n  bank          1  a\n  insurer  12,345  bc"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNumbersReadAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{count(0), "0"}, {count(-1234567), "-1,234,567"}, {count(999), "999"},
		{count(math.MinInt64), "-9,223,372,036,854,775,808"},
		{count(uint64(math.MaxUint64)), "18,446,744,073,709,551,615"},
		{plural(1, "row", "rows"), "1 row"}, {plural(15000, "row", "rows"), "15,000 rows"},
		{size(0), "0 B"}, {size(999), "999 B"}, {size(41_283_104), "41.3 MB"}, {size(999_960), "1.0 MB"},
		{size(math.MaxInt64), "9.2 EB"}, {size(math.Inf(1)), "-"},
		{percent(0), "0 %"}, {percent(1), "100 %"}, {percent(0.9999999), ">99.9 %"}, {percent(1e-9), "<0.1 %"},
		{percent(0.9342), "93.4 %"},
		{percent(math.NaN()), "-"}, {percent(1.5), "150 %"}, {percent(1e300), "1e302 %"},
		{number(0), "0"}, {number(4.1e-14), "4.1e-14"}, {number(1e-14), "1e-14"}, {number(0.00011), "0.00011"},
		{number(0.3127), "0.313"},
		{number(-2), "-2"}, {number(1500), "1500"}, {number(2.5e7), "2.5e7"}, {number(math.NaN()), "-"},
		{optional(nil, number), "-"}, {chance(3e-211), "below one in a million"}, {chance(0.31), "0.31"},
		{duration(0.2), "less than a second"}, {duration(74.2), "74 s"}, {duration(200), "3 min 20 s"}, {duration(-1), "-"},
		{list(nil), ""}, {list([]string{"a"}), "a"}, {list([]string{"a", "b", "c"}), "a, b and c"},
		{sentence("ends"), "Ends."}, {sentence("Why?"), "Why?"}, {sentence(""), ""},
		{clip("abcdef", 6), "abcdef"}, {clip("abcdefg", 6), "abc..."}, {clip("äöüäöü", 6), "äöüäöü"},
		{clean("a\x1b[2Jb\nc\u202e"), "a?[2Jb c?"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTheStoryOfManyPartiesIsShort(t *testing.T) {
	var j finding.Job
	for range 100 {
		j.Parties = append(j.Parties, finding.Party{Name: "clinic"})
	}
	if got, want := deed(j), `Clinic, clinic, clinic, clinic, clinic, clinic, clinic and 93 other parties ran a job together in the job "".`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBudgetsOfZeroAreNotExceeded(t *testing.T) {
	for _, c := range []struct {
		e    finding.Egress
		want string
	}{
		{finding.Egress{Bytes: 288, Frames: 3}, "-"},
		{finding.Egress{Bytes: 10, BudgetBytes: 10}, "100 %"},
		{finding.Egress{Bytes: 11, BudgetBytes: 10}, "OVER BUDGET"},
		{finding.Egress{Frames: 2, BudgetFrames: 1}, "OVER BUDGET"},
	} {
		if got := used(c.e); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.e, got, c.want)
		}
	}
}

func TestANameForSeveralIsNoParty(t *testing.T) {
	r := &finding.Report{Job: finding.Job{Parties: []finding.Party{{Name: "bank"}}},
		Attacks: []finding.Attack{{Name: "membership", Party: "every party", Verdict: finding.Clean}}}
	if n := bytes.Count(render(t, ".html", r), []byte("The ledger lists nothing")); n != 1 {
		t.Errorf("%d are said to have learned nothing, want the bank alone", n)
	}
}

func TestShardsHaveATableAndTheirLines(t *testing.T) {
	r := fixtures()["clean"]
	r.Shards = &finding.Shards{Count: 8, Rows: 15000, Fewest: 664, Most: 2048, Sessions: 9,
		Parties: []finding.ShardsOf{{Party: "bank", Done: 8, Transcripts: 9, Records: 1234, BytesSent: 1 << 20, Kept: true}}}
	r.Egress = append(r.Egress, finding.Egress{From: "bank", To: "telco", Kind: "factors", Class: "masked", Frames: 8,
		Bytes: 100, BudgetFrames: 8, BudgetBytes: 100, Shards: 8})
	r.Attacks = append(r.Attacks, finding.Attack{Name: "uniformity", Party: "bank", View: "words", Shards: "shard 3",
		Verdict: finding.Clean})
	text := strings.Join(strings.Fields(string(render(t, ".txt", r))), " ")
	page := string(render(t, ".html", r))
	for _, want := range []string{
		"SHARDS party shards transcripts records sent received payloads bank 8 of 8 9 1,234 1.0 MB 0 B kept",
		"8 shards of 664 to 2,048 rows, 15,000 in all, in 9 sessions: what broke off was made again, as a new generation.",
		"factors, in shards",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q", want)
		}
	}
	for _, want := range []string{"8 of 8", "factors, in shards", "bank, words, shard 3", "each shard once"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestALineWithoutABudgetIsNotFolded: a message that no contract allows, and one that is too long, keep lines of their
// own among the truncations and control messages that are added up.
func TestALineWithoutABudgetIsNotFolded(t *testing.T) {
	line := func(kind, class string, bytes, budget int64) finding.Egress {
		return finding.Egress{From: "bank", To: "telco", Kind: kind, Class: class, Frames: 1, Bytes: bytes,
			BudgetFrames: min(budget, 1), BudgetBytes: budget}
	}
	lines := []finding.Egress{line("gram in", "masked", 60, 60), line("gram carry", "masked", 80, 80),
		line("step in", "masked", 64, 0), line("step out", "masked", 99, 64), line("step carry", "masked", 8, 64),
		line("states", "control", 10, 20), line("done", "control", 5, 20), line("rows", "control", 9, 0),
		line("abort", "control", 21, 20)}
	var got []string
	for _, e := range controlFolded(truncationsFolded(lines)) {
		got = append(got, fmt.Sprintf("%s %d %s", e.Kind, e.Bytes, used(e)))
	}
	want := []string{"gram (truncation) 140 100 %", "step in 64 -", "step out 99 OVER BUDGET",
		"step (truncation) 8 12.5 %", "rows 9 -", "abort 21 OVER BUDGET", "control 15 37.5 %"}
	if !slices.Equal(got, want) {
		t.Errorf("lines are\n%q\nwant\n%q", got, want)
	}
}
