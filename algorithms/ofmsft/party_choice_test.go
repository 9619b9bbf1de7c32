package ofmsft

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestChoicesDecodeToWhatWasEncoded for any number of networks.
func TestChoicesDecodeToWhatWasEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		models := rapid.IntRange(1, 40).Draw(t, "models")
		c := newChoice(models)
		for k := range models {
			c.stored[k] = rapid.Bool().Draw(t, "stored")
			c.wanted[k] = c.stored[k] && rapid.Bool().Draw(t, "wanted")
		}
		b := c.encode()
		got, err := decodeChoice(b, models)
		if err != nil || len(b) != choiceSize(models) {
			t.Fatalf("%d bytes, error %v", len(b), err)
		}
		if !slices.Equal(got.stored, c.stored) || !slices.Equal(got.wanted, c.wanted) {
			t.Fatalf("decoded %+v, want %+v", got, c)
		}
	})
}

func TestBadChoicesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		bytes  []byte
		models int
		want   string
	}{
		"nothing":               {nil, 5, "a choice of 0 bytes, want 2"},
		"short":                 {[]byte{1}, 5, "a choice of 1 bytes, want 2"},
		"long":                  {make([]byte, 4), 8, "a choice of 4 bytes, want 2"},
		"beyond the models":     {[]byte{0x20, 0}, 5, "it chooses model 6 of 5"},
		"wanted beyond":         {[]byte{0, 0x80}, 5, "it chooses model 8 of 5"},
		"beyond, in two bytes":  {[]byte{0, 4, 0, 0}, 10, "it chooses model 11 of 10"},
		"wanted and not stored": {[]byte{0x05, 0x02}, 5, "it wants model 2, which it does not store"},
	} {
		if _, err := decodeChoice(c.bytes, c.models); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// TestNumbersOfModelsAreRead with what follows them.
func TestNumbersOfModelsAreRead(t *testing.T) {
	k, rest, err := indexIn(indexed(258, []byte("abc")), 259)
	if k != 258 || string(rest) != "abc" || err != nil {
		t.Errorf("model %d, %q, error %v", k, rest, err)
	}
	_, _, err = indexIn([]byte{1}, 5)
	wantError(t, err, "1 bytes, want a model's number")
	_, _, err = indexIn([]byte{0, 5}, 5)
	wantError(t, err, "model 6 of 5")
}

// FuzzChoice: whatever decodes has an encoding of the same bytes, and wants nothing that it does not store.
func FuzzChoice(f *testing.F) {
	f.Add([]byte{5, 1}, uint8(5))
	f.Add([]byte{0xff, 3, 0x80, 2}, uint8(10))
	f.Fuzz(func(t *testing.T, b []byte, models uint8) {
		c, err := decodeChoice(b, int(models))
		if err != nil {
			return
		}
		if !bytes.Equal(c.encode(), b) {
			t.Fatalf("%x becomes %x", b, c.encode())
		}
		for k := range c.stored {
			if c.wanted[k] && !c.stored[k] {
				t.Fatalf("model %d is wanted and not stored", k+1)
			}
		}
	})
}
