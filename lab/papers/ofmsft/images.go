package ofmsft

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/lab/sets"
)

// What the paper says of both sets of images: 50 clients share the test images of ten classes.
const (
	imageClients = 50
	imageClasses = 10
	testImages   = imageClients * Rounds
)

// imageDeal is how many images a client has of its own class and of every other, at least. The paper tells 133 and 5
// for mnist, 155 and 5 for cifar10.
type imageDeal struct{ own, other int }

// imageSeed seeds the order of images within each client.
const imageSeed = 2024

// readMNISTStream reads the test images and deals them. Pixels become 0 to 1. Neither the paper nor the networks say
// so, but on a sample
// like that which each network was trained on its loss is least there, and 30 times larger with pixels from 0 to 255.
func readMNISTStream(files []string) (*Set, error) {
	s := &Set{name: setMNIST, bandwidth: 1.1, window: 50, Live: world{Norm: 255}}
	pixels, err := sets.IDX(files[0], sets.IDXImages, testImages, 28, 28)
	if err != nil {
		return nil, err
	}
	classes, err := sets.IDX(files[1], sets.IDXLabels, testImages)
	if err != nil {
		return nil, err
	}
	for digit := range imageClasses {
		s.Names = append(s.Names, fmt.Sprintf("vgg_1_%d_mnist", digit), fmt.Sprintf("vgg_2_%d_mnist", digit))
	}
	return s, s.dealImages(pixels, classes, imageDeal{133, 5})
}

// readCIFARStream reads the test images and deals them. The networks are not published: they are to be found where
// the user has put them, see readNetworks. Pixels become 0 to 1, as MNIST's.
func readCIFARStream(files []string) (*Set, error) {
	s := &Set{name: setCIFAR, bandwidth: 1.1, window: 50, Live: world{Norm: 255}}
	pixels, classes, err := sets.CIFAR10(files[0], testImages)
	if err != nil {
		return nil, err
	}
	return s, s.dealImages(pixels, classes, imageDeal{155, 5})
}

// dealImages gives each client its images.
func (s *Set) dealImages(pixels, classes []byte, deal imageDeal) error {
	s.classes = imageClasses
	dealt, err := deal.among(classes)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	size := len(pixels) / len(classes)
	for _, own := range dealt {
		var rows [][]float64
		var labels []float64
		for _, i := range own {
			rows, labels = append(rows, floats(pixels[i*size:][:size])), append(labels, float64(classes[i]))
		}
		s.Live.Rows, s.Labels = append(s.Live.Rows, rows), append(s.Labels, labels)
	}
	return nil
}

// floats converts bytes.
func floats(bytes []byte) []float64 {
	v := make([]float64, len(bytes))
	for i, b := range bytes {
		v[i] = float64(b)
	}
	return v
}

// among deals images to clients by their classes: [50][200] indices. The paper says no more than how many of a class
// there are at least. Here client i prefers class i/5, all images are used, images go in their order, what is left
// of them goes round in equal parts, and each client's are shuffled.
func (d imageDeal) among(classes []byte) ([][]int, error) {
	left := make([][]int, imageClasses)
	for i, c := range classes {
		if c >= imageClasses {
			return nil, fmt.Errorf("image %d is of class %d, want 0 to %d", i+1, c, imageClasses-1)
		}
		left[c] = append(left[c], i)
	}
	each := imageClients / imageClasses * (d.own + (imageClasses-1)*d.other)
	for c, images := range left {
		if len(images) < each {
			return nil, fmt.Errorf("class %d has %d images, want at least %d", c, len(images), each)
		}
	}
	dealt := make([][]int, imageClients)
	for i := range dealt {
		for c := range left {
			n := d.other
			if c == i*imageClasses/imageClients {
				n = d.own
			}
			dealt[i], left[c] = append(dealt[i], left[c][:n]...), left[c][n:]
		}
	}
	rest := slices.Concat(left...)
	slices.Sort(rest)
	rng := rand.New(rand.NewPCG(imageSeed, 0))
	for i := range dealt {
		n := len(classes)/imageClients - len(dealt[i])
		dealt[i], rest = append(dealt[i], rest[:n]...), rest[n:]
		rng.Shuffle(len(dealt[i]), func(a, b int) { dealt[i][a], dealt[i][b] = dealt[i][b], dealt[i][a] })
	}
	return dealt, nil
}
