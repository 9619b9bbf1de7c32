package transcript

import (
	"os"
	"strings"
	"testing"
)

// TestTheDocumentHasTheLayouts holds docs/transcript.md against the layouts beside the code.
func TestTheDocumentHasTheLayouts(t *testing.T) {
	page, err := os.ReadFile("../../docs/transcript.md")
	must(t, err)
	for file, lines := range map[string]int{"header.go": 10, "record.go": 20} {
		source, err := os.ReadFile(file)
		must(t, err)
		n := 0
		for line := range strings.Lines(string(source)) {
			layout, ok := strings.CutPrefix(line, "//\t")
			if !ok {
				continue
			}
			n++
			if !strings.Contains(string(page), "\n"+layout) {
				t.Errorf("docs/transcript.md lacks the line %q of %s", layout, file)
			}
		}
		if n != lines {
			t.Errorf("%s has a layout of %d lines, want %d", file, n, lines)
		}
	}
}
