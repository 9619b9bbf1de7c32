package sealed

import (
	"math"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/secagg/rss"
)

// TestPointsAreTheCoefficients trains with points for everybody, for one party and for nobody, and holds what opened
// against the coefficients that all shares together give: to the point, since a number is rounded up or down. What is
// not a party's to learn is not in its model part.
func TestPointsAreTheCoefficients(t *testing.T) {
	for _, to := range []string{"owners", "p0", "p3", ""} {
		t.Run("to "+to, func(t *testing.T) {
			p := binned(fdskl.Params{Iterations: 60, Loss: "logistic", Outer: 4, Keeper: "p2", Helper: "p1"})
			p.Points = to
			f := newFixture(t, 4, 150, p)
			told := make(map[string]int64)
			var mu sync.Mutex
			f.opened = func(party, kind string, count int64) {
				mu.Lock()
				defer mu.Unlock()
				if kind == kindPoints {
					told[party] += count
				}
			}
			models := f.train(t, newFederation(t, f.names))
			at := rolesOf(f.params, f.names, 0).parties
			label, keeper := models[at[rss.LabelHolder]], models[at[rss.Keeper]]
			beta := reals(rss.Reconstruct(rss.Share(*label.Shares), rss.Share(*keeper.Shares)), coefBits)
			base := label.Intercept + beta[len(beta)-1]
			d, err := f.disclose()
			must(t, err)
			listed := make(map[string]int64)
			for _, o := range d.Openings {
				if o.Kind == kindPoints {
					listed[o.To] += o.Count
				}
			}
			for i, name := range f.names {
				first, got := 0, models[i].Points
				learns := to == "owners" || to == name
				if (got != nil) != learns || told[name] != listed[name] || (listed[name] > 0) != learns {
					t.Fatalf("%s has points %v, was told %d, the contract lists %d", name, got, told[name], listed[name])
				}
				if got == nil {
					continue
				}
				if (got.Base != nil) != (name == to || i == 0) {
					t.Errorf("%s has the base %v", name, got.Base)
				}
				if got.Base != nil && math.Abs(float64(*got.Base)-base*doubles) > 1 {
					t.Errorf("the base is %d, want about %v", *got.Base, base*doubles)
				}
				for k, owner := range f.names {
					own := beta[first : first+f.params.PartyBins[k]]
					first += len(own)
					var points []int64
					for n, name := range got.Owners {
						if name == owner {
							points = got.Bins[n]
						}
					}
					if wants := to == name || i == k; wants != (points != nil) {
						t.Fatalf("%s has the points %v of %s", name, points, owner)
					}
					for b, v := range points {
						if math.Abs(float64(v)-own[b]*doubles) > 1 {
							t.Errorf("bin %d of %s has %d points, want about %v", b, owner, v, own[b]*doubles)
						}
					}
				}
			}
		})
	}
}
