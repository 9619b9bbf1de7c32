package terminal

import (
	"strings"
	"testing"
)

// TestColoursAreTheProgramsWord: what stands for how something went is coloured where the program says it, at a line's
// beginning or in its last cell; the same words of others inside a line are not.
func TestColoursAreTheProgramsWord(t *testing.T) {
	for text, want := range map[string]string{
		"CLEAN: nothing\n":                          "<32>CLEAN:<0> nothing\n",
		"  LEAK: a row\n":                           "<31>  LEAK:<0> a row\n",
		"hanse: no node\n":                          "<31>hanse:<0> no node\n",
		"3f9a  credit  done\n":                      "3f9a  credit<32>  done<0>\n",
		"bank will learn 3 bits; any two\n":         "bank <33>will learn 3 bits<0>; any two\n",
		"bank will be able to rebuild it.\n":        "bank <31>will be able to rebuild it<0>.\n",
		"  purpose: CLEAN: nothing leaves\n":        "  purpose: CLEAN: nothing leaves\n",
		"  reason: it is done\n":                    "  reason: it is done\n",
		"  reason: hanse: the audit is CLEAN: ok\n": "  reason: hanse: the audit is CLEAN: ok\n",
	} {
		var out strings.Builder
		if n, err := (painter{&out}).Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d bytes are written, %v", text, n, err)
		}
		shown := strings.NewReplacer("\033[31m", "<31>", "\033[32m", "<32>", "\033[33m", "<33>", "\033[0m", "<0>")
		if got := shown.Replace(out.String()); got != want {
			t.Errorf("%q is painted %q, want %q", text, got, want)
		}
	}
}
