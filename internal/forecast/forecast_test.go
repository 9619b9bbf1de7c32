package forecast

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/rss"
)

// evenSpeeds are such that one unit of each kind takes a nanosecond.
func evenSpeeds() *Speeds {
	s := &Speeds{Cores: 2, Unit: make(map[Kind]float64)}
	for _, k := range kinds {
		s.Unit[k] = 1e-9
	}
	return s
}

// contractOf is a training over so many rows, of four parties with five columns each.
func contractOf(t *testing.T, privacy string, rows, features int) *contract.Contract {
	t.Helper()
	names := []string{"bank", "insurer", "telco", "retailer"}
	job := &contract.Job{Name: "credit", Algorithm: contract.FDSKL, Task: contract.TaskTrain, Parties: names,
		Privacy: privacy, Topology: contract.Tree.String(), Table: "train", Record: contract.RecordDigests,
		Parameters: map[string]any{"active": []string{"bank"}, "label": "y", "loss": "square", "sigma": 1.0, "lambda": 1e-3,
			"features": int64(features), "seed": "s", "iterations": int64(50)}}
	c := &contract.Contract{Job: job}
	for _, name := range names {
		c.Parties = append(c.Parties, contract.Facts{Name: name, Role: "passive", Rows: rows, Columns: 5})
	}
	if privacy == keys.PrivacySealed {
		job.Parameters["keeper"], job.Parameters["helper"] = "insurer", "telco"
	}
	o, err := registry.Program().Outline(job, nil, c.Parties, nil)
	must(t, err)
	d, err := o.Disclose()
	must(t, err)
	c.Operations = contract.SessionOperations(len(names), d.Operations)
	return c
}

// of makes a forecast at the bank.
func of(t *testing.T, c *contract.Contract, s *Speeds, at Place) *Forecast {
	t.Helper()
	f, err := Of(c, "bank", Known{Density: Density{Dense: 5}}, s, at)
	must(t, err)
	return f
}

// TestMoreTakesLonger: more rows, more features, slower kernels, fewer cores and a worse line all make a forecast
// longer, in every mode; and twice as many rows of what grows with them about twice as long.
func TestMoreTakesLonger(t *testing.T) {
	for _, privacy := range []string{keys.PrivacyMasked, keys.PrivacyPublished, keys.PrivacySealed} {
		base := of(t, contractOf(t, privacy, 4000, 128), evenSpeeds(), Place{})
		longer := func(what string, f *Forecast) {
			t.Helper()
			if !(f.Seconds > base.Seconds) {
				t.Errorf("%s: with %s it takes %v s, without %v", privacy, what, f.Seconds, base.Seconds)
			}
		}
		twice := of(t, contractOf(t, privacy, 8000, 128), evenSpeeds(), Place{})
		longer("more rows", twice)
		if r := twice.Seconds / base.Seconds; r < 1.5 || r > 2.1 {
			t.Errorf("%s: twice the rows take %.2f times as long", privacy, r)
		}
		if r := float64(twice.Total.Most) / float64(base.Total.Most); r < 1.5 || r > 2.1 {
			t.Errorf("%s: twice the rows pass %.2f times the bytes", privacy, r)
		}
		longer("more features", of(t, contractOf(t, privacy, 4000, 256), evenSpeeds(), Place{}))
		one := evenSpeeds()
		one.Cores = 1
		longer("one core", of(t, contractOf(t, privacy, 4000, 128), one, Place{}))
		longer("all on one machine", of(t, contractOf(t, privacy, 4000, 128), evenSpeeds(), Place{Together: true}))
		longer("a round trip", of(t, contractOf(t, privacy, 4000, 128), evenSpeeds(), Place{Trip: 0.1}))
		slow := of(t, contractOf(t, privacy, 4000, 128), evenSpeeds(), Place{Rate: 1e6})
		longer("a slow line", slow)
		want := float64(max(base.Sent.Most, base.Received.Most)) / 1e6 // which is all that the line adds
		if got := slow.Seconds - base.Seconds; math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: a line of a megabyte a second adds %v s, want %v", privacy, got, want)
		}
		s := evenSpeeds()
		for _, k := range kinds {
			s.Unit[k] *= 10
		}
		if got := of(t, contractOf(t, privacy, 4000, 128), s, Place{}).Seconds; math.Abs(got-10*base.Seconds) > 1e-9*got {
			t.Errorf("%s: a machine that is ten times as slow takes %v s, want ten times %v", privacy, got, base.Seconds)
		}
	}
}

