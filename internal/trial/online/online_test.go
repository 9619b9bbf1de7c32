package online

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/stream"
)

func TestAStreamIsReadAsItWasWritten(t *testing.T) {
	parks, err := NewParks(Options{Servers: 1, Clients: 3, Rounds: 20, Seed: 7})
	must(t, err)
	want := parks.Streams["park-02"]
	path := filepath.Join(t.TempDir(), "s.csv")
	must(t, want.Write(path))
	s, err := stream.Open(path, want.Label, nil)
	must(t, err)
	defer s.Close()
	if !slices.Equal(s.Columns(), want.Columns) {
		t.Errorf("columns %q, want %q", s.Columns(), want.Columns)
	}
	for i := range want.Labels {
		row, err := s.Next(context.Background())
		if err != nil || row.Label != want.Labels[i] || !slices.Equal(row.Inputs, want.Inputs[i]) {
			t.Fatalf("row %d is %v, %v", i+1, row, err)
		}
	}
	if _, err := s.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Errorf("after the last row: %v", err)
	}
}

// TestParksKeepToTheirRanges holds for every site what the job says of rows: labels from 0 to 1 and norms
// of at most input_norm.
func TestParksKeepToTheirRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parks, err := NewParks(Options{Servers: 1, Clients: 2, Rounds: 100, Seed: rapid.Uint64().Draw(t, "seed")})
		must(t, err)
		for name, s := range parks.Streams {
			for i, x := range s.Inputs {
				norm := 0.0
				for _, v := range x {
					norm += v * v
				}
				if y := s.Labels[i]; !(y >= 0 && y <= 1) || !(math.Sqrt(norm) <= parks.params.InputNorm) {
					t.Fatalf("%s, row %d: label %v, norm %v", name, i+1, y, math.Sqrt(norm))
				}
			}
		}
	})
}

func TestASeedMakesTheSameStreams(t *testing.T) {
	one, err := NewSensors(Options{Servers: 2, Clients: 3, Rounds: 10, Seed: 5})
	must(t, err)
	more, err := NewSensors(Options{Servers: 2, Clients: 3, Rounds: 20, Seed: 5})
	must(t, err)
	for name, s := range one.Streams {
		if !slices.Equal(s.Labels, more.Streams[name].Labels[:10]) {
			t.Errorf("%s has other rows when there are more", name)
		}
	}
}

// TestSensorsOfAClusterShareAFunction looks at who gets which function: clusters of two servers.
func TestSensorsOfAClusterShareAFunction(t *testing.T) {
	sensors, err := NewSensors(Options{Servers: 4, Clients: 3, Rounds: 1, Seed: 5})
	must(t, err)
	p := sensors.plan.Params()
	if len(p.Clusters) != 2 || len(p.Edges) != 4 || len(sensors.plan.OwnNeighbours(0)) != 1 ||
		len(sensors.plan.OtherNeighbours(0)) != 1 {
		t.Errorf("clusters %v, edges %v", p.Clusters, p.Edges)
	}
}

// TestTogetherBeatsAlone is what the trials are to show.
func TestTogetherBeatsAlone(t *testing.T) {
	parks, err := NewParks(Options{Servers: 1, Clients: 12, Seed: 1})
	must(t, err)
	sensors, err := NewSensors(Options{Servers: 4, Clients: 5, Seed: 1})
	must(t, err)
	for name, way := range map[string]struct {
		federation      *Federation
		together, alone func() (*Outcome, error)
	}{"parks": {parks.Federation, parks.Together, parks.Alone},
		"sensors": {sensors.Federation, sensors.Together, sensors.Alone}} {
		t.Run(name, func(t *testing.T) {
			together, alone := scoreOf(t, way.federation, way.together), scoreOf(t, way.federation, way.alone)
			t.Logf("x 1000: together %.2f ± %.2f, alone %.2f ± %.2f", 1e3*together.Error, 1e3*together.SD, 1e3*alone.Error,
				1e3*alone.SD)
			if together.Error >= alone.Error {
				t.Errorf("together %v, alone %v", together.Error, alone.Error)
			}
		})
	}
}

// scoreOf scores one way of learning.
func scoreOf(t *testing.T, f *Federation, learn func() (*Outcome, error)) *Score {
	t.Helper()
	o, err := learn()
	must(t, err)
	s, err := f.Score(o)
	must(t, err)
	return s
}

func TestScoresByHand(t *testing.T) {
	f := &Federation{Clients: [][]string{{"a", "b"}},
		Streams: map[string]*Stream{"a": {Labels: []float64{1, 2, 3}}, "b": {Labels: []float64{0, 0, 0}}}}
	o := &Outcome{Predictions: map[string][]float64{"a": {1, 4, 3}, "b": {1}}, Regret: map[string]float64{"a": 1, "b": 2}}
	s, err := f.Score(o)
	must(t, err)
	if math.Abs(s.Error-7.0/6) > 1e-15 || math.Abs(s.SD-math.Sqrt(1.0/18)) > 1e-15 || s.Regret != 1.5 ||
		!slices.Equal(s.Curve, []float64{0.5, 4, 0}) {
		t.Errorf("score %+v", s)
	}
	if db := Decibels(s.Curve,
		2); math.Abs(db[1]-10*math.Log10(2.25)) > 1e-12 || math.Abs(db[2]-10*math.Log10(2)) > 1e-12 {
		t.Errorf("decibels %v", db)
	}
	if d := Apart(o, &Outcome{Predictions: map[string][]float64{"a": {1, 1}, "b": {0.5}}}); d != 3 {
		t.Errorf("apart %v", d)
	}
	o.Predictions["b"] = nil
	if _, err := f.Score(o); err == nil || err.Error() != "b predicted 0 rows, want 1 to 3" {
		t.Errorf("error %v", err)
	}
}

func TestTrialsRefuseWhatTheirAlgorithmsDo(t *testing.T) {
	if _, err := NewParks(Options{Servers: 1, Clients: 3, Rounds: -1}); err == nil {
		t.Error("a trial of -1 rounds")
	}
	if _, err := NewSensors(Options{Servers: 2, Clients: 3, Features: -1}); err == nil {
		t.Error("a trial of -1 features")
	}
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
