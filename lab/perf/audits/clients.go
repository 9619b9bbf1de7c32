package audits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/papers/ofmsft"
	"github.com/hanse-project/hanse/lab/papers/pofmkl"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
	"github.com/hanse-project/hanse/protocol/contract"
)

// clientsReport is what audit --clients prints with --json.
type clientsReport struct {
	Machine string       `json:"machine"`
	Runs    []clientsRun `json:"runs"`
}

// clientsRun is the audit of one job over clients.
type clientsRun struct {
	Job        string        `json:"job"`
	Protection string        `json:"protection"`
	Clients    int           `json:"clients"`
	Rounds     int           `json:"rounds"`
	RunSeconds float64       `json:"run_seconds"`
	Report     *audit.Report `json:"audit"`
}

// clientsJob is one job to audit, with each way to protect it that is asked for.
type clientsJob struct {
	name    string
	make    func() (*job, error)
	rounds  map[string]int // by protection; 0: it is left out
	counter string         // the parameter that says how many rounds
}

// auditClients audits jobs over clients' streams.
func auditClients(ctx context.Context, run lab.Run, o Options) error {
	r := clientsReport{Machine: lab.Machine()}
	for _, j := range clientsJobs(o.Data, o.Rounds) {
		if !strings.HasPrefix(j.name, o.Jobs) {
			continue
		}
		for _, protection := range []string{keys.PrivacyPublished, keys.PrivacyMasked, contract.AggregateHE} {
			if j.rounds[protection] == 0 {
				continue
			}
			audited, err := j.run(ctx, protection)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", j.name, protection, err)
			}
			fmt.Fprintf(run.Log, "%s %s: %s in %.0f s and %.0f s, %s\n", j.name, protection, audited.Report.Verdict,
				audited.RunSeconds, audited.Report.Seconds, audited.Report.Summary)
			for _, a := range audited.Report.Attacks {
				if a.Party == server {
					fmt.Fprintf(run.Log, "    %s, %s: %s: %s\n", a.Name, a.View, a.Verdict, a.Detail)
				}
			}
			r.Runs = append(r.Runs, *audited)
		}
	}
	if len(r.Runs) == 0 {
		return fmt.Errorf("--jobs is %q: no job's name begins so; try pofmkl, gfml or ofmsft", o.Jobs)
	}
	if err := run.Report(&r); err != nil {
		return err
	}
	return r.judge()
}

// clientsJobs lists the jobs, each with so many rounds, and fewer of encrypted ones, which take their time.
func clientsJobs(data string, rounds int) []clientsJob {
	all := map[string]int{keys.PrivacyPublished: rounds, keys.PrivacyMasked: rounds,
		contract.AggregateHE: max(rounds/10, 3)}
	some := map[string]int{keys.PrivacyPublished: rounds, keys.PrivacyMasked: rounds}
	masked := map[string]int{keys.PrivacyMasked: rounds / 2}
	pofmkl := func(clients, chosen, features int) func() (*job, error) {
		return func() (*job, error) { return airPOFMKL(data, clients, chosen, features) }
	}
	ofmsft := func(window int, broadcast bool) func() (*job, error) {
		return func() (*job, error) { return airOFMSFT(data, window, broadcast) }
	}
	gfml := func(entries int) func() (*job, error) {
		return func() (*job, error) { return sensorsGFML(rounds, entries) }
	}
	common := func() (*job, error) {
		j, err := airPOFMKL(data, 12, 1, 100)
		if err == nil {
			j.parameters["common_bin"] = true
		}
		return j, err
	}
	return []clientsJob{
		{"pofmkl M=1, 12 clients", pofmkl(12, 1, 100), all, "rounds"},
		{"pofmkl M=1, common bin", common, some, "rounds"},
		{"pofmkl M=25, 12 clients", pofmkl(12, 25, 20), some, "rounds"},
		{"pofmkl M=51, 12 clients", pofmkl(12, 51, 9), some, "rounds"},
		{"pofmkl M=1, 60 clients", pofmkl(60, 1, 100), masked, "rounds"},
		{"pofmkl M=25, 60 clients", pofmkl(60, 25, 20), masked, "rounds"},
		{"gfml, all entries", gfml(200), all, "iterations"},
		{"gfml, 40 of 200 entries", gfml(40), some, "iterations"},
		{"ofmsft, window 1", ofmsft(1, false), all, "rounds"},
		{"ofmsft, window 12", ofmsft(12, false), some, "rounds"},
		{"ofmsft, broadcast", ofmsft(1, true), masked, "rounds"},
	}
}

