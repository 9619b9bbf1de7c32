// Package portable writes the models of jobs over clients so that programs without this one's generators can use them:
// a folder with model.json, which says what everything is, and safetensors files with the numbers. docs/model-format.md
// is its reference, examples/read_model.py a whole reader.
package portable

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// Format is the format's name and version.
//
// Evolution: members may be added to model.json and tensors to a file. Whatever changes the meaning of what is there
// takes the next number.
const Format = "hanse-model-v1"

// The names of a folder's files, beside those of networks.
const (
	File    = "model.json"
	Tensors = "model.safetensors"
)

// The ways from a row's angles to its random features, D frequencies a kernel.
const (
	SinCos = "sin-cos" // [sin(a), cos(a)] / sqrt(D), 2D numbers
	Cos    = "cos"     // sqrt(2/D) cos(a + phase), D numbers
)

// The roles of who has a model.
const (
	RoleServer = "server"
	RoleClient = "client"
)

// Model is what model.json says, with the numbers that stand in other files.
type Model struct {
	Format    string `json:"format"`
	Algorithm string `json:"algorithm"`
	Job       string `json:"job"`
	Contract  string `json:"contract"`
	Party     string `json:"party"`
	Role      string `json:"role"`
	Round     int    `json:"round"` // of Rounds, that the model has seen
	Rounds    int    `json:"rounds"`
	Private   string `json:"private,omitempty"` // what of it is the party's own, in a sentence

	Inputs   Inputs    `json:"inputs"`
	Label    Label     `json:"label"`
	Kernels  *Kernels  `json:"kernels,omitempty"`
	Networks []Network `json:"networks,omitempty"`
}

// Inputs is what a row has.
type Inputs struct {
	Count    int      `json:"count"`
	Columns  []string `json:"columns,omitempty"` // their names, in order; a server does not know them
	DivideBy float64  `json:"divide_by"`
}

// Label is what is predicted: a number, low + p (high - low) for a model's p, or one of so many classes.
type Label struct {
	Column  string  `json:"column"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Classes int     `json:"classes,omitempty"`
}

// Kernels is a model on random features: the sum over kernels of weight theta . z(x).
type Kernels struct {
	File     string   `json:"file"`
	Features string   `json:"features"` // SinCos or Cos
	Count    int      `json:"count"`    // D, frequencies of a kernel
	Seed     string   `json:"seed"`     // public; what the frequencies were drawn from
	List     []Kernel `json:"list"`

	Frequencies []float64 `json:"-"` // [kernels][D][inputs], radians for each unit of a divided input
	Phases      []float64 `json:"-"` // [kernels][D], radians; nil for SinCos
	Theta       []float64 `json:"-"` // [kernels][2D] for SinCos, [kernels][D] for Cos
}

// Kernel is one kernel, exp(-|x - x'|^2 / (2 variance)).
type Kernel struct {
	Kind     string   `json:"kind"` // gaussian
	Variance float64  `json:"variance"`
	Weight   *float64 `json:"weight,omitempty"` // of a client's own; all together 1
}

// Network is one of the networks that a client chose among.
type Network struct {
	Name   string   `json:"name"`
	File   string   `json:"file,omitempty"`   // none where the client does not hold it
	Weight *float64 `json:"weight,omitempty"` // in the client's predictions; those of the networks held are 1 together
	Share  *float64 `json:"share,omitempty"`  // of the client's trust; those of all networks are 1 together

	Content []byte `json:"-"` // of File
}

// Named is a file of a folder.
type Named struct {
	Name    string
	Content []byte
}

// Files returns the files of the model's folder; model.json is the last, so that a folder that has it is whole. A name
// that a network's file may not have, or that another has, is replaced: names come from servers.
func (m *Model) Files() ([]Named, error) {
	var files []Named
	if k := m.Kernels; k != nil {
		k.File = Tensors
		content, err := k.safetensors(m.Inputs.Count)
		if err != nil {
			return nil, err
		}
		files = append(files, Named{k.File, content})
	}
	plain := plainNames(m.Networks)
	for i := range m.Networks {
		n := &m.Networks[i]
		if n.Content == nil {
			continue
		}
		n.File = fmt.Sprintf("network-%02d%s", i+1, suffix)
		if plain {
			n.File = n.Name + suffix
		}
		files = append(files, Named{n.File, n.Content})
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(files, Named{File, append(text, '\n')}), nil
}

// tensor is one tensor of a safetensors file.
type tensor struct {
	name   string
	shape  []int
	values []float64
}

// safetensors returns the numbers of kernels as a file of float64 tensors.
func (k *Kernels) safetensors(inputs int) ([]byte, error) {
	n := len(k.List)
	width := k.Count
	if k.Features == SinCos {
		width *= 2
	}
	list := []tensor{
		{"frequencies", []int{n, k.Count, inputs}, k.Frequencies},
		{"theta", []int{n, width}, k.Theta},
	}
	if k.Phases != nil {
		list = append(list, tensor{"phases", []int{n, k.Count}, k.Phases})
	}
	type entry struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, end := map[string]any{"__metadata__": map[string]string{"format": Format}}, 0
	for _, t := range list {
		size := 1
		for _, d := range t.shape {
			size *= d
		}
		if size != len(t.values) {
			return nil, fmt.Errorf("%s has %d numbers, want the %d of %v", t.name, len(t.values), size, t.shape)
		}
		header[t.name] = entry{"F64", t.shape, [2]int{end, end + 8*size}}
		end += 8 * size
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	out := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(text)+end), uint64(len(text)))
	out = append(out, text...)
	for _, t := range list {
		for _, v := range t.values {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
	}
	return out, nil
}
