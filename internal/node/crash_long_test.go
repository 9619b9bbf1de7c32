//go:build long

package node

import (
	"strings"
	"testing"
)

// TestKillsAtWritesInSealedJobs, in every role.
func TestKillsAtWritesInSealedJobs(t *testing.T) {
	for victim, role := range []string{"label holder", "keeper", "helper"} {
		t.Run(role, func(t *testing.T) {
			killEverywhere(t, crashCase{victim: victim, sealed: true, text: smallSealedCrash})
		})
		t.Run(role+", logistic", func(t *testing.T) {
			text := strings.Replace(smallSealedCrash, `"square"`, `"logistic"`, 1)
			killEverywhere(t, crashCase{victim: victim, sealed: true, text: text})
		})
	}
}

// TestKillsAtEachWriteOfAnAlignment, in every role and mode.
func TestKillsAtEachWriteOfAnAlignment(t *testing.T) {
	for mode, text := range map[string]string{"by points": "", "by a helper": helperAlignment} {
		for victim, role := range []string{"asker", "keeper", "third party"} {
			t.Run(mode+", "+role, func(t *testing.T) {
				killEverywhere(t, crashCase{victim: victim, align: true, text: text})
			})
		}
	}
}
