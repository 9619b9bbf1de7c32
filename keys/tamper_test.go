package keys

import (
	"bytes"
	"fmt"
	"slices"
)

// tamper calls try with every text that differs from text in one byte: one bit of it flipped,
// the case of a letter changed, left out, or doubled; and with every line left out, doubled or
// swapped with the next, and every beginning of the text. A text equal to the first is not tried.
func tamper(text []byte, try func(what string, text []byte)) {
	attempt := func(what string, at int, changed []byte) {
		if !bytes.Equal(changed, text) {
			try(fmt.Sprintf("%s at %d", what, at), changed)
		}
	}
	for i, b := range text {
		for _, flip := range []byte{0x01, 0x20, 0x80} {
			changed := bytes.Clone(text)
			changed[i] = b ^ flip
			attempt(fmt.Sprintf("byte ^ %#02x", flip), i, changed)
		}
		attempt("byte left out", i, slices.Delete(bytes.Clone(text), i, i+1))
		attempt("byte doubled", i, slices.Insert(bytes.Clone(text), i, b))
		attempt("cut short", i, text[:i])
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i := range lines {
		attempt("line left out", i, bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
		attempt("line doubled", i, bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil))
		if i+1 < len(lines) {
			swapped := slices.Clone(lines)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			attempt("lines swapped", i, bytes.Join(swapped, nil))
		}
	}
}
