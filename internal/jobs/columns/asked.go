package columns

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/rss"
)

// kindKnown is the broadcast by which the receiver of a sealed prediction of all rows says of each whether it has its
// score already: a bit a row, the lowest of a byte first.
const kindKnown = "known"

// askedRowsFile is, in the folder of a prediction, what its receiver said first. It says the same in all sessions, so
// that an opening is of the same rows in all of them.
const askedRowsFile = "known-rows"

// asked is what a session of a sealed prediction knows of the rows that it asks for.
type asked struct {
	contract keys.Hash
	times    int          // how often a row may be scored, over all jobs
	rows     []bool       // whether each is asked for; nil: those are that requests name
	scored   *scoredRows  // nil at a party without rows
	known    *knownScores // nil but at the receiver
	ids      []string     // of the rows of the opening under way, nil at a party without rows
}

// newAsked reads what this party keeps of the rows scored with the job's model.
func (p *prediction) newAsked(r *session) (*asked, error) {
	a := &asked{contract: r.Contract().Hash(), times: p.job.TimesPerRow()}
	training, err := p.member.scored.get(p.model.Contract)
	if err != nil {
		return nil, err
	}
	if !p.idle() {
		if a.scored, err = training.scoredRows(p.model); err != nil {
			return nil, err
		}
	}
	if p.receives() {
		a.known, err = training.knownScores(p.model)
	}
	return a, err
}

// sendKnown has the receiver say which rows it has the scores of. What it says counts once it is confirmed.
func (a *asked) sendKnown(ctx context.Context, p *prediction, r *session, table *dataset.Table) ([]byte, error) {
	n := r.Contract().Rows()
	bits, err := r.Vault.Load(askedRowsFile)
	if err != nil {
		return nil, err
	}
	if p.receives() && bits == nil {
		bits = make([]byte, knownSize(n))
		for i, id := range table.IDs {
			if _, ok := a.known.of(id, a.times); ok {
				bits[i/8] |= 1 << (i % 8)
			}
		}
		if err := r.Vault.Save(askedRowsFile, bits); err != nil {
			return nil, err
		}
	}
	told, err := r.sealed.Broadcast(ctx, kindKnown, p.job.Index(p.job.OpenTo), bits, knownSize(n))
	if err != nil {
		return nil, err
	}
	if len(told) != knownSize(n) || bits != nil && !bytes.Equal(bits, told) {
		return nil, &rss.DeviationError{Parties: []string{p.job.OpenTo}, Kind: kindKnown, Reason: fmt.Sprintf(
			"%d bytes, want %d, for %d rows, the same in all sessions of a job", len(told), knownSize(n), n)}
	}
	return told, nil
}

// settle takes in which rows are asked for, once it is confirmed, and refuses those that were scored as often as they
// may be.
func (a *asked) settle(r *session, bits []byte, table *dataset.Table) error {
	n := r.Contract().Rows()
	a.rows = make([]bool, n)
	known := 0
	for i := range a.rows {
		if a.rows[i] = bits[i/8]>>(i%8)&1 == 0; !a.rows[i] {
			known++
		}
	}
	if !r.Vault.Has(askedRowsFile) {
		if err := r.Vault.Save(askedRowsFile, bits); err != nil {
			return err
		}
	}
	if int64(known) != r.Daemon.Known() {
		if err := r.Daemon.SetKnown(int64(known)); err != nil {
			return err
		}
	}
	if a.scored == nil {
		return nil
	}
	spent := 0
	for number := 1; number <= batchesOf(n); number++ {
		lo, hi := batchAt(number, n)
		spent += a.scored.spent(a.opening(number), a.askedFor(number, table.IDs[lo:hi]), a.times)
	}
	if spent > 0 {
		return scoredFault(spent, a.times)
	}
	return nil
}

// knownSize is the length of what a receiver says of so many rows, in bytes.
func knownSize(rows int) int { return (rows + 7) / 8 }

// batchAt returns the rows of a batch, of a job over n.
func batchAt(number, n int) (lo, hi int) {
	lo = (number - 1) * joint.ScoreRows
	return lo, min(lo+joint.ScoreRows, n)
}

// opening names an opening of the job.
func (a *asked) opening(number int) opening { return opening{a.contract, uint32(number)} }

// of tells which rows of an opening are asked for; nil: all.
func (a *asked) of(number int) []bool {
	if a.rows == nil {
		return nil
	}
	lo, hi := batchAt(number, len(a.rows))
	return a.rows[lo:hi]
}

// askedFor returns those of an opening's ids that are asked for.
func (a *asked) askedFor(number int, ids []string) []string {
	if a.rows == nil {
		return ids
	}
	var list []string
	for i, is := range a.of(number) {
		if is {
			list = append(list, ids[i])
		}
	}
	return list
}

// record counts the rows of the opening under way as scored, before any word of it leaves.
func (a *asked) record(number int) error {
	if a.scored == nil {
		return nil
	}
	return a.scored.record(a.opening(number), a.askedFor(number, a.ids), a.times)
}

// keep keeps the scores of an opening at the receiver, and puts in those that it had.
func (a *asked) keep(number int, scores []float64) error {
	var opened []float64
	each := a.known.each
	for i, id := range a.ids {
		if a.rows != nil && !a.of(number)[i] {
			f, ok := a.known.of(id, 1)
			if !ok {
				return faults.Errorf(fault.CodeContradicted, "the score of a row that this node had is not in %s any more: "+
					"propose the job "+
					"anew", KnownScoresFile)
			}
			copy(scores[i*each:], f)
			continue
		}
		opened = append(opened, scores[i*each:(i+1)*each]...)
	}
	return a.known.add(a.opening(number), a.askedFor(number, a.ids), opened)
}
