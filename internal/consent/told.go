package consent

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Told is what jobs have told of the rows of another job before it, as the ledger counts it.
type Told struct {
	Trainings  int `json:"trainings"`  // of the proposer on the table, in the span; without this job
	Alignments int `json:"alignments"` // of the asker with the table, in the span; without this job
	Listed     int `json:"listed"`     // ids of the asker's lists in these alignments, under all keys

	Before   int64 `json:"before"`    // most bits told of one of the rows, to all members together
	With     int64 `json:"with"`      // the same with this job, of the rows of which it tells something new
	Adds     int64 `json:"adds"`      // most bits that this job adds to one row; 0: it tells nothing new
	Rows     int   `json:"rows"`      // of the party in this job; 0: it brings none
	Models   int   `json:"models"`    // other models of which something was told of one of the rows
	RowsTold int   `json:"rows_told"` // of how many of the rows something was told

	// Nearest is the least number, but 0, of rows by which an earlier training had others than this one; 0: there is
	// none.
	Nearest int `json:"nearest,omitempty"`
	// Unknown says that there was a training on the table of which nobody knows the rows.
	Unknown bool `json:"unknown,omitempty"`
	// Again says how a training's labels stand to those of the latest one over most of its rows.
	Again Again `json:"again,omitempty"`

	// Entropy is about how many bits the party's own columns have of one row; 0: it brings none.
	Entropy float64 `json:"entropy,omitempty"`
	By      []Share `json:"by,omitempty"` // to whom, the members that were told something
}

// To returns what a member was told, nil when that is nothing.
func (t *Told) To(id keys.ID) *Share {
	for i := range t.By {
		if t.By[i].ID == id {
			return &t.By[i]
		}
	}
	return nil
}

// Again is how labels stand to earlier ones.
type Again string

// What the label holder's commitment says of the labels.
const (
	SameLabels  Again = "same"
	OtherLabels Again = "others"
)

// Share is what one member was told of a job's rows before it.
type Share struct {
	ID     keys.ID `json:"id"`
	Name   string  `json:"name"`
	Bits   int64   `json:"bits"` // of one row, at most
	Models int     `json:"models"`
	Rows   int     `json:"rows"`
}

// rowKinds are the openings that are numbers of single rows.
var rowKinds = map[string]bool{
	"angles": true, "derivatives": true, "labelled": true, "partial angles": true, "scores": true,
}

// Weigh splits an opening of a contract: into the bits that it tells of one row, at most, and into how many numbers it
// tells of the rows as a whole. Values of a kind that this program does not know may all be of one row.
func Weigh(c *contract.Contract, o *contract.Opening) (rowBits, numbers int64) {
	j := c.Job
	switch {
	case j.OverClients():
		return 0, o.Count
	case !Knows(o.Kind):
		bits := times(wordBits, o.Count)
		for i := range c.Operations {
			if m := &c.Operations[i]; m.Kind == o.Kind && m.Class == contract.ClassOpening.String() {
				bits = max(bits, times(8, m.Bytes))
			}
		}
		return bits, 0
	case !rowKinds[o.Kind]:
		return 0, o.Count
	}
	bits := bitsOf(c, o)
	switch {
	case j.Requests == 0:
		return divide(bits, int64(c.Rows())), 0
	case j.Privacy == keys.PrivacySealed: // a row is counted
		return times(divide(bits, int64(j.Requests)), int64(min(j.Requests, j.TimesPerRow()))), 0
	}
	return bits, 0 // every request may be about the same row
}

// divide shares a count, and rounds up.
func divide(n, by int64) int64 {
	if by < 1 || n == math.MaxInt64 {
		return n
	}
	return (n + by - 1) / by
}

// What an accept rule lets through where it says nothing of it, so that a short policy is a safe one.
const (
	StandardRows       = 100 // of a training or alignment, at least
	StandardTrainings  = 4   // of a proposer on a table in 30 days
	StandardAlignments = 2   // the same
	StandardPercent    = 150 // of the shortest list of an alignment, which another party lists at most
	StandardDifference = 10  // by how many rows a training has others than an earlier one, at least, or by none
)

// standardBits is how many bits of a row may be told in all where a rule says nothing: half of what the party's own
// columns have.
func standardBits(t *Told) int64 { return int64(t.Entropy / 2) }

// brings reports whether this party brings data to the job, of which the job tells something.
func (c *Case) brings() bool {
	self := c.job().Index(c.Self)
	return c.job().OverClients() || self >= 0 && c.Contract.Parties[self].Rows > 0
}

// overRows reports whether the job works on rows of this party.
func (c *Case) overRows() bool {
	return !c.job().OverClients() && c.job().Task != contract.TaskAlign && c.Told.Rows > 0
}

