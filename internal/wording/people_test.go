package wording

import (
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 9999: "9999 B", 10_000: "10.0 kB", 75_022_336: "75.0 MB",
		12_345_678_901: "12.3 GB"} {
		if got := Size(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}

// TestCommandsAreNotBroken: a command in a sentence can be copied from a screen as one line.
func TestCommandsAreNotBroken(t *testing.T) {
	for text, want := range map[string]string{
		"ask again by hanse align c --keys phone, which compares telephone numbers": `ask again by
hanse align c --keys phone,
which compares telephone
numbers
`,
		"it has none (hanse jobs --dir x) and two words of hanse audit may": `it has none
(hanse jobs --dir x) and two
words of hanse audit may
`,
		"without flags hanse is a word of prose, hanse like one with a long way to -": `without flags hanse is a
word of prose, hanse like
one with a long way to -
`,
		"longer than the line is hanse align c --keys phone --dir telco": `longer than the line is
hanse align c --keys phone
--dir telco
`,
		"it ends in hanse": "it ends in hanse\n",
	} {
		if got := Wrap(28, "", text); got != want {
			t.Errorf("%q is broken into\n%swant\n%s", text, got, want)
		}
	}
}

func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Hour: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min",
		59*time.Minute + 59*time.Second: "59 min", 47*time.Hour + 59*time.Minute: "47 h", 48 * time.Hour: "2 d",
		-1 << 63: "0 s"} {
		if got := Age(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
