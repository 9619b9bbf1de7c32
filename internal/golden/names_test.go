package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestConsentAndAuditCallMessagesAlike: an auditor can lay what a person was shown before consent beside the audit's
// report: every kind of message, and of opening, stands there under the same name.
func TestConsentAndAuditCallMessagesAlike(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/contract.toml")
	if err != nil || len(paths) < 25 {
		t.Fatalf("%d golden contracts, %v", len(paths), err)
	}
	const shown = 18 // characters of a name that a line of a report has space for at least
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(t, err)
		c, err := contract.ParseContract(text)
		must(t, err)
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), "report.txt"))
		must(t, err)
		report := string(data)
		for i, party := range c.Job.Parties {
			lines, err := c.Egress(i)
			must(t, err)
			for _, e := range jobs.Folded(jobs.EgressOf(c, lines)) {
				if e.Class == contract.ClassControl.String() {
					continue
				}
				name := e.Kind + " "
				if !strings.Contains(report, "  "+name[:min(len(name), shown)]) {
					t.Errorf("%s: what %s was shown as %q is not in the report", path, party, e.Kind)
				}
			}
		}
		for _, o := range c.Openings {
			if !strings.Contains(report, "("+o.Kind+")") && !strings.Contains(report, " "+strings.TrimSuffix(o.Kind, "s")) {
				t.Errorf("%s: the opening %q is not in the report", path, o.Kind)
			}
		}
	}
}
