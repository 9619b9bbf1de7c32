package nn

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// dataFile reads a file of the real data.
func dataFile(t testing.TB, name ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(needs.Data(t, name...))
	must(t, err)
	return data
}

// paperNetwork reads one of the paper's networks.
func paperNetwork(t testing.TB, name string) *Network {
	t.Helper()
	n, err := Parse(dataFile(t, "ofmsft-models", name))
	must(t, err)
	return n
}

// digits reads the first MNIST test images and their labels.
func digits(t testing.TB, count int) (x []float32, y []float64) {
	t.Helper()
	images, labels := unpack(t, "t10k-images-idx3-ubyte.gz", 16), unpack(t, "t10k-labels-idx1-ubyte.gz", 8)
	for _, v := range images[:count*28*28] {
		x = append(x, float32(v)/255)
	}
	for _, v := range labels[:count] {
		y = append(y, float64(v))
	}
	return x, y
}

// unpack reads an MNIST file without its header.
func unpack(t testing.TB, name string, header int) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(dataFile(t, "mnist", name)))
	must(t, err)
	data, err := io.ReadAll(z)
	must(t, err)
	return data[header:]
}

// The paper's networks each saw much of one digit and little of the others: network i misses hardly
// any i, and between 10 and 25 of 100 digits in all. Selection is what makes them good.
func TestThePapersDigitNetworksReadDigits(t *testing.T) {
	const rows = 100
	x, y := digits(t, rows)
	sum := 0
	for kind := 1; kind <= 2; kind++ {
		for i := range 10 {
			name := fmt.Sprintf("mnist/vgg_%d_%d_mnist.safetensors", kind, i)
			right, missed := countRight(paperNetwork(t, name), x, y, i)
			t.Logf("%s: %.3f right", name, float64(right)/rows)
			if right < rows*65/100 || missed > 1 {
				t.Errorf("%s reads %d of %d digits and misses %d of its own: want 0.65 or more, and at most 1", name, right, rows,
					missed)
			}
			sum += right
		}
	}
	if mean := float64(sum) / (20 * rows); mean < 0.8 {
		t.Errorf("a network reads %.3f of the digits on average: want 0.8 or more", mean)
	}
}

// countRight counts the digits that n reads right, and those of one class that it does not.
func countRight(n *Network, x []float32, y []float64, own int) (right, missed int) {
	p := n.NewWorkspace().Predict(x, len(y))
	for r, digit := range y {
		row := p[r*10:][:10]
		if slices.Index(row, slices.Max(row)) == int(digit) {
			right++
		} else if int(digit) == own {
			missed++
		}
	}
	return right, missed
}

func TestThePapersNetworksComputeWhatTheOracleDoes(t *testing.T) {
	x, y := digits(t, 3)
	for _, name := range []string{"mnist/vgg_1_0_mnist.safetensors", "mnist/vgg_2_7_mnist.safetensors"} {
		compareForward(t, paperNetwork(t, name), x, y)
	}
	n := paperNetwork(t, "air/ff_air_23_d2.safetensors")
	x, y = sample(n, 60, source(7))
	compareForward(t, n, x, y)
}

func TestThePapersAirNetworksAreReadAndWritten(t *testing.T) {
	for _, model := range []int{11, 12, 13, 14, 15, 21, 22, 23, 24, 25} {
		for site := 1; site <= 2; site++ {
			n := paperNetwork(t, fmt.Sprintf("air/ff_air_%d_d%d.safetensors", model, site))
			if n.Inputs() != 14 || n.Outputs() != 1 || n.Size() != 42001 || n.Loss() != SquaredError {
				t.Errorf("model %d of site %d has %d inputs, %d outputs, %d parameters, %v", model, site, n.Inputs(), n.Outputs(),
					n.Size(), n.Loss())
			}
			again, err := Parse(n.Bytes())
			must(t, err)
			if !again.SameShape(n) || again.Hash() != n.Hash() || !slices.Equal(again.Parameters(), n.Parameters()) {
				t.Errorf("model %d of site %d is not the same after writing and reading", model, site)
			}
		}
	}
}
