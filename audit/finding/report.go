// Package finding is what an audit writes: the report and its parts, the verdicts, and the names of the checks. It
// knows no transcript, so that all parts of an audit may meet in it.
package finding

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
)

// Verdict is the outcome of an audit, or of one attack or check.
type Verdict string

// The verdicts of an audit. The function ladder chooses one.
const (
	// everything was looked at, and nothing was found; of an attack: it gained nothing
	Clean        Verdict = "clean"
	Partial      Verdict = "partial"      // nothing was found, and not everything was looked at
	Disclosed    Verdict = "disclosed"    // something can be rebuilt or is unprotected, and the contract had announced it
	Leak         Verdict = "leak"         // something was given away that the contract does not announce
	Unverifiable Verdict = "unverifiable" // the transcripts are not what an honest run of the contract leaves
)

// The outcomes of a check, and of an attack that was not run.
const (
	Passed        Verdict = "passed"
	Failed        Verdict = "failed"         // makes the audit Unverifiable
	Skipped       Verdict = "skipped"        // it was not looked at, and could have been: the detail says what it takes
	NotApplicable Verdict = "not applicable" // the job has nothing that it could look at
	// a transcript that it rests on was not read; of an opening: the contract allows it, and nobody saw what came of it
	NotRead Verdict = "not read"
)

// Report is what an audit found.
type Report struct {
	Verdict     Verdict      `json:"verdict"`
	Exit        int          `json:"exit_code"` // of a command that ends with this report
	Summary     string       `json:"summary"`   // the first line: the verdict in a few sentences, with the numbers
	Origin      Origin       `json:"origin"`
	Job         Job          `json:"job"`
	Transcripts []Transcript `json:"transcripts"`
	Shards      *Shards      `json:"shards,omitempty"` // of a job in shards, whose sessions were read
	Tables      []Table      `json:"tables,omitempty"` // that attacks were scored against
	Checks      []Check      `json:"checks"`
	Egress      []Egress     `json:"egress"`
	Ledger      []Learned    `json:"ledger"`
	Federations []Federation `json:"federations,omitempty"` // of jobs over clients: each server whose transcript was read
	Attacks     []Attack     `json:"attacks"`
	// sentences: what could have been looked at and was not; none in a clean audit
	NotLookedAt []string `json:"not_looked_at"`
	Unchecked   []string `json:"unchecked"` // sentences: what no audit of transcripts can tell
	Seconds     float64  `json:"seconds"`
	// Signed is the signed statement of who made this report, as internal/auditing makes it; empty when nobody signed.
	Signed string `json:"signed,omitempty"`
}

// Origin says who made a report, with what, and when. Run leaves it to its caller.
type Origin struct {
	Member  string `json:"member,omitempty"` // the auditor's name in the contract; empty for an outsider
	ID      string `json:"id,omitempty"`     // the auditor's key; empty when no key and no node's folder was given
	Program string `json:"program,omitempty"`
	At      string `json:"at,omitempty"` // RFC 3339, UTC
	// Columns are the auditing member's own, by the names that its table gives them. Others' columns have numbers.
	Columns []string `json:"columns,omitempty"`
}

// Job says what was computed and by whom.
type Job struct {
	Name        string   `json:"name"`
	Algorithm   string   `json:"algorithm"`
	Task        string   `json:"task"`
	Privacy     string   `json:"privacy"`
	Aggregation string   `json:"aggregation,omitempty"` // what protects the sums: "he", or masks
	Topology    string   `json:"topology"`
	Contract    string   `json:"contract"` // hash
	Charter     string   `json:"charter"`  // digest of the one that it was agreed under
	Rows        int      `json:"rows"`
	Parties     []Party  `json:"parties"`
	Servers     []string `json:"servers,omitempty"` // of jobs over clients: the parties whose clients the others are
	Beside      string   `json:"-"`                 // what goes to these by itself beside totals, as a sentence says it
	Purpose     []Stated `json:"purpose,omitempty"` // what the contract says the job is for
}

// Stated is a field of a job's purpose, which all parties have signed.
type Stated struct {
	Field string `json:"field"` // such as "legal basis"
	Text  string `json:"text"`
}

// Party is one party of the job.
type Party struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Role    string `json:"role"`
	Columns int    `json:"columns"`
	// of sealed jobs: "label holder", "keeper" or "helper", who hold shares; empty outside the three
	Share   string `json:"share,omitempty"`
	Audited bool   `json:"audited"` // its transcript was read
}

