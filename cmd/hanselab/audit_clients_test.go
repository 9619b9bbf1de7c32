package main

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/simfed"
)

// TestSensorsAreAudited published and masked, and the tables say what was found.
func TestSensorsAreAudited(t *testing.T) {
	j := clientsJob{"gfml", func() (simfed.Job, error) { return sensorsGFML(20, 200) },
		map[string]int{simfed.Published: 20, simfed.Masked: 20}, "iterations"}
	var r clientsReport
	for _, protection := range []string{simfed.Published, simfed.Masked} {
		run, err := j.run(t.Context(), protection)
		if err != nil {
			t.Fatal(err)
		}
		r.Runs = append(r.Runs, *run)
	}
	if err := r.judge(); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	if err := r.print(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"clients' updates", "clients' masked updates", " leak |", " 100.0 |", "membership"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, &text)
		}
	}
	r.Runs[1].Report.Verdict = audit.Leak
	if err := r.judge(); err == nil || !strings.Contains(err.Error(), "gfml, masked: the audit's verdict is leak, want disclosed") {
		t.Errorf("error %v", err)
	}
}
