package summary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/rss"
)

// wrapped breaks a sentence of a summary into indented lines, the width of a screen.
func wrapped(indent, text string) string { return wording.Wrap(wording.Columns, indent, text) }

// Summary is what a person at a party is told of a contract before consent: the sentence that counts, what is decided
// by, and the rest.
type Summary struct {
	Lead  Lead
	Head  string // what it computes and for what, who takes part, who learns what, how many bytes leave how protected
	Whole string // every message, what it takes, what is kept
}

// String is the whole summary as a text.
func (s *Summary) String() string {
	return Unfolded(wrapped("", s.Lead.Text)+"\n"+s.Head, s.Whole)
}

// Unfolded puts what is left for those who want to know everything below what is decided by.
func Unfolded(head, whole string) string { return head + "\nTHE WHOLE CONTRACT\n\n" + whole }

// Known is what a party's node knows of a job beside its contract.
type Known struct {
	Told       *consent.Told // by the jobs before it; nil: nobody asked
	Consented  []string      // the parties whose signature is there
	Awaited    bool          // somebody has yet to consent
	Least      int           // contributors of a total that opens, by the charter in force; 0: nobody asked
	Algorithms registry.List // that are known
}

// Of tells a person at the named party, before consent, what a contract computes, what will leave the machine and who
// learns what.
func Of(c *contract.Contract, party string, k Known) *Summary {
	return &Summary{Lead: LeadOf(c, party, k), Head: headOf(c, party, k), Whole: wholeOf(c, party, k.Algorithms)}
}

