package node

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// maxFingerprints is the most row ids that are compared one by one.
const maxFingerprints = protocol.MaxCall/8 - 1024

// fingerprintRequest asks for keyed digests of a party's row ids. It is sent only when the
// parties' sets of ids differ, to say how.
type fingerprintRequest struct {
	Job string   `cbor:"1,keyasint"`
	Key [32]byte `cbor:"2,keyasint"`
}

// fingerprintResponse holds eight bytes for each row id.
type fingerprintResponse struct {
	Digests []byte `cbor:"1,keyasint"`
}

// aligned refuses facts whose sets of row ids differ. A helper without data has none.
func aligned(all []protocol.Facts) error {
	all = withData(all)
	for _, f := range all {
		if f.Rowset != all[0].Rowset || f.Rows != all[0].Rows {
			return fmt.Errorf("the rows of %s (%d) and %s (%d) are not the same ids", all[0].Name, all[0].Rows, f.Name, f.Rows)
		}
	}
	return nil
}

// withData returns the parties that bring rows.
func withData(all []protocol.Facts) []protocol.Facts {
	return slices.DeleteFunc(slices.Clone(all), func(f protocol.Facts) bool { return f.Role == roleHelper })
}

// explainMisalignment counts which party lacks how many of the ids that others have. What it
// learns to say so, which ids are whose, it keeps for the length of this call.
func (n *Node) explainMisalignment(ctx context.Context, job *protocol.Job, all []protocol.Facts) error {
	all = withData(all)
	request := fingerprintRequest{}
	text, err := job.Text()
	if err != nil {
		return err
	}
	request.Job = string(text)
	rand.Read(request.Key[:])
	sets := make([]map[uint64]bool, len(all))
	union := make(map[uint64]bool)
	for i, f := range all {
		var r fingerprintResponse
		if f.Name == n.name() {
			r, err = n.serveFingerprints(n.config.Key.ID(), request)
		} else {
			err = n.ask(ctx, protocol.Party{Name: f.Name, ID: f.ID}, methodFingerprints, request, &r, nil)
		}
		if err != nil {
			return fmt.Errorf("the parties' row ids differ, and comparing them failed: %w", err)
		}
		sets[i] = make(map[uint64]bool, len(r.Digests)/8)
		for b := r.Digests; len(b) >= 8; b = b[8:] {
			d := binary.BigEndian.Uint64(b)
			sets[i][d], union[d] = true, true
		}
	}
	return fmt.Errorf("the parties' row ids differ: %s; every party must hold the same ids", missing(all, sets, len(union)))
}

// missing renders how many ids each party lacks.
func missing(all []protocol.Facts, sets []map[uint64]bool, union int) string {
	var parts []string
	for i, f := range all {
		if lacks := union - len(sets[i]); lacks > 0 {
			parts = append(parts, fmt.Sprintf("%s has %d rows and lacks %d of the %d ids that others have", f.Name, len(sets[i]), lacks, union))
		} else {
			parts = append(parts, fmt.Sprintf("%s has all %d", f.Name, union))
		}
	}
	return strings.Join(parts, ", ")
}

// serveFingerprints digests this party's row ids under the caller's key.
func (n *Node) serveFingerprints(from keys.ID, r fingerprintRequest) (fingerprintResponse, error) {
	job, err := n.proposal(from, r.Job)
	if err != nil {
		return fingerprintResponse{}, err
	}
	label := ""
	if t, ok := n.newTrainingOf(job); ok && t.active() {
		label = t.params.Label
	}
	table, err := n.tables.load(job.Table, label)
	if err != nil {
		return fingerprintResponse{}, err
	}
	if table.Rows() > maxFingerprints {
		return fingerprintResponse{}, fmt.Errorf("%s has %d rows, at most %d are compared one by one", n.name(), table.Rows(), maxFingerprints)
	}
	digests := make([]byte, 0, 8*table.Rows())
	for _, id := range table.IDs {
		h := hmac.New(sha256.New, r.Key[:])
		h.Write([]byte(id))
		digests = append(digests, h.Sum(nil)[:8]...)
	}
	return fingerprintResponse{Digests: digests}, nil
}

// newTrainingOf returns the training of a job, if it is one.
func (n *Node) newTrainingOf(job *protocol.Job) (*training, bool) {
	if job.Task != protocol.TaskTrain {
		return nil, false
	}
	t, err := n.newTraining(job)
	return t, err == nil
}
