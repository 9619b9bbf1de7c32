package fdskl

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// wantSets is the table of sets as it is written.
const wantSets = `| set  | rows |    D |         loss |      test error |  limit |     clear error | train s | clear s | private/clear | MB sent | peak MB | svm-train s | its CPU s |       svm error | speed-up |
|------|-----:|-----:|-------------:|----------------:|-------:|----------------:|--------:|--------:|--------------:|--------:|--------:|------------:|----------:|----------------:|---------:|
| full |  300 |   64 |       square | 0.1500 ± 0.0141 | 0.1520 | 0.1400 ± 0.0000 |    2.50 |    1.25 |          2.00 |    75.0 |     227 |       45.00 |     40.00 | 0.1600 ± 0.0000 |     16.0 |
| bare |   30 | 2048 | smooth-hinge | 0.0200 ± 0.0000 | 0.0340 | 0.0300 ± 0.0000 |    0.50 |    1.00 |          0.50 |     0.2 |         |             |           |                 |          |
`

func TestSetTable(t *testing.T) {
	run := func(rows int, errors, seconds, clear float64, sent, peak int64) *lab.Trained {
		return &lab.Trained{Parties: []string{"a", "b", "c"}, RowsTrain: rows, TestError: errors, ClearError: 0.14,
			TrainSeconds: seconds, ClearSeconds: clear,
			BytesOut: map[string]int64{"a": 9e9, "b": sent, "c": 1}, Peak: peak}
	}
	full := &sets.Benchmark{Name: "full", Features: 64, Loss: "square", Limit: 0.152}
	bare := &sets.Benchmark{Name: "bare", Features: 2048, Loss: "smooth-hinge", Limit: 0.034}
	short := run(30, 0.02, 0.5, 1, 2e5, 0)
	short.ClearError = 0.03
	sets := []setReport{
		summarise(full, []*lab.Trained{run(300, 0.14, 2, 1, 75e6, 200e6), run(300, 0.16, 3, 1.5, 75e6, 227e6)},
			[]rivals.LIBSVMRun{{Seconds: 40, CPUSeconds: 32, Error: 0.16}, {Seconds: 50, CPUSeconds: 48,
				Error: 0.16}}),
		summarise(bare, []*lab.Trained{short}, nil),
	}
	var b strings.Builder
	must(t, setTable(sets).Write(&b))
	if b.String() != wantSets {
		t.Errorf("got\n%s\nwant\n%s", b.String(), wantSets)
	}
}

func TestPanelTable(t *testing.T) {
	p := panel{Size: "parties", Curves: []curve{{"square", []point{{Size: 3, Seconds: 0.5}, {Size: 4, Seconds: 12}},
		0.5, 1}}}
	var b strings.Builder
	must(t, panelTable(p).Write(&b))
	const want = `| parties |    3 |     4 | exponent | of bytes |
|---------|-----:|------:|---------:|---------:|
| square  | 0.50 | 12.00 |     0.50 |     1.00 |
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
