package credit

import (
	"testing"

	"github.com/hanse-project/hanse/internal/dataset"
)

// figures are the test errors of one trial.
type figures struct {
	majority float64            // of always saying the commoner label
	linear   float64            // least squares on all columns
	kernel   float64            // random features on all columns
	alone    map[string]float64 // random features on one firm's columns
}

// measure generates people and runs the trial: sigma by the median heuristic, lambda 1e-5.
func measure(t testing.TB, people, features int, seed uint64) figures {
	t.Helper()
	parts := Generate(people, seed)
	label := labels(t, parts)
	all := newDesign(t, parts, label, seed)
	f := figures{
		majority: all.positives(),
		linear:   all.linearError(t),
		kernel:   all.kernelError(t, features, seed),
		alone:    make(map[string]float64),
	}
	for _, p := range parts {
		f.alone[p.Name] = newDesign(t, []Part{p}, label, seed).kernelError(t, features/2, seed)
	}
	return f
}

// labels returns the label of every person, in the order of ids.
func labels(t testing.TB, parts []Part) []float64 {
	t.Helper()
	l, err := byID(parts[0].Table).Labels(Label, dataset.Classification)
	if err != nil {
		t.Fatal(err)
	}
	return l.Values
}

// best returns the smallest error of a firm alone.
func (f figures) best() float64 {
	least := 1.0
	for _, e := range f.alone {
		least = min(least, e)
	}
	return least
}

// mean averages the figures of several seeds, from 1.
func mean(t testing.TB, seeds, people, features int) figures {
	t.Helper()
	sum := figures{alone: make(map[string]float64)}
	share := 1 / float64(seeds)
	for seed := range seeds {
		f := measure(t, people, features, uint64(seed+1))
		sum.majority += share * f.majority
		sum.linear += share * f.linear
		sum.kernel += share * f.kernel
		for name, e := range f.alone {
			sum.alone[name] += share * e
		}
	}
	return sum
}

// The point of the data set: together is clearly better than alone, and only with a kernel.
func TestKernelOnAllColumnsIsBest(t *testing.T) {
	f := mean(t, 3, 6000, 512)
	t.Logf("majority %.3f, linear %.3f, kernel %.3f, alone %v", f.majority, f.linear, f.kernel, f.alone)
	if f.majority < 0.20 || f.majority > 0.24 {
		t.Errorf("the majority error is %.3f; want about 0.22", f.majority)
	}
	if f.linear > f.majority-0.005 || f.linear < f.kernel+0.04 {
		t.Errorf("the linear error is %.3f; want it between kernel %.3f and majority %.3f", f.linear, f.kernel, f.majority)
	}
	if f.kernel > 0.155 {
		t.Errorf("the kernel error is %.3f; want at most 0.155 on so few people", f.kernel)
	}
	if f.best() < 0.19 || f.best() < f.kernel+0.05 {
		t.Errorf("a firm alone has %v; want at least 0.19 and clearly more than all together, %.3f", f.alone, f.kernel)
	}
}

// BenchmarkFigures reports the figures of the package comment.
func BenchmarkFigures(b *testing.B) {
	for b.Loop() {
		f := mean(b, 4, 20000, 1024)
		b.ReportMetric(f.majority, "majority")
		b.ReportMetric(f.linear, "linear")
		b.ReportMetric(f.kernel, "kernel")
		for name, e := range f.alone {
			b.ReportMetric(e, name)
		}
	}
}
