package sets

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ujiHead is the first line of UJIIndoorLoc's files.
func ujiHead() string {
	var names []string
	for i := range 520 {
		names = append(names, fmt.Sprintf("WAP%03d", i+1))
	}
	return strings.Join(append(names, "LONGITUDE", "LATITUDE", "FLOOR", "BUILDINGID", "SPACEID", "RELATIVEPOSITION",
		"USERID", "PHONEID", "TIMESTAMP"), ",")
}

// ujiRow is a line of UJIIndoorLoc: one access point hears -97, all others nothing.
func ujiRow(point int, latitude string) string {
	cells := make([]string, 529)
	for i := range cells {
		cells[i] = "100"
	}
	cells[point], cells[520], cells[521] = "-97", "-7541.2643", latitude
	return strings.Join(cells, ",")
}

// TestUJIFilesFollowEachOther has the rows of the training file and then those of the validation file.
func TestUJIFilesFollowEachOther(t *testing.T) {
	dir := t.TempDir()
	training := put(t, dir, "trainingData.csv", ujiHead()+"\n"+ujiRow(0, "4864920.7782")+"\n"+ujiRow(519,
		"4864934.2321")+"\n")
	validation := put(t, dir, "validationData.csv", ujiHead()+"\r\n"+ujiRow(7, "4864890")+"\r\n"+ujiRow(8,
		"4864891")+"\r\n")
	got, err := UJI([]string{training, validation}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Target, []float64{4864920.7782, 4864934.2321, 4864890}) || len(got.Columns) != 520 ||
		got.Columns[519] != "WAP520" {
		t.Errorf("targets %v, %d columns", got.Target, len(got.Columns))
	}
	for i, heard := range []int{0, 519, 7} {
		for c, v := range got.Rows[i] {
			if want := map[bool]float64{true: -97, false: 100}[c == heard]; v != want || len(got.Rows[i]) != 520 {
				t.Fatalf("row %d, column %d of %d is %v, want %v", i+1, c+1, len(got.Rows[i]), v, want)
			}
		}
	}
	_, err = UJI([]string{training, validation}, 5)
	wantError(t, err, training+" and "+validation+": there are 4 rows, want 5")
	_, err = UJI([]string{training}, 1<<30)
	wantError(t, err, "1073741824 rows are asked for, want 1 to 1048576")
}

// TestBadUJIFilesAreNamed by file, line, column and cell.
func TestBadUJIFilesAreNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty, want a head"},
		{strings.Replace(ujiHead(), "WAP007", "AP7", 1), "line 1: the head has no column WAP007"},
		{ujiHead() + "\n" + ujiRow(0, "north"), `line 2: column LATITUDE: it holds "north", want a finite number`},
		{ujiHead() + "\n\n" + ujiRow(0, "NaN"), `line 3: column LATITUDE: it holds "NaN"`},
		{ujiHead() + "\n1,2,3\n", "line 2: it has 3 cells, want 529 as the head"},
		{strings.Repeat("x", maxLine+1), "line 1 has more than 1048576 bytes, the limit"},
	} {
		path := put(t, t.TempDir(), "trainingData.csv", c.text)
		_, err := UJI([]string{path}, 1)
		wantError(t, err, path+": "+c.want)
	}
}

// wecRow is a line of a site of wave energy converters.
func wecRow(first, power float64) string {
	cells := make([]string, 49)
	for i := range cells {
		cells[i] = fmt.Sprintf("%.4f", first+float64(i))
	}
	cells[48] = fmt.Sprintf("%.4f", power)
	return strings.Join(cells, ",")
}

// TestWECLeavesTheFirstLineOut, as the papers' reader does, and reads packed files.
func TestWECLeavesTheFirstLineOut(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintf(z, "%s\n%s\n%s\n", wecRow(1, 1e6), wecRow(2, 1.5e6), wecRow(3, 1.25e6))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := put(t, t.TempDir(), "Perth_Data.csv.gz", packed.String())
	got, err := WEC(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Target, []float64{1.5e6, 1.25e6}) || got.Rows[0][0] != 2 || got.Rows[1][47] != 50 ||
		len(got.Rows[0]) != 48 {
		t.Errorf("targets %v, rows %v", got.Target, got.Rows)
	}
	if got.Columns[0] != "X1" || got.Columns[16] != "Y1" || got.Columns[47] != "P16" {
		t.Errorf("columns are %v", got.Columns)
	}
	_, err = WEC(path, 3)
	wantError(t, err, path+": there are 2 rows, want 3")
	bad := put(t, t.TempDir(), "Perth_Data.csv", wecRow(1, 2)+"\n"+strings.Replace(wecRow(1, 2), "17.0000", "",
		1)+"\n")
	_, err = WEC(bad, 1)
	wantError(t, err, bad+`: line 2: column Y1: it holds "", want a finite number`)
	short := put(t, t.TempDir(), "Perth_Data.csv", "1,2\n")
	_, err = WEC(short, 1)
	wantError(t, err, short+": line 1: it has 2 cells, want 49: 48 inputs and the total power")
}
