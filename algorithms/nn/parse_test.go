package nn

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tiny is a network with every kind of layer, and parameters 0, 1/4, 2/4, ...
func tiny(t testing.TB) *Network {
	n := network(t, []int{4, 4, 1}, conv(2, 3, 1, Same), pool(2, 2, Valid), flatten, dense(2, Softmax))
	for i := range n.parameters {
		n.parameters[i] = float32(i) / 4
	}
	return n
}

// goldenFile is the network that tiny makes. It changes only with the format, and then so must
// hashDomain.
const goldenFile = "testdata/tiny.safetensors"

func TestBytesAreTheGoldenFile(t *testing.T) {
	want, err := os.ReadFile(goldenFile)
	must(t, err)
	n := tiny(t)
	if got := n.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("the bytes differ from %s:\n%q\n%q", goldenFile, got, want)
	}
	const hash = "b527bfe25c450b7a164e68df1f0810a58f3af0f1e04c201fbe467b969eab70d1"
	if got := n.Hash().String(); got != hash {
		t.Errorf("the hash is %s: want %s", got, hash)
	}
}

func TestWhatIsWrittenIsReadBitForBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNetwork(t)
		for i := range n.parameters {
			n.parameters[i] = rapid.Float32().Draw(t, "parameter")
		}
		again, err := Parse(n.Bytes())
		must(t, err)
		if !again.SameShape(n) || !bytes.Equal(again.Bytes(), n.Bytes()) || again.Hash() != n.Hash() {
			t.Fatal("the network that is read is another one")
		}
	})
}

// file makes a safetensors file of a header and float32 data.
func file(header string, data ...float32) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	out = append(out, header...)
	for _, v := range data {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// plain is the header of a network of one dense layer, 2 inputs and 1 output.
const plain = `{"__metadata__":{"layers":"[{\"type\":\"input\",\"shape\":[2]},{\"type\":\"dense\",\"kernel\":\"k\",\"bias\":\"b\",\"activation\":\"linear\"}]"},` +
	`"k":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`

func TestTensorsMayHaveAnyNamesAndOrder(t *testing.T) {
	swapped := strings.NewReplacer("[0,8]", "[4,12]", "[8,12]", "[0,4]").Replace(plain) + "  "
	n, err := Parse(file(swapped, 3, 1, 2))
	must(t, err)
	if !slices.Equal(n.Parameters(), []float32{1, 2, 3}) || n.Inputs() != 2 || n.Outputs() != 1 {
		t.Errorf("the parameters are %v: want [1 2 3]", n.Parameters())
	}
}

func TestAFileThatIsNotWholeAndPlainIsRefused(t *testing.T) {
	whole := file(plain, 1, 2, 3)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":     {nil, "the file has 0 bytes: want 8 for the header's length"},
		"too large": {make([]byte, MaxFileBytes+1), "the file has 67108865 bytes: want at most 67108864"},
		"header": {[]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"),
			"the header has 18446744073709551615 bytes: want at most 1048576"},
		"truncated":  {whole[:100], "the file is truncated: the header has 254 bytes, and 92 are left"},
		"less data":  {whole[:len(whole)-1], "the file is truncated: the tensors have 12 bytes, and 11 are left"},
		"more data":  {append(slices.Clone(whole), 0), "1 bytes follow the last tensor"},
		"no brace":   {file(" " + plain), "the header does not start with a brace"},
		"bad JSON":   {file(plain[:len(plain)-1], 1, 2, 3), `the header: malformed JSON: "EOF"`},
		"after JSON": {file(plain+"{}", 1, 2, 3), "the header: something follows the JSON object"},
		"NaN":        {file(plain, 1, float32(math.NaN()), 3), `layer 1 (dense): kernel "k": value 2 is NaN: want finite values`},
		"infinite":   {file(plain, 1, 2, float32(math.Inf(-1))), `layer 1 (dense): bias "b": value 1 is -Inf: want finite values`},
	} {
		refused(t, name, c.data, c.want)
	}
}

