package checkpoint

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// domain is that of the states in these tests.
const domain = "hanse checkpoint test v1"

// limits are theirs.
func limits() Limits { return Limits{Bytes: 1000, Elements: 20} }

// sample is a state.
type sample struct {
	Version int       `cbor:"1,keyasint"`
	Job     []byte    `cbor:"2,keyasint"`
	Theta   []float64 `cbor:"3,keyasint"`
	Applied int       `cbor:"4,keyasint,omitempty"`
}

// seal seals a state or ends the test.
func seal(t testing.TB, s *sample) []byte {
	t.Helper()
	data, err := Seal(domain, s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// closed appends the checksum of any body.
func closed(body []byte) []byte {
	sum := keys.HashOf(domain, body)
	return append(bytes.Clone(body), sum[:]...)
}

// wantError wants an error of this text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); got != want {
		t.Errorf("error is\n\t%s\nwant\n\t%s", got, want)
	}
}

// TestBytesDoNotChange holds the encoding of a small state and its checksum.
func TestBytesDoNotChange(t *testing.T) {
	data := seal(t, &sample{Version: 1, Job: []byte{1, 2}, Theta: []float64{0.5, -2, 0.1}, Applied: 3})
	// map of 4; 1: 1; 2: 2 bytes; 3: half 0.5, half -2, double 0.1; 4: 3
	const want = "a40101024201020383f93800f9c000fb3fb999999999999a0403"
	if got := hex.EncodeToString(data[:len(data)-32]); got != want {
		t.Errorf("bytes are\n%s, want\n%s", got, want)
	}
	if sum := keys.HashOf(domain, data[:len(data)-32]); !bytes.Equal(data[len(data)-32:], sum[:]) {
		t.Errorf("the checksum is %x, want %x", data[len(data)-32:], sum[:])
	}
}

// TestABufferGetsTheSameBytes, behind what is in it.
func TestABufferGetsTheSameBytes(t *testing.T) {
	s := &sample{Version: 1, Job: []byte{1, 2}, Theta: []float64{0.5, -2, 0.1}, Applied: 3}
	want, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.NewBufferString("before")
	if err := EncodeTo(b, s); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != "before"+string(want) {
		t.Errorf("the buffer has %x, want %x behind %q", got, want, "before")
	}
}

// TestStatesComeBackAsTheyWere, of any numbers.
func TestStatesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sample{Version: rapid.Int().Draw(t, "version"), Job: rapid.SliceOf(rapid.Byte()).Draw(t, "job"),
			Theta: rapid.SliceOfN(rapid.Float64(), 0, 20).Draw(t, "theta"), Applied: rapid.Int().Draw(t, "applied")}
		data, err := Seal(domain, &s)
		if err != nil {
			t.Fatal(err)
		}
		back := new(sample)
		if err := Unseal(domain, data, back, limits()); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(*back), fmt.Sprint(s); got != want {
			t.Fatalf("state %s, want %s", got, want)
		}
	})
}

// TestBadStatesAreRefused by name.
func TestBadStatesAreRefused(t *testing.T) {
	good := seal(t, &sample{Version: 1, Theta: []float64{1}})
	const damaged = "state: its checksum is not the one of its bytes: it is damaged, or of another kind"
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":   {nil, "state of 0 bytes, want at least 32"},
		"short":   {good[:20], "state of 20 bytes, want at least 32"},
		"long":    {make([]byte, 1001), "state of 1001 bytes, at most 1000 are read"},
		"cut":     {good[:len(good)-1], damaged},
		"no body": {closed(nil), "state: EOF"},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, Unseal(domain, c.data, new(sample), limits()), c.want) })
	}
	for i := range 8 * len(good) {
		flipped := bytes.Clone(good)
		flipped[i/8] ^= 1 << (i % 8)
		wantError(t, Unseal(domain, flipped, new(sample), limits()), damaged)
	}
	wantError(t, Unseal("hanse checkpoint other v1", good, new(sample), limits()), damaged)
	wantError(t, Decode(make([]byte, 1001), new(sample), limits()), "1001 bytes, want at most 1000")
}

// TestOtherBytesOfAStateAreRefused, with a good checksum.
func TestOtherBytesOfAStateAreRefused(t *testing.T) {
	const other = "state: its bytes are not the ones that this state has"
	for name, c := range map[string]struct{ body, want string }{
		"longer number":   {"a30101" + "0240" + "0381" + "fb3ff0000000000000", other},
		"another order":   {"a30101" + "0380" + "0240", other},
		"a zero too much": {"a40101" + "0240" + "0380" + "0400", other},
		"missing field":   {"a20101" + "0240", other},
		"field twice":     {"a40101" + "0240" + "0380" + "0101", "duplicate map key"},
		"unknown field":   {"a40101" + "0240" + "0380" + "0500", "unknown field"},
		"long list":       {"a30101" + "0240" + "0395" + strings.Repeat("00", 21), "exceeded max number of elements 20"},
		"more behind":     {"a30101" + "0240" + "0380" + "00", "1 bytes of extraneous data"},
		"text":            {"a30101" + "0240" + "036161", "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := hex.DecodeString(c.body)
			if err != nil {
				t.Fatal(err)
			}
			err = Unseal(domain, closed(body), new(sample), limits())
			if err == nil || !strings.HasPrefix(err.Error(), "state: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestChecks(t *testing.T) {
	wantError(t, CheckVersion(2, 1), "state: version is 2, this program reads version 1")
	a, b := keys.HashOf("a"), keys.HashOf("b")
	wantError(t, CheckJob(a, b, "parameters"),
		fmt.Sprintf("state: it belongs to a job with other parameters, %s, want %s", a.Short(), b.Short()))
	wantError(t, CheckVector("theta", []float64{1, 2}, 3), "state: theta has 2 numbers, want 3")
	wantError(t, CheckVector("theta", []float64{1, math.NaN()}, 2),
		"state: number 2 of theta is NaN, want a finite number")
	wantError(t, CheckFinite("rows", []float32{float32(math.Inf(-1))}),
		"state: number 1 of rows is -Inf, want a finite number")
	for _, err := range []error{CheckVersion(1, 1), CheckJob(a, a, "parameters"), CheckVector("theta", nil, 0),
		CheckFinite("rows", []float32{1, 2})} {
		if err != nil {
			t.Error(err)
		}
	}
}

// FuzzUnseal repairs the checksum of any body: whatever is read is sealed as the same bytes.
func FuzzUnseal(f *testing.F) {
	good := seal(f, &sample{Version: 1, Job: []byte{7}, Theta: []float64{0.5, 1e300}, Applied: -3})
	f.Add(good[:len(good)-32])
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		data, s := closed(body), new(sample)
		if Unseal(domain, data, s, limits()) == nil && !bytes.Equal(seal(t, s), data) {
			t.Fatal("other bytes")
		}
	})
}
