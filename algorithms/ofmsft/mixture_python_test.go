package ofmsft

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// TestOtherProgramsReadEveryLayer: a mixture of networks with every kind of layer, padding and stride is exported, read
// by our own loader byte for byte, and predicted with by examples/read_model.py, which knows Python's standard library.
func TestOtherProgramsReadEveryLayer(t *testing.T) {
	python := needs.Program(t, "apt-get install python3", "python3")
	const side, classes = 7, 3
	rng := rand.New(rand.NewPCG(1, 2))
	last := nn.Layer{Kind: nn.Dense, Units: classes, Activation: nn.Softmax}
	conv := func(units, size, stride int, p nn.Padding, a nn.Activation) nn.Layer {
		return nn.Layer{Kind: nn.Conv2D, Units: units, Size: [2]int{size, size}, Stride: [2]int{stride, 1}, Padding: p,
			Activation: a}
	}
	pool := func(stride int, p nn.Padding) nn.Layer {
		return nn.Layer{Kind: nn.MaxPool2D, Size: [2]int{2, 3}, Stride: [2]int{stride, stride}, Padding: p}
	}
	flat := nn.Layer{Kind: nn.Flatten}
	var names []string
	var networks []*nn.Network
	for k, layers := range [][]nn.Layer{
		{flat, {Kind: nn.Dense, Units: 4, Activation: nn.ReLU}, last},
		{conv(3, 3, 1, nn.Same, nn.ReLU), pool(2, nn.Valid), conv(2, 2, 2, nn.Valid, nn.Linear), flat, last},
		{conv(2, 4, 2, nn.Same, nn.Linear), pool(1, nn.Same), flat, last},
	} {
		n, err := nn.New([]int{side, side, 2}, layers, rng)
		mustDo(t, err)
		for i := range n.Parameters() {
			n.Parameters()[i] += float32(0.1 * rng.NormFloat64()) // biases too
		}
		names, networks = append(names, fmt.Sprintf("net-%d", k+1)), append(networks, n)
	}
	p, err := Params{Label: "kind", Seed: "s", Budget: 3, InputNorm: 2}.WithNetworks(names, networks)
	mustDo(t, err)
	p = p.WithDefaults(3)
	columns := make([]string, p.Inputs)
	for i := range columns {
		columns[i] = fmt.Sprintf("pixel %d", i)
	}
	data, err := encodeMixture(p, 9, columns, []float64{-0.5, -1, 0}, []int{0, 1, 2},
		func(k int) *nn.Network { return networks[k] })
	mustDo(t, err)
	m, err := DecodeMixture(p, false, data)
	mustDo(t, err)

	folder, out := t.TempDir(), m.Portable()
	out.Format = "hanse-model-v1"
	files, err := out.Files()
	mustDo(t, err)
	for _, f := range files {
		mustDo(t, os.WriteFile(filepath.Join(folder, f.Name), f.Content, 0o600))
	}
	for k, n := range networks {
		again, err := nn.ReadFile(filepath.Join(folder, names[k]+nn.FileSuffix))
		mustDo(t, err)
		if again.Hash() != n.Hash() || !bytes.Equal(again.Bytes(), n.Bytes()) {
			t.Errorf("network %d is read back as another", k+1)
		}
	}

	var text bytes.Buffer
	w := csv.NewWriter(&text)
	mustDo(t, w.Write(columns))
	var rows [][]float64
	for range 5 {
		x, cells := make([]float64, p.Inputs), make([]string, p.Inputs)
		for i := range x {
			x[i] = rng.NormFloat64()
			cells[i] = strconv.FormatFloat(x[i], 'g', -1, 64)
		}
		rows = append(rows, x)
		mustDo(t, w.Write(cells))
	}
	w.Flush()
	path := filepath.Join(t.TempDir(), "rows.csv")
	mustDo(t, os.WriteFile(path, text.Bytes(), 0o600))
	command := exec.Command(python, filepath.Join("..", "..", "examples", "read_model.py"), folder, path)
	command.Stderr = os.Stderr
	answer, err := command.Output()
	mustDo(t, err)
	read, err := csv.NewReader(bytes.NewReader(answer)).ReadAll()
	mustDo(t, err)
	if len(read) != len(rows)+1 {
		t.Fatalf("%d lines, want %d", len(read), len(rows)+1)
	}
	for i, x := range rows {
		want, err := m.Predict(i+1, x)
		mustDo(t, err)
		class, err := strconv.ParseFloat(read[i+1][1], 64)
		mustDo(t, err)
		probability, err := strconv.ParseFloat(read[i+1][2], 64)
		mustDo(t, err)
		if class != want.Value || math.Abs(probability-want.Probability) > 1e-6 {
			t.Errorf("row %d: class %v with %v, want %v with %v", i+1, class, probability, want.Value, want.Probability)
		}
	}
}
