package fdskl

import (
	"bytes"
	"encoding/hex"
	"flag"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

var update = flag.Bool("update", false, "write golden files anew")

// goldenFile holds a model part's bytes as commented hex: what one version wrote, all later ones read.
const goldenFile = "testdata/model-v2.hex"

// goldenModel is the model part in goldenFile.
func goldenModel() *Model {
	p := Params{Active: []string{"bank"}, Label: "default", Features: 4, Lambda: 1e-6, Sigma: 0.5,
		Seed: "golden"}.WithDefaults()
	return &Model{
		Version: 2, Contract: keys.HashOf("golden contract"), Owner: keys.ID(keys.HashOf("golden owner")),
		Names: []string{"bank", "telco",
			"shop"}, Params: p, Privacy: Masked, Sigma: 0.5, Phase: PhaseSeed(keys.HashOf("golden phase")),
		Normaliser: &kernel.Normaliser{Columns: []kernel.Scale{
			{Column: "age", Scaling: kernel.MinMax, Shift: 18, Divisor: 70},
			{Column: "city", Scaling: kernel.OneHot, Levels: []string{"Kiel", "Riga"}},
		}},
		Columns: []string{"age", "city"}, Held: []Run{{First: 0, Count: 4}}, Alpha: []float64{0.1, -2, 1e-9, 3},
		Intercept: 0.25,
		Scale:     1, Classes: []string{"paid", "default"}, Objective: math.NaN(), TrainError: 0.125, Iterations: 17,
		Reading: &joint.Reading{Missing: "median", NA: []string{"-"}, NAChosen: true,
			DateOrders: map[string]string{"since": "iso"}},
	}
}

// readGolden returns the bytes of goldenFile.
func readGolden(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(goldenFile)
	mustDo(t, err)
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	data, err := hex.DecodeString(digits.String())
	mustDo(t, err)
	return data
}

// annotate writes a model part's bytes with a comment for each field.
func annotate(t *testing.T, data []byte) string {
	t.Helper()
	var fields map[int]cbor.RawMessage
	mustDo(t, cbor.Unmarshal(data, &fields))
	var out strings.Builder
	out.WriteString("# A model part, version 2: a CBOR map from field numbers to values.\n")
	out.WriteString(hex.EncodeToString(data[:1]) + " # fields\n")
	kind := reflect.TypeFor[Model]()
	for i := range kind.NumField() {
		text, _, _ := strings.Cut(kind.Field(i).Tag.Get("cbor"), ",")
		number, err := strconv.Atoi(text)
		mustDo(t, err)
		if fields[number] == nil {
			continue
		}
		key, err := cbor.Marshal(number)
		mustDo(t, err)
		out.WriteString("\n# " + hex.EncodeToString(key) + " " + kind.Field(i).Name + "\n" + hex.EncodeToString(key))
		for value := range chunks(fields[number], 40) {
			out.WriteString(" " + hex.EncodeToString(value) + "\n")
		}
	}
	return out.String()
}

// chunks cuts data into runs of n bytes.
func chunks(data []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			m := min(n, len(data))
			if !yield(data[:m]) {
				return
			}
			data = data[m:]
		}
	}
}

// TestGoldenModel holds the encoding still.
func TestGoldenModel(t *testing.T) {
	data, err := goldenModel().Encode()
	mustDo(t, err)
	if *update {
		mustDo(t, os.WriteFile(goldenFile, []byte(annotate(t, data)), 0o644))
	}
	if want := readGolden(t); !bytes.Equal(data, want) {
		t.Errorf("the encoding has changed:\n%x, want\n%x", data, want)
	}
	m, err := DecodeModel(readGolden(t))
	mustDo(t, err)
	want := goldenModel()
	if !math.IsNaN(m.Objective) {
		t.Errorf("objective is %v, want NaN", m.Objective)
	}
	m.Objective, want.Objective = 0, 0
	if !reflect.DeepEqual(m, want) {
		t.Errorf("decoded\n%+v, want\n%+v", m, want)
	}
}

