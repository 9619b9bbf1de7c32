package sum

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// Report is what the command prints with --json, or its only run when there is one.
type Report struct {
	Machine string      `json:"machine"`
	Runs    []*Result   `json:"runs"`
	Growth  []sumGrowth `json:"growth,omitempty"`
}

// Result is one case. Figures of a sum are medians over the timed sums; those of a client are means over
// the clients, the ones that dropped out included.
type Result struct {
	Machine  string         `json:"machine"`
	Clients  int            `json:"clients"`
	Words    int            `json:"words"`
	Bits     int            `json:"bits"`
	Backend  cohort.Backend `json:"backend"`
	Topology string         `json:"topology"`
	Dropout  float64        `json:"dropout"`
	Corrupt  float64        `json:"corrupt"`
	Warm     int            `json:"warm"`

	Exact     bool `json:"exact"`     // every word of every total is right
	Survivors int  `json:"survivors"` // in the first timed sum, as the next three
	Dropped   int  `json:"dropped"`   // clients that dropped out
	// how many at which step: the message that each did not send, or not take in
	LostSteps map[string]int `json:"lost_steps"`
	Unplanned int            `json:"unplanned"` // clients that were lost or left out and were not to drop out

	Seconds        float64   `json:"seconds"`
	SecondsAll     []float64 `json:"seconds_all"`
	FirstSeconds   float64   `json:"first_sum_seconds"` // without losses, most keys agreed in it
	NetworkSeconds float64   `json:"league_seconds"`    // key files and signatures of all parties, by one process
	SetupSeconds   float64   `json:"setup_seconds"`     // processes, charters, hosts, connections, session keys
	BareSeconds    float64   `json:"bare_stream_seconds"`
	BareRatio      float64   `json:"ratio"` // seconds over those of the bare streams
	PlainRatio     float64   `json:"ratio_to_plain,omitempty"`

	Bytes       float64 `json:"bytes_per_client"`
	Sent        float64 `json:"sent_per_client"`
	Received    float64 `json:"received_per_client"`
	SentStaying float64 `json:"sent_per_staying_client"`
	// bytes sent by a client that stays over those of as many 16-bit words
	Expansion16 float64 `json:"expansion_16,omitempty"`

	ServerCPU float64 `json:"server_cpu_seconds"`
	ClientCPU float64 `json:"client_cpu_seconds"` // of all client processes
	BareCPU   float64 `json:"bare_cpu_seconds"`   // of all processes
	CPURatio  float64 `json:"cpu_ratio"`          // processor seconds of the sum over those of the bare streams
	// processor seconds over what the cores offered; far below 1 when other programs run
	Busy float64 `json:"busy"`

	Each     []sumResult `json:"each"`
	FirstAll []float64   `json:"first_sum_seconds_all"`
	BareAll  []float64   `json:"bare_stream_seconds_all"`
	bareCPU  []float64
}

// sumResult is one sum.
type sumResult struct {
	Seconds     float64        `json:"seconds"`
	Exact       bool           `json:"exact"`
	Survivors   int            `json:"survivors"`
	Dropped     int            `json:"dropped"`
	LostSteps   map[string]int `json:"lost_steps"`
	Unplanned   int            `json:"unplanned"`
	Why         string         `json:"unplanned_first,omitempty"` // how the server lost the first of them
	Sent        float64        `json:"sent_per_client"`
	Received    float64        `json:"received_per_client"`
	SentStaying float64        `json:"sent_per_staying_client"`
	ServerCPU   float64        `json:"server_cpu_seconds"`
	ClientCPU   float64        `json:"client_cpu_seconds"`
}

// newSumResult puts the workers' answers together.
func newSumResult(clients []sumAnswer, server sumAnswer, n int) *sumResult {
	r := &sumResult{
		Seconds: server.Seconds, Exact: server.Wrong == 0, Survivors: server.Survivors,
		LostSteps: make(map[string]int), Unplanned: server.Unplanned, Why: server.Why, ServerCPU: server.CPU,
	}
	leftOut := 0
	for _, a := range clients {
		r.Sent += float64(a.Sent) / float64(n)
		r.Received += float64(a.Received) / float64(n)
		r.SentStaying += float64(a.Stayed)
		r.ClientCPU += a.CPU
		leftOut += a.LeftOut
		for step, left := range a.Left {
			r.LostSteps[step] += left
			r.Dropped += left
		}
	}
	r.SentStaying /= float64(n - r.Dropped)
	r.Unplanned = max(r.Unplanned, leftOut)
	return r
}

// newSumRun starts the account of a case.
func newSumRun(s sumCase) *Result {
	return &Result{
		Machine: lab.Machine(), Clients: s.Clients, Words: s.Words, Bits: s.Bits, Backend: s.Backend, Topology: s.Topology,
		Dropout: s.Dropout, Corrupt: s.Corrupt, Warm: s.Warm,
	}
}

// same reports whether two runs differ in clients or backend at most, as the question demands.
func (r *Result) same(o *Result, clients, backend bool) bool {
	return r.Words == o.Words && r.Topology == o.Topology && (!clients || r.Clients == o.Clients) && (!backend ||
		r.Backend == o.Backend)
}

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	first := r.Runs[0]
	fmt.Fprintf(w, "%s\nsums of %d-bit words, a fraction of %v drops out; medians of %d\n\n", r.Machine, first.Bits,
		first.Dropout, len(first.Each))
	if err := sumTable(r.Runs).Write(w); err != nil {
		return err
	}
	for _, run := range r.Runs {
		fmt.Fprintf(w, "\n%d %s, %s: lost %s", run.Clients, run.Backend, run.Topology, stepsText(run.LostSteps))
	}
	fmt.Fprintln(w)
	for _, g := range r.Growth {
		fmt.Fprintf(w, "\n%s, %s, %d words: exponent of the growth with the clients\n\n", g.Backend, g.Topology,
			g.Words)
		if err := g.table().Write(w); err != nil {
			return err
		}
	}
	return nil
}

// sumTable lays the runs out, one row for each.
func sumTable(runs []*Result) *table.Table {
	t := table.New("backend", "topology", "clients", "words", "exact", "stayed", "unplanned", "s", "first s",
		"bare s", "s/bare", "s/plain",
		"kB sent", "kB received", "x 16 bit", "server CPU s", "clients' CPU s", "bare CPU s", "busy", "set-up s")
	for _, r := range runs {
		t.Addf("%s|%s|%v|%v|%v|%v|%v|%.3f|%.3f|%.3f|%.2f|%s|%.1f|%.1f|%s|%.3f|%.3f|%.3f|%.2f|%.1f", r.Backend,
			r.Topology, r.Clients, r.Words, r.Exact, r.Survivors, r.Unplanned, r.Seconds, r.FirstSeconds,
			r.BareSeconds, r.BareRatio, table.If(r.PlainRatio > 0, "%.2f", r.PlainRatio), r.Sent/1e3,
			r.Received/1e3, table.If(r.Expansion16 > 0, "%.2f", r.Expansion16), r.ServerCPU, r.ClientCPU,
			r.BareCPU, r.Busy, r.SetupSeconds)
	}
	return t
}

// stepsText lists how many clients were lost at which step.
func stepsText(lost map[string]int) string {
	var parts []string
	for _, step := range slices.Sorted(maps.Keys(lost)) {
		parts = append(parts, fmt.Sprintf("%d at %s", lost[step], step))
	}
	if len(parts) == 0 {
		return "nobody"
	}
	return strings.Join(parts, ", ")
}
