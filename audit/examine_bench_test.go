package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"testing"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// BenchmarkExamine reads a million records of a leaf of the tree: sums of one chunk in sessions of sixty,
// or of sixteen thousand chunks.
func BenchmarkExamine(b *testing.B) {
	const records = 1 << 20
	l := newTestNetwork(b, 4)
	l.agree(contract.Job{Privacy: "masked"}, 1, nil, []contract.Operation{
		{Kind: "angles", Stage: 2, Collective: "sum", Root: "p0", Class: "masked", Encoding: "turns16",
			Count: 60, Bytes: 1 << 40},
	})
	for name, chunks := range map[string]uint64{"one_chunk": 1, "many_chunks": 1 << 14} {
		text := l.synthetic(records, chunks)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				s := source("synthetic", text)
				wantUnfinished(b, mustExamine(b, &evidence.Input{Contract: l.contract}, &s).Checks, 1)
			}
			b.ReportMetric(float64(len(text)/transcript.BlockSize*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// writer writes a transcript record by record.
type writer struct {
	*testNetwork
	out    io.Writer
	links  *transcript.Links
	chain  keys.Hash
	number uint64
}

func (w *writer) write(r transcript.Record) {
	var block [transcript.BlockSize]byte
	r.Number = w.number
	if r.Type.Frame() {
		seed := w.number
		if r.Type == sent && r.Kind == contract.KindSessionKey {
			seed = uint64(r.Session) << 32
		}
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, seed))
		if !rules.IsStatement(r.Kind) || r.Type == received {
			copy(r.Proof[:], sum[:])
		}
	}
	r.Encode(&block)
	r.Hash = sha256.Sum256(append(w.chain[:], block[:transcript.BlockSize-len(w.chain)]...))
	r.Encode(&block)
	w.out.Write(block[:])
	w.chain, w.number = r.Hash, w.number+1
	if err := w.links.Add(&r); err != nil {
		panic(err)
	}
}

// synthetic is party 3's transcript of so many frames of sums, without countersignatures.
func (l *testNetwork) synthetic(frames int, chunks uint64) []byte {
	var out bytes.Buffer
	l.synthesise(&out, frames, chunks)
	return out.Bytes()
}

func (l *testNetwork) synthesise(out io.Writer, frames int, chunks uint64) {
	header := transcript.Header{Self: 3, Contract: l.contract.Hash(), Party: l.members[3].ID}
	links, err := transcript.NewLinks(header.Contract, header.Self, l.config(3).IDs)
	if err != nil {
		l.t.Fatal(err)
	}
	w := &writer{testNetwork: l, out: out, links: links, chain: header.Hash()}
	var block [transcript.BlockSize]byte
	header.Encode(&block)
	w.out.Write(block[:])
	size := chunks * contract.DefaultChunk
	for session := uint32(1); frames > 0; session++ {
		w.begin(session)
		for n := range 60 * chunks {
			if frames--; frames < 0 {
				break
			}
			w.write(transcript.Record{Type: sent, Class: contract.ClassMasked, Encoding: contract.Turns16, Kind: "angles",
				Session: session, Peer: 2,
				Operation: 2 + n/chunks, Sequence: 4 + n, Chunk: uint32(n % chunks), Size: size, Bytes: contract.DefaultChunk})
		}
	}
}

// begin writes the start of a session, in which this party sends the same key to all, and all state their pasts and
// sign.
func (w *writer) begin(session uint32) {
	w.write(transcript.Record{Type: transcript.TypeSession, Session: session, Peer: 3})
	past, states := contract.PastSize(4), contract.StatesSize(4)
	w.exchange(session, 0, contract.KindSessionKey, 96, keys.Hash{})
	stated := w.links.Past()
	w.exchange(session, 1, contract.KindPast, past, sha256.Sum256(stated.Encode(3)))
	w.exchange(session, 2, contract.KindStates, states, sha256.Sum256(protocol.EncodeStates(w.links.States(), 3)))
	for peer := range 3 {
		w.write(control(session, sent, peer, 3, contract.KindCountersign, 64))
	}
	for peer := range 3 {
		w.write(control(session, received, peer, 3, contract.KindCountersign, 64))
		digest, _ := w.links.Agreed(peer)
		r := control(session, transcript.TypeCountersigned, peer, 0, contract.KindCountersign, 64)
		copy(r.Proof[:], w.keys[peer].Sign(protocol.DomainLink, digest[:]))
		w.write(r)
	}
}

// exchange writes one control frame to each other party and one from each; sum is the hash of what is sent.
func (w *writer) exchange(session uint32, sequence uint64, kind string, size int, sum keys.Hash) {
	for _, event := range []transcript.Type{sent, received} {
		for peer := range 3 {
			r := control(session, event, peer, sequence, kind, uint64(size))
			copy(r.Proof[:], sum[:])
			w.write(r)
		}
	}
}

// control is a control frame of the first operation of a session.
func control(
	session uint32, event transcript.Type, peer int, sequence uint64, kind string, size uint64,
) transcript.Record {
	return transcript.Record{Type: event, Class: contract.ClassControl, Kind: kind, Session: session,
		Peer: peer, Operation: 1,
		Sequence: sequence, Size: size, Bytes: size}
}
