package rivals

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// inTheOpen adds the parties' vectors.
func inTheOpen(_ context.Context, addends [][]float64) ([]float64, error) {
	total := make([]float64, len(addends[0]))
	for _, a := range addends {
		floats.Add(total, a)
	}
	return total, nil
}

// TestPPSVMVIsTheKernelMatrix: the matrix from summed inner products is that of the joined rows.
func TestPPSVMVIsTheKernelMatrix(t *testing.T) {
	parts, _ := world(70, 2)
	k, err := PPSVMV(t.Context(), each(parts), 1.3, 1<<20, inTheOpen)
	if err != nil {
		t.Fatal(err)
	}
	direct := kernel.Kernel{Kind: kernel.Gaussian, Sigma: 1.3}
	for i := range k.Len() {
		for j := range k.Len() {
			var x, y []float64
			for _, p := range parts {
				x, y = append(x, p.Values[2*i:2*i+2]...), append(y, p.Values[2*j:2*j+2]...)
			}
			if got, want := float64(k.Row(i)[j]), direct.Value(x, y); !(math.Abs(got-want) < 1e-6) {
				t.Fatalf("K(%d, %d) is %v, want %v", i, j, got, want)
			}
		}
	}
}

// TestPPSVMVErrors: too large a matrix is refused before anything is summed, and a sum's error comes back.
func TestPPSVMVErrors(t *testing.T) {
	parts, _ := world(70, 2)
	broken := errors.New("broken")
	failing := func(context.Context, [][]float64) ([]float64, error) { return nil, broken }
	want := "PP-SVMV: the kernel matrix of 70 rows takes 19600 bytes, and 19599 are allowed: use fewer rows or allow " +
		"more memory"
	if _, err := PPSVMV(t.Context(), each(parts), 1, 19599, failing); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := PPSVMV(t.Context(), each(parts), 1, 19600, failing); !errors.Is(err, broken) {
		t.Errorf("error %v, want the sum's", err)
	}
}

// TestSVMIsOptimal checks the conditions of Karush, Kuhn and Tucker of the dual problem, from the coefficients alone,
// and that the bias and the margins agree with them.
func TestSVMIsOptimal(t *testing.T) {
	const cost, sigma = 2, 1.3
	parts, labels := world(160, 3)
	k, err := PPSVMV(t.Context(), each(parts), sigma, 1<<30, inTheOpen)
	if err != nil {
		t.Fatal(err)
	}
	s, err := TrainSVM(t.Context(), k, labels, cost, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	balance, bounded, free := 0.0, 0, 0
	for i, a := range s.Alpha {
		if a < 0 || a > cost {
			t.Fatalf("alpha %d is %v, want 0 to %v", i, a, cost)
		}
		balance += labels[i] * a
		f := s.Bias
		for j, b := range s.Alpha {
			f += labels[j] * b * float64(k.Row(i)[j])
		}
		margin := labels[i] * f
		switch {
		case a == 0 && margin < 1-2e-4:
			t.Errorf("row %d has no weight and margin %v, want at least 1", i, margin)
		case a == cost && margin > 1+2e-4:
			t.Errorf("row %d has all weight and margin %v, want at most 1", i, margin)
		case a > 0 && a < cost && math.Abs(margin-1) > 2e-4:
			t.Errorf("row %d has margin %v, want 1", i, margin)
		}
		if a == cost {
			bounded++
		} else if a > 0 {
			free++
		}
	}
	if math.Abs(balance) > 1e-9 || bounded == 0 || free == 0 {
		t.Errorf("sum of y alpha is %v, %d coefficients at the bound and %d free: want 0 and some of both", balance,
			bounded, free)
	}
	all := Stack(parts...)
	scores := s.Scores(all, labels, all, sigma)
	for i, f := range scores {
		want := s.Bias
		for j, b := range s.Alpha {
			want += labels[j] * b * float64(k.Row(i)[j])
		}
		if math.Abs(f-want) > 1e-4 {
			t.Fatalf("score %d is %v, want %v", i, f, want)
		}
	}
	if e := Errors(scores, labels); e > 0.1 {
		t.Errorf("error on the training rows %v", e)
	}
}

// TestLIBSVMFindsTheSame: where LIBSVM is installed, it and ours err on the same rows but for ties.
func TestLIBSVMFindsTheSame(t *testing.T) {
	if err := CheckLIBSVM(); err != nil {
		needs.Missing(t, "%v", err)
	}
	parts, labels := world(300, 4)
	test, held := world(300, 5)
	k, err := PPSVMV(t.Context(), each(parts), 1.3, 1<<30, inTheOpen)
	if err != nil {
		t.Fatal(err)
	}
	s, err := TrainSVM(t.Context(), k, labels, 2, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := LIBSVM{Cost: 2, Gamma: 1 / (2 * 1.3 * 1.3), Dir: t.TempDir()}.Run(t.Context(), parts, labels, test,
		held)
	if err != nil {
		t.Fatal(err)
	}
	if e := Errors(s.Scores(Stack(parts...), labels, Stack(test...), 1.3), held); math.Abs(e-r.Error) > 0.007 {
		t.Errorf("test error %v, LIBSVM has %v", e, r.Error)
	}
}
