package node

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/protocol"
)

// Summary tells a person at the named party, before consent, what a contract computes, what will
// leave the machine and who learns what.
func Summary(c *protocol.Contract, party string) string {
	var b strings.Builder
	j := c.Job
	fmt.Fprintf(&b, "job %q (%s %s), proposed by %s, contract %s\n", j.Name, j.Algorithm, j.Task, j.Proposer, c.Hash().Short())
	writeSubject(&b, j)
	if len(j.Servers) > 0 {
		writeServed(&b, c)
	} else {
		writeParties(&b, c)
	}
	for _, w := range Warnings(c) {
		fmt.Fprintf(&b, "\nwarning:\n%s", wrapped("  ", w))
	}
	writeEgress(&b, c, party)
	writeOpenings(&b, c)
	writeRecord(&b, c)
	writeExpiry(&b, c)
	return b.String()
}

// writeSubject says on what a job works: what a person at a party looks for first.
func writeSubject(b *strings.Builder, j *protocol.Job) {
	fmt.Fprintf(b, "on table %s", j.Table)
	if label := consent.LabelOf(j); label != "" && j.Task == protocol.TaskTrain {
		fmt.Fprintf(b, ", label %s", label)
	}
	if j.Task == protocol.TaskPredict {
		fmt.Fprintf(b, ", model %.8s, scores open to %s", j.Model, j.OpenTo)
	}
	if j.Requests > 0 {
		fmt.Fprintf(b, ", row by row, up to %d times", j.Requests)
	}
	b.WriteString("\n")
	if j.Task == protocol.TaskPredict && j.Privacy == fdskl.Sealed {
		times := "more than once"
		if n := j.TimesPerRow(); n > 1 {
			times = fmt.Sprintf("more than %d times", n)
		}
		text := fmt.Sprintf("no row is scored %s with this model, over all predictions; what %s was told before comes "+
			"from its own file", times, j.OpenTo)
		if j.Requests == 0 {
			text += ", and it tells all which rows these are"
		}
		b.WriteString(wrapped("", text))
	}
}

// writeParties says who takes part in a job over features, and with what.
func writeParties(b *strings.Builder, c *protocol.Contract) {
	fmt.Fprintf(b, "privacy %s, %ssums along a %s, %d rows\n\n", c.Job.Privacy, adjective(c.Job), c.Job.Topology, rows(c))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "party\trole\trows\tcolumns\tkey")
	three := sharersOf(c)
	for i := range c.Parties {
		f := &c.Parties[i]
		if f.Role == roleHelper {
			fmt.Fprintf(w, "%s\t%s, without data\t-\t-\t%s\n", f.Name, f.Role, f.ID.Short())
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", f.Name, three.role(f), f.Rows, f.Columns, f.ID.Short())
	}
	w.Flush()
	writeSharers(b, c)
	writeEncryption(b, c)
	writeMemory(b, c)
}

// writeServed says who takes part in a job over clients.
func writeServed(b *strings.Builder, c *protocol.Contract) {
	j := c.Job
	fmt.Fprintf(b, "privacy %s, %ssums over clients along a %s\n\n", j.Privacy, adjective(j), j.Topology)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "server\tclients\tcolumns\tkey of the server")
	for _, server := range j.Servers {
		var names []string
		columns := 0
		for _, i := range j.ClientsOf(j.Index(server)) {
			names, columns = append(names, c.Parties[i].Name), c.Parties[i].Columns
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", server, several(names), columns, c.Parties[j.Index(server)].ID.Short())
	}
	w.Flush()
}

// several joins names, of many the first and the last with their number.
func several(names []string) string {
	if len(names) <= 4 {
		return list(names)
	}
	return fmt.Sprintf("%s to %s (%d)", names[0], names[len(names)-1], len(names))
}

// adjective says of a job's sums how they are protected, when it is not by masks.
func adjective(j *protocol.Job) string {
	if isEncrypted(j) {
		return "encrypted "
	}
	return ""
}

// writeMemory says what a training keeps in memory: two bytes for each angle where they open, a
// block of rows and a chunk elsewhere.
func writeMemory(b *strings.Builder, c *protocol.Contract) {
	if c.Job.Task != protocol.TaskTrain {
		return
	}
	if c.Job.Privacy == fdskl.Sealed {
		writeSealedMemory(b, c)
		return
	}
	fmt.Fprintf(b, "\nmemory beside the table:")
	for _, o := range c.Openings {
		if o.Kind == "angles" {
			fmt.Fprintf(b, " %s %s,", o.To, Size(2*o.Count))
		}
	}
	fmt.Fprintf(b, " the others a few megabytes\n")
}

// writeOpenings lists who learns what.
func writeOpenings(b *strings.Builder, c *protocol.Contract) {
	fmt.Fprintf(b, "\nwho learns what\n")
	var idle []string
	for _, p := range c.Parties {
		none := true
		for i := range c.Openings {
			if o := &c.Openings[i]; o.To == p.Name {
				writeOpening(b, c, i)
				none = false
			}
		}
		if none {
			idle = append(idle, p.Name)
		}
	}
	if len(idle) > 0 {
		fmt.Fprintf(b, "  %s: nothing but sizes and timing\n", list(idle))
	}
}

// writeOpening writes a line of the openings, for all who learn as much of the same, where the first of them
// stands.
func writeOpening(b *strings.Builder, c *protocol.Contract, first int) {
	o := &c.Openings[first]
	var names []string
	for i := range c.Openings {
		same := c.Openings[i]
		same.To = o.To
		if same != *o {
			continue
		}
		if i < first {
			return
		}
		names = append(names, c.Openings[i].To)
	}
	each := ""
	if len(names) > 1 {
		each = ", each"
	}
	fmt.Fprintf(b, "  %s%s: %d %s\n%s", several(names), each, o.Count, o.Kind, wrapped("      ", o.Meaning))
}

// writeRecord says what the parties keep of the session.
func writeRecord(b *strings.Builder, c *protocol.Contract) {
	kept := "with a digest of each message"
	if c.Job.Record == protocol.RecordFull {
		kept = "with all payloads"
	}
	fmt.Fprintf(b, "\nevery party keeps a signed transcript %s, for hanse audit\n", kept)
}

// writeExpiry says until when the parties may consent.
func writeExpiry(b *strings.Builder, c *protocol.Contract) {
	if at := c.Job.Expiry(); !at.IsZero() {
		fmt.Fprintf(b, "the proposal ends by itself on %s unless all have consented\n", at.UTC().Format("2006-01-02 15:04 UTC"))
	}
}

// textWidth is how wide a summary's sentences run, indentation included.
const textWidth = 96

// wrapped breaks a sentence of a summary into indented lines.
func wrapped(indent, text string) string { return Wrapped(textWidth, indent, text) }

// Wrapped breaks a sentence into indented lines of at most width characters, but for words that are longer.
func Wrapped(width int, indent, text string) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line) > len(indent) && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if len(line) > len(indent) {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// Size renders a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 10_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// list joins names.
func list(names []string) string { return strings.Join(names, ", ") }
