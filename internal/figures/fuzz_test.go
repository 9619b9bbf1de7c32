package figures

import (
	"bytes"
	"testing"
)

// FuzzDecision: what decodes is a decision that can be used, and encodes to what decodes to the same.
func FuzzDecision(f *testing.F) {
	s := drawn(50, 0.4, 1, 1)
	d, err := NewDecision("rows", s.Labels, s.Scores)
	must(f, err)
	data, err := d.Encode()
	must(f, err)
	f.Add(data)
	f.Add([]byte(`{"rule":"youden","cuts":[{}]}`))
	f.Add([]byte(`{"rule":"zero"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := DecodeDecision(data)
		if err != nil {
			return
		}
		first, err := d.Encode()
		must(t, err)
		again, err := DecodeDecision(first)
		must(t, err)
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s encodes to %s (%v)", first, second, err)
		}
		for _, kind := range []string{Zero, Youden} {
			d.Choose(Rule{Kind: kind})
		}
		d.Choose(Rule{Kind: Cost, Amount: 2})
	})
}
