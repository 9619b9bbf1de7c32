package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/secagg/cohort"
)

// sumReport is what the command prints with --json, or its only run when there is one.
type sumReport struct {
	Machine string      `json:"machine"`
	Runs    []*sumRun   `json:"runs"`
	Growth  []sumGrowth `json:"growth,omitempty"`
}

// sumRun is one case. Figures of a sum are medians over the timed sums; those of a client are means over
// the clients, the ones that dropped out included.
type sumRun struct {
	Machine  string         `json:"machine"`
	Clients  int            `json:"clients"`
	Words    int            `json:"words"`
	Bits     int            `json:"bits"`
	Backend  cohort.Backend `json:"backend"`
	Topology string         `json:"topology"`
	Dropout  float64        `json:"dropout"`
	Corrupt  float64        `json:"corrupt"`
	Warm     int            `json:"warm"`

	Exact     bool           `json:"exact"`      // every word of every total is right
	Survivors int            `json:"survivors"`  // in the first timed sum, as the next three
	Dropped   int            `json:"dropped"`    // clients that dropped out
	LostSteps map[string]int `json:"lost_steps"` // how many at which step: the message that each did not send, or not take in
	Unplanned int            `json:"unplanned"`  // clients that were lost or left out and were not to drop out

	Seconds       float64   `json:"seconds"`
	SecondsAll    []float64 `json:"seconds_all"`
	FirstSeconds  float64   `json:"first_sum_seconds"` // without losses, most keys agreed in it
	LeagueSeconds float64   `json:"league_seconds"`    // key files and signatures of all parties, by one process
	SetupSeconds  float64   `json:"setup_seconds"`     // processes, charters, hosts, connections, session keys
	BareSeconds   float64   `json:"bare_stream_seconds"`
	BareRatio     float64   `json:"ratio"` // seconds over those of the bare streams
	PlainRatio    float64   `json:"ratio_to_plain,omitempty"`

	Bytes       float64 `json:"bytes_per_client"`
	Sent        float64 `json:"sent_per_client"`
	Received    float64 `json:"received_per_client"`
	SentStaying float64 `json:"sent_per_staying_client"`
	Expansion16 float64 `json:"expansion_16,omitempty"` // bytes sent by a client that stays over those of as many 16-bit words

	ServerCPU float64 `json:"server_cpu_seconds"`
	ClientCPU float64 `json:"client_cpu_seconds"` // of all client processes
	BareCPU   float64 `json:"bare_cpu_seconds"`   // of all processes
	CPURatio  float64 `json:"cpu_ratio"`          // processor seconds of the sum over those of the bare streams
	Busy      float64 `json:"busy"`               // processor seconds over what the cores offered; far below 1 when other programs run

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
func newSumRun(s sumCase) *sumRun {
	return &sumRun{
		Machine: machine(), Clients: s.Clients, Words: s.Words, Bits: s.Bits, Backend: s.Backend, Topology: s.Topology,
		Dropout: s.Dropout, Corrupt: s.Corrupt, Warm: s.Warm,
	}
}

// finish takes the medians.
func (r *sumRun) finish() {
	middle := func(figure func(s sumResult) float64) float64 { return median(each(r.Each, figure)) }
	r.SecondsAll = each(r.Each, func(s sumResult) float64 { return s.Seconds })
	r.Seconds, r.FirstSeconds, r.BareSeconds = median(r.SecondsAll), median(r.FirstAll), median(r.BareAll)
	r.BareRatio = r.Seconds / r.BareSeconds
	r.Sent = middle(func(s sumResult) float64 { return s.Sent })
	r.Received = middle(func(s sumResult) float64 { return s.Received })
	r.SentStaying = middle(func(s sumResult) float64 { return s.SentStaying })
	r.Bytes = middle(func(s sumResult) float64 { return s.Sent + s.Received })
	r.ServerCPU = middle(func(s sumResult) float64 { return s.ServerCPU })
	r.ClientCPU = middle(func(s sumResult) float64 { return s.ClientCPU })
	r.Busy = middle(func(s sumResult) float64 { return (s.ServerCPU + s.ClientCPU) / s.Seconds / float64(runtime.NumCPU()) })
	r.BareCPU = median(r.bareCPU)
	r.CPURatio = (r.ServerCPU + r.ClientCPU) / r.BareCPU
	if r.Bits < 64 {
		r.Expansion16 = r.SentStaying / (float64(r.Words) * 16 / 8)
	}
	first := r.Each[0]
	r.Survivors, r.Dropped, r.LostSteps = first.Survivors, first.Dropped, first.LostSteps
	r.Exact = !slices.ContainsFunc(r.Each, func(s sumResult) bool { return !s.Exact })
	for _, s := range r.Each {
		r.Unplanned += s.Unplanned
	}
}

// same reports whether two runs differ in clients or backend at most, as the question demands.
func (r *sumRun) same(o *sumRun, clients, backend bool) bool {
	return r.Words == o.Words && r.Topology == o.Topology && (!clients || r.Clients == o.Clients) && (!backend || r.Backend == o.Backend)
}

// finish compares the runs with each other.
func (r *sumReport) finish() {
	for _, run := range r.Runs {
		for _, plain := range r.Runs {
			if plain.Backend == cohort.Plain && plain.same(run, true, false) {
				run.PlainRatio = run.Seconds / plain.Seconds
			}
		}
	}
	r.Growth = sumGrowths(r.Runs)
}

// print prints the report for people or for programs.
func (r *sumReport) print(w io.Writer, asJSON bool) error {
	switch {
	case asJSON && len(r.Runs) == 1:
		return json.NewEncoder(w).Encode(r.Runs[0])
	case asJSON:
		return json.NewEncoder(w).Encode(r)
	}
	first := r.Runs[0]
	fmt.Fprintf(w, "%s\nsums of %d-bit words, a fraction of %v drops out; medians of %d\n\n", r.Machine, first.Bits, first.Dropout, len(first.Each))
	if err := sumTable(r.Runs).write(w); err != nil {
		return err
	}
	for _, run := range r.Runs {
		fmt.Fprintf(w, "\n%d %s, %s: lost %s", run.Clients, run.Backend, run.Topology, stepsText(run.LostSteps))
	}
	fmt.Fprintln(w)
	for _, g := range r.Growth {
		fmt.Fprintf(w, "\n%s, %s, %d words: exponent of the growth with the clients\n\n", g.Backend, g.Topology, g.Words)
		if err := g.table().write(w); err != nil {
			return err
		}
	}
	return nil
}

// sumTable lays the runs out, one row for each.
func sumTable(runs []*sumRun) *table {
	t := newTable("backend", "topology", "clients", "words", "exact", "stayed", "unplanned", "s", "first s", "bare s", "s/bare", "s/plain",
		"kB sent", "kB received", "x 16 bit", "server CPU s", "clients' CPU s", "bare CPU s", "busy", "set-up s")
	for _, r := range runs {
		t.add(string(r.Backend), r.Topology, fmt.Sprint(r.Clients), fmt.Sprint(r.Words), fmt.Sprint(r.Exact), fmt.Sprint(r.Survivors), fmt.Sprint(r.Unplanned),
			fmt.Sprintf("%.3f", r.Seconds), fmt.Sprintf("%.3f", r.FirstSeconds), fmt.Sprintf("%.3f", r.BareSeconds), fmt.Sprintf("%.2f", r.BareRatio),
			unknown(r.PlainRatio > 0, "%.2f", r.PlainRatio), fmt.Sprintf("%.1f", r.Sent/1e3), fmt.Sprintf("%.1f", r.Received/1e3),
			unknown(r.Expansion16 > 0, "%.2f", r.Expansion16), fmt.Sprintf("%.3f", r.ServerCPU), fmt.Sprintf("%.3f", r.ClientCPU),
			fmt.Sprintf("%.3f", r.BareCPU), fmt.Sprintf("%.2f", r.Busy), fmt.Sprintf("%.1f", r.SetupSeconds))
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
