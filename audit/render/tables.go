package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/secagg/he"
	"github.com/hanse-project/hanse/secagg/rss"
)

// partyTable lists who took part and which transcripts were read.
func partyTable(r *finding.Report) *table {
	t := newTable("Who took part", "party", "role", ">columns", "transcript")
	for _, p := range r.Job.Parties {
		t.add(named(p.Name, "unnamed"), named(roleOf(p), none), count(p.Columns), transcriptOf(r, p))
	}
	return t
}

// transcriptOf says in words what was read of a party.
func transcriptOf(r *finding.Report, p finding.Party) string {
	for _, t := range r.Transcripts {
		if t.Party == p.Name {
			return fmt.Sprintf("%s, %s", plural(t.Records, "record", "records"), ending(t))
		}
	}
	if p.Audited {
		return "read"
	}
	return "not read"
}

// ending says how a transcript ends.
func ending(t finding.Transcript) string {
	if t.Cut {
		return "cut short"
	}
	return "complete"
}

// transcriptTable lists the files that were read.
func transcriptTable(r *finding.Report) *table {
	t := newTable("Transcripts", "party", ">records", ">sessions", ">sent", ">received", ">countersigned",
		"payloads", "end", "file")
	for _, f := range r.Transcripts {
		kept := "digests only"
		if f.Kept {
			kept = "kept"
		}
		t.add(named(f.Party, none), count(f.Records), count(f.Sessions), size(float64(f.BytesSent)),
			size(float64(f.BytesReceived)), percent(f.Countersigned), kept, ending(f), f.Path)
	}
	return t
}

// shardTable lists what was read of the job's shards; it is empty for a job without.
func shardTable(r *finding.Report) *table {
	t := newTable("Shards", "party", ">shards", ">transcripts", ">records", ">sent", ">received", "payloads")
	if r.Shards == nil {
		return t
	}
	s := r.Shards
	rows := plural(s.Most, "row", "rows")
	if s.Fewest < s.Most {
		rows = count(s.Fewest) + " to " + rows
	}
	t.Note = fmt.Sprintf("%s of %s, %s in all, in %s: what broke off was made again, as a new generation.",
		plural(s.Count, "shard", "shards"), rows, count(s.Rows), plural(s.Sessions, "session", "sessions"))
	for _, p := range s.Parties {
		kept := "digests only"
		if p.Kept {
			kept = "kept"
		}
		t.add(named(p.Party, none), fmt.Sprintf("%s of %s", count(p.Done), count(s.Count)), count(p.Transcripts),
			count(p.Records), size(float64(p.BytesSent)), size(float64(p.BytesReceived)), kept)
	}
	return t
}

// egressTable holds the budget against what was sent.
func egressTable(r *finding.Report) *table {
	t := newTable("What left each machine", "from", "to", "kind", "class", ">frames", ">of", ">bytes", ">budget", ">used")
	t.Note = "Frames and payload bytes of the session that sent most, against the budget of one session. " +
		"Lines without a budget are control messages of a few hundred bytes."
	if r.Shards != nil {
		t.Note += " Lines in shards are of the sessions of all shards together, each shard once."
	}
	for _, e := range truncationsFolded(r.Egress) {
		t.add(named(e.From, none), named(e.To, "all"), kindOf(e), classAndEncoding(e), count(e.Frames),
			allowed(e.BudgetFrames, count(e.BudgetFrames)),
			size(float64(e.Bytes)), allowed(e.BudgetBytes, size(float64(e.BudgetBytes))), used(e))
	}
	return t
}

// egressTableNarrow is egressTable for a terminal.
func egressTableNarrow(r *finding.Report) *table {
	t := newTable("What left each machine", "from", "to", "kind", "class", ">bytes", ">used")
	for _, e := range controlFolded(truncationsFolded(r.Egress)) {
		t.add(named(e.From, none), named(e.To, "all"), kindOf(e), e.Class, size(float64(e.Bytes)), used(e))
	}
	return t
}

// kindOf names what a line is of, and where it was sent.
func kindOf(e finding.Egress) string {
	if e.Shards == 0 {
		return e.Kind
	}
	return e.Kind + ", in shards"
}

// truncationsFolded adds up the messages of each truncation of shares, as a party was shown them when it consented. A
// line over its budget, or without one, stays.
func truncationsFolded(lines []finding.Egress) []finding.Egress {
	var list []finding.Egress
	for _, e := range lines {
		name, ok := rss.TruncationName(e.Kind)
		if !ok || over(e) || unallowed(e) {
			list = append(list, e)
			continue
		}
		e.Kind, e.Encoding = name, ""
		list = folded(list, e)
	}
	return list
}