// run runs a job and audits it, with all transcripts and streams.
func (j *clientsJob) run(ctx context.Context, protection string) (_ *clientsRun, err error) {
	dir, err := os.MkdirTemp("", "hanselab")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o, err := j.make()
	if err != nil {
		return nil, err
	}
	rounds := j.rounds[protection]
	o.protection, o.parameters[j.counter] = protection, rounds
	if protection == keys.PrivacyMasked { // totals that differ by one client
		o.leaves = map[int]uint64{2: uint64(rounds) / 3, 5: uint64(2*rounds) / 3}
	}
	begun := time.Now()
	in, err := o.run(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := &clientsRun{Job: j.name, Protection: protection, Clients: len(o.streams), Rounds: rounds,
		RunSeconds: time.Since(begun).Seconds()}
	begun = time.Now()
	if out.Report, err = audit.Run(ctx, in); err != nil {
		return nil, err
	}
	out.Report.Seconds = time.Since(begun).Seconds()
	return out, nil
}

// airPOFMKL is the air set dealt to clients of POF-MKL, drawn evenly over all sites.
func airPOFMKL(data string, clients, chosen, features int) (*job, error) {
	set, err := pofmkl.ReadSet("air", data)
	if err != nil {
		return nil, err
	}
	j := &job{algorithm: contract.POFMKL, parameters: map[string]any{"label": "NO2", "seed": "audit",
		"features": features, "chosen": chosen}}
	for k := range clients {
		at := k * len(set.Rows) / clients
		j.streams = append(j.streams, &audit.Stream{Inputs: set.Rows[at], Labels: set.Labels[at], Confirmed: true})
	}
	return j, nil
}

// airOFMSFT is the air set dealt to clients of OFMS-FT, with some networks of the first site and of the second: they
// go over the links anew whenever they have moved.
func airOFMSFT(data string, window int, broadcast bool) (*job, error) {
	const clients, budget, networks = 10, 3.0, 8
	set, err := ofmsft.ReadSet("air", data, "")
	if err != nil {
		return nil, err
	}
	var some []*nn.Network
	for k := range networks {
		some = append(some, set.Live.Networks[k*len(set.Live.Networks)/networks])
	}
	j := &job{algorithm: contract.OFMSFT, networks: some, parameters: map[string]any{
		"label": sets.AirLabel, "budget": budget, "bandwidth": budget * 2 * clients, "input_norm": set.Live.Norm,
		"label_low": set.Low, "label_high": set.High,
		"max_importance": 20.0, "window": window,
	}}
	if broadcast {
		j.parameters["broadcast"] = true
		j.parameters["bandwidth"] = float64(networks * clients * 2)
	}
	for k := range clients {
		at := k * len(set.Labels) / clients
		j.streams = append(j.streams, &audit.Stream{Inputs: set.Live.Rows[at], Labels: set.Labels[at], Confirmed: true})
	}
	return j, nil
}

// sensorsGFML is streams as those of the demo of GFML, twice as long as the job, with one server.
func sensorsGFML(rounds, entries int) (*job, error) {
	const clients = 10
	sensors, err := online.NewSensors(online.Options{Servers: 1, Clients: clients, Rounds: 2 * rounds, Seed: 1})
	if err != nil {
		return nil, err
	}
	j := &job{algorithm: contract.GFML, parameters: map[string]any{
		"edges": [][]string{}, "clusters": [][]string{{server}}, "seed": "audit", "features": 200, "participants": 4,
		"entries": entries,
	}}
	for _, name := range sensors.AllClients() {
		s := sensors.Streams[name]
		j.columns, j.parameters["columns"], j.parameters["label"] = s.Columns, s.Columns, s.Label
		j.streams = append(j.streams, &audit.Stream{Inputs: s.Inputs, Labels: s.Labels, Confirmed: true})
	}
	return j, nil
}

// judge names the first job without protection of which no row was rebuilt, and the first protected one of which
// single clients' were.
func (r *clientsReport) judge() error {
	for _, run := range r.Runs {
		want := audit.Disclosed
		if run.Protection == keys.PrivacyPublished {
			want = audit.Leak
		}
		if run.Report.Verdict != want {
			return fmt.Errorf("%s, %s: the audit's verdict is %s, want %s: %s", run.Job, run.Protection,
				run.Report.Verdict,
				want, run.Report.Summary)
		}
	}
	return nil
}

// Print prints the report for people.
func (r *clientsReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\nthe audit has all transcripts, payloads and streams\n\nrows from updates: shares in %%, "+
		"errors "+
		"in units of the columns' ranges\n\n", r.Machine)
	rows := table.New("job", "protection", "view", "verdict", "rows", "rebuilt", "guess", "labels", "error",
		"of a guess", "unprotected")
	others := table.New("job", "protection", "attack", "verdict", "of", "figure")
	for _, run := range r.Runs {
		for _, a := range run.Report.Attacks {
			if a.Party != server {
				continue
			}
			if a.RecoveredShare != nil {
				rows.Add(run.Job, run.Protection, a.View, string(a.Verdict), fmt.Sprint(a.Rows),
					percent(a.RecoveredShare),
					percent(a.GuessShare), percent(a.Labels),
					figure("%.1g", a.RMS), figure("%.2g", a.ControlRMS), percent(a.ControlShare))
				continue
			}
			others.Add(run.Job, run.Protection, a.Name, string(a.Verdict), fmt.Sprint(a.Rows), figure("%.3g",
				a.Statistic))
		}
	}
	if err := rows.Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nothers\n\n")
	if err := others.Write(w); err != nil {
		return err
	}
	for _, run := range r.Runs {
		for _, a := range run.Report.Attacks {
			if a.Party == server && a.Statistic != nil && (a.Name == "choices" ||
				a.Name == "successive totals" ||
				a.Name == "membership") {
				fmt.Fprintf(w, "\n%s, %s, %s: %s", run.Job, run.Protection, a.Name, a.Detail)
			}
		}
	}
	fmt.Fprintln(w)
	return nil
}
