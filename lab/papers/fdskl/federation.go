package fdskl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// FederationRun is a training between parties that are linked as they would be on machines of their own, but share
// this one.
type FederationRun struct {
	Seconds    float64 `json:"seconds"` // by the clock
	CPUSeconds float64 `json:"cpu_seconds"`
	Error      float64 `json:"test_error"`
	Bytes      int64   `json:"bytes"` // sent by all parties
}

// federation trains under masks along a tree, between four parties over the program's links: TLS 1.3 over TCP.
func (l *Lab) federation(ctx context.Context, r *rows, p fdskl.Params) (run FederationRun, err error) {
	n, err := openTLS(ctx, len(r.data.Names), l.Work)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	sessions, end, err := n.sessions(ctx, 0)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, end()) }()
	dir, err := os.MkdirTemp(l.Work, "parties-")
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p.Active = r.data.Names[:1]
	if err := p.Validate(r.data.Names); err != nil {
		return run, err
	}
	var scores []float64
	start := time.Now()
	run.CPUSeconds, err = l.timed(func() error {
		return n.each(func(i int) error {
			m, net, err := trainParty(ctx, n, sessions[i], r, p, i, filepath.Join(dir, r.data.Names[i]))
			if err != nil {
				return fmt.Errorf("%s: %w", r.data.Names[i], err)
			}
			if i == 0 {
				run.Seconds = time.Since(start).Seconds()
			}
			f, err := scoreParty(ctx, net, r, m, i)
			if i == 0 {
				scores = f
			}
			return err
		})
	})
	if err != nil {
		return run, err
	}
	for i, s := range sessions {
		for j := range sessions {
			if i != j {
				sent, _ := s.Traffic(j)
				run.Bytes += sent
			}
		}
	}
	run.Error = rivals.Errors(scores, r.split.TestLabels)
	return run, nil
}

// trainParty is one party's part of a training.
func trainParty(
	ctx context.Context, n *network, s *protocol.Session, r *rows, p fdskl.Params, i int, dir string,
) (*fdskl.Model, joint.Network, error) {
	prepared, err := vertical.PrepareTraining(r.data.Train[i], p.Goal(), i == 0)
	if err != nil {
		return nil, nil, err
	}
	v, err := vault.Open(dir, vault.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer v.Close()
	sums, err := secagg.NewMasked(s, n.ids(), contract.Tree)
	if err != nil {
		return nil, nil, err
	}
	net := maskedNetwork{s, sums}
	m, err := fdskl.Train(ctx, &fdskl.Party{
		Self: i, Names: r.data.Names, Params: p, Privacy: fdskl.Masked, Rows: prepared.Rows.Rows,
		Labels: prepared.Labels, Network: net, Vault: v, Workers: 1,
		Parts: []fdskl.Part{{Owner: r.owners[i], Normaliser: prepared.Normaliser, Rows: prepared.Rows,
			Phase: fdskl.PhaseSeed(keys.HashOf("lab phase", []byte(p.Seed), []byte{byte(i)}))}},
	})
	if err != nil {
		return nil, nil, err
	}
	m.Columns = prepared.Columns
	return m, net, nil
}

// scoreParty is one party's part of the scoring of the test rows; the scores open to the first party.
func scoreParty(ctx context.Context, net joint.Network, r *rows, m *fdskl.Model, i int) ([]float64, error) {
	s, err := fdskl.NewScorer(fdskl.Scoring{Self: i, Models: []*fdskl.Model{m}, Network: net, Workers: 1})
	if err != nil {
		return nil, err
	}
	var scores []float64
	test := r.data.Test[i]
	for lo := 0; lo < test.Rows(); lo += joint.ScoreRows {
		rows, err := vertical.PrepareScoring(test.Slice(lo, min(lo+joint.ScoreRows, test.Rows())), m.Model())
		if err != nil {
			return nil, err
		}
		f, err := s.Score(ctx, []*kernel.Matrix{rows})
		if err != nil {
			return nil, err
		}
		scores = append(scores, f...)
	}
	return scores, nil
}

// maskedNetwork is a session as FDSKL sees it, its sums under masks.
type maskedNetwork struct {
	*protocol.Session
	sums *secagg.Masked
}

// reals is how sums of real numbers are encoded.
var reals = secagg.Fixed{Bits: 36, Bound: joint.RealBound}

// SumTurns implements joint.Summer.
func (n maskedNetwork) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	return n.sums.SumTurns(ctx, kind, root, v)
}

// SumReals implements joint.Summer.
func (n maskedNetwork) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	return n.sums.SumFixed(ctx, kind, root, reals, v)
}

// SumTree implements joint.TreeSummer: masked jobs have no such sums.
func (n maskedNetwork) SumTree(context.Context, string, int, int, int, []float64) error {
	return errors.New("a masked training has no sums in the clear")
}

// Broadcast implements joint.Broadcaster.
func (n maskedNetwork) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	return n.Session.Broadcast(ctx, kind, contract.ClassControl, root, data, limit)
}
