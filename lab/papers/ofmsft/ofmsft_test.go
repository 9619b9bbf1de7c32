package ofmsft

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/testnet/needs"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/sets"
)

// TestServerRegretIsThatOfEquation3 has networks that nobody changes: the regret is the losses' difference.
func TestServerRegretIsThatOfEquation3(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteAirStream(t, dir)
	set, err := ReadSet(setAir, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := set.keep(4); err != nil {
		t.Fatal(err)
	}
	l := &bench{set: set, workers: 1, log: &bytes.Buffer{}, options: choices{
		rounds: 15, perUpload: 1, window: 1, warmUp: 15, seeds: 1, bandwidth: 1, regret: true, hindsight: 2,
	}}
	if err := l.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := setting{algorithm: ofmsFT, update: ofmsft.UpdateEquation11, budget: 5}
	runs, err := l.runAll(t.Context(), []setting{c})
	if err != nil {
		t.Fatal(err)
	}
	best, err := l.findRivals(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.bound(c, runs[0], best)
	if err != nil {
		t.Fatal(err)
	}
	least := math.Inf(1)
	for k, n := range set.Live.Networks {
		sum, w := 0.0, n.NewWorkspace()
		for i, rows := range set.Live.Rows {
			var y []float64
			for _, v := range set.Labels[i][:15] {
				y = append(y, (v-set.Low)/(set.High-set.Low))
			}
			losses := make([]float64, 15)
			w.Losses(set.Live.scaled(rows[:15]), y, 15, losses)
			for _, loss := range losses {
				sum += loss / 4
			}
		}
		least = math.Min(least, sum-best.losses[k][14])
	}
	if math.Abs(b.ServerLeast-least) > 1e-5*math.Max(1, least) || least < 0 {
		t.Errorf("the least regret is %v, want %v, not below 0", b.ServerLeast, least)
	}
}

// TestSmallBudgetsAreSpread counts those that have them, in both halves.
func TestSmallBudgetsAreSpread(t *testing.T) {
	for share, want := range map[float64]int{0: 0, 0.4: 20, 0.5: 25, 0.6: 30, 1: 50} {
		c := setting{small: share}
		for half := range 2 {
			n := 0
			for i := range 50 {
				if c.has(50*half + i) {
					n++
				}
			}
			if n != want {
				t.Errorf("%v of half %d: %d clients, want %d", share, half+1, n, want)
			}
		}
	}
	if f, _ := publishedFigures(setWEC, setting{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: 5,
		small: 0.4}); f.Clients() != "7.32 (1.54)" {
		t.Errorf("table 2 has %s", f.Clients())
	}
}

// TestImagesAreDealtAsThePaperSays counts classes and clients.
func TestImagesAreDealtAsThePaperSays(t *testing.T) {
	labels := labtest.MNISTLabels()
	deal := imageDeal{133, 5}
	dealt, err := deal.among(labels)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for i, own := range dealt {
		counts := make([]int, imageClasses)
		for _, at := range own {
			counts[labels[at]]++
		}
		if len(own) != Rounds || counts[i/5] < 133 || slices.Min(counts) < 5 {
			t.Errorf("client %d has %d images, of the classes %v", i+1, len(own), counts)
		}
		all = append(all, own...)
	}
	slices.Sort(all)
	for i, at := range all {
		if i != at {
			t.Fatalf("image %d was dealt in place of %d", at, i)
		}
	}
	if _, err := deal.among(make([]byte, testImages)); err == nil ||
		err.Error() != "class 1 has 0 images, want at least 890" {
		t.Errorf("error %v", err)
	}
	labels[3] = 10
	if _, err := deal.among(labels); err == nil || err.Error() != "image 4 is of class 10, want 0 to 9" {
		t.Errorf("error %v", err)
	}
}

// TestTheRealSetsAreDealt checks sizes and scales.
func TestTheRealSetsAreDealt(t *testing.T) {
	dir := filepath.Dir(needs.Data(t, "ofmsft-models"))
	air, err := ReadSet(setAir, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(air.Live.Norm-10052.2) > 0.1 || air.Low != 2 || air.High != 228 || len(air.Labels) != 100 ||
		len(air.Labels[99]) != 200 {
		t.Errorf("norm %v, labels from %v to %v, %d clients", air.Live.Norm, air.Low, air.High, len(air.Labels))
	}
	mnist, err := ReadSet(setMNIST, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := mnist.Live.Networks; len(n) != 20 || n[0].Size() != 240528 || n[1].Size() != 159254 ||
		len(mnist.Labels) != 50 {
		t.Errorf("%d networks, the first have %d and %d parameters, %d clients", len(n), n[0].Size(), n[1].Size(),
			len(mnist.Labels))
	}
}

// TestALeagueIsBesideItsJobInOneProcess lets a stand-in be the program, and looks at what it was given.
func TestALeagueIsBesideItsJobInOneProcess(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	labtest.WriteAirStream(t, data)
	says := `{"clients": ["a"], "mse": 7.5, "mse_sd": 5.5, "train_seconds": 3, "bytes_down": 2000, "bytes_up": 1000, "sessions": 1, "audit": {"verdict": "disclosed"}}`
	p := labtest.StandIn(t, says, 0)
	o := Options{Set: "air", Data: data, Processes: true, Dir: dir, Clients: 4, Rounds: 6, WarmUp: 2,
		MaxImportance: 20, RoundsPerUpload: 1, Seeds: 3}
	given := []string{"clients", "rounds", "warm-up", "dir"}
	var out, said bytes.Buffer
	call := lab.Run{Out: &out, Log: &said, JSON: true, Program: p.Path,
		Given: func(flag string) bool { return slices.Contains(given, flag) }}
	if err := Run(t.Context(), call, o); err != nil {
		t.Fatal(err)
	}
	var r ProcessReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Clients != 4 || r.Rounds != 6 || r.Budget != 5 || r.Bandwidth != 10 || r.Window != 1 || r.WarmUp != 2 ||
		!(r.Step > 0.00163 && r.Step < 0.00164) {
		t.Errorf("job %+v", r)
	}
	if r.Round != 500 || r.Down != 2000 || r.Up != 1000 || r.MSE != 7.5 || r.SD != 5.5 || r.Verdict != "disclosed" {
		t.Errorf("the demo's figures are %+v", r)
	}
	if !(r.ClearMSE > 0 && r.UntunedMSE > 0 && r.ClearSD > 0 && r.PaperDown > r.PaperUp && r.PaperUp > 0 &&
		r.Total > 0) {
		t.Errorf("one process has %+v", r)
	}
	checkDataFiles(t, data, dir)

	out.Reset()
	call.JSON = false
	if err := Run(t.Context(), call, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"air: 4 clients x 6 rounds over TLS, masked", "the audit says disclosed",
		" 7.50 (5.50) |", "| the paper's count"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

// checkDataFiles compares the files of a test network of four clients with the set.
func checkDataFiles(t *testing.T, data, dir string) {
	t.Helper()
	set, err := ReadSet(setAir, data, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := stream.Open(filepath.Join(dir, "streams", "client-002.csv"), sets.AirLabel, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 6 {
		row, err := s.Next(t.Context())
		if err != nil || !slices.Equal(row.Inputs, set.Live.Rows[25][i]) || row.Label != set.Labels[25][i] {
			t.Fatalf("row %d is %v, %v", i+1, row, err)
		}
	}
	if _, err := s.Next(t.Context()); err == nil {
		t.Error("the stream has more than 6 rows")
	}
	for k, name := range set.Names {
		file, err := os.ReadFile(filepath.Join(dir, "networks", name+".safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := nn.Parse(file); err != nil || n.Hash() != set.Live.Networks[k].Hash() {
			t.Errorf("%s: %v, or it is another network", name, err)
		}
	}
}

// TestProcessArgumentsSayTheWholeJob lists them.
func TestProcessArgumentsSayTheWholeJob(t *testing.T) {
	p := ofmsft.Params{Rounds: 200, Budget: 5, Bandwidth: 250, Step: 0.007, Window: 1, InputNorm: 10052.25,
		LabelLow: 2, LabelHigh: 228, MaxImportance: 20, WarmUp: 50}
	got := strings.Join(demoFlags(p, "x"), " ")
	for _, want := range []string{
		"--label NO2", "--rounds 200", "--budget 5", "--bandwidth 250", "--step 0.007", "--window 1", "--input-norm 10052.25",
		"--label-range 2:228", "--max-importance 20", "--warm-up 50",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q has no %s", got, want)
		}
	}
	p.MaxImportance, p.WarmUp = 0, 0
	if got := strings.Join(demoFlags(p, "x"), " "); strings.Contains(got, "importance") || strings.Contains(got,
		"warm") {
		t.Errorf("%q names numbers of 0", got)
	}
}

// TestScansSayHowRunsEnd has a step that diverged and is not the best.
func TestScansSayHowRunsEnd(t *testing.T) {
	rows := []Row{{Mean: 8, Late: 6}, {Step: 0.1, Mean: 7, Late: 5},
		{Step: 1, Diverged: "round 60: the loss is NaN"}, {Step: 0.5, Mean: 7.5, Late: 7}, {Step: 0.7, Mean: 9,
			Late: 12}}
	r := Report{Unit: "error", Rows: rows, Best: bestStep(rows, false)}
	var out bytes.Buffer
	if err := r.printScan(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"diverges, round 60: the loss is NaN", " worse than none |", " diverges |",
		"best step: 0.1, 7.00 against 8.00 without fine-tuning"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the scan does not say %q:\n%s", want, out.String())
		}
	}
	if best := bestStep(rows, true); best.Step != 0.7 {
		t.Errorf("the largest is at step %v", best.Step)
	}
	digits := Report{Set: setMNIST}
	if h := digits.harm(Row{Step: 1, Late: 80}, Row{Late: 90}); h != "diverges" {
		t.Errorf("80 %% after 90 %%: %q", h)
	}
	if bestStep(rows[2:3], false) != nil {
		t.Error("a step that diverged is the best")
	}
}

// TestFrozenNetworksAreTheNetworks runs selection on both.
func TestFrozenNetworksAreTheNetworks(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteMNISTStream(t, dir)
	labtest.WriteAirStream(t, dir)
	for _, name := range []string{setAir, setMNIST} {
		set, err := ReadSet(name, dir, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := set.keep(5); err != nil {
			t.Fatal(err)
		}
		l := &bench{set: set, workers: 2, log: io.Discard, options: choices{rounds: 20, perUpload: 1, window: 1,
			seeds: 1, bandwidth: 1}}
		if err := l.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := setting{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: 5}
		frozen, err := l.runAll(t.Context(), []setting{c})
		if err != nil {
			t.Fatal(err)
		}
		l.frozen = &set.Live
		live, err := l.runAll(t.Context(), []setting{c})
		if err != nil {
			t.Fatal(err)
		}
		a, b := frozen[0][0], live[0][0]
		for t0 := range a.scores {
			if math.Abs(a.scores[t0]-b.scores[t0]) > 1e-6 || math.Abs(a.first[t0]-b.first[t0]) > 1e-5 {
				t.Fatalf("%s, round %d: score %v and regret %v, want %v and %v", name, t0+1, a.scores[t0],
					a.first[t0], b.scores[t0], b.first[t0])
			}
		}
		if a.downloaded != b.downloaded {
			t.Errorf("%s: %v bytes, want %v", name, a.downloaded, b.downloaded)
		}
	}
}

// TestPublishedFiguresAreThePapers has a case of each table.
func TestPublishedFiguresAreThePapers(t *testing.T) {
	for _, c := range []struct {
		set         string
		of          setting
		paper, spec string
	}{
		{setAir, setting{algorithm: ofmsFT, update: ofmsft.UpdateInPlace, budget: 5}, "7.46 (5.10)", "7.40 (4.89)"},
		{setAir, setting{algorithm: fedOMD, update: updateOwn, budget: 5}, "11.37 (7.16)", ""},
		{setMNIST, setting{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: 10}, "92.93 (2.58)", "92.60"},
		{setAir, setting{algorithm: ofmsFT, update: ofmsft.UpdateInPlace, budget: 5, step: 1}, "", ""},
		{setAir, setting{algorithm: ofmsMAB, update: ofmsft.UpdateNone, budget: 2}, "", ""},
	} {
		paper, spec := publishedFigures(c.set, c.of)
		if paper.Clients() != c.paper || spec.Clients() != c.spec {
			t.Errorf("%s, %s: %q and %q, want %q and %q", c.set, c.of.name(), paper.Clients(), spec.Clients(),
				c.paper, c.spec)
		}
	}
	if figure := (&lab.Published{Value: 7.46}); figure.OffBy(7.4) != "-0.06" {
		t.Errorf("off by %s", figure.OffBy(7.4))
	}
}

// TestProbabilitiesBelowSinglePrecisionKeepTheirLoss has a label whose probability is rounded to 0.
func TestProbabilitiesBelowSinglePrecisionKeepTheirLoss(t *testing.T) {
	said := [][]float64{{1, 0}, {0.5, 0.5}}
	logarithms(said, []float64{1, 0}, func(into []float64) { into[0], into[1] = 240, 7 })
	if said[0][0] != 0 || said[0][1] != -240 || said[1][0] != math.Log(0.5) {
		t.Errorf("logarithms %v", said)
	}
}
