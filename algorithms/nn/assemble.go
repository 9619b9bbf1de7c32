package nn

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/wording"
)

// measure takes the layer's units and size from its kernel.
func (e *entry) measure(tensors map[string]*tensor) error {
	if !e.weighted() {
		return nil
	}
	t, ok := tensors[e.kernel]
	if !ok {
		return fmt.Errorf("kernel %q is not in the file", wording.Clip(e.kernel))
	}
	want := 2
	if e.Kind == Conv2D {
		want = 4
		copy(e.Size[:], t.shape)
	}
	if len(t.shape) != want {
		return fmt.Errorf("kernel %q has the shape %v: want %d dimensions", wording.Clip(e.kernel), t.shape, want)
	}
	e.Units = t.shape[want-1]
	return nil
}

// claim is a tensor, the part of a layer that it is, and its place in the parameters.
type claim struct {
	*tensor
	part  string
	first int
}

// claimAll finds the tensors of all layers: each is wanted once, and none is left.
func (p *plan) claimAll(entries []entry, tensors map[string]*tensor) (claims []claim, err error) {
	next := 0
	for i, e := range entries {
		if e.Kind == Flatten {
			continue
		}
		s := &p.stages[next]
		next++
		if !e.weighted() {
			continue
		}
		layer := fmt.Sprintf("layer %d (%s)", i+1, e.Kind)
		kernel, err := take(tensors, layer+": kernel", e.kernel, s.kernelShape(), s.kernel)
		if err != nil {
			return nil, err
		}
		bias, err := take(tensors, layer+": bias", e.bias, []int{s.Units}, s.bias)
		if err != nil {
			return nil, err
		}
		claims = append(claims, kernel, bias)
	}
	return claims, checkUsed(tensors)
}

// take removes a tensor, of a wanted shape, from those that the file has.
func take(tensors map[string]*tensor, part, name string, want []int, first int) (claim, error) {
	t, ok := tensors[name]
	if !ok {
		return claim{}, fmt.Errorf("%s %q is not in the file, or is named twice", part, wording.Clip(name))
	}
	if !slices.Equal(t.shape, want) {
		return claim{}, fmt.Errorf("%s %q has the shape %v: want %v", part, wording.Clip(name), t.shape, want)
	}
	delete(tensors, name)
	return claim{t, part, first}, nil
}

// kernelShape returns the shape of a weighted stage's kernel in a file.
func (s *stage) kernelShape() []int {
	if s.Kind == Dense {
		return []int{s.in[2], s.Units}
	}
	return []int{s.Size[0], s.Size[1], s.in[2], s.Units}
}

// load reads the parameters.
func (n *Network) load(claims []claim, data []byte) error {
	for _, c := range claims {
		if err := c.read(n.parameters[c.first:][:c.values()], data); err != nil {
			return fmt.Errorf("%s %q: %w", c.part, wording.Clip(c.name), err)
		}
	}
	return nil
}

// checkUsed checks that no tensor is left.
func checkUsed(tensors map[string]*tensor) error {
	left := make([]string, 0, len(tensors))
	for name := range tensors {
		left = append(left, name)
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("tensor %q is used by no layer", wording.Clip(slices.Min(left)))
}
