package page

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
)

// broken breaks lines for a terminal.
func broken(lines []textLine) string {
	var b strings.Builder
	for _, l := range lines {
		indent := strings.Repeat(" ", l.Indent) + l.Cells[0].Gap
		if len(l.Cells) == 1 && l.Cells[0].Text != "" {
			b.WriteString(wording.Wrap(wording.Columns, indent, l.Cells[0].Text))
			continue
		}
		b.WriteString(indent + l.Cells[0].Text)
		for _, c := range l.Cells[1:] {
			b.WriteString(c.Gap + c.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestContractsAreWholeOnAnyScreen: what a page shows of every golden contract, broken again as for a terminal, is what
// hanse approve shows, to the letter; its sentences are whole.
func TestContractsAreWholeOnAnyScreen(t *testing.T) {
	paths, err := filepath.Glob("../golden/testdata/*/contract.toml")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d golden contracts, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		c, err := contract.ParseContract(data)
		must(t, err)
		text := summary.Of(c, c.Job.Parties[0], summary.Known{}).String()
		lines := unbroken(text)
		if got := broken(lines); got != text {
			t.Errorf("%s is shown as\n%s\nand is\n%s", path, got, text)
		}
		if got := strings.Count(text, "\n"); len(lines) >= got {
			t.Errorf("%s: %d lines became %d", path, got, len(lines))
		}
	}
}

// TestNoWordIsLost: of whatever text, every word is shown, in its order.
func TestNoWordIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.StringMatching(`[a-zä<&.]{1,30}`), rapid.StringMatching(` {1,20}`), rapid.Just("\n"))
		text := strings.Join(rapid.SliceOfN(piece, 0, 80).Draw(t, "pieces"), "")
		var words []string
		for _, l := range unbroken(text) {
			for _, c := range l.Cells {
				words = append(words, strings.Fields(c.Text)...)
			}
		}
		if want := strings.Fields(text); !slices.Equal(words, want) {
			t.Fatalf("%q, want %q", words, want)
		}
	})
}
