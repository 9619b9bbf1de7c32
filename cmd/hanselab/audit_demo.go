package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit"
)

// auditedDemo runs the demo with these flags and returns what its audit found. A demo that ends with
// an exit code after a verdict that calls for one has done its work.
func (p *program) auditedDemo(ctx context.Context, flags ...string) (*audit.Report, error) {
	cmd, out, said := p.demoCommand(ctx, flags)
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	report, unread := readAudit(out.Bytes())
	if err != nil && (unread != nil || report.Verdict == audit.Clean || report.Verdict == audit.Disclosed && report.Exit == audit.ExitClean) {
		return nil, fmt.Errorf("hanse demo %s: %w\n%s", strings.Join(flags, " "), err, lastLines(said.Bytes(), 8))
	}
	return report, unread
}

// readAudit takes the audit out of a demo's result.
func readAudit(text []byte) (*audit.Report, error) {
	var result struct {
		Audit *audit.Report `json:"audit"`
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("hanse demo prints no result that can be read: %w", err)
	}
	if result.Audit == nil || result.Audit.Verdict == "" {
		return nil, errors.New("hanse demo prints a result without an audit")
	}
	return result.Audit, nil
}
