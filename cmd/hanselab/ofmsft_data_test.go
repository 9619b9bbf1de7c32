package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/internal/lab/sets"
)

// writeNetworks writes small networks in the place of the paper's; every second one is larger.
func writeNetworks(t *testing.T, dir, set string, names []string, input []int, last nn.Layer) {
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

// writeAirStream writes two sites and twenty networks in the place of the real ones.
func writeAirStream(t *testing.T, dir string) {
	t.Helper()
	for _, site := range []string{"Aotizhongxin", "Changping"} {
		writeSite(t, dir, site, 50*ofmsftRounds)
	}
	var names []string
	for site := 1; site <= 2; site++ {
		for _, number := range []int{11, 12, 13, 14, 15, 21, 22, 23, 24, 25} {
			names = append(names, fmt.Sprintf("ff_air_%d_d%d", number, site))
		}
	}
	writeNetworks(t, dir, setAir, names, []int{14}, nn.Layer{Kind: nn.Dense, Units: 1, Activation: nn.Linear})
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

// mnistLabels returns so many of each class in turn, as often as in the real test images.
func mnistLabels() []byte {
	var labels []byte
	left := []int{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}
	for len(labels) < testImages {
		for c := range left {
			if left[c] > 0 {
				labels, left[c] = append(labels, byte(c)), left[c]-1
			}
		}
	}
	return labels
}

// writeMNISTStream writes images with one dot, whose place tells the class, and twenty networks.
func writeMNISTStream(t *testing.T, dir string) {
	t.Helper()
	labels := mnistLabels()
	pixels := make([]byte, testImages*(28*28))
	for i, c := range labels {
		pixels[i*(28*28)+28*int(c)+i%28] = 200
	}
	writeGzip(t, filepath.Join(dir, "mnist", "t10k-images-idx3-ubyte.gz"),
		idx(sets.IDXImages, []uint32{testImages, 28, 28}, pixels))
	writeGzip(t, filepath.Join(dir, "mnist", "t10k-labels-idx1-ubyte.gz"),
		idx(sets.IDXLabels, []uint32{testImages}, labels))
	var names []string
	for digit := range imageClasses {
		names = append(names, fmt.Sprintf("vgg_1_%d_mnist", digit), fmt.Sprintf("vgg_2_%d_mnist", digit))
	}
	writeNetworks(t, dir, setMNIST, names, []int{28, 28, 1}, nn.Layer{Kind: nn.Dense, Units: 10, Activation: nn.Softmax})
}

// TestImagesAreDealtAsThePaperSays counts classes and clients.
func TestImagesAreDealtAsThePaperSays(t *testing.T) {
	labels := mnistLabels()
	deal := imageDeal{133, 5}
	dealt, err := deal.among(labels)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for i, own := range dealt {
		counts := make([]int, imageClasses)
		for _, at := range own {
			counts[labels[at]]++
		}
		if len(own) != ofmsftRounds || counts[i/5] < 133 || slices.Min(counts) < 5 {
			t.Errorf("client %d has %d images, of the classes %v", i+1, len(own), counts)
		}
		all = append(all, own...)
	}
	slices.Sort(all)
	for i, at := range all {
		if i != at {
			t.Fatalf("image %d was dealt in place of %d", at, i)
		}
	}
	if _, err := deal.among(make([]byte, testImages)); err == nil ||
		err.Error() != "class 1 has 0 images, want at least 890" {
		t.Errorf("error %v", err)
	}
	labels[3] = 10
	if _, err := deal.among(labels); err == nil || err.Error() != "image 4 is of class 10, want 0 to 9" {
		t.Errorf("error %v", err)
	}
}

// ofmsftData returns the folder of the real data, or skips the test.
func ofmsftData(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HANSE_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "ofmsft-models")); err != nil {
		t.Skip("the paper's networks are absent: set HANSE_DATA to their folder")
	}
	return dir
}

// TestTheRealSetsAreDealt checks sizes and scales.
func TestTheRealSetsAreDealt(t *testing.T) {
	dir := ofmsftData(t)
	air, err := readOFMSFTSet(setAir, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(air.live.norm-10052.2) > 0.1 || air.low != 2 || air.high != 228 || len(air.labels) != 100 || len(air.labels[99]) != 200 {
		t.Errorf("norm %v, labels from %v to %v, %d clients", air.live.norm, air.low, air.high, len(air.labels))
	}
	mnist, err := readOFMSFTSet(setMNIST, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := mnist.live.networks; len(n) != 20 || n[0].Size() != 240528 || n[1].Size() != 159254 || len(mnist.labels) != 50 {
		t.Errorf("%d networks, the first have %d and %d parameters, %d clients", len(n), n[0].Size(), n[1].Size(), len(mnist.labels))
	}
}
