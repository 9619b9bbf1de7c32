// Package labtest writes small stand-ins of the data sets and of the program that measurements use.
package labtest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/lab"
)

// StandIn writes a program that prints a text and exits with a code.
func StandIn(t *testing.T, says string, code int) *lab.Program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for hanse is a shell script")
	}
	path := filepath.Join(t.TempDir(), "hanse")
	script := fmt.Sprintf("#!/bin/sh\necho '%s'\necho 'hanse: so it ends' >&2\nexit %d\n", says, code)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &lab.Program{Path: path}
}

// WriteTinySet writes a set in LIBSVM format, gzipped, in the place of a real one.
func WriteTinySet(t *testing.T, path string) {
	t.Helper()
	WriteSet(t, path, 120)
}

// WriteSet writes a set of so many rows.
func WriteSet(t *testing.T, path string, rows int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for range rows {
		x, label := make([]any, 6), 0
		for i := range x {
			x[i] = rng.IntN(2)
		}
		if x[0] == x[1] {
			label = 1
		}
		fmt.Fprintf(w, "%d 1:%d 2:%d 3:%d 4:%d 5:%d 6:%d\n", append([]any{label}, x...)...)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// WriteNetworks writes small networks in the place of the paper's; every second one is larger.
func WriteNetworks(t *testing.T, dir, set string, names []string, input []int, last nn.Layer) {
	t.Helper()
	folder := filepath.Join(dir, "ofmsft-models", set)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for k, name := range names {
		layers := []nn.Layer{{Kind: nn.Dense, Units: 3 - k%2, Activation: nn.ReLU}, last}
		if len(input) > 1 {
			layers = append([]nn.Layer{{Kind: nn.Flatten}}, layers...)
		}
		n, err := nn.New(input, layers, rng)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".safetensors"), n.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// WriteAirStream writes two sites and twenty networks in the place of the real ones.
func WriteAirStream(t *testing.T, dir string) {
	t.Helper()
	for _, site := range []string{"Aotizhongxin", "Changping"} {
		WriteSite(t, dir, site, 50*200)
	}
	var names []string
	for site := 1; site <= 2; site++ {
		for _, number := range []int{11, 12, 13, 14, 15, 21, 22, 23, 24, 25} {
			names = append(names, fmt.Sprintf("ff_air_%d_d%d", number, site))
		}
	}
	WriteNetworks(t, dir, "air", names, []int{14}, nn.Layer{Kind: nn.Dense, Units: 1, Activation: nn.Linear})
}

// idx writes the bytes of an idx file.
func idx(magic uint32, dimensions []uint32, data []byte) string {
	var b bytes.Buffer
	for _, v := range append([]uint32{magic}, dimensions...) {
		_ = binary.Write(&b, binary.BigEndian, v)
	}
	b.Write(data)
	return b.String()
}

// MNISTLabels returns so many of each class in turn, as often as in the real test images.
func MNISTLabels() []byte {
	var labels []byte
	left := []int{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}
	for len(labels) < 10000 {
		for c := range left {
			if left[c] > 0 {
				labels, left[c] = append(labels, byte(c)), left[c]-1
			}
		}
	}
	return labels
}

// WriteMNISTStream writes images with one dot, whose place tells the class, and twenty networks.
func WriteMNISTStream(t *testing.T, dir string) {
	t.Helper()
	labels := MNISTLabels()
	pixels := make([]byte, 10000*(28*28))
	for i, c := range labels {
		pixels[i*(28*28)+28*int(c)+i%28] = 200
	}
	WriteGzip(t, filepath.Join(dir, "mnist", "t10k-images-idx3-ubyte.gz"),
		idx(0x803, []uint32{10000, 28, 28}, pixels))
	WriteGzip(t, filepath.Join(dir, "mnist", "t10k-labels-idx1-ubyte.gz"),
		idx(0x801, []uint32{10000}, labels))
	var names []string
	for digit := range 10 {
		names = append(names, fmt.Sprintf("vgg_1_%d_mnist", digit), fmt.Sprintf("vgg_2_%d_mnist", digit))
	}
	WriteNetworks(t, dir, "mnist", names, []int{28, 28, 1}, nn.Layer{Kind: nn.Dense, Units: 10,
		Activation: nn.Softmax})
}

// WriteGzip writes text to a file, compressed.
func WriteGzip(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// WriteNaval writes a set of the shape of the naval one.
func WriteNaval(t *testing.T, dir string, rows int) {
	t.Helper()
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "   %.7e", 1+float64(i%9))
		for c := range 17 {
			fmt.Fprintf(&b, "   %.7e", float64((i*(c+3))%11))
		}
		b.WriteByte('\n')
	}
	WriteGzip(t, filepath.Join(dir, "naval.txt.gz"), b.String())
}

// AirHead is the head of a site's file.
const AirHead = `"No","year","month","day","hour","PM2.5","PM10","SO2","NO2","CO","O3","TEMP","PRES","DEWP","RAIN","wd","WSPM","station"` + "\n"

// WriteSite writes so many complete rows of a site, and after every second one a row with a missing value.
func WriteSite(t *testing.T, dir, site string, complete int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(AirHead)
	for i := range complete*3/2 + 2 {
		no2 := "NA"
		if i%3 != 2 {
			no2 = fmt.Sprint(i % 100)
		}
		fmt.Fprintf(&b, "%d,2013,3,1,0,4,4,%d,%s,300,77,-0.7,1023,-18.8,0,\"%s\",4.4,\"%s\"\n", i+1, i, no2,
			[]string{"NNW", "E", "N"}[i%3], site)
	}
	WriteGzip(t, filepath.Join(dir, "air", "PRSA_Data_"+site+".csv.gz"), b.String())
}

// WriteText writes a file, its folders too.
func WriteText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// WriteUJI writes files of UJIIndoorLoc's shape: two access points are heard, the better the larger the latitude.
func WriteUJI(t *testing.T, dir string, training, validation int) {
	t.Helper()
	var head []string
	for i := range 520 {
		head = append(head, fmt.Sprintf("WAP%03d", i+1))
	}
	head = append(head, "LONGITUDE", "LATITUDE", "FLOOR", "BUILDINGID", "SPACEID", "RELATIVEPOSITION", "USERID",
		"PHONEID", "TIMESTAMP")
	next := 0
	for name, rows := range map[string]int{"trainingData.csv": training, "validationData.csv": validation} {
		var b strings.Builder
		b.WriteString(strings.Join(head, ",") + "\n")
		for range rows {
			fmt.Fprintf(&b, "%d,%d,%s-7600.1,%d.25,0,1,106,2,2,23,1371713733\n", -next%90, -next%70,
				strings.Repeat("100,", 518), 4864000+next%90)
			next++
		}
		WriteText(t, filepath.Join(dir, "uji", name), b.String())
	}
}

// WriteWEC writes files of the wave energy converters' shape, without a head.
func WriteWEC(t *testing.T, dir string, rows int, sites ...string) {
	t.Helper()
	for s, site := range sites {
		var b strings.Builder
		for i := range rows {
			for c := range 48 {
				fmt.Fprintf(&b, "%d.5,", (i*(c+3)+s)%566)
			}
			fmt.Fprintf(&b, "%d.25\n", 1300000+1000*s+i%997)
		}
		WriteText(t, filepath.Join(dir, "wec", site+"_Data.csv"), b.String())
	}
}