// TestKindsCount: every kind of work that belongs to a mode makes its forecast longer where it is slower.
func TestKindsCount(t *testing.T) {
	messages := []Kind{Carried, Message, Hashed, Moved}
	for privacy, want := range map[string][]Kind{
		keys.PrivacyMasked:    append([]Kind{DenseAngle, DenseTerm, Cosine, Gram, Equation, Masked, Written}, messages...),
		keys.PrivacyPublished: append([]Kind{DenseAngle, DenseTerm, Cosine, Gram, Equation}, messages...),
		keys.PrivacySealed: append([]Kind{DenseAngle, DenseTerm, Cosine, Padded, SmallSquare, Product, Synced},
			messages...),
	} {
		c := contractOf(t, privacy, 4000, 128)
		base := of(t, c, evenSpeeds(), Place{Together: true})
		for _, k := range want {
			s := evenSpeeds()
			s.Unit[k] = 1e-6
			if f := of(t, c, s, Place{Together: true}); !(f.Seconds > base.Seconds) {
				t.Errorf("%s: slow %q makes nothing longer", privacy, k)
			}
		}
	}
}

// TestSmallWordsTakeLess: features of 32 bits have sums of products of their own, and half a word of a pad where those
// of 64 bits have a whole one. Without truncations, which depend on the windows, pads are those of features alone.
func TestSmallWordsTakeLess(t *testing.T) {
	const rows, d = 4000, 128
	worked := func(ring int64, kind Kind) (units float64) {
		c := contractOf(t, keys.PrivacySealed, rows, d)
		c.Job.Parameters["ring"] = ring
		c.Operations = slices.DeleteFunc(c.Operations, func(o contract.Operation) bool {
			_, ok := rss.Truncated(o.Kind)
			return ok
		})
		base, s := of(t, c, evenSpeeds(), Place{}), evenSpeeds()
		s.Unit[kind] += 1e-9
		return (of(t, c, s, Place{}).Seconds - base.Seconds) * 1e9 * 2 // on two cores
	}
	for _, test := range []struct {
		ring int64
		kind Kind
		want float64
	}{
		{64, Square, rows * d * d}, {48, Square, rows * d * d}, {32, Square, 0},
		{64, SmallSquare, 0}, {48, SmallSquare, 0}, {32, SmallSquare, rows * d * d},
		{64, Padded, 67.0 / 3 * rows * d}, {48, Padded, 67.0 / 3 * rows * d}, {32, Padded, 43.0 / 3 * rows * d},
	} {
		if got := worked(test.ring, test.kind); math.Abs(got-test.want) > 1e-3*rows*d {
			t.Errorf("ring %d: %q counts %v times, want %v", test.ring, test.kind, got, test.want)
		}
	}
}

// TestTruncationsCountTheirPads: eight words and four numbers of a value's own bits over the three parties.
func TestTruncationsCountTheirPads(t *testing.T) {
	for encoding, want := range map[contract.Encoding]float64{
		contract.Fixed64: 100 * (8 + 4) * 8.0 / 3, contract.Ring48: 100 * (8 + 4) * 8.0 / 3,
		contract.Ring32: 100 * (8 + 2) * 8.0 / 3,
	} {
		c := new(contract.Contract)
		for _, m := range []struct {
			suffix   string
			words    int64
			encoding contract.Encoding
		}{
			{rss.SuffixIn, 100, encoding}, {rss.SuffixIn, 100, encoding}, {rss.SuffixCarry, 100, contract.Fixed64},
			{rss.SuffixOut, 200, contract.Fixed64}, {rss.SuffixCarry, 100, contract.Fixed64},
		} {
			c.Operations = append(c.Operations, contract.Operation{
				Kind: "sums" + m.suffix, Shape: []int64{m.words}, Encoding: m.encoding.String()})
		}
		var got float64
		new(step).truncations(c.Operations, func(_ *step, _ Kind, units float64) { got += units })
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v bytes of pads, want %v", encoding, got, want)
		}
	}
}

// TestAFileOfFeaturesTakesTime: where a sealed job's loss needs the features again they are written to a file.
func TestAFileOfFeaturesTakesTime(t *testing.T) {
	slower := func(loss string) float64 {
		c := contractOf(t, keys.PrivacySealed, 4000, 128)
		c.Job.Parameters["loss"] = loss
		s := evenSpeeds()
		base := of(t, c, s, Place{})
		s.Unit[Written] = 1e-6
		return of(t, c, s, Place{}).Seconds - base.Seconds
	}
	square, logistic := slower("square"), slower("logistic")
	const bytes = 4000 * 128 * 4
	if more, want := logistic-square, bytes*(1e-6-1e-9)/2; math.Abs(more-want) > 1e-6 { // on two cores
		t.Errorf("a slow disk takes %v s more than with the square loss, want %v", more, want)
	}
}

