package nn

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Bytes returns the network as a safetensors file, which Parse reads back bit for bit: equal networks
// give equal bytes. Tensors are named by their layer, "layer0.kernel" being the first that has
// one, and lie in the order of Parameters. Parse refuses what training has made infinite or NaN.
func (n *Network) Bytes() []byte {
	header := n.header()
	out := make([]byte, 0, 8+len(header)+4*n.size)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(header)))
	out = append(out, header...)
	for _, v := range n.parameters {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// header returns the JSON header, padded with spaces to a multiple of 8 bytes. Nothing in it needs
// escapes but the quotes of the layers.
func (n *Network) header() string {
	var b strings.Builder
	layers := strings.ReplaceAll(n.layersJSON(), `"`, `\"`)
	fmt.Fprintf(&b, `{"%s":{"layers":"%s","layout":"%s"}`, metadataKey, layers, layout)
	number := 0
	for i := range n.stages {
		if s := &n.stages[i]; s.weighted() {
			writeTensor(&b, tensorName(number, "kernel"), s.kernelShape(), s.kernel, s.bias)
			writeTensor(&b, tensorName(number, "bias"), []int{s.Units}, s.bias, s.bias+s.Units)
			number++
		}
	}
	b.WriteByte('}')
	b.WriteString(strings.Repeat(" ", -b.Len()&7))
	return b.String()
}

// writeTensor writes the entry of parameters begin to end-1.
func writeTensor(b *strings.Builder, name string, shape []int, begin, end int) {
	fmt.Fprintf(b, `,"%s":{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, name, list(shape...), 4*begin, 4*end)
}

// tensorName names a tensor of the layer with that number among those that have one.
func tensorName(number int, role string) string { return fmt.Sprintf("layer%d.%s", number, role) }

// list writes numbers as JSON.
func list(numbers ...int) string {
	return strings.ReplaceAll(fmt.Sprint(numbers), " ", ",")
}

// layersJSON returns the metadata's list of layers.
func (n *Network) layersJSON() string {
	var b strings.Builder
	fmt.Fprintf(&b, `[{"type":"input","shape":%s}`, list(n.input...))
	number := 0
	for _, l := range n.layers {
		fmt.Fprintf(&b, `,{"type":"%s"`, l.Kind)
		if l.weighted() {
			fmt.Fprintf(&b, `,"kernel":"%s","bias":"%s","activation":"%s"`, tensorName(number, "kernel"),
				tensorName(number, "bias"), l.Activation)
			number++
		}
		if l.Kind == MaxPool2D {
			fmt.Fprintf(&b, `,"size":%s`, list(l.Size[:]...))
		}
		if l.windowed() {
			fmt.Fprintf(&b, `,"stride":%s,"padding":"%s"`, list(l.Stride[:]...), l.Padding)
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	return b.String()
}
