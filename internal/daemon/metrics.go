package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/internal/disk"
	"github.com/hanse-project/hanse/internal/metrics"
	"github.com/hanse-project/hanse/internal/wording"
)

// serveMetrics lets programs watch the node.
func (d *Daemon) serveMetrics(ctx context.Context) error {
	return metrics.Serve(ctx, d.metrics, metrics.Source{Status: d.node.Status, Ready: d.ready})
}

// ready says what the node has of what jobs need.
func (d *Daemon) ready() []metrics.Readiness {
	charter := d.node.Charter()
	self, member := charter.Member(d.self)
	all := []metrics.Readiness{{Name: "key"}, {Name: "charter", Err: charter.Complete()}, {Name: "disk"},
		{Name: "listening"}}
	if !member {
		all[0].Err = fmt.Errorf("it is no member's of charter %s, version %d", charter.Name, charter.Version)
	}
	if space, err := disk.Of(d.patient.Dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		all[2].Err = err
	} else if space.Level() == disk.Full {
		all[2].Err = fmt.Errorf("%s are free", wording.Size(space.Free))
	}
	if len(self.Addresses) > 0 && len(d.host.Addresses()) == 0 {
		all[3].Err = errors.New("nowhere, and the charter has addresses of this member")
	}
	return all
}
