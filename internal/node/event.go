package node

import (
	"time"

	"github.com/hanse-project/hanse/protocol"
)

// The kinds of events.
const (
	EventState    = "state"    // the job's state changed; Text says why
	EventWaiting  = "waiting"  // somebody is awaited; Text says who, for what and how long
	EventSummary  = "summary"  // what the contract opens and sends, before consent
	EventProgress = "progress" // Step, Done of Total, and Metric when there is one
	EventWarning  = "warning"  // what may go wrong with the job, before it does
	EventDone     = "done"     // the job ended well; Report says how
	EventError    = "error"    // the job ended badly; Text says why
)

// Event is something a person following a job wants to see.
type Event struct {
	Time   time.Time `json:"time"`
	Job    string    `json:"job"`
	Kind   string    `json:"kind"`
	Text   string    `json:"text,omitempty"`
	Step   string    `json:"step,omitempty"`
	Done   int64     `json:"done,omitempty"`
	Total  int64     `json:"total,omitempty"`
	Metric *float64  `json:"metric,omitempty"`
	Report *Report   `json:"report,omitempty"`
}

// maxText is the longest text of an event or a reason, in bytes: words of other members are in them.
const maxText = 2000

// clean makes an event's text one line that prints. A summary has lines of its own, and all in it is checked.
func (e *Event) clean() {
	if e.Kind != EventSummary {
		e.Text = protocol.Plain(e.Text, maxText)
	}
}

// Report is what one party can say of a job that is done.
type Report struct {
	Job      string    `json:"job"`
	Contract string    `json:"contract"`
	Party    string    `json:"party"`
	Seconds  float64   `json:"seconds"` // from all connected to the end of the last session
	Rounds   uint64    `json:"rounds"`  // sums and broadcasts of the last session
	BytesOut int64     `json:"bytes_out"`
	BytesIn  int64     `json:"bytes_in"`
	Sessions uint32    `json:"sessions"`
	Openings []Opened  `json:"openings"` // what this party learned
	Egress   []Egress  `json:"egress"`   // what left this machine in the last session, beside what might have
	Sigma    float64   `json:"sigma,omitempty"`
	Trained  *Training `json:"trained,omitempty"`
	Online   *Online   `json:"online,omitempty"`
	Scores   string    `json:"scores,omitempty"` // file, at the party the scores opened to
	Rows     int       `json:"rows"`
	Known    int64     `json:"known,omitempty"` // of these, whose scores the receiver of a sealed prediction had

	Missed string   `json:"missed,omitempty"` // what this party has no part of, in a sentence
	Away   []string `json:"away,omitempty"`   // parties that have yet to hear that the job is done

	Aggregation string `json:"aggregation,omitempty"` // what protects the sums, when the job says it: "masked" or "he"
}

// Online is a party's view of a job over clients' streams.
type Online struct {
	Rounds           int      `json:"rounds"`
	MeanSquaredError *float64 `json:"mse,omitempty"`     // of a client's predictions, in the label's units
	Regret           *float64 `json:"regret,omitempty"`  // of a client, where the algorithm has one
	Clients          int      `json:"clients,omitempty"` // at a server: in the latest total
}

// Opened is a kind of value that a party learned, with how many.
type Opened struct {
	Party string `json:"party"`
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// Training is the active party's view of a finished training.
type Training struct {
	Objective  *float64 `json:"objective,omitempty"`
	TrainError *float64 `json:"train_error,omitempty"` // share of wrong labels, or root mean square error; nil when nobody can say
	Iterations int      `json:"iterations"`
}
