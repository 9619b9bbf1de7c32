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
	if err := renderings[ending](&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReportsAreThoseOfTheGoldenFiles(t *testing.T) {
	for name, r := range fixtures() {
		for ending := range renderings {
			got := render(t, ending, r)
			path := filepath.Join("testdata", name+ending)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what was rendered; run the test with -update and look at the difference", path)
			}
		}
	}
}
