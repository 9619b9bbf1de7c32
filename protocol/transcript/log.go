package transcript

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// DomainSignature separates signatures on chains, and their digests, from all others.
const DomainSignature = "hanse seal v1"

// Config says whose transcript a Log writes.
type Config struct {
	Contract keys.Hash
	Self     int              // index of the party in the contract
	IDs      []keys.ID        // all parties in the contract's order
	Consent  keys.Hash        // binds a new transcript to a consent; one that is gone on with stays as it was begun
	Key      *keys.PrivateKey // the party's own, which it signs its chain with
	Store    *Store           // nil: payloads are not kept
	// Secret says of which kinds of messages payloads are never kept, only their digests; nil: of none.
	Secret func(kind string) bool
	Synced int64            // bytes of the file known to have been on the disk: a crash takes none of these
	Now    func() time.Time // nil: time.Now
}

// Log appends to a transcript, one write of 160 bytes a record: what was recorded survives the death
// of the process, and after Sync a power cut. It implements protocol.Recorder and is not safe for
// concurrent use. After a write that failed every method returns the same error.
type Log struct {
	config  Config
	path    string
	file    *os.File
	links   *Links
	before  uint64 // records before the session under way
	opened  uint64 // records there were when it was opened
	trails  []trail
	number  uint64 // of the next record
	time    int64  // of the last record
	session uint32 // of the last record; 0: there is none
	begun   bool   // a session has begun since the file was opened
	keeping bool   // payloads go to the store
	buffer  [len(keys.Hash{}) + BlockSize]byte
	failed  error
}

var _ protocol.Recorder = (*Log)(nil)

// Begin starts a session: links start anew, and payloads are kept again if there is a store. The number
// must be higher than those of all sessions in the transcript.
func (l *Log) Begin(session uint32) error {
	if l.failed != nil {
		return l.failed
	}
	if session <= l.session {
		return l.named(fmt.Errorf("session %d begins after session %d, want a higher number", session, l.session))
	}
	before := l.number
	r := Record{Type: TypeSession, Session: session, Peer: l.config.Self}
	if err := l.append(&r); err != nil {
		return err
	}
	l.links.apply(&r)
	l.before = before
	l.session, l.begun, l.keeping = session, true, l.config.Store != nil
	return nil
}

// Record keeps an entry of the session under way. A frame that is not the next of its link is refused.
// The payload of a countersignature is the peer's signature of 64 bytes.
func (l *Log) Record(e protocol.Entry, payload []byte) error {
	if err := l.ready(); err != nil {
		return err
	}
	r := Record{
		Type: Type(e.Event), Class: e.Class, Encoding: e.Encoding, Kind: e.Kind, Session: e.Session, Number: l.number,
		Peer: e.Peer, Chunk: e.Chunk, Operation: e.Operation, Sequence: e.Sequence, Size: e.Size, Bytes: uint64(len(payload)),
	}
	err := r.checkFields()
	if err == nil && r.Type > TypeCountersigned {
		err = fmt.Errorf("event %d is none of a session", uint8(e.Event))
	}
	if err == nil {
		err = l.links.check(&r)
	}
	if err != nil {
		return l.named(fmt.Errorf("record %d, peer %d: %w", r.Number, r.Peer, err))
	}
	if r.Type == TypeCountersigned {
		copy(r.Proof[:], payload)
	} else if err := l.storePayload(&r, payload); err != nil {
		return err
	}
	if err := l.append(&r); err != nil {
		return err
	}
	l.links.apply(&r)
	return nil
}

// storePayload hashes a payload and puts it into the store, where it is kept. Nobody could compare the hash of
// an opening with anything but the payload in the store, so that it is zero without.
func (l *Log) storePayload(r *Record, payload []byte) (err error) {
	keeping := l.keeping && (l.config.Secret == nil || !l.config.Secret(r.Kind))
	if !keeping && !r.Type.Frame() {
		return nil
	}
	sum := keys.Hash(sha256.Sum256(payload))
	if keeping {
		if r.Kept, err = l.config.Store.Put(sum, payload); err != nil {
			return l.fail(err)
		}
		if !r.Kept { // the first that finds no room is told of in a record
			l.keeping = false
			if err := l.append(&Record{Type: TypeUnkept, Session: l.session, Peer: l.config.Self}); err != nil {
				return err
			}
		}
	}
	if r.Kept || r.Type.Frame() {
		copy(r.Proof[:], sum[:])
	}
	return nil
}

