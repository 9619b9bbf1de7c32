package credit
import ("testing";"fmt";"github.com/hanse-project/hanse/internal/dataset")
func TestTune(t *testing.T) {
	for _, n := range []int{20000} {
	for seed := uint64(1); seed <= 4; seed++ {
	parts := Generate(n, seed)
	l, err := byID(parts[0].Table).Labels(Label, dataset.Classification)
	if err != nil { t.Fatal(err) }
	pos := 0; for _, v := range l.Values { if v > 0 { pos++ } }
	fmt.Printf("n %d seed %d positives %.3f\n", n, seed, float64(pos)/float64(n))
	d := newDesign(t, parts, l.Values, 3)
	sig := d.medianSigma(1)
	fmt.Printf(" all: linear %.4f sigma %.2f\n", d.linearError(t), sig)
	for _, D := range []int{1024} {
		for _, s := range []float64{sig} { for _, lam := range []float64{1e-5} {
		fmt.Printf("  D %d sigma %.2f lambda %g: %.4f\n", D, s, lam, d.kernelError(t, D, s, lam, 1)) } }
	}
	for _, p := range parts {
		d := newDesign(t, []Part{p}, l.Values, 3); s := d.medianSigma(1)
		fmt.Printf(" %s: linear %.4f rbf %.4f\n", p.Name, d.linearError(t), d.kernelError(t, 512, s, 1e-4, 1))
	}
	}
	}
}