// TestStepsOfALoss: how often a solver evaluates follows from the data, and is said apart.
func TestStepsOfALoss(t *testing.T) {
	c := contractOf(t, keys.PrivacyMasked, 4000, 128)
	c.Job.Parameters["loss"] = "logistic"
	f := of(t, c, evenSpeeds(), Place{})
	if f.Steps != 50 || f.StepSeconds <= 0 {
		t.Errorf("%d steps of %v s, want 50", f.Steps, f.StepSeconds)
	}
	if o := f.Against(Came{Seconds: 3, Sessions: 1}); o.SecondsOff != nil {
		t.Errorf("seconds are %v off, and nobody had forecast them", *o.SecondsOff)
	}
	if !strings.Contains(f.String(), "for each of up to 50 steps of the solver, ") {
		t.Errorf("it says %q", f)
	}
}

// TestStepsThatMayEndEarlier: a forecast of a sealed training with the logistic loss is of its most steps, says so, and
// is not held against what came.
func TestStepsThatMayEndEarlier(t *testing.T) {
	c := contractOf(t, keys.PrivacySealed, 4000, 128)
	c.Job.Parameters["loss"] = "logistic"
	f := of(t, c, evenSpeeds(), Place{})
	if f.MostSteps != 40 || !strings.Contains(f.String(), ", less where fewer than 40 steps do; you send ") {
		t.Errorf("it is of %d steps and says %q", f.MostSteps, f)
	}
	if o := f.Against(Came{Seconds: 3, Sent: 5, Received: 5, Sessions: 1}); o.SecondsOff != nil || o.SentOff != nil {
		t.Errorf("%v, and nobody had forecast how many steps it takes", o)
	}
}

// TestDensities: a party is taken to have columns like the own ones.
func TestDensities(t *testing.T) {
	own := DensityOf(&kernel.Matrix{Rows: 4, Dense: []string{"a"}, Binary: []string{"b", "c", "d"},
		Set: make([]uint16, 6)})
	if own != (Density{Dense: 1, Binary: 3, Ones: 1.5}) {
		t.Errorf("the density is %+v", own)
	}
	if dense, ones := own.of(8); dense != 2 || ones != 3 {
		t.Errorf("8 columns have %v numbers and %v ones, want 2 and 3", dense, ones)
	}
	if dense, ones := (Density{}).of(8); dense != 8 || ones != 0 {
		t.Errorf("without a table 8 columns have %v numbers and %v ones, want 8 and 0", dense, ones)
	}
}

