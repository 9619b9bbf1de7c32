// Package doctor looks for what keeps a member's node from working, at the node itself and on the way to each other
// member, and says of each fault what causes it and what to change. It looks as a running node does, or from a folder
// whose node does not run.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/disk"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
)

// Verdict is what came of a check.
type Verdict string

// The verdicts.
const (
	Fine    Verdict = "fine"
	Warning Verdict = "warning" // it works, and may not for long
	Failed  Verdict = "failed"
	Skipped Verdict = "skipped" // it could not be looked at; Text says why
)

// The names of checks. They are part of what programs read, and keep their meaning.
const (
	CheckKey        = "key"
	CheckCharter    = "charter"
	CheckPorts      = "ports"
	CheckClock      = "clock"
	CheckDisk       = "disk"
	CheckTable      = "table"
	CheckAddress    = "address"    // is there one to dial, and how was it found
	CheckDial       = "dial"       // does somebody answer there
	CheckTLS        = "tls"        // is it the member
	CheckAdmission  = "admission"  // do both let each other in, under one charter
	CheckRoundTrip  = "round trip" // how long a word and its answer take
	CheckLoss       = "loss"       // of what this end sent, and the other
	CheckThroughput = "throughput"
)

// Check is one thing that was looked at.
type Check struct {
	About   string  `json:"about,omitempty"` // a member; empty: this node
	Name    string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`           // what was found
	Mend    string  `json:"mend,omitempty"` // what to change, where the verdict is a warning or failed
	// Figures of a check that measures, by name with its unit: "seconds", "sent_bytes_per_second".
	Figures map[string]float64 `json:"figures,omitempty"`
}

// Report is all that was looked at, this node first, then the members in the charter's order.
type Report struct {
	Member  string  `json:"member"`
	Running bool    `json:"running"` // the node itself looked
	Checks  []Check `json:"checks"`
}

// Worst returns the worst verdict: Failed, Warning or Fine.
func (r *Report) Worst() Verdict {
	worst := Fine
	for _, c := range r.Checks {
		switch {
		case c.Verdict == Failed:
			return Failed
		case c.Verdict == Warning:
			worst = Warning
		}
	}
	return worst
}

// Text prints a report in 80 columns.
func (r *Report) Text(w io.Writer) {
	how := "its node does not run: what follows was looked at in its place"
	if r.Running {
		how = "its node runs"
	}
	terminal.Sentence(w, "", fmt.Sprintf("%s, %s", cmp.Or(r.Member, "this member"), how))
	about, count := "", make(map[Verdict]int)
	for _, c := range r.Checks {
		if c.About != about {
			about = c.About
			fmt.Fprintf(w, "\n%s\n", terminal.Printable(about))
		}
		count[c.Verdict]++
		fmt.Fprint(w, strings.Replace(wording.Wrap(80, strings.Repeat(" ", 23), terminal.Printable(c.Text)),
			strings.Repeat(" ", 23), fmt.Sprintf("  %-8s %-11s ", c.Verdict, c.Name), 1))
		if c.Mend != "" {
			fmt.Fprint(w, strings.Replace(wording.Wrap(80, strings.Repeat(" ", 26), terminal.Printable(c.Mend)),
				strings.Repeat(" ", 26), strings.Repeat(" ", 23)+"=> ", 1))
		}
	}
	fmt.Fprintf(w, "\n%d fine, %d skipped, %s, %d failed\n", count[Fine], count[Skipped],
		wording.Count(count[Warning], "warning"), count[Failed])
}

// Patient is what is looked at.
type Patient struct {
	Key         *keys.PrivateKey
	KeyFile     string
	Charter     *keys.SignedCharter // in force
	CharterFile string
	Dir         string
	Tables      map[string]jobs.TableSpec
	Listen      []string // as the node is told to, nil: the charter's ports
	Identify    []string // the columns by which the charter identifies rows
}

// papers says whether the key and the charter belong together and are as they should be.
func (p *Patient) papers() []Check {
	key := Check{Name: CheckKey, Verdict: Fine}
	self := p.Key.ID()
	m, ok := p.Charter.Member(self)
	revoked, was := p.Charter.RevokedID(self)
	var names []string
	for _, m := range p.Charter.Members {
		names = append(names, fmt.Sprintf("%s (%s)", m.Name, m.ID.Short()))
	}
	switch {
	case was:
		key.Verdict, key.Text = Failed, fmt.Sprintf("the key in %s is the one of %s that charter %s, version %d, has "+
			"revoked: %s", p.KeyFile, revoked.Name, p.Charter.Name, p.Charter.Version, revoked.Reason)
		key.Mend = "make a new key with hanse keys new, and have a member add its card with hanse charter change --add"
	case !ok:
		key.Verdict, key.Text = Failed, fmt.Sprintf("the key in %s is %s, which is no member's: charter %s, version "+
			"%d, has %s", p.KeyFile, self.Short(), p.Charter.Name, p.Charter.Version, wording.List(names, "and"))
		key.Mend = "give the key file of one of these with --key, or the charter that has this key with --charter"
	default:
		key.Text = fmt.Sprintf("%s is the key of %s", p.KeyFile, m.Name)
		if info, err := os.Stat(p.KeyFile); err == nil && info.Mode().Perm()&0o077 != 0 {
			key.Verdict = Warning
			key.Text += fmt.Sprintf(", and others on this machine may read it: its mode is %#o", info.Mode().Perm())
			key.Mend = "chmod 600 " + p.KeyFile
		}
	}
	charter := Check{Name: CheckCharter, Verdict: Fine, Text: fmt.Sprintf("%s, version %d (%s), signed by all %d",
		p.Charter.Name, p.Charter.Version, p.Charter.Digest().Short(), len(p.Charter.Members))}
	if err := p.Charter.Complete(); err != nil {
		charter.Verdict, charter.Text = Failed, fmt.Sprintf("%s: %v", p.CharterFile, err)
		charter.Mend = "have those who are missing sign it: hanse charter sign --key FILE " + p.CharterFile
	} else if now := time.Now(); p.Charter.Created.After(now.Add(time.Hour)) {
		charter.Verdict = Warning
		charter.Text += fmt.Sprintf("; it was made on %s, and this machine's clock says %s", wording.Time(p.Charter.Created),
			wording.Time(now))
		charter.Mend = "set this machine's clock (timedatectl status shows it)"
	}
	return []Check{key, charter}
}

// testBytes is how much is written to see whether a disk takes it.
const testBytes = 4 << 20

// disk writes into the node's folder as jobs will.
func (p *Patient) disk() Check {
	c := Check{Name: CheckDisk, Verdict: Fine}
	space, known := disk.Of(p.Dir)
	if known == nil {
		c.Text = fmt.Sprintf("%s of %s free in %s", wording.Size(space.Free), wording.Size(space.Total), p.Dir)
	}
	err := tryWrite(p.Dir)
	switch {
	case os.IsNotExist(err):
		c.Verdict, c.Text = Skipped, fmt.Sprintf("%s is not there yet: the node makes it when it starts", p.Dir)
	case err != nil && disk.IsFull(err):
		c.Verdict, c.Text = Failed, fmt.Sprintf("%s is on a disk that is full, or over its quota: %v", p.Dir, err)
		c.Mend = fmt.Sprintf("make space on it (df -h %s), or move the folder and start the node with --dir there", p.Dir)
	case err != nil:
		c.Verdict, c.Text = Failed, fmt.Sprintf("nothing can be written in %s: %v", p.Dir, err)
		c.Mend = fmt.Sprintf("give the folder to the user whom the node runs as: chown -R USER %s", p.Dir)
	case known != nil:
		c.Text = p.Dir + " takes what is written; how much is free this system does not say"
	case space.Level() == disk.Full:
		c.Verdict, c.Mend = Failed, fmt.Sprintf("make space on it (df -h %s): jobs stop when it is full", p.Dir)
	case space.Level() == disk.Low:
		c.Verdict, c.Mend = Warning, fmt.Sprintf("make space on it (df -h %s): jobs stop when it is full", p.Dir)
	}
	return c
}

// tryWrite writes a file and removes it.
func tryWrite(dir string) (err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(make([]byte, testBytes))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// surveyed is how many rows of a table are read.
const surveyed = 2000

// tables reads the first rows of each table as a job would.
func (p *Patient) tables() (checks []Check) {
	var names []string
	for name := range p.Tables {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		checks = append(checks, p.table(name, p.Tables[name]))
	}
	return checks
}

func (p *Patient) table(name string, spec jobs.TableSpec) Check {
	c := Check{Name: CheckTable, Verdict: Fine}
	if spec.Path == stream.Stdin {
		c.Verdict, c.Text = Skipped, name+" is read from standard input"
		return c
	}
	at, err := source.Parse(spec.Path)
	if err == nil {
		err = at.Check()
	}
	info, missing := os.Stat(spec.Path)
	if err == nil && (missing != nil || !info.Mode().IsRegular()) {
		c.Verdict, c.Text = Skipped, fmt.Sprintf("%s comes from %v, which is asked when a job reads it: hanse table check "+
			"asks it now", name, at)
		return c
	}
	if err == nil {
		s, broken := spec.Survey(surveyed, p.Identify)
		if broken == nil {
			c.Text = fmt.Sprintf("%s: %s can be read, %s, ids in %s", name, spec.Path, wording.Count(len(s.Columns), "column"),
				s.ID)
			return c
		}
		err = broken
	}
	c.Verdict, c.Text = Failed, fmt.Sprintf("%s cannot be used: %v", name, err)
	c.Mend = fmt.Sprintf("mend that file, or give another with --data %s=FILE; hanse table check %s says all that is "+
		"wrong", name, spec.Path)
	switch {
	case os.IsPermission(err):
		c.Mend = fmt.Sprintf("let the user whom the node runs as read it: chmod u+r %s, or chown", spec.Path)
	case os.IsNotExist(err):
		c.Mend = fmt.Sprintf("put it back, or give the place where it is now with --data %s=FILE", name)
	}
	return c
}

// lineOf says where a text stands in a file, for a person who has to change it.
func lineOf(path, text string) string {
	data, err := os.ReadFile(path)
	if err != nil || text == "" {
		return path
	}
	for i, line := range strings.Split(string(data), "\n") {
		if strings.Contains(line, `"`+text+`"`) {
			return fmt.Sprintf("line %d of %s", i+1, path)
		}
	}
	return path
}

// Examine looks at everything, or, where members are named, at the ways to these alone. host is nil where key and
// charter, or the ports, let no host begin: the error of that is unheard then.
func (p *Patient) Examine(ctx context.Context, host *peer.Host, unheard error,
	members []string) ([]Check, error) {
	var checks []Check
	for _, name := range members {
		if _, ok := p.Charter.MemberNamed(name); !ok {
			return nil, fmt.Errorf("charter %q has no member %q", p.Charter.Name, name)
		}
	}
	checks = append(checks, p.papers()...)
	checks = append(checks, p.disk())
	checks = append(checks, p.tables()...)
	if host == nil && slices.ContainsFunc(checks, func(c Check) bool {
		return c.Verdict == Failed && (c.Name == CheckKey || c.Name == CheckCharter)
	}) {
		return append(checks, Check{Name: CheckPorts, Verdict: Skipped,
			Text: "with that key and that charter nobody is let in, and nobody was dialled"}), nil
	}
	if host == nil {
		checks = append(checks, Check{Name: CheckPorts, Verdict: Failed, Text: unheard.Error(),
			Mend: "see what holds the port (ss -ltnp), or have the node listen elsewhere with --listen /ip4/0.0.0.0/tcp/PORT"})
		return checks, nil
	}
	var ways []Check
	var met []peer.Examination
	for _, m := range p.Charter.Members {
		if m.ID == p.Key.ID() || len(members) > 0 && !slices.Contains(members, m.Name) {
			continue
		}
		e, err := host.Examine(ctx, m.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		met = append(met, e)
		ways = append(ways, p.way(ctx, host, m, e)...)
	}
	checks = append(checks, p.ports(ctx, host, met), p.clock(met))
	return append(checks, ways...), nil
}

// clock compares this machine's clock with those of the members that are there.
func (p *Patient) clock(met []peer.Examination) Check {
	c := Check{Name: CheckClock, Verdict: Fine}
	var differ []string
	there := 0
	for _, e := range met {
		if !e.Status.Connected {
			continue
		}
		there++
		if e.Status.ClockTrouble != "" {
			differ = append(differ, e.Status.ClockTrouble)
		}
	}
	switch {
	case there == 0:
		c.Verdict, c.Text = Skipped, fmt.Sprintf("it says %s; no member is there to compare it with",
			wording.Time(time.Now()))
	case len(differ) > 0:
		c.Verdict, c.Text = Failed, strings.Join(differ, "; ")
		c.Mend = "set the clock that is wrong: timedatectl set-ntp true keeps a machine's time"
	default:
		c.Text = fmt.Sprintf("as that of %s", wording.Count(there, "member"))
	}
	return c
}