// ledgerKeys are the keys that bound what jobs add up to, and how long an alignment's lists are.
var ledgerKeys = []key{
	sum("trainings_30_days", "it is one of at most %d trainings of its proposer on the table in 30 days",
		func(r *Rule) *int64 { return r.Trainings30 }, StandardTrainings,
		func(c *Case) (int64, bool) {
			return int64(c.Told.Trainings) + 1, c.job().Task == contract.TaskTrain && c.brings()
		}),
	sum("alignments_30_days", "it is one of at most %d alignments of its asker with the table in 30 days",
		func(r *Rule) *int64 { return r.Alignments30 }, StandardAlignments,
		func(c *Case) (int64, bool) {
			return int64(c.Told.Alignments) + 1, c.job().Task == contract.TaskAlign && c.brings()
		}),
	listPercent, rowBits, leastDifference,
}

// sum is a bound on what jobs add up to.
func sum(name, says string, get func(*Rule) *int64, standard int64, value func(*Case) (int64, bool)) key {
	return standing(name, says, get, true, standard, func(c *Case, most int64) (bool, string, string) {
		v, applies := value(c)
		return !applies || v <= most, strconv.FormatInt(v, 10), fmt.Sprintf("at most %d", most)
	})
}

// standing is a bound that holds for an accept rule that does not set it as well, as standard. fits holds a job against
// a number.
func standing(name, says string, get func(*Rule) *int64, largest bool, standard int64,
	fits func(*Case, int64) (bool, string, string)) key {
	k := bound(name, says, get, largest, nil)
	k.fits = func(r *Rule, c *Case) (bool, string, string) { return fits(c, *get(r)) }
	k.standard = func(c *Case) (bool, string, string) {
		ok, job, want := fits(c, standard)
		return ok, job, want + ", where it does not say " + name
	}
	return k.accepting()
}

// rowBits bounds the bits that jobs tell of one row, over all members and the ledger's life.
var rowBits = func() key {
	value := func(c *Case) (int64, bool) { return c.Told.With, c.overRows() && c.Told.Adds > 0 }
	k := bound("row_bits", "with all jobs before it, it tells at most %d bits of a row, to all members together",
		func(r *Rule) *int64 { return r.RowBits }, true, value)
	k.standard = func(c *Case) (bool, string, string) {
		bits, applies := value(c)
		most := standardBits(&c.Told)
		first := c.Told.Models == 0 && c.opensOneScore()
		return !applies || first || bits <= most, fmt.Sprintf("%d bits of a row, with the jobs before it", bits),
			fmt.Sprintf("at most %d, half of what your columns have, where it does not say row_bits", most)
	}
	return k.accepting()
}()

// scoreBits is how many bits the score of one model has at most.
const scoreBits = 16

// opensOneScore reports whether nothing opens of a row but the score of one model, once. Angles tell all that there is
// of a row; scores of several classes, whose labels may be drawn at random, tell as much as those of several models.
func (c *Case) opensOneScore() bool {
	j := c.job()
	for i := range c.Contract.Openings {
		o := &c.Contract.Openings[i]
		if Knows(o.Kind) && !rowKinds[o.Kind] || o.To == c.Self {
			continue
		}
		bits, _ := Weigh(c.Contract, o)
		rows := int64(max(c.Contract.Rows(), j.Requests))
		if o.Kind != "scores" || divide(o.Count, max(rows, 1)) > 1 || bits > scoreBits || j.TimesPerRow() > 1 {
			return false
		}
	}
	return true
}

// leastDifference is by how many rows trainings must differ: two that differ by one row tell of that row.
var leastDifference = standing("least_difference", "a training has the rows of an earlier one, or at least %d others",
	func(r *Rule) *int64 { return r.LeastDifference }, false, StandardDifference,
	func(c *Case, least int64) (bool, string, string) {
		n, want := c.Told.Nearest, fmt.Sprintf("none or at least %d", least)
		switch {
		case c.job().Task != contract.TaskTrain || least <= 1:
			return true, "", ""
		case c.Told.Unknown:
			return false, "an earlier training on the table, of rows that the ledger does not know any more", want
		}
		return n == 0 || int64(n) >= least,
			fmt.Sprintf("%d rows that an earlier training had not, or the other way round", n), want
	})

// standardRows is the least number of rows of a training or alignment where a rule does not say min_rows.
func standardRows(c *Case) (bool, string, string) {
	n := c.fewestRows()
	switch {
	case c.job().OverClients() || c.job().Task == contract.TaskPredict:
		return true, "", ""
	case c.job().Task == contract.TaskAlign:
		p, err := psi.ParamsOf(c.job())
		if err != nil {
			return false, "parameters that cannot be read", "others"
		}
		n = int64(p.MinRows)
	}
	return n >= StandardRows, strconv.FormatInt(n, 10), fmt.Sprintf("at least %d, where it does not say min_rows",
		StandardRows)
}

