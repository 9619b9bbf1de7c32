package jobs

import (
	"strings"
	"testing"
)

func TestTruncationsAreFoldedInTablesAlone(t *testing.T) {
	lines := []Egress{
		{Kind: "gram in", To: "telco", Class: "masked", Encoding: "ring48", Shape: []int64{10}, MaxFrames: 1, MaxBytes: 60,
			Frames: 1, Bytes: 60, Padded: true},
		{Kind: "scores", To: "telco", Class: "masked", Encoding: "fixed64", Shape: []int64{3}, MaxBytes: 24},
		{Kind: "gram carry", To: "bank", Class: "masked", Encoding: "fixed64", Shape: []int64{10}, MaxFrames: 1,
			MaxBytes: 80, Frames: 1, Bytes: 80, Padded: true},
		{Kind: "gram out", To: "bank, telco", Class: "masked", Encoding: "fixed64", Shape: []int64{20}, MaxFrames: 1,
			MaxBytes: 160, Padded: true},
		{Kind: "step in", To: ToAll, Class: "masked", Encoding: "fixed64", Shape: []int64{2, 4}, MaxBytes: 64, Padded: true},
		{Kind: "step out", To: "bank", Class: "masked", Encoding: "fixed64", Shape: []int64{8}, MaxBytes: 64, Padded: true},
		{Kind: "done", To: "bank", Class: "control", Encoding: "bytes"},
		{Kind: "done", To: "telco", Class: "control", Encoding: "bytes"},
	}
	var out strings.Builder
	WriteEgress(&out, lines, true)
	want := `  message            to                content    at most  sent
      protected how
  gram (truncation)  bank, telco       40 words   300 B    140 B
      one-time pads: noise to whoever receives it
  scores             telco             3 fixed64  24 B     0 B
      one-time masks: noise to whoever receives it
  step (truncation)  each other party  16 words   128 B    0 B
      one-time pads: noise to whoever receives it
  control            all               -          0 B      0 B
      keys, signatures, counters: nothing of the data
  control is done
`
	if out.String() != want {
		t.Errorf("table is\n%s\nwant\n%s", out.String(), want)
	}
	if lines[0].Kind != "gram in" || lines[0].MaxBytes != 60 || len(lines) != 8 {
		t.Errorf("the lines themselves changed: %+v", lines)
	}
}