// Federation is what a server's transcript tells of its sums over clients, in all sessions.
type Federation struct {
	Server   string    `json:"server"`
	Clients  int       `json:"clients"`
	Sums     uint64    `json:"sums"` // begun
	Opened   uint64    `json:"opened"`
	Fewest   int       `json:"fewest"` // contributors of opened sums
	Median   int       `json:"median"`
	Counted  string    `json:"counted"`            // how contributors are counted
	Dropouts []Dropout `json:"dropouts,omitempty"` // the most frequent first
	// Questions are what the server asked its clients beside sums, each of whom answers alone: it knows whose
	// answer is whose. Silent are the clients, over all questions, that gave none in time.
	Questions uint64 `json:"questions,omitempty"`
	Answers   uint64 `json:"answers,omitempty"`
	Silent    uint64 `json:"silent,omitempty"`
	// Mixtures are the sums of other servers' models that this one began, and how many of them opened, with the
	// fewest vectors in one.
	Mixtures       uint64 `json:"mixtures,omitempty"`
	MixturesOpened uint64 `json:"mixtures_opened,omitempty"`
	MixturesFewest int    `json:"mixtures_fewest,omitempty"`
}

// Dropout is how often sums went on without a client that had been asked.
type Dropout struct {
	Client string `json:"client"`
	Sums   uint64 `json:"sums"`
}

// Transcript is one file that was read.
type Transcript struct {
	Party         string  `json:"party"`
	Path          string  `json:"path"`
	SHA256        string  `json:"sha256"` // of the file
	Records       uint64  `json:"records"`
	Sessions      int     `json:"sessions"`
	BytesSent     int64   `json:"bytes_sent"`     // payload
	BytesReceived int64   `json:"bytes_received"` // payload
	Countersigned float64 `json:"countersigned"`  // share of the frames under another party's signature
	Kept          bool    `json:"kept"`           // payloads were kept, so that attacks can run
	Cut           bool    `json:"cut"`            // it ends without a seal, as a crash leaves it
	First         string  `json:"first"`          // RFC 3339 time of the first record
	Last          string  `json:"last"`
}

// Shards is what was read of the sessions of a job's shards.
type Shards struct {
	Count    int        `json:"count"`
	Rows     int        `json:"rows"` // of all together
	Fewest   int        `json:"fewest_rows"`
	Most     int        `json:"most_rows"`
	Sessions int        `json:"sessions"` // of which something was there, those that broke off included
	SHA256   string     `json:"sha256"`   // over the digests of all their transcripts
	Parties  []ShardsOf `json:"parties"`
}

// ShardsOf is what was read of one party's shards.
type ShardsOf struct {
	Party         string `json:"party"`
	Done          int    `json:"done"` // shards of which the session that is done was read
	Transcripts   int    `json:"transcripts"`
	Records       uint64 `json:"records"`
	BytesSent     int64  `json:"bytes_sent"`     // payload
	BytesReceived int64  `json:"bytes_received"` // payload
	Kept          bool   `json:"kept"`           // payloads were kept
}

// Table is the file with a party's own data that attacks were scored against.
type Table struct {
	Party     string `json:"party"`
	SHA256    string `json:"sha256"`    // the digest of the table's content, or that of a stream's file
	Confirmed bool   `json:"confirmed"` // the party's own record of its consent to the job names this file
}

// Check is one thing that must hold of the transcripts.
type Check struct {
	Name    string  `json:"name"` // such as "hash chain", "countersignatures", "egress budget"
	Party   string  `json:"party,omitempty"`
	Verdict Verdict `json:"verdict"` // passed, disclosed, failed, leak, skipped or not applicable
	Detail  string  `json:"detail"`  // one sentence
}

// Egress is one line of the budget against what was sent, over all sessions.
type Egress struct {
	From         string `json:"from"`
	To           string `json:"to"`
	Kind         string `json:"kind"`
	Class        string `json:"class"`
	Encoding     string `json:"encoding"`
	BudgetFrames int64  `json:"budget_frames"` // in one session
	BudgetBytes  int64  `json:"budget_bytes"`  // in one session
	Frames       int64  `json:"frames"`        // in the session that sent most
	Bytes        int64  `json:"bytes"`         // in the session that sent most
	// Shards is how many shards the line is of: of all their sessions together, each once. 0: of the job\'s own
	Shards int `json:"shards,omitempty"`
}

// Learned is one kind of value that a party learned by design, and what follows from it.
type Learned struct {
	Party          string `json:"party"`
	Kind           string `json:"kind"`
	Declared       int64  `json:"declared"` // values the contract allows, in one session
	Count          int64  `json:"count"`    // values recorded
	Unread         bool   `json:"unread"`   // nobody has counted: Count is unknown
	One            string `json:"one"`      // what one value is called in a report
	Many           string `json:"many"`     // and what several are
	Plain          string `json:"plain"`    // in plain words what the values are, and what follows from them
	Meaning        string `json:"meaning"`  // what the contract says of them, which all parties have signed
	Features       int    `json:"features,omitempty"`
	UnknownColumns int    `json:"unknown_columns,omitempty"`
	Rank           int    `json:"rank,omitempty"`         // of the system on row differences
	Contributors   int    `json:"contributors,omitempty"` // smallest number of addends in a sum

	// Of sealed jobs: what the values tell, about. Entropy bounds what a row of the unknown columns can tell, in bits;
	// null where the auditor does not have these columns.
	Bits       int64    `json:"bits,omitempty"`
	Models     int      `json:"models,omitempty"` // under which each row has a score; of classes each has one
	BitsPerRow int      `json:"bits_per_row,omitempty"`
	Entropy    *float64 `json:"entropy,omitempty"`

	Verdict Verdict `json:"verdict"`
}

