package audits

import (
	"context"
	"errors"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/lab"
)

// auditedDemo runs the demo with these flags and returns what its audit found. A demo that ends with an exit code
// after a verdict that calls for one has done its work.
func auditedDemo(ctx context.Context, p *lab.Program, flags ...string) (*audit.Report, error) {
	var result struct {
		Audit *audit.Report `json:"audit"`
	}
	_, err := p.Demo(ctx, &result, flags...)
	r := result.Audit
	switch none := r == nil || r.Verdict == ""; {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && (none || r.Verdict == audit.Clean || r.Verdict == audit.Disclosed &&
		r.Exit == audit.ExitClean):
		return nil, err
	case none:
		return nil, errors.New("hanse demo prints a result without an audit")
	}
	return r, nil
}