// TestTrainedModelsDecode encodes and decodes the model parts of all kinds of training.
func TestTrainedModelsDecode(t *testing.T) {
	for name, p := range jobs() {
		f := newFixture(t, 3, 40, 2, p)
		for i, m := range f.train(t) {
			data := bytesOf(t, m)
			again, err := DecodeModel([]byte(data))
			if err != nil {
				t.Errorf("%s, party %d: %v", name, i, err)
				continue
			}
			if bytesOf(t, again) != data {
				t.Errorf("%s, party %d: the decoded part has other bytes", name, i)
			}
		}
	}
}

// TestBadModels are refused with the reason.
func TestBadModels(t *testing.T) {
	for _, c := range []struct {
		spoil func(m *Model)
		want  string
	}{
		{func(m *Model) { m.Version = 1 }, "model part: version is 1, this program reads version 2"},
		{func(m *Model) { m.Params.Features = 0 }, "model part: features is 0, want 1 to 1048576"},
		{func(m *Model) { m.Names = nil }, `model part: active party "bank" is not among the job's parties`},
		{func(m *Model) { m.Privacy = "secret" }, `model part: privacy is "secret", want "published", "masked" or "sealed"`},
		{func(m *Model) { m.Normaliser = nil }, "model part: the normaliser is missing"},
		{func(m *Model) { m.Normaliser.Columns[0].Divisor = 0 }, `model part: normaliser, column "age": shift 18 and divisor 0 must be finite, and the divisor positive`},
		{func(m *Model) { m.ToGo = math.Inf(1) }, "model part: the optimum is +Inf standard errors away, want a positive " +
			"number, or none"},
		{func(m *Model) { m.Sigma = 0 }, "model part: sigma is 0, want a positive number"},
		{func(m *Model) { m.Sigma = math.Inf(1) }, "model part: sigma is +Inf, want a positive number"},
		{func(m *Model) { m.Intercept = math.NaN() }, "model part: intercept is NaN, want a finite number"},
		{func(m *Model) { m.Mean = math.Inf(-1) }, "model part: mean is -Inf, want a finite number"},
		{func(m *Model) { m.Scale = 0 }, "model part: scale is 0, want a positive number"},
		{func(m *Model) { m.Scale = 3 }, "model part: mean 0 and scale 3 of classes, want 0 and 1"},
		{func(m *Model) { m.Alpha[2] = math.NaN() }, "model part: coefficient 3 is NaN, want a finite number"},
		{func(m *Model) { m.Alpha = m.Alpha[:2] }, "model part: 2 coefficients for 4 features"},
		{func(m *Model) { m.Held[0].First = 1 }, "model part: 4 features from number 1 on, of 4, are out of range or order"},
		{func(m *Model) { m.Held = []Run{{math.MaxInt, 1}} }, "model part: 1 features from number 9223372036854775807 " +
			"on, of 4, are out of range or order"},
		{func(m *Model) { m.Held = []Run{{1, 1}, {0, 2}} }, "model part: 2 features from number 0 on, of 4, are out of " +
			"range or order"},
		{func(m *Model) { m.Params.Target, m.Params.Loss = joint.Regression, "square" }, `model part: classes ["paid" "default"] of a regression target, want none`},
	} {
		m := goldenModel()
		c.spoil(m)
		_, err := DecodeModel([]byte(bytesOf(t, m)))
		wantError(t, err, c.want)
	}
	long := append(readGolden(t), 0)
	if _, err := DecodeModel(long); err == nil {
		t.Error("a model part with a byte behind it is taken")
	}
	if _, err := DecodeModel(readGolden(t)[:100]); err == nil {
		t.Error("half a model part is taken")
	}
	indefinite := append([]byte{0xbf}, append(readGolden(t)[1:], 0xff)...)
	_, err := DecodeModel(indefinite)
	if err == nil {
		t.Error("another encoding of the same model part is taken")
	}
}

// FuzzDecodeModel never panics; what decodes encodes to the same bytes again.
func FuzzDecodeModel(f *testing.F) {
	f.Add(readGolden(f))
	m := goldenModel()
	m.Held, m.Alpha, m.Reading, m.Objective = nil, nil, nil, 0.5
	data, err := m.Encode()
	mustDo(f, err)
	f.Add(data)
	if data, err = classModel().Encode(); err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{0xbf, 1, 1, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeModel(data)
		if err != nil {
			return
		}
		if again, err := m.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%x encodes to %x, error %v", data, again, err)
		}
	})
}
