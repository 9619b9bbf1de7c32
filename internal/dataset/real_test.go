package dataset

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

func TestRealSets(t *testing.T) {
	for _, tc := range []struct {
		file          string
		o             Options
		label         string
		rows, columns int
		classes       []string
		positives     int
	}{
		{"a9a.gz", Options{Label: "label"}, "label", 32561, 124, []string{"-1", "1"}, 7841},
		{"phishing.gz", Options{Label: "label"}, "label", 11055, 69, []string{"0", "1"}, 6157},
		{"w8a.gz", Options{Label: "label"}, "label", 49749, 301, []string{"-1", "1"}, 1479},
		{"defaultcredit.csv.gz", Options{}, "default.payment.next.month", 30000, 24, []string{"0", "1"}, 6636},
	} {
		t.Run(strings.TrimSuffix(tc.file, ".gz"), func(t *testing.T) {
			table, err := Read(needs.Data(t, tc.file), tc.o)
			must(t, err)
			if table.Rows() != tc.rows || len(table.Columns) != tc.columns {
				t.Errorf("%d rows, %d columns", table.Rows(), len(table.Columns))
			}
			l, err := table.Labels(tc.label, Classification)
			must(t, err)
			positives := 0
			for _, v := range l.Values {
				if v > 0 {
					positives++
				}
			}
			if !slices.Equal(l.Classes, tc.classes) || positives != tc.positives {
				t.Errorf("classes %q, %d positives", l.Classes, positives)
			}
		})
	}
}

func TestRealSetJoined(t *testing.T) {
	train, err := Read(needs.Data(t, "a9a.gz"), Options{Label: "label"})
	must(t, err)
	test, err := Read(needs.Data(t, "a9a.t.gz"), Options{Label: "label"})
	must(t, err)
	table, err := Join(train, test)
	must(t, err)
	if table.Rows() != 48842 || len(table.Columns) != 124 || table.IDs[table.Rows()-1] != "9999" {
		t.Errorf("%d rows, %d columns, last id %s", table.Rows(), len(table.Columns), table.IDs[table.Rows()-1])
	}
}

// A set whose numbers have gaps spelled "NA" is read as it is.
func TestRealSetWithGaps(t *testing.T) {
	table, err := Read(needs.Data(t, "air/PRSA_Data_Dongsi.csv.gz"), Options{ID: "No"})
	must(t, err)
	if c := mustColumn(t, table, "PM2.5"); c.Kind != Numeric || !slices.ContainsFunc(c.Values, math.IsNaN) {
		t.Errorf("PM2.5 is %v without a gap", c.Kind)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, file := range []string{"a9a.gz", "w8a.gz", "ijcnn1.t.gz", "defaultcredit.csv.gz"} {
		b.Run(file, func(b *testing.B) {
			path := needs.Data(b, file)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(path, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
