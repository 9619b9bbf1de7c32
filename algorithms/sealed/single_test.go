package sealed

import (
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
)

// TestPointsOfBinsOfOneRowAreLabels has an owner, whom nobody can hold to min_cell, put one row into each of its bins:
// the points of its bins are the labels of these rows. docs/glm.md says so; points are no statistic of at least
// min_cell rows at an owner that lies.
func TestPointsOfBinsOfOneRowAreLabels(t *testing.T) {
	p := binned(fdskl.Params{Iterations: 60, Loss: "logistic", Outer: 4, Keeper: "p2", Helper: "p1"})
	p.Points = "owners"
	f := newFixture(t, 4, 150, p)
	const liar = 3
	rows := f.parts[liar][0].Rows
	rows.Set = nil
	for j := range rows.Rows {
		if rows.Starts[j] = uint32(len(rows.Set)); j < rows.Columns() {
			rows.Set = append(rows.Set, uint16(j))
		}
	}
	rows.Starts[rows.Rows] = uint32(len(rows.Set))
	models := f.train(t, newFederation(t, f.names))
	right := 0
	points := models[liar].Points.Bins[0]
	for j, v := range points {
		if (v > 0) == (f.labels.Values[j] > 0) {
			right++
		}
	}
	if right != len(points) {
		t.Errorf("%d of %d labels are the signs of points: docs/glm.md says more than is so", right, len(points))
	}
}
