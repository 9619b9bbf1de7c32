package sealed

import (
	"math"
	"reflect"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// zOracle computes the z-scores of all bins in floating point, by the textbook: the covariance of a ridge regression,
// H^-1 I H^-1, with the inverse of gonum. beta are the coefficients that all shares together give.
func (f *fixture) zOracle(t testing.TB, beta []float64) []float64 {
	t.Helper()
	o := f.newOracle(t, 1)
	if o.loss == kernel.Square {
		o.fit(f, false)
	}
	d, columns := len(beta), 0
	for _, n := range f.params.PartyColumns {
		columns += n
	}
	weights, variance := make([]float64, f.rows), 1.0
	penalty := float64(f.rows) * float64(f.params.Lambda) * float64(columns)
	if o.loss == kernel.Logistic {
		best := optimumOf(o.z, o.y, penalty/float64(f.rows))
		for j, p := range best.probabilities {
			weights[j] = p * (1 - p)
		}
	} else {
		penalty /= 2 // the loss has no 1/2
		sum := 0.0
		for j, score := range o.scores() {
			weights[j] = 1
			sum += (score - o.y[j]) * (score - o.y[j])
		}
		variance = sum / float64(f.rows-(d-columns)-1)
	}
	means, total := make([]float64, d), 0.0
	for j, w := range weights {
		total += w
		for i := range means {
			means[i] += w * o.z.At(j, i)
		}
	}
	information, system := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	row := mat.NewVecDense(d, nil)
	for j, w := range weights {
		for i, m := range means {
			row.SetVec(i, o.z.At(j, i)-m/total)
		}
		information.SymRankOne(information, w, row)
	}
	system.CopySym(information)
	for i := range d {
		system.SetSym(i, i, system.At(i, i)+penalty)
	}
	var inverse, once, covariance mat.Dense
	must(t, inverse.Inverse(system))
	once.Mul(&inverse, information)
	covariance.Mul(&once, &inverse)
	list := make([]float64, d)
	for i := range list {
		list[i] = beta[i] / math.Sqrt(variance*covariance.At(i, i))
	}
	return list
}

// coefficients are those of all bins, of the shares of two.
func (f *fixture) coefficients(models []*fdskl.Model) []float64 {
	at := rolesOf(f.params, f.names, 0).parties
	label, keeper := models[at[rss.LabelHolder]], models[at[rss.Keeper]]
	all := reals(rss.Reconstruct(rss.Share(*label.Shares), rss.Share(*keeper.Shares)), coefBits)
	return all[:len(all)-1]
}

// TestZScoresAreTheTextbooks trains with z-scores for everybody, for one party and for nobody, and holds what opened
// against the same in floating point: within the rounding of what opens, and 2 % for that of the scores that weigh the
// rows, which are off by at most 1/32: a weight p (1 - p) is then off by as much, and a root by half of it.
func TestZScoresAreTheTextbooks(t *testing.T) {
	for name, c := range map[string]struct {
		to     string
		rows   int
		params fdskl.Params
	}{
		"logistic, to owners": {"owners", 200, fdskl.Params{Loss: "logistic", Outer: 4, Keeper: "p2", Helper: "p1"}},
		"logistic, to one":    {"p3", 150, fdskl.Params{Loss: "logistic", Outer: 4}},
		"compact":             {"p0", 150, fdskl.Params{Ring: 48}},
		"square":              {"owners", 200, fdskl.Params{}},
		"regression":          {"p1", 150, fdskl.Params{Target: joint.Regression}},
		"small lambda":        {"p0", 150, fdskl.Params{Loss: "logistic", Lambda: 1.4e-3, Bound: boundPublic}},
		"nobody":              {"", 60, fdskl.Params{Loss: "logistic", Outer: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			p := binned(c.params)
			p.Iterations, p.ZScores = 100, c.to
			f := newFixture(t, 4, c.rows, p)
			told := make(map[string]int64)
			var mu sync.Mutex
			f.opened = func(party, kind string, count int64) {
				mu.Lock()
				defer mu.Unlock()
				if kind == kindZScores {
					told[party] += count
				}
			}
			models := f.train(t, newFederation(t, f.names))
			d, err := f.disclose()
			must(t, err)
			listed := make(map[string]int64)
			for _, o := range d.Openings {
				if o.Kind == kindZScores {
					listed[o.To] += o.Count
				}
			}
			beta := f.coefficients(models)
			want := f.zOracle(t, beta)
			worst := 0.0
			for i, name := range f.names {
				learns := c.to == "owners" || c.to == name
				got := models[i].ZScores
				if (got != nil) != learns || told[name] != listed[name] || (listed[name] > 0) != learns {
					t.Fatalf("%s has z-scores %v, was told %d, the contract lists %d", name, got, told[name], listed[name])
				}
				if got == nil {
					continue
				}
				owners, at := 0, 0
				for k, owner := range f.names {
					own := want[at : at+f.params.PartyBins[k]]
					at += len(own)
					if owners == len(got.Owners) || got.Owners[owners] != owner {
						if c.to == name {
							t.Fatalf("%s does not have the z-scores of %s", name, owner)
						}
						continue
					}
					for b, v := range got.Bins[owners] {
						z := own[b]
						u := z / math.Sqrt(1+z*z/(fdskl.ZRange*fdskl.ZRange)) * fdskl.ZUnits / 4
						off := math.Abs(float64(v) - u)
						worst = max(worst, off)
						if off > 1.1+0.02*math.Abs(u) {
							t.Errorf("bin %d of %s opens as %d, want about %.2f: z is %.2f, read as %.2f", b, owner, v, u, z,
								fdskl.ZScore(v))
						}
					}
					owners++
				}
			}
			t.Logf("%d bins, off by at most %.2f units", f.params.Features, worst)
		})
	}
}

// TestLiesInZScoresChangeZScoresAlone: whatever one of the three does to its messages, from the weights of the rows to
// what opens, as many numbers open as the contract lists, of as many bits, and points and coefficients are bit for bit
// those of an honest training.
func TestLiesInZScoresChangeZScoresAlone(t *testing.T) {
	p := binned(fdskl.Params{Iterations: 8, Loss: "logistic", Keeper: "p2", Helper: "p1"})
	p.ZScores, p.Points = fdskl.ToOwners, fdskl.ToOwners
	f := newFixture(t, 3, 60, p)
	f.coin = "one, so that all trainings are the same"
	f.params.ZScores = ""
	_, without, err := f.attacked(t, "honest")
	must(t, err)
	f.params.ZScores = fdskl.ToOwners
	learned := newTally()
	f.opened = learned.add
	honest, sent, err := f.attacked(t, "honest")
	must(t, err)
	listed, others := learned.String(), 0 // all that the contract lists but for steps that are not taken
	for _, kind := range []string{kindTurns, kindSines, kindSlopes, kindWeighed, kindWeighedSums, kindCentres, kindInverse,
		kindWeighedGram, kindZInverse, kindVariances, kindRoots, kindZScores} {
		for role := range rss.Role(rss.Roles) {
			for _, part := range []string{"", rss.SuffixIn, rss.SuffixCarry, rss.SuffixOut} {
				name := kind + part + " of the " + role.String()
				last := sent[name]
				if last == without[name] { // all are of steps
					continue
				}
				learned = newTally()
				f.opened = learned.add
				models, _, err := f.attacked(t, "honest", falsehood{role, kind + part, last, func(words []uint64) {
					for i := range words {
						words[i] += uint64(i+1) * 0x0123456789abcdef
					}
				}})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if got := learned.String(); got != listed {
					t.Errorf("%s: opened are\n\t%s\nwant\n\t%s", name, got, listed)
				}
				for i, m := range models {
					for k, v := range m.ZScores.Bins[0] {
						if v < -1<<(zWidth-1) || v >= 1<<(zWidth-1) {
							t.Errorf("%s: %d opened, want %d bits", name, v, zWidth)
						}
						if v != honest[i].ZScores.Bins[0][k] {
							others++
						}
					}
					if !reflect.DeepEqual(m.Shares, honest[i].Shares) || !reflect.DeepEqual(m.Points, honest[i].Points) ||
						m.Intercept != honest[i].Intercept {
						t.Errorf("%s: another model", name)
					}
				}
			}
		}
	}
	if others == 0 {
		t.Error("no lie has changed a z-score: the test says little")
	}
}
