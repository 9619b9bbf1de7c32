//go:build !race

package node

import (
	"testing"

	"github.com/hanse-project/hanse/audit"
)

// TestLargeAuditOfShards audits what workers recorded. The race detector makes such audits too slow.
func TestLargeAuditOfShards(t *testing.T) {
	for verdict, j := range map[audit.Verdict]shardedJob{
		audit.Clean:     {privacy: "sealed", parameters: ridgeOfShards, shards: 3},
		audit.Disclosed: {privacy: "masked", parameters: "loss = \"square\"", shards: 2},
	} {
		t.Run(j.privacy, func(t *testing.T) {
			j.record, j.rows, j.features, j.scored = "full", 4200, 256, 2
			l, trained, scored := j.run(t)
			l.wantVerdict(trained, verdict)
			l.wantVerdict(scored, verdict)
		})
	}
}