// controlFolded adds up each party's control messages, which are many and small; halves of encrypted totals, and a line
// over its budget or without one, stay.
func controlFolded(lines []finding.Egress) []finding.Egress {
	const control = "control"
	var list, controls []finding.Egress
	for _, e := range lines {
		if e.Class != control || over(e) || unallowed(e) || strings.HasSuffix(e.Kind, he.SuffixC1) {
			list = append(list, e)
			continue
		}
		e.Kind, e.To, e.Encoding, e.Shards = control, "all", "", 0
		controls = folded(controls, e)
	}
	return append(list, controls...)
}

// folded adds a line to the one of its sender and kind, or behind all.
func folded(list []finding.Egress, e finding.Egress) []finding.Egress {
	at := slices.IndexFunc(list, func(o finding.Egress) bool {
		return o.From == e.From && o.Kind == e.Kind && o.Class == e.Class && o.Shards == e.Shards
	})
	if at < 0 {
		return append(list, e)
	}
	f := &list[at]
	if to := strings.Split(f.To, ", "); !slices.Contains(to, e.To) {
		to = append(to, e.To)
		slices.Sort(to)
		f.To = strings.Join(to, ", ")
	}
	f.Frames, f.Bytes = f.Frames+e.Frames, f.Bytes+e.Bytes
	f.BudgetFrames, f.BudgetBytes = f.BudgetFrames+e.BudgetFrames, f.BudgetBytes+e.BudgetBytes
	return list
}

// classAndEncoding names class and encoding of a line.
func classAndEncoding(e finding.Egress) string {
	if e.Encoding == "" {
		return e.Class
	}
	return e.Class + ", " + e.Encoding
}

// allowed writes a budget; one of zero is none.
func allowed(budget int64, words string) string {
	if budget <= 0 {
		return none
	}
	return words
}

// used says which share of the budget was used, and shouts when it was exceeded.
func used(e finding.Egress) string {
	switch {
	case over(e):
		return "OVER BUDGET"
	case e.BudgetBytes <= 0:
		return none
	}
	return percent(float64(e.Bytes) / float64(e.BudgetBytes))
}

// over tells whether a line exceeds a budget it has.
func over(e finding.Egress) bool {
	return e.BudgetBytes > 0 && e.Bytes > e.BudgetBytes || e.BudgetFrames > 0 && e.Frames > e.BudgetFrames
}

// unallowed tells whether a line has no budget at all.
func unallowed(e finding.Egress) bool { return e.BudgetBytes <= 0 && e.BudgetFrames <= 0 }

// ledgerTable lists what each party learned by design.
func ledgerTable(r *finding.Report) *table {
	t := newTable("Disclosure ledger", "party", "kind", ">recorded", ">allowed", ">features", ">unknown columns",
		">rank", ">bits a row", ">addends", "verdict")
	t.Note = "Values a party learns by design. Bits a row are those of scores in sealed jobs, about. " +
		"Rank is that of the system of equations on row differences; addends is the smallest number of parties in a sum."
	for _, l := range r.Ledger {
		recorded := count(l.Count)
		if l.Unread {
			recorded = none
		}
		t.add(named(l.Party, none), l.Kind, recorded, count(l.Declared), positive(l.Features), positive(l.UnknownColumns),
			positive(l.Rank), positive(l.BitsPerRow), positive(l.Contributors), string(l.Verdict))
	}
	return t
}

// positive writes a number for which zero means that it does not apply.
func positive(n int) string {
	if n == 0 {
		return none
	}
	return count(n)
}

// attackTable lists the attacks for a terminal; found is the share of rows rebuilt, or what a test gave.
func attackTable(r *finding.Report) *table {
	t := newTable("Attacks", "attack", "view", ">rows", ">found", ">error", ">control", "verdict")
	for _, a := range r.Attacks {
		found := statistic(a)
		if a.RecoveredShare != nil {
			found = percent(*a.RecoveredShare)
		}
		t.add(a.Name, viewer(a), positive(a.Rows), found,
			optional(a.RMS, number), optional(a.ControlRMS, number), string(a.Verdict))
	}
	return t
}

// statistic writes what a test found, with what it is.
func statistic(a finding.Attack) string {
	if a.Statistic == nil {
		return none
	}
	what := map[string]string{"uniformity": "p ", "mask reuse": "p ", "known rows": "R2 ", "label leakage": "r "}[a.Name]
	if what == "p " && *a.Statistic < 1e-12 {
		return "p<1e-12"
	}
	if what == "R2 " || what == "r " {
		return fmt.Sprintf("%s%.2f", what, *a.Statistic)
	}
	return what + number(*a.Statistic)
}

