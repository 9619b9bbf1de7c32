package portable

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestTensorsStandWhereTheHeaderSays: name, type, shape, place and every bit.
func TestTensorsStandWhereTheHeaderSays(t *testing.T) {
	w := 0.25
	m := &Model{Inputs: Inputs{Count: 2}, Kernels: &Kernels{
		Features: SinCos, Count: 3, List: []Kernel{{Kind: "gaussian", Variance: 1, Weight: &w}},
		Frequencies: []float64{1, 2, 3, 4, 5, 6}, Theta: []float64{-1, -2, -3, -4, math.Pi, math.SmallestNonzeroFloat64},
	}}
	files, err := m.Files()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files[0].Name != Tensors || files[1].Name != File {
		t.Fatalf("%d files, want the tensors and then %s", len(files), File)
	}
	data := files[0].Content
	size := binary.LittleEndian.Uint64(data)
	var header map[string]struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:8+size], &header); err != nil || size%8 != 0 {
		t.Fatalf("a header of %d bytes, error %v", size, err)
	}
	for name, want := range map[string]struct {
		shape  []int
		values []float64
	}{"frequencies": {[]int{1, 3, 2}, m.Kernels.Frequencies}, "theta": {[]int{1, 6}, m.Kernels.Theta}} {
		h := header[name]
		if h.Type != "F64" || !slices.Equal(h.Shape, want.shape) {
			t.Errorf("%s is %s %v, want F64 %v", name, h.Type, h.Shape, want.shape)
		}
		body := data[8+int(size)+h.Offsets[0] : 8+int(size)+h.Offsets[1]]
		for i, v := range want.values {
			if math.Float64frombits(binary.LittleEndian.Uint64(body[8*i:])) != v {
				t.Errorf("%s: number %d is not %v", name, i+1, v)
			}
		}
	}
}

// TestNamesOfOthersAreNoPaths: a server names its networks, and a client writes them to its disk.
func TestNamesOfOthersAreNoPaths(t *testing.T) {
	for _, c := range []struct {
		names []string
		plain bool
	}{
		{[]string{"d1-11", "d1-12", "north_town.v2"}, true},
		{[]string{"../../.ssh/authorized_keys"}, false},
		{[]string{"/etc/passwd"}, false},
		{[]string{`..\up`}, false},
		{[]string{".hidden"}, false},
		{[]string{"-rf"}, false},
		{[]string{""}, false},
		{[]string{"a\nb"}, false},
		{[]string{strings.Repeat("a", 81)}, false},
		{[]string{"a", "A"}, false},
		{[]string{"model"}, false},
	} {
		m := &Model{}
		for _, n := range c.names {
			m.Networks = append(m.Networks, Network{Name: n, Content: []byte{1}})
		}
		files, err := m.Files()
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range c.names {
			want := n + suffix
			if !c.plain {
				want = []string{"network-01" + suffix, "network-02" + suffix}[i]
			}
			if files[i].Name != want || m.Networks[i].File != want {
				t.Errorf("network %q is in %q, model.json says %q, want %q", n, files[i].Name, m.Networks[i].File, want)
			}
		}
	}
}
