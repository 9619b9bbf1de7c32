package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hanse-project/hanse/audit/finding"
)

// Text writes a report for a terminal or a log: plain characters, lines of at most 80
// of them, the verdict first. It fails when r is nil or w does.
func Text(w io.Writer, r *finding.Report) error { return write(w, r, (*printer).whole) }

// write writes a part of the text at once.
func write(w io.Writer, r *finding.Report, part func(*printer)) error {
	if r == nil {
		return errNone
	}
	p := &printer{r: printable(r)}
	part(p)
	if _, err := w.Write(p.b.Bytes()); err != nil {
		return fmt.Errorf("report: text: %w", err)
	}
	return nil
}

// whole is all of the text.
func (p *printer) whole() {
	p.headline()
	p.b.WriteString("\n")
	for _, s := range story(p.r) {
		p.say("", s)
	}
	if p.r.Job.Contract != "" {
		p.say("", "Contract "+p.r.Job.Contract)
	}
	if len(p.r.NotLookedAt) > 0 {
		p.section("What was not looked at")
		p.points(p.r.NotLookedAt)
	}
	p.section("Who took part")
	p.list(partyTable(p.r), 48, "No party is named.")
	if t := shardTable(p.r); t.Note != "" {
		p.section(t.Title)
		p.list(t, 20, "No session of a shard was read.")
		p.say("  ", t.Note)
	}
	p.section("What left each machine (largest session, against the budget of one)")
	p.list(egressTableNarrow(p.r), 32, "Nothing is recorded.")
	p.ledger()
	p.section("Attacks that were run")
	p.list(attackTable(p.r), 30, "None.")
	for i, a := range p.r.Attacks {
		if a.Verdict == finding.Clean || a.Verdict == finding.NotRead || a.Verdict == finding.Skipped || i >= maxRows {
			continue
		}
		p.b.WriteString("\n")
		p.say("  ", attacked(a)+": "+string(a.Verdict))
		p.say("      ", sentence(a.Detail))
	}
	// Writes those that failed, then one line for all that passed.
	p.section("Checks")
	shown := 0
	for _, is := range []func(finding.Check) bool{failed, doubtful} {
		for _, c := range p.r.Checks {
			if !is(c) || c.Verdict == finding.Skipped || shown == maxRows {
				continue
			}
			shown++
			p.say("  ", capitals(c.Verdict)+": "+checked(c))
			p.say("      ", sentence(c.Detail))
		}
	}
	p.say("  ", passed(p.r.Checks))
	// Lists what the audit leaves open.
	p.section("What no transcript can tell")
	if len(p.r.Unchecked) == 0 {
		p.say("  ", "The audit names nothing.")
	}
	p.points(p.r.Unchecked)
	p.origin()
}

type printer struct {
	r *finding.Report
	b bytes.Buffer
}

func (p *printer) lines(lines []string) {
	for _, line := range lines {
		p.b.WriteString(line + "\n")
	}
}

func (p *printer) say(indent, text string) { p.lines(wrap(indent, text)) }

func (p *printer) section(name string) { p.b.WriteString("\n" + strings.ToUpper(name) + "\n") }

// headline is the verdict with its reasons.
func (p *printer) headline() {
	p.say("", capitals(p.r.Verdict)+": "+named(p.r.Summary, "no summary"))
}

// list writes a table, or a sentence when there is nothing in it.
func (p *printer) list(t *table, most int, empty string) {
	if len(t.Rows) == 0 {
		p.say("  ", empty)
		return
	}
	p.lines(t.lines("  ", most))
}

// ledger is what each party learned, and what follows.
func (p *printer) ledger() {
	p.section("Who learned what")
	if len(p.r.Ledger) == 0 {
		p.say("  ", "No opening is recorded.")
	}
	for i, l := range p.r.Ledger {
		if i == maxRows {
			p.say("  ", "and "+plural(len(p.r.Ledger)-i, "opening", "openings")+" more, which the JSON report lists")
			return
		}
		p.say("  ", learned(l)+": "+string(l.Verdict))
		p.say("      ", strings.TrimSpace(sentence(plain(l))+" "+sentence(system(l))))
	}
}

// failed tells whether a check must be seen first.
func failed(c finding.Check) bool { return grave(c.Verdict) }

// doubtful tells whether a check neither failed nor passed.
func doubtful(c finding.Check) bool { return !grave(c.Verdict) && c.Verdict != finding.Passed }

func (p *printer) points(list []string) {
	for _, s := range listOf(list) {
		lines := wrap("    ", s)
		if len(lines) > 0 {
			lines[0] = "  - " + strings.TrimPrefix(lines[0], "    ")
		}
		p.lines(lines)
	}
}

// origin says who made the report and of which files.
func (p *printer) origin() {
	if p.r.Origin.At == "" {
		return
	}
	p.section("Who made this report, and of what")
	for _, s := range origin(p.r) {
		p.say("  ", s)
	}
	for _, t := range filled(digestTable(p.r)) {
		for _, row := range t.Rows {
			p.say("  ", row[0]+":")
			p.say("    ", row[1])
		}
	}
}

// width is how many characters a line of text holds.
const width = 80

// wrap breaks a text into lines, each behind its indent; a word longer than a line is cut up.
func wrap(indent, text string) []string {
	space := width - len(indent)
	var lines []string
	line := ""
	for _, word := range pieces(text, space) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > space:
			lines = append(lines, indent+line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, indent+line)
	}
	return lines
}

// pieces returns the words of a text, those longer than room in parts.
func pieces(text string, space int) []string {
	var out []string
	for _, word := range strings.Fields(text) {
		characters := []rune(word)
		for len(characters) > space {
			out = append(out, string(characters[:space]))
			characters = characters[space:]
		}
		out = append(out, string(characters))
	}
	return out
}