// attackTableWide lists the attacks for a page, with both controls and the statistic of tests.
func attackTableWide(r *finding.Report) *table {
	t := newTable("Attacks", "attack", "view", ">rows", ">unknown columns", ">equations",
		">rows rebuilt", ">same, leaky control",
		">error", ">same, empty control", ">statistic", "verdict")
	t.Note = "Rows rebuilt: within 1 % of the range of every column. Error: root mean square, as a " +
		"share of a column's range. " +
		"The leaky control is the same attack where everything can be found, the empty control where " +
		"there is nothing to find. " +
		"Statistic: of attacks that test, the smallest p-value, or a correlation or R\u00b2."
	for _, a := range r.Attacks {
		t.add(a.Name, viewer(a), positive(a.Rows), positive(a.UnknownColumns), positive(a.Equations),
			optional(a.RecoveredShare, percent),
			optional(a.ControlShare, percent), optional(a.RMS, number), optional(a.ControlRMS, number),
			statistic(a), string(a.Verdict))
	}
	return t
}

// viewer names whose view an attack uses, and of which shards.
func viewer(a finding.Attack) string {
	text := a.Party
	switch {
	case a.Party == "":
		text = named(a.View, none)
	case a.View != "":
		text += ", " + a.View
	}
	if a.Shards != "" {
		text += ", " + a.Shards
	}
	return text
}

// qualityTable lists how well an attack rebuilt each column.
func qualityTable(a finding.Attack) *table {
	t := newTable(capital(attacked(a)), "party", "column", ">error", ">R\u00b2")
	for _, c := range a.Columns {
		t.add(named(c.Party, none), named(c.Name, "unnamed"), number(c.RMS), number(c.R2))
	}
	return t
}

// checkTable lists the checks, those that did not pass first.
func checkTable(r *finding.Report) *table {
	t := newTable("Checks", "check", "party", "verdict", "detail")
	for _, passed := range []bool{false, true} {
		for _, c := range r.Checks {
			if passed == (c.Verdict == finding.Passed) {
				t.add(c.Name, named(c.Party, "all"), string(c.Verdict), c.Detail)
			}
		}
	}
	return t
}

// maxRows is how many rows of a table a report shows.
const maxRows = 500

// column is one column of a table.
type column struct {
	Name  string
	Right bool // numbers
	Class string
}

// table is what both renderings make of a list. Its fields are open to the template of the page.
type table struct {
	Title   string
	Note    string
	Columns []column
	Rows    [][]string
	More    int // rows that were left out
}

// newTable makes a table without rows; a column whose name begins with '>' holds numbers.
func newTable(title string, names ...string) *table {
	t := &table{Title: title}
	for _, name := range names {
		word, right := strings.CutPrefix(name, ">")
		c := column{Name: word, Right: right}
		if right {
			c.Class = "n"
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// add appends a row, one cell per column, unless the table is full.
func (t *table) add(cells ...string) {
	if len(t.Rows) == maxRows {
		t.More++
		return
	}
	t.Rows = append(t.Rows, cells)
}

// Size is how many rows there are.
func (t *table) Size() string { return count(len(t.Rows) + t.More) }

// Left says how many rows were left out.
func (t *table) Left() string {
	if t.More == 0 {
		return ""
	}
	return "and " + plural(t.More, "row", "rows") + " more, which the JSON report lists"
}

// lines lays the table out for a terminal, every cell cut to most characters.
func (t *table) lines(indent string, most int) []string {
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Name
	}
	rows := append([][]string{head}, t.Rows...)
	widths := widthsOf(rows, most)
	t.fit(widths, width-utf8.RuneCountInString(indent))
	var out []string
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range row {
			b.WriteString(t.cell(i, clip(cell, widths[i]), widths[i]))
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	if left := t.Left(); left != "" {
		out = append(out, indent+left)
	}
	return out
}

// narrowest is how narrow a column of words may become.
const narrowest = 6

// fit makes the widest columns of words narrower until a line has room, or nothing gives.
func (t *table) fit(widths []int, space int) {
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > space; total-- {
		widest := -1
		for i, w := range widths {
			if !t.Columns[i].Right && w > narrowest && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// cell pads a cell to its column's width, with two spaces before all but the first.
func (t *table) cell(i int, text string, width int) string {
	pad := strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
	gap := ""
	if i > 0 {
		gap = "  "
	}
	if t.Columns[i].Right {
		return gap + pad + text
	}
	return gap + text + pad
}

// widthsOf returns the width of every column, in characters.
func widthsOf(rows [][]string, most int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(clip(cell, most)))
		}
	}
	return widths
}