// Link returns the digest of all frames exchanged with a peer in this session so far.
func (l *Log) Link(peer int) (keys.Hash, error) {
	if err := l.ready(); err != nil {
		return keys.Hash{}, err
	}
	if !l.links.peer(peer) {
		return keys.Hash{}, l.named(fmt.Errorf("there is no link to party %d among %d parties of which this is party %d",
			peer, len(l.config.IDs), l.config.Self))
	}
	return l.links.Digest(peer), nil
}

// States implements protocol.Recorder.
func (l *Log) States() ([]protocol.LinkState, error) {
	if err := l.ready(); err != nil {
		return nil, err
	}
	return l.links.States(), nil
}

// Past implements protocol.Recorder.
func (l *Log) Past() (protocol.Past, error) {
	if err := l.ready(); err != nil {
		return protocol.Past{}, err
	}
	return l.links.Past(), nil
}

// Former implements protocol.Recorder. It reads what stands before the session under way once more.
func (l *Log) Former(peer int, session uint32, sentFrames, receivedFrames uint64) (protocol.Former, error) {
	if err := l.ready(); err != nil {
		return protocol.Former{}, err
	}
	links, err := NewLinks(l.config.Contract, l.config.Self, l.config.IDs)
	if err != nil {
		return protocol.Former{}, l.named(err)
	}
	if !links.peer(peer) {
		return protocol.Former{}, l.named(fmt.Errorf("there is no link to party %d among %d parties "+
			"of which this is party %d",
			peer, len(l.config.IDs), l.config.Self))
	}
	if l.before == l.opened {
		if f, ok := l.trails[peer].former(session, sentFrames, receivedFrames); ok {
			return f, nil
		}
	}
	f := newFormer(links, peer, session, sentFrames, receivedFrames)
	if err := l.scan(links, int64(l.before+1)*BlockSize, f.add); err != nil {
		return protocol.Former{}, l.named(err)
	}
	return f.Former, nil
}

// trailLength is how many of the latest frames of each link a log remembers: of more are seldom on their way when a
// process is killed.
const trailLength = 64

// trail is how a link came to its latest state: the states after the latest frames of its latest session.
type trail struct {
	session uint32
	signed  [2]uint64
	states  []protocol.LinkState // a ring
	next    int
}

// add takes a record that the links have.
func (t *trail) add(r *Record, links *Links) {
	if !r.Type.Frame() && r.Type != TypeCountersigned {
		return
	}
	if t.session != r.Session {
		t.session, t.next, t.states = r.Session, 0, t.states[:0]
	}
	s := links.state(r.Peer)
	t.signed = s.agreed.count
	if !r.Type.Frame() {
		return
	}
	if len(t.states) < trailLength {
		t.states = append(t.states, s.now.state(r.Session))
		return
	}
	t.states[t.next] = s.now.state(r.Session)
	t.next = (t.next + 1) % trailLength
}

// former answers Log.Former from the latest frames, where they suffice.
func (t *trail) former(session uint32, sentFrames, receivedFrames uint64) (protocol.Former, bool) {
	if session == 0 || t.session != session || len(t.states) == 0 {
		return protocol.Former{}, false
	}
	last := t.states[(t.next+len(t.states)-1)%len(t.states)]
	f := protocol.Former{State: last, Signed: t.signed}
	for i := range t.states {
		if s := &t.states[i]; s.Sent.Frames == sentFrames {
			f.SentAt = s.Sent.Chain
		}
		if s := &t.states[i]; s.Received.Frames == receivedFrames {
			f.ReceivedAt = s.Received.Chain
		}
	}
	known := (f.SentAt != keys.Hash{} || sentFrames > last.Sent.Frames) &&
		(f.ReceivedAt != keys.Hash{} || receivedFrames > last.Received.Frames)
	return f, known
}

// former finds what a transcript has of a link in an earlier session.
type former struct {
	protocol.Former
	links   *Links
	peer    int
	session uint32
	at      [2]uint64 // frames of which the chain is wanted
}

