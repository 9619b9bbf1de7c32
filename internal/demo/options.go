package demo

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
)

// People is how many people the generated credit data set has when nothing else is said.
const People = 20_000

// Options are what a demo is asked for, as the flags of the same names say it.
type Options struct {
	Algorithm                string
	Privacy, Aggregation     string // empty privacy: the strongest that the other options go with
	Published                bool   // privacy "published" is wanted though it leaks
	Topology, Record         string
	Features, Iterations     int // 0: the algorithm's own
	Seed                     uint64
	Dir                      string // keep everything in this folder; empty: a temporary one, removed
	Workers                  int
	Quick, JSON              bool
	Verbose                  bool // contracts whole, and all that was found
	Label                    string
	Data                     []string // of columns: files, stacked; none: generated
	ID, Missing              string
	Categorical              []string
	People, Parties          int
	Overlap                  float64 // share of the people whom all parties have
	Schedule, Loss, Target   string
	Kernel, Scale            string
	Sigma, Lambda            float64
	Bins, MinCell            int    // of scorecards
	Points, ZScores          string // who learns a scorecard's points, and how sure they are
	Clients, Servers         int    // of streams: clients of each server; 0: the algorithm's own
	CommonBin                bool
	Entries                  int
	Diffusion                string
	Budget                   float64
	Streams, Networks        string // folders
	LabelRange               string // LOW:HIGH
	Step, InputNorm          float64
	MaxImportance, Bandwidth float64
	Window, WarmUp           int

	classes  int                    // of columns: how many the label has, once it is read
	Given    func(flag string) bool // reports whether a flag was given and is not left at its default
	Out, Err io.Writer              // results, and what is told on the way
}

// WantsMasks says which of a training's options no sealed job has, nothing when there is none.
func WantsMasks(p fdskl.Params, aggregation string) string {
	switch {
	case aggregation == contract.AggregateHE:
		return "homomorphic sums"
	case p.Schedule == fdskl.DoublyStochastic:
		return "doubly stochastic schedule"
	case len(p.Active) > 1:
		return "several label holders"
	case p.Scores() > 1 && p.Loss != "" && p.Loss != kernel.Square.String():
		return "three or more classes with loss " + p.Loss
	case p.Features > sealed.MaxFeatures:
		return "more features than " + strconv.Itoa(sealed.MaxFeatures)
	}
	return ""
}

// wantsMasks says which of a demo's options no sealed job has.
func (o *Options) wantsMasks() string {
	return WantsMasks(fdskl.Params{Schedule: o.Schedule, Features: o.Features, Classes: o.classes, Loss: o.Loss},
		o.Aggregation)
}

// privacy is the mode: the one that is asked for, or else the strongest that the other options go with.
func (o *Options) privacy() string {
	switch {
	case o.Privacy != "":
		return o.Privacy
	case !o.overColumns() || o.wantsMasks() != "":
		return fdskl.Masked
	}
	return fdskl.Sealed
}

// overColumns reports whether the parties have columns of the same people; else they are clients with streams.
func (o *Options) overColumns() bool { return slices.Contains(overColumns(), o.Algorithm) }

// byKernels reports whether the flags of kernels and bins are about the algorithm.
func (o *Options) byKernels() bool {
	return o.Algorithm == contract.FDSKL || o.Algorithm == contract.GLM
}

// topology is along which sums travel: over streams straight to the server when nothing is said.
func (o *Options) topology() string {
	if !o.overColumns() && !o.Given("topology") {
		return contract.Star.String()
	}
	return o.Topology
}

// record is what transcripts keep: over streams digests when nothing is said, which are enough to audit sums by.
func (o *Options) record() string {
	if !o.overColumns() && !o.Given("record") {
		return contract.RecordDigests
	}
	return o.Record
}

// job is what every job of the demo has.
func (o *Options) job(parties []string) contract.Job {
	j := contract.Job{
		Format: "hanse-job-v1", Name: "demo", Algorithm: o.Algorithm, Task: contract.TaskTrain, Parties: parties,
		Privacy: o.privacy(), Topology: o.topology(), Table: "train", Record: o.record(),
	}
	if o.Aggregation != contract.AggregateMasked { // masks are the default
		j.Aggregation = o.Aggregation
	}
	return j
}

// algorithms lists what the demo shows.
func algorithms() []string {
	return append(overColumns(), overClients()...)
}

// overColumns lists those of them that are over columns.
func overColumns() (names []string) {
	for _, a := range registry.Program().Columns {
		names = append(names, a.Name)
	}
	return names
}

// overClients lists those of them that are over clients' streams.
func overClients() (names []string) {
	for _, t := range online.Trials() {
		names = append(names, t.Algorithm)
	}
	return names
}

// OwnFlags are flags that some algorithms alone know.
type OwnFlags struct{ Algorithms, Flags []string }

