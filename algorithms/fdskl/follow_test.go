package fdskl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// observer follows a session at party 0 with a Follower and collects the angles that open to it.
type observer struct {
	quiet
	follower *trace.Follower
	angles   map[trace.Angle]float64 // in turns
	total    []byte                  // of the sum that is opening
	pair     []float64               // of a published pair: its first sum
	err      error
}

// quiet is a Recorder of a federation of four that keeps nothing.
type quiet struct{}

func (quiet) Record(protocol.Entry, []byte) error { return nil }
func (quiet) Link(int) (keys.Hash, error)         { return keys.Hash{}, nil }
func (quiet) Sync() error                         { return nil }
func (quiet) Past() (protocol.Past, error) {
	return protocol.Past{Links: make([]protocol.LinkState, 4)}, nil
}
func (quiet) States() ([]protocol.LinkState, error) {
	return make([]protocol.LinkState, 4), nil
}
func (quiet) Former(int, uint32, uint64, uint64) (protocol.Former, error) {
	return protocol.Former{}, nil
}

// Record implements protocol.Recorder.
func (o *observer) Record(e protocol.Entry, payload []byte) error {
	told := e.Kind == "resume-point" || e.Kind == "batch"
	switch {
	case told && e.Event == protocol.EventReceived, told && e.Event == protocol.EventSent && e.Peer == 1: // once
		o.err = o.follower.Broadcast(e.Kind, payload)
	case e.Event == protocol.EventSent && (e.Kind == KindAngles || e.Kind == KindPublishedAngles): // to another's total
		_, o.err = o.follower.Next(e.Kind, -1, -1, int(e.Size)/e.Encoding.WordSize())
	case e.Event == protocol.EventOpened:
		o.total = append(o.total, payload...)
		if len(o.total) == int(e.Size) {
			o.err = o.open(e.Kind, o.total)
			o.total = nil
		}
	}
	return o.err
}

// open takes in a total.
func (o *observer) open(kind string, total []byte) error {
	var values []float64
	switch kind {
	case "angles":
		for i := range len(total) / 2 {
			values = append(values, float64(binary.LittleEndian.Uint16(total[2*i:]))/(1<<16))
		}
		return o.keep(kind, values)
	case "published-angles", "published-phases":
		for i := range len(total) / 8 {
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(total[8*i:])))
		}
		if kind == "published-angles" {
			o.pair = values
			return nil
		}
		for i, v := range o.pair {
			values[i] = (v - values[i]) / (2 * math.Pi)
		}
		return o.keep(KindPublishedAngles, values)
	}
	return nil
}

// keep files values under the angles they are.
func (o *observer) keep(kind string, values []float64) error {
	sum, err := o.follower.Next(kind, -1, -1, len(values))
	if err != nil {
		return err
	}
	for i, a := range sum.Angles {
		o.angles[a] = values[i]
	}
	return nil
}

// TestFollowerFindsEveryAngle trains, and compares what opened, put in its place by a Follower, with
// the sums of omega . x that the parties' data give.
func TestFollowerFindsEveryAngle(t *testing.T) {
	for name, p := range jobs() {
		for i, privacy := range []string{Masked, Published, Masked, Published} {
			active := 1 + i/2*2
			t.Run(fmt.Sprintf("%s, %d active, %s", name, active, privacy), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 4, 40, active, p)
				f.params.Sigma, f.privacy = 1, privacy
				links := f.federation(t)
				o := &observer{follower: Follow(f.outline()), angles: make(map[trace.Angle]float64)}
				defer o.follower.Close()
				links.recorder = o
				errs := links.run(func(ctx context.Context, i int, n joint.Network) error {
					_, err := Train(ctx, f.party(i, n, newVault()))
					return err
				})
				if o.err != nil {
					t.Fatalf("the follower: %v; sessions end with %v", o.err, errs)
				}
				checkAngles(t, f, o.angles)
			})
		}
	}
}