// Attack is one attack that was really run, or the reason why not.
type Attack struct {
	// "difference", "uniformity", "mask reuse", "ciphertext reuse", "known rows", "label leakage", "membership"; over
	// clients "rows from updates", "choices", "successive totals"; of alignments "guessed ids"
	Name           string `json:"name"`
	Party          string `json:"party"`            // whose view it uses
	View           string `json:"view"`             // "active party", "tree parent", ...
	Shards         string `json:"shards,omitempty"` // of the sessions of shards: which, such as "shard 3"
	Whose          string `json:"whose,omitempty"`  // whose columns it aims at, where it was run
	Rows           int    `json:"rows"`
	UnknownColumns int    `json:"unknown_columns"`
	Equations      int    `json:"equations"`
	Rank           int    `json:"rank"` // of the equations, where they were solved
	// of rows, every column within 1 % of its range; null when it does not apply
	RecoveredShare *float64 `json:"recovered_share"`
	// error of the recovered differences, in units of the columns' ranges
	RMS        *float64 `json:"rms"`
	ControlRMS *float64 `json:"control_rms"` // the same attack where there is nothing to find
	// the same attack where there is everything to find: recovered share
	ControlShare *float64 `json:"control_share"`
	GuessShare   *float64 `json:"guess_share,omitempty"` // recovered share of a guess, in jobs over clients
	// share of labels within 1 % of their range, in jobs over clients
	Labels *float64 `json:"labels_recovered,omitempty"`
	// of attacks that test: the smallest p-value, correlation or R^2
	Statistic *float64 `json:"statistic"`
	Verdict   Verdict  `json:"verdict"` // clean, disclosed, leak, skipped or not applicable
	Detail    string   `json:"detail"`  // one or two sentences for people
	Columns   []Column `json:"columns,omitempty"`
	Plot      *Plot    `json:"plot,omitempty"`
}

// Column is how well one column of another party was rebuilt.
type Column struct {
	Party string  `json:"party"`
	Name  string  `json:"name"` // the auditor's own have names, others' numbers
	RMS   float64 `json:"rms"`
	R2    float64 `json:"r2"`
}

// Plot is what a report draws of an attack: points, or the shape of a distribution.
type Plot struct {
	Kind   string       `json:"kind"` // "scatter" or "histogram"
	Title  string       `json:"title"`
	X      string       `json:"x"` // axis labels
	Y      string       `json:"y"`
	Points [][2]float64 `json:"points,omitempty"` // scatter: true value, rebuilt value
	Counts []int64      `json:"counts,omitempty"` // histogram: equal bins from Lo to Hi
	Lo     float64      `json:"lo,omitempty"`
	Hi     float64      `json:"hi,omitempty"`
	Expect float64      `json:"expect,omitempty"` // histogram: count a uniform distribution puts in every bin
}

// Sentence says why an attack was not tried.
func (t *Attack) Sentence() string {
	view := t.View
	if t.Shards != "" {
		view += ", " + t.Shards
	}
	return fmt.Sprintf("The attack %s on %s's view (%s): %s.", t.Name, t.Party, view, t.Detail)
}

// Sentence says in words what a server's sums were.
func (f *Federation) Sentence() string { return f.Server + " " + f.Deeds() }

// Deeds is Sentence without the server's name.
func (f *Federation) Deeds() string {
	text := fmt.Sprintf("began %s over %s; %d opened", wording.Count(f.Sums, "sum"),
		wording.Count(f.Clients, "client"), f.Opened)
	if f.Opened > 0 {
		text += fmt.Sprintf(", with %d contributors at least and %d in the median, %s", f.Fewest, f.Median, f.Counted)
	}
	if f.Mixtures > 0 {
		text += fmt.Sprintf("; of other servers' models it began %s, and %d opened, with at least %s in each",
			wording.Count(f.Mixtures, "sum"), f.MixturesOpened, wording.Count(f.MixturesFewest, "vector"))
	}
	if n := len(f.Dropouts); n > 0 {
		text += fmt.Sprintf("; %s was lost on the way, %s most often, in %s", wording.Count(n, "client"),
			f.Dropouts[0].Client, wording.Count(f.Dropouts[0].Sums, "sum"))
	}
	if f.Questions > 0 {
		text += fmt.Sprintf("; to %s it heard %s, each under its client's name", wording.Count(f.Questions, "question"),
			wording.Count(f.Answers, "answer"))
	}
	if f.Silent > 0 {
		text += fmt.Sprintf(", and missed %d", f.Silent)
	}
	return text
}
