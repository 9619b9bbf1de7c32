package nn

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/internal/wording"
)

// Limits on a file.
const (
	MaxFileBytes   = 64 << 20
	MaxHeaderBytes = 1 << 20
)

// A safetensors file is the header's length (8 bytes, little endian), the header (a JSON object, perhaps
// followed by spaces) and the tensors' bytes. The header gives each tensor's type, shape and place.

// metadataKey is the header's member that is no tensor.
const metadataKey = "__metadata__"

// tensor is one entry of the header.
type tensor struct {
	name       string
	shape      []int
	begin, end int // bytes of the data
}

// values returns the number of values that the shape asks for, which fits the file's limit or
// is larger than any file.
func (t *tensor) values() int {
	n := 1
	for _, d := range t.shape {
		if d > 0 && n > MaxFileBytes/d {
			return math.MaxInt
		}
		n *= d
	}
	return n
}

// splitFile checks the sizes and returns the header and the data.
func splitFile(file []byte) (header, data []byte, err error) {
	if len(file) > MaxFileBytes {
		return nil, nil, fmt.Errorf("the file has %d bytes: want at most %d", len(file), MaxFileBytes)
	}
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("the file has %d bytes: want 8 for the header's length", len(file))
	}
	length := binary.LittleEndian.Uint64(file)
	switch rest := len(file) - 8; {
	case length > MaxHeaderBytes:
		return nil, nil, fmt.Errorf("the header has %d bytes: want at most %d", length, MaxHeaderBytes)
	case length > uint64(rest):
		return nil, nil, fmt.Errorf("the file is truncated: the header has %d bytes, and %d are left", length, rest)
	case length == 0 || file[8] != '{':
		return nil, nil, fmt.Errorf("the header does not start with a brace")
	}
	return file[8 : 8+length], file[8+length:], nil
}

// parseHeader reads the metadata and the tensors, checking that these cover the data.
func parseHeader(header []byte, size int) (metadata object, tensors map[string]*tensor, err error) {
	top, err := parseObject(header)
	if err != nil {
		return nil, nil, fmt.Errorf("the header: %w", err)
	}
	raw, err := top.pop(metadataKey)
	if err != nil {
		return nil, nil, fmt.Errorf("the header: %w", err)
	}
	if metadata, err = parseObject(raw); err != nil {
		return nil, nil, fmt.Errorf("the metadata: %w", err)
	}
	tensors = map[string]*tensor{}
	for name, raw := range top {
		t, err := parseTensor(name, raw)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", wording.Clip(name), err)
		}
		tensors[name] = t
	}
	return metadata, tensors, checkCover(tensors, size)
}

// parseTensor reads one entry of the header.
func parseTensor(name string, raw []byte) (*tensor, error) {
	o, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	dtype, err := o.text("dtype")
	if err != nil {
		return nil, err
	}
	if dtype != "F32" {
		return nil, fmt.Errorf("dtype %q: want F32", wording.Clip(dtype))
	}
	dimensions, err := o.integers("shape", 1, 2, 4)
	if err != nil {
		return nil, err
	}
	offsets, err := o.pair("data_offsets")
	if err != nil {
		return nil, err
	}
	t := &tensor{name, dimensions, offsets[0], offsets[1]}
	if n := t.values(); t.end < t.begin || (t.end-t.begin)%4 != 0 || (t.end-t.begin)/4 != n {
		return nil, fmt.Errorf("bytes %d to %d do not fit its shape %v of 4-byte values", t.begin, t.end, t.shape)
	}
	return t, o.empty()
}

// checkCover checks that the tensors cover the data, without gaps or overlaps.
func checkCover(tensors map[string]*tensor, size int) error {
	list := make([]*tensor, 0, len(tensors))
	for _, t := range tensors {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *tensor) int {
		// Orders tensors by place, and by name where an empty or overlapping one has the same.
		if a.begin != b.begin {
			return a.begin - b.begin
		}
		if a.end != b.end {
			return a.end - b.end
		}
		return bytes.Compare([]byte(a.name), []byte(b.name))
	})
	end := 0
	for _, t := range list {
		if t.begin != end {
			return fmt.Errorf("tensor %q starts at byte %d of the data: want %d, where the one before it ends",
				wording.Clip(t.name), t.begin, end)
		}
		end = t.end
	}
	if end > size {
		return fmt.Errorf("the file is truncated: the tensors have %d bytes, and %d are left", end, size)
	}
	if end < size {
		return fmt.Errorf("%d bytes follow the last tensor", size-end)
	}
	return nil
}

// read copies the tensor's values to dst, refusing one that is not finite.
func (t *tensor) read(dst []float32, data []byte) error {
	for i := range dst {
		v := math.Float32frombits(binary.LittleEndian.Uint32(data[t.begin+4*i:]))
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("value %d is %v: want finite values", i+1, v)
		}
		dst[i] = v
	}
	return nil
}