// TestFollowerFindsEveryAngleOfAPrediction scores the training's rows, some at a time or when they are asked for. With
// three active parties and few turns one of them has no features: nothing is sent for it.
func TestFollowerFindsEveryAngleOfAPrediction(t *testing.T) {
	for name, p := range jobs() {
		for i, asked := range [][]int{nil, {33, 7, 8, 21, 2}, nil, {33, 7, 8, 21, 2}} {
			active := 1 + i/2*2
			for _, privacy := range []string{Masked, Published} {
				t.Run(fmt.Sprintf("%s, %d active, %s, asked for %v", name, active, privacy, asked), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, 4, 40, active, p)
					f.params.Sigma, f.privacy = 1, privacy
					models := f.train(t)
					outline := f.scoring(f.rows, 15, 3)
					outline.Requests = len(asked)
					o := &observer{follower: Follow(outline), angles: make(map[trace.Angle]float64)}
					defer o.follower.Close()
					links := f.federation(t)
					links.recorder = o
					must(t, links.run(func(ctx context.Context, i int, n joint.Network) error {
						s, err := NewScorer(Scoring{Self: i, Receiver: 3, Models: models[i : i+1], Network: n})
						score := func(lo, hi int) {
							if err == nil {
								_, err = s.Score(ctx, []*kernel.Matrix{f.parts[i].Rows.Cut(lo, hi)})
							}
						}
						for number, j := range asked {
							if i == 0 {
								o.asked(number+1, j)
							}
							score(j, j+1)
						}
						for lo := 0; asked == nil && lo < f.rows; lo += 15 {
							score(lo, min(lo+15, f.rows))
						}
						return err
					}))
					rows := f.rows
					if asked != nil {
						rows = len(asked)
					}
					n := 0
					for _, r := range runsOf(f.params, 0) {
						n += rows * r.Count
					}
					if o.err != nil || len(o.angles) != n {
						t.Fatalf("%d angles opened, want %d, error %v", len(o.angles), n, o.err)
					}
					checkAngles(t, f, o.angles)
				})
			}
		}
	}
}

// asked takes in a request for a row.
func (o *observer) asked(number, row int) {
	payload := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(number)), uint32(row))
	o.err = o.follower.Broadcast(trace.KindRequest, payload)
}

// checkAngles compares differences of angles between rows, from which the phases drop out.
func checkAngles(t *testing.T, f *fixture, angles map[trace.Angle]float64) {
	t.Helper()
	first := make(map[int]trace.Angle) // by frequency: the first angle met
	compared := 0
	for a, got := range angles {
		ref, ok := first[a.Frequency]
		if !ok {
			first[a.Frequency] = a
			continue
		}
		if compared++; compared > 200 { // whichever come first: a map has no order
			return
		}
		want := f.angle(t, a) - f.angle(t, ref)
		if d := got - angles[ref] - want; math.Abs(d-math.Round(d)) > 1e-3 {
			t.Fatalf("angle %+v less angle %+v is off by %v turns", a, ref, d-math.Round(d))
		}
	}
	if compared < 10 {
		t.Fatalf("only %d angles were compared", compared)
	}
}

// angle computes omega . x of one row and frequency over all parties, in turns.
func (f *fixture) angle(t *testing.T, a trace.Angle) float64 {
	t.Helper()
	tr, err := newTrainer(f.party(0, Solo{}, newVault()))
	mustDo(t, err)
	var sum float64
	for _, part := range f.parts {
		w := newOmega(tr.kernel, f.params.PublicSeed(), part)
		w.extend(a.Frequency, 1)
		out := make([]float64, 1)
		w.addTo(out, 0, part.Rows, a.Row)
		sum += out[0]
	}
	return sum
}

// TestFollowerListsNoSumThatIsTooLarge: contracts name as many angles as they like.
func TestFollowerListsNoSumThatIsTooLarge(t *testing.T) {
	const want = "a sum of more than 67108864 angles"
	names := []string{"p0", "p1", "p2"}
	o := Outline{Params: Params{Active: names[:1], Schedule: DoublyStochastic, Iterations: 1 << 12, Batch: 1 << 15,
		BlockFeatures: 1}.WithDefaults(), Privacy: Masked, Parties: names, Columns: make([]int, 3), Rows: 1 << 15}
	f := Follow(o)
	defer f.Close()
	newest := binary.LittleEndian.AppendUint64(make([]byte, 8), math.Float64bits(1<<12-1))
	mustDo(t, f.Broadcast(KindResumePoint, newest))
	var batch []byte
	for j := range uint32(o.Rows) {
		batch = binary.LittleEndian.AppendUint32(batch, j)
	}
	if err := f.Broadcast(KindBatch, batch); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a batch of all rows: %v", err)
	}
	o.Params = Params{Active: names[:1], Features: maxFeatures}.WithDefaults()
	o.Receiver = "p1"
	scores := Follow(o)
	defer scores.Close()
	if _, err := scores.Next(KindAngles, -1, -1, -1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a prediction: %v", err)
	}
}
