package pofmkl

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/sets"
)

// TestNavalRowsAreRead names the column of a bad cell.
func TestNavalRowsAreRead(t *testing.T) {
	e, err := navalRow(strings.Fields("5 1 2 3 9"), 3)
	if err != nil || e.Target != 5 || fmt.Sprint(e.Inputs) != "[1 2 3]" {
		t.Errorf("error %v, row %+v", err, e)
	}
	_, err = navalRow(strings.Fields("5 1 NaN 3"), 3)
	if err == nil || err.Error() != `column 3: the value is "NaN", want a finite number` {
		t.Errorf("error %v", err)
	}
	_, err = navalRow(strings.Fields("5 1"), 3)
	if err == nil || err.Error() != "it has 2 columns, want more than 3" {
		t.Errorf("error %v", err)
	}
}

// TestAirIsDealtAsTheSpecificationSays checks sizes, scales and who has which rows.
func TestAirIsDealtAsTheSpecificationSays(t *testing.T) {
	dir := t.TempDir()
	for _, site := range []string{"Aotizhongxin", "Changping", "Dingling", "Dongsi"} {
		labtest.WriteSite(t, dir, site, 30000)
	}
	s, err := ReadSet("air", dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rows) != 240 || len(s.columns) != 14 {
		t.Fatalf("%d clients, %d columns", len(s.Rows), len(s.columns))
	}
	longest, low, high := 0.0, 1.0, 0.0
	for k := range s.Rows {
		if len(s.Rows[k]) != 500 || len(s.Labels[k]) != 500 {
			t.Fatalf("client %d has %d rows and %d labels", k+1, len(s.Rows[k]), len(s.Labels[k]))
		}
		for r, x := range s.Rows[k] {
			sum := 0.0
			for _, v := range x {
				sum += v * v
			}
			longest, low, high = max(longest, sum), min(low, s.Labels[k][r]), max(high, s.Labels[k][r])
		}
	}
	if math.Abs(longest-1) > 1e-12 || low != 0 || high != 1 {
		t.Errorf("the largest squared norm is %v, labels run from %v to %v", longest, low, high)
	}
}

// TestSitesRefuseBadCells names line and column.
func TestSitesRefuseBadCells(t *testing.T) {
	const row = "1,2013,3,1,0,4,4,4,7,300,77,-0.7,1023,-18.8,0,NNW,4.4,A\n"
	for _, c := range []struct{ text, want string }{
		{labtest.AirHead + row, "1 rows have no missing values, want 30000"},
		{labtest.AirHead + strings.Replace(row, "300", "many", 1), `line 2: column "CO": the value is "many", want a finite number`},
		{strings.Replace(labtest.AirHead, "TEMP", "T", 1) + row, `there is no column "TEMP"`},
	} {
		if _, err := sets.ReadSite(strings.NewReader(c.text), 30000); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestVerdicts compare with the specification by its deviation.
func TestVerdicts(t *testing.T) {
	spec := &lab.Published{Value: 10, Deviation: 0.1}
	for _, c := range []struct {
		row           Row
		rounds, draws int
		want          string
	}{
		{Row{Mean: 10.25, Spec: spec}, 500, 2, "within 3 sd (2.5)"},
		{Row{Mean: 9.6, Spec: spec}, 500, 2, "outside 3 sd (4.0)"},
		{Row{Mean: 10, Spec: spec}, 400, 2, "none expected"},
		{Row{Mean: 10}, 500, 2, "none expected"},
		{Row{Mean: 10, Spec: spec, Carried: true}, 500, 2, "none: it is of 20 draws"},
		{Row{Mean: 10, Spec: spec, Carried: true}, 500, 20, "within 3 sd (0.0)"},
	} {
		if got := c.row.judge(c.rounds, c.draws); got != c.want {
			t.Errorf("verdict %q, want %q", got, c.want)
		}
	}
}

// TestTheoremOneIsThePapersFigure has the bound that the specification states.
func TestTheoremOneIsThePapersFigure(t *testing.T) {
	if b := theoremOne(pofmkl.Params{}.WithDefaults(), 500); math.Abs(b-99.1) > 0.05 {
		t.Errorf("the bound is %v", b)
	}
}

// TestSitesAreDealtToTheirClients has four small sites, whose targets tell where a row is from.
func TestSitesAreDealtToTheirClients(t *testing.T) {
	const clients = 2
	all := make([][]sets.Example, 4)
	for site := range all {
		for i := range clients * 500 {
			all[site] = append(all[site], sets.Example{Inputs: []float64{float64(i)}, Target: float64(site)})
		}
	}
	var s Set
	s.dealSites(all, clients)
	seen := map[[2]float64]bool{}
	for k, labels := range s.Labels {
		own := 0
		for i, y := range labels {
			if y == float64(k/clients)/3 {
				own++
			}
			seen[[2]float64{s.Rows[k][i][0], y}] = true
		}
		if own != 350 || len(labels) != 500 {
			t.Errorf("client %d has %d rows of its site among %d, want 350 of 500", k+1, own, len(labels))
		}
	}
	if len(s.Labels) != 4*clients || len(seen) != 4*clients*500 {
		t.Errorf("%d clients have %d rows, want every row at one client", len(s.Labels), len(seen))
	}
}

// TestWECHasItsPlans whose files were never at hand.
func TestWECHasItsPlans(t *testing.T) {
	if p := plansOf("wec", 1)[4]; p.Row.Algorithm != emKOFL || p.Row.Paper.Value != 20.14 {
		t.Errorf("WEC's fifth row is %+v", p.Row)
	}
}