// newFormer begins before the first record: nothing has passed.
func newFormer(links *Links, peer int, session uint32, sentFrames, receivedFrames uint64) *former {
	f := &former{links: links, peer: peer, session: session, at: [2]uint64{sentFrames, receivedFrames}}
	f.State.Session = session
	if session == 0 { // there is none, and its chains are zero
		return f
	}
	f.State.Sent.Chain = links.startOf(session, links.self, peer)
	f.State.Received.Chain = links.startOf(session, peer, links.self)
	if sentFrames == 0 {
		f.SentAt = f.State.Sent.Chain
	}
	if receivedFrames == 0 {
		f.ReceivedAt = f.State.Received.Chain
	}
	return f
}

// add takes a record that the links have.
func (f *former) add(r *Record) {
	if r.Peer != f.peer || !r.Type.Frame() && r.Type != TypeCountersigned {
		return
	}
	if r.Session != f.session {
		f.After = f.After || r.Session > f.session && r.Type == TypeCountersigned
		return
	}
	s := f.links.state(f.peer)
	f.State = s.now.state(r.Session)
	f.Signed = s.agreed.count
	if f.State.Sent.Frames == f.at[sent] {
		f.SentAt = f.State.Sent.Chain
	}
	if f.State.Received.Frames == f.at[received] {
		f.ReceivedAt = f.State.Received.Chain
	}
}

// Sign signs the transcript so far. why is SignedCheckpoint, SignedDone or SignedBroken.
func (l *Log) Sign(why string) error {
	if l.failed != nil {
		return l.failed
	}
	if l.session == 0 {
		return l.named(errors.New("no session has begun"))
	}
	r := Record{Type: TypeSignature, Kind: why, Session: l.session, Peer: l.config.Self}
	if err := r.checkFields(); err != nil {
		return l.named(fmt.Errorf("record %d: %w", l.number, err))
	}
	return l.append(&r)
}

// signatureDigest is what a signature record signs: the chain before it, and all that the record itself says. What
// stands behind the signature is zero in all of them.
func signatureDigest(contract keys.Hash, chain keys.Hash, block *[BlockSize]byte) keys.Hash {
	return keys.HashOf(DomainSignature, contract[:], chain[:], block[:signatureAt])
}

// Sync makes everything recorded safe against a power cut. Payloads come first: a record that is on the disk and says
// that its payload was kept is right.
func (l *Log) Sync() error {
	if l.failed != nil {
		return l.failed
	}
	if err := l.config.Store.Sync(); err != nil {
		return l.fail(l.unwritten(err))
	}
	if err := l.file.Sync(); err != nil {
		return l.fail(l.unwritten(err))
	}
	return nil
}

// Close closes the file. It neither signs nor syncs.
func (l *Log) Close() error {
	if errors.Is(l.failed, os.ErrClosed) {
		return nil
	}
	l.failed = l.named(os.ErrClosed)
	return errors.Join(named("transcript", l.path, l.file.Close()), l.config.Store.Close())
}

// ready says why nothing can be recorded now.
func (l *Log) ready() error {
	if l.failed == nil && !l.begun {
		return l.named(errors.New("no session has begun since it was opened"))
	}
	return l.failed
}

// append gives a record its number, time and hash, and signs it where it is a signature, and writes it.
func (l *Log) append(r *Record) error {
	r.Number = l.number
	r.Time = max(l.time, l.config.Now().UnixNano())
	block := (*[BlockSize]byte)(l.buffer[len(keys.Hash{}):])
	r.Encode(block)
	if r.Type == TypeSignature {
		digest := signatureDigest(l.config.Contract, keys.Hash(l.buffer[:len(keys.Hash{})]), block)
		r.Proof = [ed25519.SignatureSize]byte(l.config.Key.Sign(DomainSignature, digest[:]))
		copy(block[signatureAt:], r.Proof[:])
	}
	r.Hash = sha256.Sum256(l.buffer[:BlockSize]) // the hash of the block before stands before the block
	copy(block[hashAt:], r.Hash[:])
	if _, err := l.file.Write(block[:]); err != nil {
		return l.fail(l.unwritten(err))
	}
	copy(l.buffer[:], r.Hash[:])
	l.number, l.time = l.number+1, r.Time
	return nil
}

// unwritten says what a failed write means to the person who can mend it.
func (l *Log) unwritten(err error) error {
	return fmt.Errorf("record %d was not written: %w; free some space and start the job again, the "+
		"transcript goes on from there",
		l.number, bare(err))
}

// fail makes the log unusable.
func (l *Log) fail(err error) error {
	l.failed = l.named(err)
	return l.failed
}

// named says of which transcript an error is.
func (l *Log) named(err error) error { return named("transcript", l.path, err) }
