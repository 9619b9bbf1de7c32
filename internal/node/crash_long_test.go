//go:build long

package node

import (
	"strings"
	"testing"
)

// crashStep is how many writes lie between two kills.
const crashStep = 1

// TestKillsAtWritesInSealedJobs, in every role.
func TestKillsAtWritesInSealedJobs(t *testing.T) {
	for victim, role := range []string{"label holder", "keeper", "helper"} {
		t.Run(role, func(t *testing.T) {
			killEverywhere(t, crashCase{victim: victim, sealed: true, text: smallSealedCrash}, crashStep)
		})
		t.Run(role+", logistic", func(t *testing.T) {
			text := strings.Replace(smallSealedCrash, `"square"`, `"logistic"`, 1)
			killEverywhere(t, crashCase{victim: victim, sealed: true, text: text}, crashStep)
		})
	}
}

// TestKillsAtEachWriteOfAnAlignment, in every role and mode.
func TestKillsAtEachWriteOfAnAlignment(t *testing.T) {
	for mode, text := range map[string]string{"by points": "", "by a helper": helperAlignment} {
		for victim, role := range []string{"asker", "keeper", "third party"} {
			t.Run(mode+", "+role, func(t *testing.T) {
				killEverywhere(t, crashCase{victim: victim, align: true, text: text}, crashStep)
			})
		}
	}
}
