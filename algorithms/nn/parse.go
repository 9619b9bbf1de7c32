package nn

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
)

// layout is the convention that kernels follow, as the metadata states it.
const layout = "kernels as Keras stores them: dense [in,out], conv2d [height,width,in,out]; tensors channels-last"

// Parse reads a network from a safetensors file of float32 tensors, whose metadata has the member
// "layers": a JSON list of layers, the input first, as Bytes writes it. It accepts nothing that
// it would not use: unknown or repeated keys, gaps, overlaps, and tensors that no layer names are
// errors, as are values that are not finite. Errors name the layer and the tensor.
func Parse(data []byte) (*Network, error) {
	header, body, err := splitFile(data)
	if err != nil {
		return nil, err
	}
	metadata, tensors, err := parseHeader(header, len(body))
	if err != nil {
		return nil, err
	}
	input, entries, err := parseMetadata(metadata)
	if err != nil {
		return nil, err
	}

	// Makes a network of layers and tensors. Every shape is checked before memory is taken.
	layers := make([]Layer, len(entries))
	for i := range entries {
		if err := entries[i].measure(tensors); err != nil {
			return nil, fmt.Errorf("layer %d (%s): %w", i+1, entries[i].Kind.name(), err)
		}
		layers[i] = entries[i].Layer
	}
	p, err := newPlan(input, layers)
	if err != nil {
		return nil, err
	}
	claims, err := p.claimAll(entries, tensors)
	if err != nil {
		return nil, err
	}
	n := &Network{p, make([]float32, p.size)}
	return n, n.load(claims, body)
}

// entry is a layer of the metadata, with the names of its tensors.
type entry struct {
	Layer
	kernel, bias string
}

// parseMetadata reads the input's shape and the layers.
func parseMetadata(metadata object) (input []int, entries []entry, err error) {
	text, err := metadata.text("layers")
	if err != nil {
		return nil, nil, fmt.Errorf("the metadata: %w", err)
	}
	if _, stated := metadata["layout"]; stated {
		if s, err := metadata.text("layout"); err != nil || s != layout {
			return nil, nil, fmt.Errorf("the metadata: layout %q is unknown: want %q", wording.Clip(s), layout)
		}
	}
	if err := metadata.empty(); err != nil {
		return nil, nil, fmt.Errorf("the metadata: %w", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, nil, errors.New("the metadata: layers is not a JSON list")
	}
	if len(list) < 2 || len(list) > MaxLayers+1 {
		return nil, nil, fmt.Errorf("the metadata: layers has %d entries: want an input and 1 to %d layers", len(list),
			MaxLayers)
	}
	if input, err = parseInput(list[0]); err != nil {
		return nil, nil, fmt.Errorf("the first layer: %w", err)
	}
	entries, err = parseLayers(list[1:])
	return input, entries, err
}

// parseInput reads the entry that gives the shape of one row.
func parseInput(raw []byte) ([]int, error) {
	o, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	kind, err := o.text("type")
	if err != nil {
		return nil, err
	}
	if kind != "input" {
		return nil, fmt.Errorf("type %q: want input", wording.Clip(kind))
	}
	input, err := o.integers("shape", 1, 3)
	if err != nil {
		return nil, err
	}
	return input, o.empty()
}

// parseLayers reads the entries after the input.
func parseLayers(list []json.RawMessage) ([]entry, error) {
	entries := make([]entry, len(list))
	for i, raw := range list {
		o, err := parseObject(raw)
		if err == nil {
			entries[i], err = parseLayer(o)
		}
		if err != nil {
			return nil, fmt.Errorf("layer %d (%s): %w", i+1, entries[i].Kind.name(), err)
		}
	}
	return entries, nil
}

// parseLayer reads one layer. Its units, and a convolution's size, follow from the kernel.
func parseLayer(o object) (e entry, err error) {
	kind, err := o.text("type")
	if err != nil {
		return e, err
	}
	e.Kind = Kind(kind)
	if e.weighted() {
		err = e.parseWeights(o)
	}
	if err == nil && e.windowed() {
		err = e.parseWindow(o)
	}
	if err != nil {
		return e, err
	}
	if !e.weighted() && !e.windowed() && e.Kind != Flatten {
		return e, e.check()
	}
	return e, o.empty()
}

// parseWeights reads the members of a dense or conv2d layer.
func (e *entry) parseWeights(o object) (err error) {
	if e.kernel, err = o.text("kernel"); err != nil {
		return err
	}
	if e.bias, err = o.text("bias"); err != nil {
		return err
	}
	activation, err := o.text("activation")
	e.Activation = Activation(activation)
	return err
}

// parseWindow reads the members of a conv2d or maxpool2d layer.
func (e *entry) parseWindow(o object) (err error) {
	if e.Kind == MaxPool2D {
		if e.Size, err = o.pair("size"); err != nil {
			return err
		}
	}
	if e.Stride, err = o.pair("stride"); err != nil {
		return err
	}
	padding, err := o.text("padding")
	e.Padding = Padding(padding)
	return err
}