func refused(t *testing.T, name string, data []byte, want string) {
	t.Helper()
	if _, err := Parse(data); err == nil || err.Error() != want {
		t.Errorf("%s: the error is %v: want %s", name, err, want)
	}
}

func TestAHeaderThatSaysSomethingElseIsRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"k":{`, `"q":{`, `layer 1 (dense): kernel "k" is not in the file`},
		{`"b":{`, `"q":{`, `layer 1 (dense): bias "b" is not in the file, or is named twice`},
		{`\"bias\":\"b\"`, `\"bias\":\"k\"`, `layer 1 (dense): bias "k" is not in the file, or is named twice`},
		{`"b":{`, `"k":{`, `the header: key "k" occurs twice`},
		{`F32","shape":[2`, `F16","shape":[2`, `tensor "k": dtype "F16": want F32`},
		{`"dtype":"F32","shape":[2`, `"dtype":null,"shape":[2`, `tensor "k": key "dtype" is "null": want a string`},
		{`"shape":[2,1]`, `"shape":[2,1],"x":1`, `tensor "k": key "x" is unknown`},
		{`"shape":[2,1],`, ``, `tensor "k": key "shape" is missing`},
		{`"shape":[2,1]`, `"shape":[2,1],"shape":[2,1]`, `tensor "k": key "shape" occurs twice`},
		{`"shape":[2,1]`, `"shape":[1,2]`, `the last layer has 2 outputs and no softmax: want 1 output, or a softmax`},
		{`\"shape\":[2]`, `\"shape\":[3]`, `layer 1 (dense): kernel "k" has the shape [2 1]: want [3 1]`},
		{`"shape":[2,1]`, `"shape":[2]`, `layer 1 (dense): kernel "k" has the shape [2]: want 2 dimensions`},
		{`"shape":[2,1]`, `"shape":[2147483647,2147483647]`, `tensor "k": bytes 0 to 8 do not fit its shape [2147483647 2147483647] of 4-byte values`},
		{`"shape":[2,1]`, `"shape":[3,1]`, `tensor "k": bytes 0 to 8 do not fit its shape [3 1] of 4-byte values`},
		{`"shape":[2,1]`, `"shape":[2,1,1]`, `tensor "k": key "shape" is "[2,1,1]": want a list of [1 2 4] whole numbers`},
		{`"shape":[2,1]`, `"shape":[2,-1]`, `tensor "k": key "shape" holds "-1": want a whole number from 0`},
		{`"shape":[2,1]`, `"shape":[2,null]`, `tensor "k": key "shape" holds "null": want a whole number from 0`},
		{`[0,8]`, `[1,8]`, `tensor "k": bytes 1 to 8 do not fit its shape [2 1] of 4-byte values`},
		{`[8,12]`, `[4,8]`, `tensor "b" starts at byte 4 of the data: want 8, where the one before it ends`},
		{`[8,12]`, `[12,16]`, `tensor "b" starts at byte 12 of the data: want 8, where the one before it ends`},
		{`{"__metadata__":{`, `{"__metadata__":{"x":"",`, `the metadata: key "x" is unknown`},
		{`{"__metadata__":{`, `{"__metadata__":{"layout":"in,out",`,
			`the metadata: layout "in,out" is unknown: want "` + layout + `"`},
		{`__metadata__`, `metadata`, `the header: key "__metadata__" is missing`},
		{`[{\"type\":\"input\",\"shape\":[2]},`, `[`, `the metadata: layers has 1 entries: want an input and 1 to 128 layers`},
		{`\"type\":\"input\"`, `\"type\":\"in\"`, `the first layer: type "in": want input`},
		{`\"shape\":[2]`, `\"shape\":[2,1]`, `the first layer: key "shape" is "[2,1]": want a list of [1 3] whole numbers`},
		{`\"shape\":[2]`, `\"shape\":[0]`, `the input: a dimension is 0: want 1 to 4194304`},
		{`\"dense\"`, `\"lstm\"`, `layer 1 ("lstm"): the type is unknown: want dense, conv2d, maxpool2d or flatten`},
		{`\"linear\"`, `\"tanh\"`, `layer 1 (dense): activation "tanh" is unknown: want linear, relu or softmax`},
		{`\"linear\"`, `\"softmax\"`, `the last layer is a softmax of 1 output: want 2 or more`},
		{`\"linear\"`, `\"linear\",\"rate\":1`, `layer 1 (dense): key \"rate\" is unknown`},
		{`\"linear\"}`, `\"linear\"},{\"type\":\"flatten\"}`, `layer 2 (flatten): its input is flat: want height, width and channels`},
		{`}}`, `},"c":{"dtype":"F32","shape":[0],"data_offsets":[12,12]}}`, `tensor "c" is used by no layer`},
	} {
		header := strings.Replace(plain, c.old, c.new, 1)
		if header == plain {
			t.Fatalf("%s is not in the header", c.old)
		}
		refused(t, c.new, file(header, 1, 2, 3), strings.ReplaceAll(c.want, `\"`, `"`))
	}
}

func TestLayersThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct {
		input  []int
		layers []Layer
		want   string
	}{
		{[]int{2, 2}, []Layer{dense(1, Linear)}, "the input's shape [2 2] has 2 dimensions: want 1, or 3 for height, " +
			"width, channels"},
		{[]int{4096, 4096, 1}, []Layer{dense(1, Linear)}, "the input: the shape [4096 4096 1] has too many values: want " +
			"at most 4194304"},
		{[]int{2}, nil, "the network has 0 layers after its input: want 1 to 128"},
		{[]int{4, 4, 1}, []Layer{dense(1, Linear)}, "layer 1 (dense): its input has the shape [4 4 1]: want a flat one, " +
			"so a flatten before it"},
		{[]int{4}, []Layer{conv(1, 2, 1, Valid)}, "layer 1 (conv2d): its input is flat: want height, width and channels"},
		{[]int{4, 4, 1}, []Layer{conv(1, 5, 1, Valid)}, "layer 1 (conv2d): its window of [5 5] does not fit an input of " +
			"[4 4 1]"},
		{[]int{4, 4, 1}, []Layer{pool(2, 0, Valid)}, "layer 1 (maxpool2d): its window is [2 2] and its stride [0 0]: " +
			"want 1 or more, and strides up to 4194304"},
		{[]int{4, 4, 1}, []Layer{pool(2, 2, "full")}, `layer 1 (maxpool2d): padding "full" is unknown: want valid or same`},
		{[]int{4}, []Layer{dense(2, Softmax), dense(1, Linear)}, "layer 2 (dense): it follows a softmax, which must be last"},
		{[]int{4}, []Layer{dense(2, Linear)}, "the last layer has 2 outputs and no softmax: want 1 output, or a softmax"},
		{[]int{4, 4, 1}, []Layer{flatten}, "the last layer is flatten: want dense"},
		{[]int{4}, []Layer{dense(0, Linear)}, "layer 1 (dense): it has 0 outputs: want 1 to 4194304"},
		{[]int{1 << 20}, []Layer{dense(17, ReLU)}, "layer 1 (dense): its kernel has 1048576 times 17 values: want at " +
			"most 16515072"},
		{[]int{1000, 1000, 1}, []Layer{conv(1, 100, 1, Same)}, "layer 1 (conv2d): the network is too large here: want at " +
			"most 16515072 parameters, and for one row 4194304 values and 1073741824 products"},
	} {
		if _, err := New(c.input, c.layers, source(1)); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v: want %s", err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(plain, 1, 2, 3))
	f.Add(tiny(f).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse(data)
		if err != nil {
			return
		}
		written := n.Bytes()
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, hex.Dump(written))
		}
		if !bytes.Equal(again.Bytes(), written) {
			t.Error("written twice, the bytes differ")
		}
	})
}
