package wording

import (
	"strings"
	"testing"
)

func TestDidYouMean(t *testing.T) {
	known := []string{"train", "predict", "table", "bank", "north-park"}
	for word, want := range map[string]string{
		"tarin": "train", "Train": "train", "predct": "predict", "tabel": "table", "banc": "bank", "northpark": "north-park",
		"x": "", "insurer": "", "": "", strings.Repeat("train", 1000): "",
	} {
		want := want
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got := DidYouMean(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}