// TestNoTellingIsSaid: where nobody can say how long a job takes, the forecast says why.
func TestNoTellingIsSaid(t *testing.T) {
	for name, change := range map[string]func(*contract.Contract){
		"encrypted": func(c *contract.Contract) { c.Job.Aggregation = contract.AggregateHE },
		"served":    func(c *contract.Contract) { c.Job.Requests = 5 },
		"growing": func(c *contract.Contract) {
			c.Job.Parameters["schedule"] = fdskl.DoublyStochastic
			delete(c.Job.Parameters, "features")
		},
		"unmeasured": func(c *contract.Contract) {},
	} {
		c := contractOf(t, keys.PrivacyMasked, 400, 16)
		change(c)
		speeds := evenSpeeds()
		if name == "unmeasured" {
			speeds = nil
		}
		if f := of(t, c, speeds, Place{}); f.Seconds != 0 || f.Unknown == "" || !strings.Contains(f.String(), f.Unknown) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestAlignmentsTakePoints: an alignment in mode dh is mostly points, four for each id of two parties with as many.
func TestAlignmentsTakePoints(t *testing.T) {
	c := &contract.Contract{Job: &contract.Job{Name: "people", Algorithm: contract.PSI, Task: contract.TaskAlign,
		Parties: []string{"bank", "telco"}, Parameters: map[string]any{"mode": psi.ModeDH, "asker": "bank", "keeper": "telco",
			"keep_days": int64(30)}}}
	for _, name := range c.Job.Parties {
		c.Parties = append(c.Parties, contract.Facts{Name: name, Rows: 1000, IDs: []int{1000}})
	}
	spec, err := psi.SpecOf(c.Job, c.Parties)
	must(t, err)
	_, operations := spec.Disclose(c.Job.Parties)
	c.Operations = contract.SessionOperations(2, operations)
	s := &Speeds{Cores: 1, Unit: map[Kind]float64{PointProduct: 1e-3}}
	if f := of(t, c, s, Place{Together: true}); math.Abs(f.Seconds-4) > 1e-9 {
		t.Errorf("4000 points of a millisecond on one core take %v s", f.Seconds)
	}
	if f := of(t, c, s, Place{}); math.Abs(f.Seconds-2) > 1e-9 {
		t.Errorf("on two machines they take %v s", f.Seconds)
	}
}

// TestOutcomes: what came is set against what was forecast for so many common rows, and not after several sessions.
func TestOutcomes(t *testing.T) {
	f := &Forecast{Seconds: 12, Sent: Bytes{Fixed: 1000, PerRow: 16, Most: 2600}, Received: Bytes{Fixed: 500, Most: 500}}
	o := f.Against(Came{Seconds: 11.16, Sent: 1800, Received: 505, Common: 50, Sessions: 1})
	if o.Sent != 1800 || *o.SentOff != 0 || math.Abs(*o.ReceivedOff-0.01) > 1e-12 || math.Abs(*o.SecondsOff+0.07) > 1e-12 {
		t.Errorf("the outcome is %+v", o)
	}
	seconds, sent, received := o.Beside()
	if got := seconds + sent + received; got !=
		" (forecast 12 s, -7.0 %) (forecast 1800 B, +0.0 %) (forecast 500 B, +1.0 %)" {
		t.Errorf("it says %q", got)
	}
	if seconds, _, _ := (*Outcome)(nil).Beside(); seconds != "" {
		t.Errorf("without a forecast it says %q", seconds)
	}
	if o := f.Against(Came{Seconds: 5, Sent: 1, Received: 1, Sessions: 2}); o.SecondsOff != nil || o.SentOff != nil {
		t.Errorf("two sessions are held against a forecast of one: %+v", o)
	}
	open := &Forecast{Sent: Bytes{Fixed: 10, Most: 1000}, Received: Bytes{Fixed: 10, Most: 10}}
	if o := open.Against(Came{Sent: 500, Received: 10, Sessions: 1}); o.SentOff != nil || o.ReceivedOff == nil {
		t.Errorf("what depends on the data is held against the forecast: %+v", o)
	}
}

// TestWords shows a forecast as people read it.
func TestWords(t *testing.T) {
	f := Forecast{Seconds: 12.3, Sent: Bytes{Fixed: 75e6, Most: 75e6}, Received: Bytes{Fixed: 1e6, PerRow: 16, Most: 12e5}}
	together, known := f, f
	together.Together, known.Trip, known.Rate = true, 0.02, 12.5e6
	sharedByWorkers, workers := together, known
	sharedByWorkers.Workers, workers.Workers = 2, 4
	for want, g := range map[string]Forecast{
		"about 12 s on machines like this one; you send 75.0 MB, receive 1000.0 kB to 1200.0 kB. The line is not in it, " +
			"which nobody has measured (hanse doctor does): on 100 Mbit/s the bytes take 6.0 s more": f,
		"about 12 s on this machine, which all parties share; you send 75.0 MB, receive 1000.0 kB to 1200.0 kB": together,
		"about 12 s on this machine, which all parties and their workers share; you send 75.0 MB, receive 1000.0 kB to " +
			"1200.0 kB": sharedByWorkers,
		"about 12 s with 4 workers of one core each at each party, on machines like this one; you send 75.0 MB, receive " +
			"1000.0 kB to 1200.0 kB. The line's 20.0 ms and 12.5 MB/s are in it": workers,
		"about 12 s on machines like this one; you send 75.0 MB, receive 1000.0 kB to 1200.0 kB. The line's 20.0 ms and " +
			"12.5 MB/s are in it": known,
	} {
		if got := g.String(); got != want {
			t.Errorf("it says\n%s\nwant\n%s", got, want)
		}
	}
	for s, want := range map[float64]string{0.004: "0.00 s", 0.042: "0.04 s", 0.44: "0.4 s", 9.4: "9.4 s", 9.6: "10 s",
		119: "119 s", 204: "3.4 min", 7560: "2.1 h"} {
		if got := Seconds(s); got != want {
			t.Errorf("%v seconds are %q, want %q", s, got, want)
		}
	}
	for off, want := range map[float64]string{-0.07: "-7.0 %", 0.001: "+0.1 %", 0.0996: "+10 %", 8.21: "+821 %"} {
		if got := Percent(off); got != want {
			t.Errorf("%v is %q, want %q", off, got, want)
		}
	}
}

// TestSpeedsAreKept: they are measured once for a build on a machine, and anew where the file is of another, or broken.
func TestSpeedsAreKept(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	dir := t.TempDir()
	first, err := ReadSpeeds(dir)
	must(t, err)
	if !first.complete() || first.Of != current() {
		t.Fatalf("measured %+v", first)
	}
	for _, k := range []Kind{Gram, Square, Product, PointProduct, Hashed, Carried, Message, Padded, Masked} {
		if first.Unit[k] <= 0 {
			t.Errorf("%s takes %v s", k, first.Unit[k])
		}
	}
	path := filepath.Join(dir, speedsFile)
	marked := *first
	marked.Cores = 77
	write := func(text []byte) {
		t.Helper()
		must(t, os.WriteFile(path, text, 0o600))
	}
	encoded := func(s Speeds) []byte {
		t.Helper()
		text, err := json.Marshal(s)
		must(t, err)
		return text
	}
	write(encoded(marked))
	if again, err := ReadSpeeds(dir); err != nil || again.Cores != 77 {
		t.Errorf("speeds that are kept were not taken: %+v, %v", again, err)
	}
	// Another folder of the same user finds them, and measures its own disk; who has no cache measures all.
	shared, err := os.UserCacheDir()
	must(t, err)
	marked.Unit = maps.Clone(first.Unit)
	marked.Unit[Synced] = 9
	must(t, os.WriteFile(filepath.Join(shared, "hanse", speedsFile), encoded(marked), 0o600))
	if again, err := ReadSpeeds(t.TempDir()); err != nil || again.Cores != 77 || again.Unit[Synced] == 9 {
		t.Errorf("speeds of the cache were not taken, or its disk was: %+v, %v", again, err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if again, err := ReadSpeeds(t.TempDir()); err != nil || again.Cores == 77 {
		t.Errorf("without a cache: %+v, %v", again, err)
	}
	other, absurd := marked, marked
	other.Of = "another build"
	absurd.Unit = map[Kind]float64{Gram: -1}
	for name, text := range map[string][]byte{"another build": encoded(other), "absurd": encoded(absurd),
		"broken": []byte("{"), "too short": encoded(Speeds{Of: current(), Cores: 77})} {
		write(text)
		if again, err := ReadSpeeds(dir); err != nil || again.Cores == 77 {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
	}
}

// TestLines: a forecast goes by the slowest line, and by none where one was never measured.
func TestLines(t *testing.T) {
	dir := t.TempDir()
	l := ReadLines(dir)
	if l.Slowest([]string{"bank"}) != 0 {
		t.Error("there is a line that nobody has measured")
	}
	for i, measured := range []map[string]float64{{"bank": 5e6, "telco": 1e6}, {"bank": 2e6}} {
		if err := l.Note(measured); err != nil {
			t.Fatal(i, err)
		}
	}
	for _, l := range []*Lines{l, ReadLines(dir)} {
		got := fmt.Sprint(l.Slowest([]string{"bank"}), l.Slowest([]string{"bank", "telco"}),
			l.Slowest([]string{"bank", "mill"}))
		if got != "2e+06 1e+06 0" {
			t.Errorf("the slowest lines are %s", got)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, linesFile), []byte("["), 0o600))
	if ReadLines(dir).Slowest([]string{"bank"}) != 0 {
		t.Error("a broken file has lines")
	}
}

// TestNoForecastBelowASecond: a job of milliseconds is forecast as less than a second, and not held against that.
func TestNoForecastBelowASecond(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		says    string
		held    bool
	}{{0.01, "less than a second on machines like this one", false}, {0.99, "less than a second ", false},
		{1, "about 1.0 s on machines like this one", true}} {
		f := &Forecast{Seconds: c.seconds}
		if text := f.String(); !strings.HasPrefix(text, c.says) {
			t.Errorf("%v s: %s", c.seconds, text)
		}
		o := f.Against(Came{Seconds: 3, Sessions: 1})
		seconds, _, _ := o.Beside()
		if (o.SecondsOff != nil) != c.held || (seconds != "") != c.held {
			t.Errorf("%v s: off by %v, %q", c.seconds, o.SecondsOff, seconds)
		}
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