// WithinStandards reports whether a job is within all that holds where a rule says nothing.
func (c *Case) WithinStandards() bool {
	for _, k := range ruleKeys {
		if k.standard == nil {
			continue
		}
		if ok, _, _ := k.standard(c); !ok {
			return false
		}
	}
	return true
}

// sumWords says what of an accept rule's standards holds, and how many jobs read a table where it sets others.
func (r *Rule) sumWords() []Line {
	var lines []Line
	add := func(format string, args ...any) { lines = append(lines, Line{1, fmt.Sprintf(format, args...)}) }
	if r.MinRows == nil {
		add("a training or alignment has at least %d rows (min_rows sets another number)", StandardRows)
	}
	if r.MaxMemory == "" {
		add("it takes at most half of what this node has of memory (max_memory)")
	}
	if r.Trainings30 == nil {
		add("it is one of at most %d trainings of its proposer on the table in 30 days (trainings_30_days)",
			StandardTrainings)
	}
	if r.Alignments30 == nil {
		add("it is one of at most %d alignments of its asker with the table in 30 days (alignments_30_days)",
			StandardAlignments)
	}
	if r.ListPercent == nil {
		add("in an alignment no other party lists more than %d %% of the ids of the shortest list beside its own "+
			"(list_percent)", StandardPercent)
	}
	if r.LeastDifference == nil {
		add("a training has the rows of an earlier one, or at least %d others (least_difference)", StandardDifference)
	}
	if r.RowBits == nil {
		add("all jobs together tell at most half of the bits that the columns have of a row, or one score of one model " +
			"(row_bits)")
		return lines
	}
	if jobs := exampleBits / exampleScore; *r.RowBits >= exampleBits {
		add("so this rule lets its proposer read your table in about %d jobs, if it has ten columns", jobs)
	} else {
		add("of ten columns, about %d bits of a row, that is %d %%", exampleBits, 100**r.RowBits/exampleBits)
	}
	return lines
}

// The table of the example that policy check gives: ten columns of three bits; and the bits of a score.
const (
	exampleBits  = 30
	exampleScore = 10
)

// Sentences says for a person, before consent, what was told of a job's rows before it and what the job adds to that;
// self is the person's party. What the job tells by itself, and what was listed in alignments, is in the first sentence
// of a contract's summary.
func (t *Told) Sentences(c *contract.Contract, self string) []string {
	j := c.Job
	proposer := j.Proposer
	if proposer == self {
		proposer = "you"
	}
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if j.OverClients() || t.Rows == 0 {
		return nil
	}
	for i := range c.Parties {
		p := &c.Parties[i]
		var adds int64
		for k := range c.Openings {
			if o := &c.Openings[k]; o.To == p.Name {
				bits, _ := Weigh(c, o)
				adds = plus(adds, bits)
			}
		}
		was := t.To(p.ID)
		if p.Name == self || adds == 0 || was == nil {
			continue
		}
		adds = min(adds, t.Adds)
		add("%s has been told %s of a row, of %d of these %d rows, in %s; your columns have about %.0f; this job adds %d.",
			p.Name, wording.Count(int(min(was.Bits, math.MaxInt32)), "bit"), was.Rows, t.Rows,
			wording.Count(was.Models, "model"), t.Entropy, adds)
	}
	if t.Nearest > 0 && t.Nearest < StandardDifference && j.Task == contract.TaskTrain {
		add("An earlier training had the same rows but for %d: what differs between the two tells of %s.", t.Nearest,
			wording.Count(t.Nearest, "row"))
	}
	switch t.Again {
	case SameLabels:
		others := slices.DeleteFunc(labelHolders(c), func(name string) bool { return name == self })
		says := map[bool]string{true: "says", false: "say"}[len(others) == 1]
		if len(others) > 0 {
			add("Its labels are the same as last time, as %s %s.", wording.List(others, "and"), says)
		} else {
			add("Your labels are the same as last time.")
		}
	case OtherLabels:
		if slices.Equal(labelHolders(c), []string{self}) {
			add("Your labels are others than last time.")
		} else {
			add("Its labels are others than last time.")
		}
	}
	if t.Trainings > 0 && j.Task == contract.TaskTrain && proposer != "you" {
		add("%s has had %s on table %s in 30 days.", proposer, wording.Count(t.Trainings, "training"), j.Table)
	}
	return list
}

// labelHolders names the parties that are committed to labels.
func labelHolders(c *contract.Contract) []string {
	var names []string
	for i := range c.Parties {
		if c.Parties[i].Labels != "" {
			names = append(names, c.Parties[i].Name)
		}
	}
	return names
}