// headOf is what a person decides by.
func headOf(c *contract.Contract, party string, k Known) string {
	var b strings.Builder
	j := c.Job
	b.WriteString(wrapped("", fmt.Sprintf("job %q (%s %s), proposed by %s, contract %s", j.Name, j.Algorithm, j.Task,
		j.Proposer, c.Hash().Short())))

	// On what it works: what a person at a party looks for first.
	on := "on table " + j.Table
	if label := consent.LabelOf(j); label != "" && j.Task == contract.TaskTrain {
		on += ", label " + label
		if g, err := k.Algorithms.Goal(j); err == nil {
			on += ": " + g.Kind()
			if g.Positive != "" {
				on += fmt.Sprintf(", the event is %s", wording.Line(string(g.Positive), wording.MaxWord))
			}
		}
	}
	if j.Task == contract.TaskPredict {
		on += fmt.Sprintf(", model %.8s, scores open to %s", j.Model, j.OpenTo)
	}
	if j.Requests > 0 {
		on += fmt.Sprintf(", row by row, up to %d times", j.Requests)
	}
	if j.Rows != "" {
		on += fmt.Sprintf(", the rows of alignment %s (contract %.8s)", j.Rows, j.Alignment)
	}
	b.WriteString(wrapped("", on))
	stated := false
	for _, f := range j.Purpose.Fields() {
		if f.Text != "" {
			stated = true
			b.WriteString(wrapped("  ", f.Name+": "+f.Text))
		}
	}
	if !stated {
		b.WriteString(NoPurpose + "\n")
	}
	if j.Repeat > 1 {
		b.WriteString(wrapped("", fmt.Sprintf("a person's consent holds for %d such jobs, with this model and other rows "+
			"each time, while they tell no more than a rule lets through that says nothing of it; who refuses one ends the "+
			"series", j.Repeat)))
	}
	if j.Task == contract.TaskPredict && j.Privacy == keys.PrivacySealed {
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

	switch {
	case j.OverClients():
		writeClients(&b, c)
	case j.Task == contract.TaskAlign:
		writeAlignment(&b, c)
	default:
		writeColumns(&b, c, k.Algorithms)
		if j.Shards > 0 {
			writeShards(&b, c, party)
		}
	}
	if k.Awaited {
		b.WriteString("\n" + wrapped("", ConsentedText(j.Parties, k.Consented)))
	}
	for _, w := range Warnings(c, k.Algorithms) {
		fmt.Fprintf(&b, "\nwarning:\n%s", wrapped("  ", w))
	}
	writeOpenings(&b, c)
	fmt.Fprintf(&b, "\nwhat leaves %s's machine in one session, at most\n", party)
	jobs.WriteProtected(&b, egressOf(c, party), false)
	return b.String()
}

// NoPurpose stands where a job does not say what it is for.
const NoPurpose = "no purpose is stated"

// ConsentedText says which parties of a job have consented, and which have not.
func ConsentedText(parties, consented []string) string {
	var yes, no []string
	for _, p := range parties {
		if slices.Contains(consented, p) {
			yes = append(yes, p)
		} else {
			no = append(no, p)
		}
	}
	has := func(names []string) string {
		return wording.Named(names) + map[bool]string{true: " has", false: " have"}[len(names) == 1]
	}
	switch {
	case len(yes) == 0:
		return "nobody has consented yet"
	case len(no) == 0:
		return "all have consented"
	}
	return has(yes) + " consented; " + has(no) + " not yet"
}

// egressOf lists what leaves a party's machine, in the job's own sessions and in those of its shards.
func egressOf(c *contract.Contract, party string) []jobs.Egress {
	own, err := c.Egress(c.Job.Index(party))
	inShards, errShards := c.ShardEgress(c.Job.Index(party))
	if err != nil || errShards != nil {
		return nil // no such job has become a contract
	}
	return append(jobs.EgressOf(c, own), jobs.EgressOf(c, inShards)...)
}

// wholeOf is what is left for those who want to know everything.
func wholeOf(c *contract.Contract, party string, l registry.List) string {
	var b strings.Builder
	j := c.Job
	fmt.Fprintf(&b, "digest of the contract\n  %s\n\nmessages of one session\n", c.Hash())
	if lines, err := c.Egress(j.Index(party)); err != nil {
		fmt.Fprintf(&b, "  unknown: %v\n", err)
	} else {
		jobs.WriteEgress(&b, jobs.EgressOf(c, lines), false)
	}
	if j.Shards > 0 {
		writeShardEgress(&b, c, party)
	}
	if !j.OverClients() && j.Task != contract.TaskAlign {
		writeWork(&b, c, l)
	}

	// What is kept, and until when it may be consented to.
	kept := "with a digest of each message"
	switch {
	case j.Record == contract.RecordFull && j.Task == contract.TaskAlign:
		kept = "with all payloads but keys, coins, stores and orders"
	case j.Record == contract.RecordFull:
		kept = "with all payloads"
	}
	b.WriteString("\n" + wrapped("", fmt.Sprintf("every party keeps a signed transcript %s, for hanse audit", kept)))
	if at := j.Expiry(); !at.IsZero() {
		b.WriteString(wrapped("", fmt.Sprintf("the proposal ends by itself on %s unless all have consented",
			wording.Time(at))))
	}
	return b.String()
}

// adjective says of a job's sums how they are protected, when it is not by masks.
func adjective(j *contract.Job) string {
	if j.Encrypted() {
		return "encrypted "
	}
	return ""
}

// writeColumns says who takes part in a job over columns, with what.
func writeColumns(b *strings.Builder, c *contract.Contract, l registry.List) {
	j := c.Job
	words := ""
	if p, ok := paramsOf(c, l); ok && j.Privacy == keys.PrivacySealed {
		words = fmt.Sprintf(", features in words of %d bits", p.Ring)
	}
	fmt.Fprintf(b, "privacy %s, %ssums along a %s, %d rows%s\n\n", j.Privacy, adjective(j), j.Topology, c.Rows(), words)
	w := wording.NewTable(b, "")
	fmt.Fprintln(w, "party\trole\trows\tcolumns\tkey")
	three := l.Sharers(c)
	for i := range c.Parties {
		f := &c.Parties[i]
		if f.Role == joint.RoleHelper {
			fmt.Fprintf(w, "%s\t%s, without data\t-\t-\t%s\n", f.Name, f.Role, f.ID.Short())
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", f.Name, three.Role(f), f.Rows, f.Columns, f.ID.Short())
	}
	w.Flush()

	// Who holds shares, and what any two of them could do.
	if j.Privacy == keys.PrivacySealed {
		whole, alone := "all columns, the labels and the model", "each alone"
		if j.Task == contract.TaskPredict {
			whole = "all columns of these rows, their scores and the model"
		}
		if len(c.Parties) > 3 {
			alone += ", together with any of the other parties,"
		}
		fmt.Fprintf(b, "\n%s", wrapped("", fmt.Sprintf("%s (label holder), %s (keeper) and %s (helper) hold shares of "+
			"whatever is computed. Any two of these three together could rebuild %s; %s learns nothing but what is listed "+
			"below.", three.Holder, three.Keeper, three.Helper, whole, alone)))
	}
}

// writeWork says of a job over columns how its sums are encrypted, how it chooses what the job leaves open, and what
// memory it takes.
func writeWork(b *strings.Builder, c *contract.Contract, l registry.List) {
	j := c.Job
	three := l.Sharers(c)
	// How sums are encrypted, and what that takes.
	if j.Encrypted() {
		heading, matters, err := wired.EncryptionText(len(c.Parties))
		if err != nil { // no such job has become a contract
			heading = fmt.Sprintf("sums by homomorphic encryption: %v", err)
		}
		b.WriteString("\n" + wrapped("", heading))
		for _, text := range matters {
			b.WriteString(wrapped("  ", text))
		}
	}

	p, ok := paramsOf(c, l)
	if ok && !p.Binned() {
		for _, text := range []string{p.FewFeatures(c.Rows()), regulariser(j, p)} {
			if text != "" {
				b.WriteString("\n" + wrapped("", text))
			}
		}
	}

	// What a training keeps in memory: shares of a matrix at those who hold shares, beside a file where the loss needs
	// the features again; else angles where they open and the matrices of a solver there, a block of rows and a chunk
	// elsewhere.
	switch {
	case !ok:
	case j.Privacy == keys.PrivacySealed:
		others := ""
		if len(c.Parties) > 3 {
			others = "; the others a few megabytes"
		}
		b.WriteString("\n" + wrapped("", fmt.Sprintf("memory beside the table: about %s at each of %s, %s and %s%s",
			wording.Size(sealed.Memory(p, c.Rows())), three.Holder, three.Keeper, three.Helper, others)))
		b.WriteString(rowsFile(p, c, three))
	default:
		memory := "memory beside the table:"
		for _, o := range c.Openings {
			if o.Kind == "angles" {
				memory += fmt.Sprintf(" %s %s,", o.To, wording.Size(p.Memory(c.Rows(), anglesKept(c, o))))
			}
		}
		b.WriteString("\n" + wrapped("", memory+" the others a few megabytes"))
	}
}

// writeShards says what a job in shards asks of the named party: workers, which its owner starts.
func writeShards(b *strings.Builder, c *contract.Contract, party string) {
	n, each := c.Job.Shards, "each takes rows of the job"
	if memory, disk, err := columns.WorkerNeeds(c, c.Job.Index(party)); err == nil {
		each = fmt.Sprintf("each takes about %s of memory and %s of disk", wording.Size(memory), wording.Size(disk))
	}
	b.WriteString("\n" + wrapped("", fmt.Sprintf("the rows are worked on in %s, by workers of all parties: %s must run "+
		"%s, one for each; %s. hanse worker is one of them, on any machine that reaches this node; hanse shard manifest "+
		"%s writes the file by which Kubernetes, Slurm, systemd or a shell starts all.", wording.Count(n, "shard"), party,
		wording.Count(n, "worker"), each, c.Job.Name)))
	if c.Parties[c.Job.Index(party)].Columns > 0 {
		b.WriteString(wrapped("", "A worker reads its part of this party's rows, prepared and in the clear, in the folder "+
			"of hanse node --parts. The node removes the parts when the job has ended."))
	}
}

// writeShardEgress lists what the workers of the named party send in the sessions of all shards.
func writeShardEgress(b *strings.Builder, c *contract.Contract, party string) {
	fmt.Fprintf(b, "\nwhat leaves %s's workers in the sessions of all shards together, at most\n", party)
	lines, err := c.ShardEgress(c.Job.Index(party))
	if err != nil {
		fmt.Fprintf(b, "  unknown: %v\n", err)
		return
	}
	var bytes int64
	for _, e := range lines {
		bytes += e.MaxBytes
	}
	jobs.WriteEgress(b, jobs.EgressOf(c, lines), false)
	b.WriteString(wrapped("  ", fmt.Sprintf("a shard begins anew when a worker of it does, at any party, and then its "+
		"share is sent again, about %s: under fresh secrets, and of the same rows", wording.Size(bytes/int64(c.Job.Shards)))))
}

// rowsFile says who has a file of shares of all features, and how large it is; nothing where nobody has one.
func rowsFile(p fdskl.Params, c *contract.Contract, three joint.Sharers) string {
	var names []string
	var size int64
	for role, name := range []string{three.Holder, three.Keeper, three.Helper} {
		if bytes := sealed.FileBytes(p, c.Rows(), rss.Role(role)); bytes > 0 {
			names, size = append(names, name), bytes
		}
	}
	if size == 0 {
		return ""
	}
	return wrapped("", fmt.Sprintf("on the disk until the training ends: %s at each of %s, shares of all features, "+
		"encrypted under a key that is in memory alone; so memory does not grow with rows times features",
		wording.Size(size), wording.List(names, "and")))
}

// regulariser says how a training's lambda is chosen, where the job does not name it.
func regulariser(j *contract.Job, p fdskl.Params) string {
	const how = "lambda is chosen among six from 0.1 to 1e-06, by a fifth of the rows that are kept out of a first " +
		"solution"
	switch {
	case p.Lambda == 0 && j.Privacy == keys.PrivacySealed:
		return fmt.Sprintf("%s: the number of the best opens to %s, who tells all which one is taken", how, p.Active[0])
	case p.Lambda == 0:
		return fmt.Sprintf("%s, at %s: nothing more opens for it", how, p.Active[0])
	case j.Parameters["lambda"] == nil || j.Parameters["lambda"] == fdskl.Auto:
		return fmt.Sprintf("lambda is %v: only a job with one label holder and the fixed schedule chooses it",
			float64(p.Lambda))
	}
	return ""
}

// writeAlignment says who takes part in an alignment, with how many rows, and who learns what.
func writeAlignment(b *strings.Builder, c *contract.Contract) {
	p, err := psi.ParamsOf(c.Job)
	if err != nil { // no such job has become a contract
		fmt.Fprintf(b, "its parameters cannot be read: %v\n", err)
		return
	}
	by := "the id column"
	if len(p.Keys) > 0 {
		by = "the charter's ids " + strings.Join(p.Keys, ", then ")
	}
	buckets := ""
	if p.Buckets > 1 {
		buckets = fmt.Sprintf(", in %d buckets", p.Buckets)
	}
	fmt.Fprintf(b, "rows are compared by %s, mode %s%s\n\n", by, p.Mode, buckets)
	w := wording.NewTable(b, "")
	fmt.Fprintln(w, "party\trole\trows\twith an id\tkey")
	for i := range c.Parties {
		f := &c.Parties[i]
		role := "party"
		switch f.Name {
		case p.Asker:
			role = "asker"
		case p.Keeper:
			role = "keeper"
		case p.Helper:
			role = "helper"
		}
		with := strings.Trim(fmt.Sprint(f.IDs), "[]")
		if len(f.IDs) == 0 {
			fmt.Fprintf(w, "%s\t%s, without rows\t-\t-\t%s\n", f.Name, role, f.ID.Short())
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", f.Name, role, f.Rows, strings.ReplaceAll(with, " ", ", "), f.ID.Short())
	}
	w.Flush()
	fmt.Fprintf(b, "\n%s", wrapped("", fmt.Sprintf("All learn which rows are common to all, each party's number of rows, "+
		"and nothing of anybody's other rows. Fewer than %d common rows open nothing but that they are too few: no program "+
		"shows, keeps or sends how many.", p.MinRows)))
	b.WriteString(wrapped("", oracles(c, p)))
	b.WriteString(wrapped("", fmt.Sprintf("A party may pad its list with guesses, as many as it says that it has rows; "+
		"it is bound to its list by a commitment in the contract. Jobs may use the alignment %q for %d days.", c.Job.Name,
		p.KeepDays)))
}

// oracles says which two could learn, beside what opens, whether one person of their choice is in the others' tables.
func oracles(c *contract.Contract, p psi.Params) string {
	const could = "could learn whether one person of their choice is in the others' tables"
	switch {
	case p.Helper == "":
		return fmt.Sprintf("%s (asker) and %s (keeper) %s: each of the two counts how many rows are common, so that one "+
			"with a changed program sees the number of a list of noise and one guess, and together they could test any id they "+
			"guess against every list; no other two learn more than their own rows say.", p.Asker, p.Keeper, could)
	case len(c.Parties[c.Job.Index(p.Helper)].IDs) > 0:
		return fmt.Sprintf("%s (helper), with a changed program, and %s (asker) and %s (keeper), together, %s: the helper "+
			"counts how many rows are common, and has rows of its own to choose a person by; with either of the two it could "+
			"test any id.", p.Helper, p.Asker, p.Keeper, could)
	}
	return fmt.Sprintf("%s (helper) and any one of the others, or %s (asker) and %s (keeper), two together, %s, and none "+
		"of them alone: the helper counts how many rows are common, and has none by which to choose a person.", p.Helper,
		p.Asker, p.Keeper, could)
}

// listing is how many ids a party lists in an alignment, under all keys.
func listing(f *contract.Facts) string { return grouped(consent.Listed(f)) + " ids" }

// grouped writes a number with a comma at each thousand.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// writeClients says who takes part in a job over clients.
func writeClients(b *strings.Builder, c *contract.Contract) {
	j := c.Job
	fmt.Fprintf(b, "privacy %s, %ssums over clients along a %s\n\n", j.Privacy, adjective(j), j.Topology)
	w := wording.NewTable(b, "")
	fmt.Fprintln(w, "server\tclients\tcolumns\tkey of the server")
	for _, server := range j.Servers {
		var names []string
		columns := 0
		for _, i := range j.ClientsOf(j.Index(server)) {
			names, columns = append(names, c.Parties[i].Name), c.Parties[i].Columns
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", server, wording.Several(names), columns, c.Parties[j.Index(server)].ID.Short())
	}
	w.Flush()
}

// writeOpenings lists who learns what, by party; all who learn as much of the same have one line, where the first of
// them stands.
func writeOpenings(b *strings.Builder, c *contract.Contract) {
	fmt.Fprintf(b, "\nwho learns what\n")
	var idle []string
	for _, p := range c.Parties {
		none := true
		for i, o := range c.Openings {
			if o.To != p.Name {
				continue
			}
			none = false
			var names []string
			first := i
			for k, same := range c.Openings {
				same.To = o.To
				if same == o {
					first, names = min(first, k), append(names, c.Openings[k].To)
				}
			}
			if first < i {
				continue
			}
			each := ""
			if len(names) > 1 {
				each = ", each"
			}
			b.WriteString(wording.Hang("  ", fmt.Sprintf("%s%s: %d %s", wording.Several(names), each, o.Count, o.Kind)))
			b.WriteString(wrapped("      ", o.Meaning))
		}
		if none {
			idle = append(idle, p.Name)
		}
	}
	if len(idle) > 0 {
		b.WriteString(wording.Hang("  ", fmt.Sprintf("%s: nothing but sizes and timing", strings.Join(idle, ", "))))
	}
}

// Warnings says what is doubtful in a job by public numbers alone, a sentence each, for whoever is to consent to it.
// The job is of one of the algorithms listed.
func Warnings(c *contract.Contract, l registry.List) []string {
	warnings := l.OverColumns(c.Job).Warnings
	switch {
	case c.Job.OverClients():
		warnings = l.OverClients(c.Job).Warnings
	case c.Job.Task != contract.TaskTrain:
		return nil
	}
	if warnings == nil {
		return nil
	}
	return warnings(c.Job)
}