// AllOwnFlags lists them.
func AllOwnFlags() []OwnFlags {
	return []OwnFlags{
		{overColumns(), []string{"data", "id", "categorical", "missing", "people", "parties", "overlap", "target"}},
		{[]string{contract.FDSKL, contract.GLM}, []string{"loss", "lambda"}},
		{[]string{contract.FDSKL}, []string{"schedule", "kernel", "sigma", "scale"}},
		{[]string{contract.GLM}, []string{"bins", "min-cell", "points", "z-scores"}},
		{overClients(), []string{"clients", "servers"}},
		{[]string{contract.FDSKL, contract.POFMKL, contract.GFML}, []string{"features"}},
		{[]string{contract.GFML}, []string{"diffusion", "entries"}},
		{append(overColumns(), contract.OFMSFT), []string{"label"}},
		{[]string{contract.POFMKL}, []string{"common-bin"}},
		{[]string{contract.OFMSFT}, []string{
			"budget", "streams", "networks", "label-range", "input-norm", "step", "window", "warm-up", "max-importance",
			"bandwidth",
		}},
	}
}

// check refuses an algorithm that there is not, flags of another one, and flags that do not go together.
func (o *Options) check() error {
	if !slices.Contains(algorithms(), o.Algorithm) {
		return usage.Errorf("--algorithm is %q, want %s", o.Algorithm, wording.List(algorithms(), "or"))
	}
	for _, own := range AllOwnFlags() {
		if slices.Contains(own.Algorithms, o.Algorithm) {
			continue
		}
		for _, name := range own.Flags {
			if o.Given(name) {
				return usage.Errorf("--%s is for --algorithm %s, not for %s", name, wording.List(own.Algorithms, "and"),
					o.Algorithm)
			}
		}
	}
	if o.Record != contract.RecordFull && o.Record != contract.RecordDigests {
		return usage.Errorf("--record is %q, want full or digests", o.Record)
	}
	checks := []func() error{o.checkPrivacy, o.checkAggregation, o.checkData}
	if _, err := contract.ParseTopology(o.Topology); err != nil {
		return usage.Errorf("--%v", err)
	}
	for name, n := range map[string]int{"iterations": o.Iterations, "features": o.Features} {
		if o.Given(name) && n < 1 {
			return usage.Errorf("--%s is %d, want at least 1", name, n)
		}
	}
	if !o.overColumns() {
		checks = []func() error{o.checkClientPrivacy, o.checkAggregation, o.checkFiles, o.checkSizes}
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkData refuses an overlap that cannot be, and flags that say something of --data where there is none.
func (o *Options) checkData() error {
	if !(o.Overlap > 0 && o.Overlap <= 1) {
		return usage.Errorf("--overlap is %g, want the share of the people whom all parties have, above 0 and at most 1",
			o.Overlap)
	}
	if len(o.Data) > 0 {
		return nil
	}
	if o.Parties != 4 {
		return usage.Errorf("the generated data has four parties; give --data FILE to share its columns among %d", o.Parties)
	}
	for _, name := range []string{"label", "id", "categorical", "missing"} {
		if o.Given(name) {
			return usage.Errorf("--%s says how a table is read, and the generated data needs no such word; "+
				"give the table with --data FILE", name)
		}
	}
	return nil
}

// checkPrivacy refuses modes that there are not, and those that the parties are too few for.
func (o *Options) checkPrivacy() error {
	privacy := o.privacy()
	parties := o.Parties
	switch {
	case privacy == fdskl.Published && !o.Published:
		return usage.Errorf("--privacy published lets inner nodes of the tree rebuild other parties' rows; add " +
			"--i-know-this-leaks to run it all the same")
	case o.Algorithm == contract.GLM && privacy != fdskl.Sealed:
		return usage.Errorf("--privacy is %q, and --algorithm %s is always sealed", privacy, o.Algorithm)
	case privacy == fdskl.Sealed && parties < 3:
		return usage.Errorf("--privacy sealed needs at least 3 parties, got %d: three hold the shares; in a federation "+
			"any third member can, without data", parties)
	case privacy == fdskl.Masked && parties < 3:
		return usage.Errorf("--privacy masked needs at least 3 parties, got %d: with two, the root of a sum knows the "+
			"other's addend", parties)
	case privacy != fdskl.Sealed && privacy != fdskl.Masked && privacy != fdskl.Published:
		return usage.Errorf("--privacy is %q, want sealed, masked or published", privacy)
	}
	return nil
}

// checkAggregation refuses a protection of sums that there is not.
func (o *Options) checkAggregation() error {
	privacy := o.privacy()
	switch a := o.Aggregation; {
	case a != contract.AggregateMasked && a != contract.AggregateHE:
		return usage.Errorf("--aggregation is %q, want masked or he", a)
	case a == contract.AggregateHE && privacy == fdskl.Published:
		return usage.Errorf("--aggregation he and --privacy published do not go together: sums in the clear have no " +
			"protection to choose")
	case a == contract.AggregateHE && privacy == fdskl.Sealed:
		return usage.Errorf("--aggregation he and --privacy sealed do not go together: the sums of a sealed job are under " +
			"masks and open no angle; --privacy masked has it")
	}
	return nil
}

// checkClientPrivacy refuses modes that jobs over clients do not have.
func (o *Options) checkClientPrivacy() error {
	privacy := o.privacy()
	if privacy != fdskl.Published && privacy != fdskl.Masked {
		return usage.Errorf("--privacy is %q, want masked or published", privacy)
	}
	if privacy == fdskl.Published && !o.Published {
		return usage.Errorf("--privacy published shows the server every client's updates; " +
			"add --i-know-this-leaks to run it all the same")
	}
	return nil
}

// checkFiles refuses flags of own files that do not go together.
func (o *Options) checkFiles() error {
	streams := o.Given("streams")
	for name, value := range map[string]string{"networks": o.Networks, "label": o.Label} {
		if streams && value == "" {
			return usage.Errorf("--streams wants --networks FOLDER and --label COLUMN with it, --%s is missing", name)
		}
	}
	for _, name := range []string{"networks", "label", "label-range", "input-norm"} {
		if !streams && o.Given(name) && !o.overColumns() {
			return usage.Errorf("--%s is for own streams, want --streams FOLDER with it", name)
		}
	}
	if streams && o.Given("clients") {
		return usage.Errorf("--clients is for generated streams: with --streams every file is a client")
	}
	for name, v := range map[string]float64{
		"step": o.Step, "max-importance": o.MaxImportance, "bandwidth": o.Bandwidth, "input-norm": o.InputNorm,
	} {
		if o.Given(name) && (!(v > 0) || math.IsInf(v, 0)) {
			return usage.Errorf("--%s is %v, want a positive number", name, v)
		}
	}
	for name, n := range map[string]int{"window": o.Window, "warm-up": o.WarmUp} {
		if o.Given(name) && n < 1 {
			return usage.Errorf("--%s is %d, want at least 1", name, n)
		}
	}
	_, err := o.tuning()
	return err
}

// tuning reads the numbers of OFMS-FT that take the place of a trial's own.
func (o *Options) tuning() (ofmsft.Params, error) {
	p := ofmsft.Params{
		Step: o.Step, Window: o.Window, WarmUp: o.WarmUp, MaxImportance: o.MaxImportance,
		Bandwidth: o.Bandwidth, InputNorm: o.InputNorm,
	}
	if !o.Given("label-range") {
		return p, nil
	}
	text := o.LabelRange
	low, high, ok := strings.Cut(text, ":")
	var errs [2]error
	p.LabelLow, errs[0] = strconv.ParseFloat(low, 64)
	p.LabelHigh, errs[1] = strconv.ParseFloat(high, 64)
	if !ok || errs != [2]error{} || !(p.LabelLow < p.LabelHigh) || math.IsInf(p.LabelHigh-p.LabelLow, 0) {
		return p, usage.Errorf("--label-range is %.60q, want LOW:HIGH, two numbers of which the first is smaller", text)
	}
	return p, nil
}

// checkSizes refuses federations that are too small or too large for one machine.
func (o *Options) checkSizes() error {
	least := 3
	if o.privacy() == fdskl.Published {
		least = 2
	}
	if n := o.Clients; o.Given("clients") && (n < least || n > maxClients) {
		return usage.Errorf("--clients is %d, want %d to %d of each server", n, least, maxClients)
	}
	trial, _ := online.TrialOf(o.Algorithm) // one over columns has none, nor a server
	switch n := o.Servers; {
	case trial.Servers < 2 && o.Given("servers") && n != 1:
		return usage.Errorf("--servers is %d: %s has one server", n, o.Algorithm)
	case o.Given("servers") && (n < 1 || n > maxServers):
		return usage.Errorf("--servers is %d, want 1 to %d", n, maxServers)
	}
	switch d := o.Diffusion; {
	case !slices.Contains([]string{"", gfml.DiffusionMasked, gfml.DiffusionPlain}, d):
		return usage.Errorf("--diffusion is %q, want masked or plain", d)
	case d == gfml.DiffusionMasked && o.Given("servers") && o.Servers < 3:
		return usage.Errorf("--diffusion masked wants at least 3 servers, not %d: the sum of one other's model would be "+
			"that model", o.Servers)
	}
	if b := o.Budget; o.Given("budget") && !(b > 0 && b <= maxBudget) {
		return usage.Errorf("--budget is %v, want a number above 0 and at most %d", b, maxBudget)
	}
	return nil
}

// Limits of a demo on one machine.
const (
	maxClients = 1000 // of each server
	maxServers = 16
	maxBudget  = 1000
)
