package vertical

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vault"
)

// curious is a member that listens to what the label holder tells all of the classes, and looks in what it keeps for
// which of them is rarer.
type curious struct {
	fdskl.Solo
	heard *[]byte
}

// Broadcast implements joint.Network.
func (c curious) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if kind == fdskl.KindTarget {
		*c.heard = bytes.Clone(data)
	}
	return c.Solo.Broadcast(ctx, kind, root, data, limit)
}

// loans returns a table of two columns with the label y, so many of whose rows are bad and good.
func loans(bad, good int) *dataset.Table {
	t := &dataset.Table{Path: "loans.csv", IDName: "id"}
	y := dataset.Column{Name: "y", Kind: dataset.Categorical, Levels: []string{"bad", "good"}}
	x := dataset.Column{Name: "x"}
	for i := range bad + good {
		t.IDs = append(t.IDs, string(rune('a'+i%26))+string(rune('a'+i/26)))
		code := int32(0)
		if i >= bad {
			code = 1
		}
		y.Codes, x.Values = append(y.Codes, code), append(x.Values, float64(i*7%11))
	}
	t.Columns = []dataset.Column{y, x}
	return t
}

// heard trains in the clear and returns what the curious member hears of the classes.
func heard(t *testing.T, table *dataset.Table, p fdskl.Params) []byte {
	t.Helper()
	prepared, err := PrepareTraining(table, p.Goal(), true)
	must(t, err)
	v, err := vault.Open(t.TempDir(), vault.Options{})
	must(t, err)
	defer v.Close()
	var all []byte
	_, err = fdskl.Train(t.Context(), &fdskl.Party{Names: p.Active, Params: p, Privacy: fdskl.Masked, Vault: v,
		Rows: table.Rows(), Labels: prepared.Labels, Network: curious{heard: &all},
		Parts: []fdskl.Part{{Normaliser: prepared.Normaliser, Rows: prepared.Rows}}})
	if err != nil || all == nil {
		t.Fatalf("heard %x, %v", all, err)
	}
	return all
}

// TestNobodyLearnsWhichClassIsRarer has a curious member listen to two trainings whose rarer classes are not the same,
// and receive the same, byte for byte. The label holder tells them apart. Where the job names the event the member is
// told so, and finds it in what it receives.
func TestNobodyLearnsWhichClassIsRarer(t *testing.T) {
	p := fdskl.Params{Active: []string{"bank"}, Label: "y", Features: 8, Seed: "s", Lambda: 1e-3}.WithDefaults()
	rare, common := loans(10, 30), loans(30, 10)
	if a, b := heard(t, rare, p), heard(t, common, p); !bytes.Equal(a, b) {
		t.Errorf("of ten bad rows %x is told, of thirty %x", a, b)
	}
	for table, want := range map[*dataset.Table]bool{rare: true, common: false, loans(20, 20): false} {
		labels, err := LabelsOf(table, p.Goal())
		if err != nil || !slices.Equal(labels.Classes, []string{"bad", "good"}) || RarerFirst(labels) != want {
			t.Errorf("%d rows: bad is the rarer class: %v, of %q, %v, want %v", table.Rows(), RarerFirst(labels),
				labels.Classes, err, want)
		}
	}
	plain := heard(t, rare, p)
	if p.Positive = "bad"; bytes.Equal(heard(t, rare, p), plain) {
		t.Error("the job names the event, and what is told of the classes is what it was")
	}
}

// TestTheJobNamesTheEvent has it be +1, as text or as number, and refuses one that the label lacks.
func TestTheJobNamesTheEvent(t *testing.T) {
	p := fdskl.Params{Active: []string{"bank"}, Label: "y"}.WithDefaults()
	for positive, want := range map[joint.ClassName][]string{
		"": {"bad", "good"}, "good": {"bad", "good"}, "bad": {"good", "bad"},
	} {
		p.Positive = positive
		labels, err := LabelsOf(loans(1, 2), p.Goal())
		if err != nil || !slices.Equal(labels.Classes, want) {
			t.Fatalf("%q: classes %q, %v, want %q", positive, labels.Classes, err, want)
		}
		first := -1.0 // a bad row
		if positive == "bad" {
			first = 1
		}
		if !slices.Equal(labels.Values, []float64{first, -first, -first}) {
			t.Errorf("%q: labels are %v", positive, labels.Values)
		}
	}
	numbers := loans(1, 2)
	numbers.Columns[0] = dataset.Column{Name: "y", Values: []float64{1, -1, -1}}
	p.Positive = "-1.0"
	if labels, err := LabelsOf(numbers, p.Goal()); err != nil || !slices.Equal(labels.Values, []float64{-1, 1, 1}) {
		t.Errorf("labels are %+v, %v", labels, err)
	}
	p.Positive = "late"
	const want = `loans.csv: label column "y" has no class "late", which the job says is the event: want positive = ` +
		`"bad" or "good" in its parameters`
	if _, err := LabelsOf(loans(1, 2), p.Goal()); err == nil || err.Error() != want {
		t.Errorf("error is %v, want\n%s", err, want)
	}
}
