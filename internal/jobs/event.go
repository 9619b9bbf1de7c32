package jobs

import (
	"fmt"
	"time"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/wording"
)

// The kinds of events.
const (
	EventState    = "state"    // the job's state changed; Text says why
	EventWaiting  = "waiting"  // somebody is awaited; Text says who, for what and how long
	EventSummary  = "summary"  // what the contract opens and sends, before consent: Text, and Whole below it
	EventProgress = "progress" // Step, Done of Total, and Metric when there is one
	EventWarning  = "warning"  // what may go wrong with the job, before it does
	EventDraft    = "draft"    // what a job would come to; Text is JSON for the owner's command
	EventDone     = "done"     // the job ended well; Report says how
	EventError    = "error"    // the job ended badly; Text says why
)

// Event is something a person following a job wants to see.
type Event struct {
	Time   time.Time `json:"time"`
	Job    string    `json:"job"`
	Kind   string    `json:"kind"`
	Text   string    `json:"text,omitempty"`
	Whole  string    `json:"whole,omitempty"`
	Who    []string  `json:"who,omitempty"`  // of waiting: the members awaited
	Since  time.Time `json:"since,omitzero"` // of waiting: when it began, the same in every word of one wait
	Step   string    `json:"step,omitempty"`
	Done   int64     `json:"done,omitempty"`
	Total  int64     `json:"total,omitempty"`
	Metric *float64  `json:"metric,omitempty"`
	Report *Report   `json:"report,omitempty"`
}

// MaxText is the longest text of an event or a reason, in bytes: words of other members are in them.
const MaxText = 2000

// Clean makes an event's text one line that prints. A summary and a draft have lines of their own, and all in them is
// checked.
func (e *Event) Clean() {
	if e.Kind != EventSummary && e.Kind != EventDraft {
		e.Text = wording.Line(e.Text, MaxText)
	}
}

// Report is what one party can say of a job that is done.
type Report struct {
	Job      string  `json:"job"`
	Contract string  `json:"contract"`
	Party    string  `json:"party"`
	Seconds  float64 `json:"seconds"` // from all connected to the end of the last session
	Rounds   uint64  `json:"rounds"`  // sums and broadcasts of the last session
	BytesOut int64   `json:"bytes_out"`
	BytesIn  int64   `json:"bytes_in"`
	Sessions uint32  `json:"sessions"`
	// Waited is, of a job over columns, for how many seconds the last session was blocked on each other party.
	Waited   map[string]float64 `json:"waited,omitempty"`
	Openings []Opened           `json:"openings"` // what this party learned
	Egress   []Egress           `json:"egress"`   // what left this machine in the last session, beside what might have
	Sigma    float64            `json:"sigma,omitempty"`
	Lambda   float64            `json:"lambda,omitempty"` // that validation chose, where this party knows it
	Trained  *Training          `json:"trained,omitempty"`
	// NotConverged says how far from its optimum a training ended; "" where it reached it, or this party cannot know.
	NotConverged string   `json:"not_converged,omitempty"`
	Online       *Online  `json:"online,omitempty"`
	Aligned      *Aligned `json:"aligned,omitempty"`
	Scores       string   `json:"scores,omitempty"` // file, at the party the scores opened to
	Rows         int      `json:"rows"`
	Known        int64    `json:"known,omitempty"` // of these, whose scores the receiver of a sealed prediction had
	// of a prediction: this party's rows with what training never saw, by column
	Unseen []kernel.Unseen `json:"unseen,omitempty"`

	// Forecast is what was expected, and how far it was off; nil where there was none.
	Forecast *forecast.Outcome `json:"forecast,omitempty"`

	Missed string   `json:"missed,omitempty"` // what this party has no part of, in a sentence
	Away   []string `json:"away,omitempty"`   // parties that have yet to hear that the job is done

	// Notice is what a training's owner should read first: that it looks as if a column told the outcome. Figures
	// have their own.
	Notice string `json:"notice,omitempty"`

	// Figures say how good the scores are: of the training rows at a label holder that has their scores, of the rows
	// scored at a receiver that has their labels.
	Figures *figures.Report `json:"figures,omitempty"`
	Model   string          `json:"model,omitempty"` // of a prediction: the contract of the training
	// Positive is which of two classes is the event, at a party that knows what they are called.
	Positive *Positive `json:"positive,omitempty"`

	Aggregation string `json:"aggregation,omitempty"` // what protects the sums, when the job says it: "masked" or "he"
}

// First is what the reader of the report should read first, "" where there is nothing.
func (r *Report) First() string {
	if r.Notice == "" && r.Figures != nil {
		return r.Figures.Notice
	}
	return r.Notice
}

// TrainErrorName names the error of the training rows, which is the model's own decision's: where the figures beside it
// are at another threshold it says so.
func (r *Report) TrainErrorName() string {
	if f := r.Figures; f != nil && f.Binary != nil && f.Binary.Threshold != 0 {
		return "training error at score 0"
	}
	return "training error"
}

// Positive is the class that is the event: scores above 0, probabilities, recall, precision, lift, costs and points are
// of it.
type Positive struct {
	Label string `json:"label"`
	Class string `json:"class"`
	// By is who chose it: see ByJob, ByLabel, ByRows and ByOrder; empty where it is not known any more.
	By string `json:"by,omitempty"`
}

// Who chooses the event.
const (
	ByJob   = "job"   // the job says positive = ...
	ByLabel = "label" // the classes themselves: 1 beside 0 or -1, true beside false
	ByRows  = "rarer" // the label holder reads scores as of the class that fewer of its rows have
	ByOrder = "order" // nobody: it is the later of the two, of numbers the larger
)

// String says which class is the event, and why.
func (p *Positive) String() string {
	text := fmt.Sprintf("%s = %q", p.Label, p.Class)
	switch p.By {
	case ByJob:
		return text + ", as the job says"
	case ByLabel:
		return text + ", as its labels say"
	case ByRows:
		return text + fmt.Sprintf(", the rarer class; positive = %q in the job tells all", p.Class)
	case ByOrder:
		return text + ", the later of two in the order; positive in the job's parameters says which it is"
	}
	return text
}

// Online is a party's view of a job over clients' streams.
type Online struct {
	Rounds           int      `json:"rounds"`
	MeanSquaredError *float64 `json:"mse,omitempty"`     // of a client's predictions, in the label's units
	Regret           *float64 `json:"regret,omitempty"`  // of a client, where the algorithm has one
	Clients          int      `json:"clients,omitempty"` // at a server: in the latest total
}

// Aligned is what all parties know after an alignment.
type Aligned struct {
	Name     string   `json:"name"`
	Table    string   `json:"table"`
	Common   int      `json:"common"`         // rows that all have
	ByKey    []int    `json:"by_key"`         // of these, by the key that found them
	Keys     []string `json:"keys,omitempty"` // none: the id column
	KeepDays int      `json:"keep_days"`      // how long jobs may use it
}

// Opened is a kind of value that a party learned, with how many.
type Opened struct {
	Party string `json:"party"`
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// Training is the active party's view of a finished training.
type Training struct {
	Objective *float64 `json:"objective,omitempty"`
	// share of wrong labels, or root mean square error; nil when nobody can say
	TrainError *float64 `json:"train_error,omitempty"`
	Iterations int      `json:"iterations"`
}
