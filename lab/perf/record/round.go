package record

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/perf"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// recorded is what one training took and left behind at all parties together.
type recorded struct {
	seconds    float64
	cpu        float64 // processor seconds, 0 when the system does not tell
	frames     int64   // records of frames
	transcript int64   // bytes
	hashed     int64   // bytes of payloads
	kept       int64   // bytes of payloads
}

// recordEnd is one party's end of one training.
type recordEnd struct {
	contract *contract.Contract
	path     string // of its transcript
	store    *transcript.Store
	recorder *transcript.Recorder // nil: nothing is recorded, or all is
	mesh     protocol.Mesh
	session  *protocol.Session
	party    *fdskl.Party
	vault    *vault.Vault
}

// round trains once in a fresh session with fresh folders.
func (l *recordNetwork) round(ctx context.Context, way string) (r recorded, err error) {
	dir, err := os.MkdirTemp(l.dir, "round-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l.rounds++
	ends := make([]recordEnd, len(l.names))
	defer func() {
		for i := range ends {
			err = errors.Join(err, ends[i].close())
		}
	}()
	err = l.together(ctx, func(ctx context.Context, i int) error {
		return l.open(ctx, &ends[i], i, way, filepath.Join(dir, l.names[i]))
	})
	if err != nil {
		return r, err
	}
	runtime.GC() // what earlier rounds left is not this one's
	start, cpu := time.Now(), lab.CPU()
	if err := l.together(ctx, func(ctx context.Context, i int) error { return ends[i].train(ctx) }); err != nil {
		return r, err
	}
	r.seconds, r.cpu = time.Since(start).Seconds(), lab.CPU()-cpu
	for i := range ends {
		if err := r.count(&ends[i]); err != nil {
			return r, fmt.Errorf("%s: %w", l.names[i], err)
		}
	}
	return r, nil
}

// open makes party i's folder and opens its session.
func (l *recordNetwork) open(ctx context.Context, e *recordEnd, i int, way, dir string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, perf.OpenTime)
	defer cancel()
	e.contract = l.contracts[way]
	if e.vault, err = vault.Open(dir, vault.Options{Owner: e.contract.Hash()}); err != nil {
		return err
	}
	if way != recordNothing {
		if err := e.record(l, i); err != nil {
			return err
		}
	}
	digest := e.contract.Hash()
	session := protocol.SessionID(keys.HashOf("hanselab record", digest[:], binary.BigEndian.AppendUint32(nil, l.rounds)))
	if e.mesh, err = l.hosts[i].Open(ctx, session, l.others(i)); err != nil {
		return err
	}
	config := protocol.SessionConfig{Contract: digest, Number: l.rounds, Parties: e.contract.Members(),
		Key: l.keys[i], Unrecorded: e.recorder == nil}
	if e.recorder != nil {
		config.Recorder = e.recorder
	}
	if config.Budget, err = contract.NewBudget(e.contract, i); err != nil {
		return err
	}
	if e.session, err = protocol.NewSession(ctx, e.mesh, config); err != nil {
		return err
	}
	return e.prepare(ctx, l, i)
}

// record begins party i's transcript, and its payload store if the contract says so.
func (e *recordEnd) record(l *recordNetwork, i int) (err error) {
	e.path = e.vault.Path("transcript")
	config := transcript.Config{Contract: e.contract.Hash(), Self: i, IDs: l.ids, Key: l.keys[i]}
	if e.contract.Job.Record == contract.RecordFull {
		if e.store, err = transcript.OpenStore(e.vault.Path("payloads"), transcript.DefaultRecordLimit); err != nil {
			return err
		}
		config.Store = e.store
	}
	log, err := transcript.Open(e.path, config)
	if err != nil {
		return err
	}
	e.recorder, err = transcript.NewRecorder(log, l.rounds, len(l.ids))
	return err
}

// prepare makes party i ready to train.
func (e *recordEnd) prepare(ctx context.Context, l *recordNetwork, i int) error {
	network, err := wired.NewNetwork(ctx, e.session, e.contract, func(string, int64) {})
	if err != nil {
		return err
	}
	prepared := l.parts[i]
	e.party = &fdskl.Party{
		Self: i, Names: l.names, Params: l.params, Privacy: e.contract.Job.Privacy, Rows: l.rows,
		Parts: []fdskl.Part{{Owner: l.ids[i], Normaliser: prepared.Normaliser, Rows: prepared.Rows,
			Phase: fdskl.NewPhaseSeed()}},
		Labels: prepared.Labels, Network: network, Vault: e.vault,
	}
	return nil
}

// train is the party's part of the training, from the open session to the closed transcript.
func (e *recordEnd) train(ctx context.Context) error {
	if _, err := fdskl.Train(ctx, e.party); err != nil {
		return err
	}
	if err := e.session.Finish(ctx); err != nil {
		return err
	}
	return e.closeRecorder(true)
}

// closeRecorder ends the transcript, if there is one and it has not ended.
func (e *recordEnd) closeRecorder(done bool) error {
	if e.recorder == nil {
		return nil
	}
	r := e.recorder
	e.recorder = nil
	return r.Close(done)
}

// close ends what the party has open, wherever it got to.
func (e *recordEnd) close() error {
	err := e.closeRecorder(false)
	if e.mesh != nil {
		err = errors.Join(err, e.mesh.Close())
	}
	if e.vault != nil {
		err = errors.Join(err, e.vault.Close())
	}
	return err
}

// count adds what a party recorded, by its own transcript.
func (r *recorded) count(e *recordEnd) error {
	if e.path == "" {
		return nil
	}
	if e.store != nil {
		r.kept += e.store.Used()
	}
	f, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r.transcript += info.Size()
	return r.countRecords(f)
}

// countRecords counts frames and the payload bytes that were hashed.
func (r *recorded) countRecords(source io.Reader) error {
	reader, err := transcript.NewReader(source)
	if err != nil {
		return err
	}
	var rec transcript.Record
	for {
		err := reader.Next(&rec)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.Type.Frame() {
			r.frames++
		}
		if rec.Type.Frame() || rec.Kept { // an opening is hashed for the store only
			r.hashed += int64(rec.Bytes)
		}
	}
}
