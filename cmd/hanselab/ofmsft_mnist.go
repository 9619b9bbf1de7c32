package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
)

// What the paper says of MNIST: 50 clients share the test images; each has at least 133 of one class and 5 of every other.
const (
	mnistClients = 50
	mnistClasses = 10
	mnistOwn     = 133
	mnistOther   = 5
	mnistImages  = mnistClients * ofmsftRounds
	mnistPixels  = 28 * 28
)

// The magic numbers of idx files, for one and for three dimensions of bytes.
const (
	idxLabels = 0x0801
	idxImages = 0x0803
)

// mnistSeed seeds the order of images within each client.
const mnistSeed = 2024

// readMNISTStream reads the test images and deals them. Pixels become 0 to 1. Neither the paper nor the networks say so, but on a sample
// like that which each network was trained on its loss is least there, and 30 times larger with pixels from 0 to 255.
func readMNISTStream(dir string) (*ofmsftSet, error) {
	s := &ofmsftSet{name: setMNIST, classes: mnistClasses, bandwidth: 1.1, window: 50, live: ofmsftWorld{norm: 255}}
	pixels, err := readIDX(filepath.Join(dir, "mnist", "t10k-images-idx3-ubyte.gz"), idxImages, mnistImages, 28, 28)
	if err != nil {
		return nil, err
	}
	classes, err := readIDX(filepath.Join(dir, "mnist", "t10k-labels-idx1-ubyte.gz"), idxLabels, mnistImages)
	if err != nil {
		return nil, err
	}
	dealt, err := dealImages(classes)
	if err != nil {
		return nil, err
	}
	for _, own := range dealt {
		var rows [][]float64
		var labels []float64
		for _, i := range own {
			rows, labels = append(rows, floats(pixels[i*mnistPixels:][:mnistPixels])), append(labels, float64(classes[i]))
		}
		s.live.rows, s.labels = append(s.live.rows, rows), append(s.labels, labels)
	}
	for digit := range mnistClasses {
		s.names = append(s.names, fmt.Sprintf("vgg_1_%d_mnist", digit), fmt.Sprintf("vgg_2_%d_mnist", digit))
	}
	return s, s.readNetworks(dir)
}

// floats converts bytes.
func floats(bytes []byte) []float64 {
	v := make([]float64, len(bytes))
	for i, b := range bytes {
		v[i] = float64(b)
	}
	return v
}

// readIDX reads a compressed idx file of bytes, which has the given magic number and dimensions.
func readIDX(path string, magic uint32, dimensions ...uint32) (data []byte, err error) {
	err = withGzip(path, func(r io.Reader) error {
		size := 1
		for i, want := range append([]uint32{magic}, dimensions...) {
			var got uint32
			if err := binary.Read(r, binary.BigEndian, &got); err != nil {
				return fmt.Errorf("%s: the header: %w", path, err)
			}
			if got != want {
				return fmt.Errorf("%s: word %d of the header is %d, want %d", path, i+1, got, want)
			}
			if i > 0 {
				size *= int(want)
			}
		}
		data = make([]byte, size)
		if n, err := io.ReadFull(r, data); err != nil {
			return fmt.Errorf("%s: it has %d bytes of data, want %d", path, n, size)
		}
		return nil
	})
	return data, err
}

// dealImages deals images to clients by their classes: [50][200] indices. The paper says no more than how many of a class
// there are at least. Here client i prefers class i/5, all images are used, images go in their order, what is left
// after 133 and 9 x 5 goes round in equal parts, and each client's are shuffled.
func dealImages(classes []byte) ([][]int, error) {
	left := make([][]int, mnistClasses)
	for i, c := range classes {
		if c >= mnistClasses {
			return nil, fmt.Errorf("image %d is of class %d, want 0 to %d", i+1, c, mnistClasses-1)
		}
		left[c] = append(left[c], i)
	}
	const each = mnistClients / mnistClasses * (mnistOwn + (mnistClasses-1)*mnistOther)
	for c, images := range left {
		if len(images) < each {
			return nil, fmt.Errorf("class %d has %d images, want at least %d", c, len(images), each)
		}
	}
	dealt := make([][]int, mnistClients)
	for i := range dealt {
		for c := range left {
			n := mnistOther
			if c == i*mnistClasses/mnistClients {
				n = mnistOwn
			}
			dealt[i], left[c] = append(dealt[i], left[c][:n]...), left[c][n:]
		}
	}
	rest := slices.Concat(left...)
	slices.Sort(rest)
	rng := rand.New(rand.NewPCG(mnistSeed, 0))
	for i := range dealt {
		n := len(classes)/mnistClients - len(dealt[i])
		dealt[i], rest = append(dealt[i], rest[:n]...), rest[n:]
		rng.Shuffle(len(dealt[i]), func(a, b int) { dealt[i][a], dealt[i][b] = dealt[i][b], dealt[i][a] })
	}
	return dealt, nil
}
