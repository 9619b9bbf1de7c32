package render

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/audit/finding"
)

var update = flag.Bool("update", false, "write the golden files anew; look at the difference before keeping it")

// renderings are the two forms of a report by the ending of their files.
var renderings = map[string]func(io.Writer, *finding.Report) error{".txt": Text, ".html": HTML}

// render returns a report as text or page.
func render(t testing.TB, ending string, r *finding.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, renderings[ending](&b, r))
	return b.Bytes()
}

func TestReportsAreThoseOfTheGoldenFiles(t *testing.T) {
	for name, r := range fixtures() {
		for ending := range renderings {
			got := render(t, ending, r)
			path := filepath.Join("testdata", name+ending)
			if *update {
				must(t, os.WriteFile(path, got, 0o644))
			}
			want, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what was rendered; run the test with -update and look at the difference", path)
			}
		}
	}
}
