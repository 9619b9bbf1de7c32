package transcript

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// blocks cuts a transcript into its blocks.
func blocks(text []byte) [][]byte { return slices.Collect(slices.Chunk(bytes.Clone(text), BlockSize)) }

// rechained returns the blocks as a transcript, with numbers and hashes as if they had been recorded so:
// what somebody does who changes a record and knows the format. With key all seals are signed anew,
// which only the party itself can do.
func rechained(blocks [][]byte, contract keys.Hash, key *keys.PrivateKey) []byte {
	text := bytes.Join(blocks, nil)
	chain := keys.Hash(text[hashAt:BlockSize])
	for at := BlockSize; at < len(text); at += BlockSize {
		b := text[at : at+BlockSize]
		copy(b[8:16], big64(uint64(at/BlockSize-1)))
		if Type(b[0]) == TypeSignature && key != nil {
			digest := signatureDigest(contract, chain, (*[BlockSize]byte)(b))
			copy(b[signatureAt:keptAt], key.Sign(DomainSignature, digest[:]))
		}
		chain = sha256.Sum256(text[at-len(chain) : at+hashAt])
		copy(b[hashAt:], chain[:])
	}
	return text
}

// readAll reads a transcript without verifying it and returns how many records there were.
func readAll(text []byte) (n int, err error) {
	r, err := NewReader(bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	var rec Record
	for {
		if err := r.Next(&rec); err != nil {
			return n, err
		}
		n++
	}
}

// Every byte of a transcript, changed in each of some ways, breaks the chain at its own record.
func TestEveryChangedByteBreaksTheChain(t *testing.T) {
	text := smallTestNetwork(t, "tamper").text(0)
	for i := range text {
		for _, pattern := range []byte{0x01, 0x80, 0xff} {
			text[i] ^= pattern
			n, err := readAll(text)
			text[i] ^= pattern
			var broken *ChainError
			if i < BlockSize {
				if n != 0 || errors.As(err, &broken) {
					t.Fatalf("byte %d of the header changed by %#x: %v", i, pattern, err)
				}
			} else if !errors.As(err, &broken) || int(broken.Record) != i/BlockSize-1 || n != int(broken.Record) {
				t.Fatalf("byte %d changed by %#x: %d records and %v", i, pattern, n, err)
			}
		}
	}
}

// Whoever lacks the party's key can repair the chain behind a change, but not the seal.
func TestEveryChangedByteIsFoundWithTheChainRepaired(t *testing.T) {
	l := smallTestNetwork(t, "tamper")
	text := l.text(0)[:15*BlockSize] // up to the first seal
	for i := BlockSize; i < len(text); i++ {
		if at := i % BlockSize; 8 <= at && at < 16 || at >= hashAt {
			continue // the number and the hash are repaired too
		}
		changed := blocks(text)
		changed[i/BlockSize][i%BlockSize] ^= 1
		_, err := verify(rechained(changed, l.contract, nil), l.ids)
		var chain *ChainError
		var record *RecordError
		if !errors.As(err, &chain) && !errors.As(err, &record) {
			t.Fatalf("byte %d of record %d is changed: %v", i%BlockSize, i/BlockSize-1, err)
		}
	}
}

// The party itself can sign its seals anew, but not its peers' countersignatures: of a frame under one
// it can change the time and the mark of a kept payload, and nothing else.
func TestEveryChangeOfACountersignedFrameIsFoundWithTheSealsRepaired(t *testing.T) {
	l := smallTestNetwork(t, "tamper")
	text := l.text(0)
	for _, record := range []int{1, 3, 5} { // sent, received, masked
		for at := range hashAt {
			if 8 <= at && at < 24 || at == keptAt { // number, time, kept
				continue
			}
			changed := blocks(text)
			changed[record+1][at] ^= 1
			if _, err := verify(rechained(changed, l.contract, keyNumber(0)), l.ids); err == nil {
				t.Errorf("byte %d of record %d is changed and nobody sees it", at, record)
			}
		}
	}
}

// Every record removed, doubled or swapped with the next breaks the chain there, and says which.
func TestEveryRemovedDoubledAndSwappedRecordIsFound(t *testing.T) {
	all := blocks(smallTestNetwork(t, "tamper").text(0))
	for i := 1; i < len(all); i++ {
		n := i - 1 // the record's number
		doubled := slices.Insert(slices.Clone(all), i, all[i])
		_, err := readAll(bytes.Join(doubled, nil))
		wantError(t, err, fmt.Sprintf("record %d: the chain is broken: record %d stands here, so that one is doubled or out of order", n+1, n))
		if i+1 == len(all) {
			continue
		}
		missing := fmt.Sprintf("record %d: the chain is broken: record %d stands here, so that one is missing or out of order", n, n+1)
		removed := slices.Delete(slices.Clone(all), i, i+1)
		_, err = readAll(bytes.Join(removed, nil))
		wantError(t, err, missing)
		swapped := slices.Clone(all)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		_, err = readAll(bytes.Join(swapped, nil))
		wantError(t, err, missing)
	}
}

// The same with numbers, chain and seals repaired: what is under a countersignature is found still.
func TestFramesRemovedDoubledAndSwappedAreFoundWithEverythingRepaired(t *testing.T) {
	l := smallTestNetwork(t, "tamper")
	all := blocks(l.text(0))
	repaired := func(b [][]byte) error {
		_, err := verify(rechained(b, l.contract, keyNumber(0)), l.ids)
		return err
	}
	for i := 1; i < len(all); i++ {
		if !Type(all[i][0]).Frame() {
			continue
		}
		if err := repaired(slices.Delete(slices.Clone(all), i, i+1)); err == nil {
			t.Errorf("record %d removed: nobody sees it", i-1)
		}
		if err := repaired(slices.Insert(slices.Clone(all), i, all[i])); err == nil {
			t.Errorf("record %d doubled: nobody sees it", i-1)
		}
	}
	swapped := slices.Clone(all)
	swapped[4], swapped[6] = swapped[6], swapped[4] // two frames from party 1
	wantError(t, repaired(swapped), "record 3, peer 1: frame 1 was received where frame 0 was next: one is missing, doubled or of another link")
}

// A transcript cut anywhere is good up to its last whole record, says when it is cut inside one, and
// ends with no seal unless one stands there.
func TestATranscriptCutAnywhereIsGoodUpToTheCut(t *testing.T) {
	l := smallTestNetwork(t, "tamper")
	text := l.text(0)
	for size := range text {
		n, err := readAll(text[:size])
		switch {
		case size == 0:
			wantError(t, err, "the file is empty, want a transcript")
		case size < BlockSize:
			wantError(t, err, "its header is not whole: the transcript is cut short: it ends inside a record")
		case size%BlockSize != 0 && !errors.Is(err, ErrCut):
			t.Errorf("cut at %d: %v", size, err)
		case n != size/BlockSize-1:
			t.Errorf("cut at %d: %d records", size, n)
		}
	}
	for i := 1; i*BlockSize <= len(text); i++ {
		s, err := verify(text[:i*BlockSize], l.ids)
		if err != nil {
			t.Errorf("cut after record %d: %v", i-2, err)
		}
		last := text[(i-1)*BlockSize : i*BlockSize]
		if sealed := i > 1 && Type(last[0]) == TypeSignature; (s.LastSignature != "") != sealed || int(s.Records) != i-1 {
			t.Errorf("cut after record %d: it ends with seal %q after %d records", i-2, s.LastSignature, s.Records)
		}
	}
}

// named are changes that somebody could want, each with what is said of it. Numbers of records are those
// of testdata/small.txt.
func TestEveryAttackHasItsMessage(t *testing.T) {
	l, other := smallTestNetwork(t, "tamper"), smallTestNetwork(t, "another job")
	own, foreign, peers := l.text(0), other.text(0), l.text(1)
	short := func(i int) string { return l.ids[i].Short() }
	const changed = "the chain is broken: its hash does not follow from the record before it: it was changed, or is of another transcript"
	link := func(i int) string {
		return "the countersignature is not that of " + short(i) + " on what passed between the two: the frames are not those that the peer saw, or the signature was changed"
	}
	seal := "the seal is not the signature of " + short(0) + " on it and the records before it: one of them or the signature was changed"
	for name, c := range map[string]struct {
		change func(b [][]byte) // of blocks: record n is block n+1
		repair *keys.PrivateKey
		chain  bool
		want   string
	}{
		"a record of another job": {func(b [][]byte) { b[6] = blocks(foreign)[6] }, nil,
			false, "record 5: " + changed},
		"another party's record": {func(b [][]byte) { b[6] = blocks(peers)[6] }, nil,
			false, "record 5: " + changed},
		"the end of another job": {func(b [][]byte) { copy(b[20:], blocks(foreign)[20:]) },
			nil, false, "record 19: " + changed},
		"a seal of another job": {func(b [][]byte) { b[14] = blocks(foreign)[14] }, nil,
			true, "record 13, peer 0: " + seal},
		"another job's countersignature": {func(b [][]byte) { b[12] = blocks(foreign)[12] }, keyNumber(0),
			true, "record 11, peer 1: " + link(1)},
		"a peer swapped": {func(b [][]byte) { b[6][27] = 2 }, keyNumber(0), true, "record 9, peer 1: frame 2 was received where frame 1 was next: one is missing, doubled or of another link"},
		"two peers swapped": {func(b [][]byte) { b[4][27], b[5][27] = 2, 1 }, keyNumber(0),
			true, "record 11, peer 1: " + link(1)},
		"a payload changed": {func(b [][]byte) { b[6][sumAt] ^= 1 }, keyNumber(0), true,
			"record 11, peer 1: " + link(1)},
		"a payload changed, seals as they were": {func(b [][]byte) { b[10][sumAt] ^= 1 }, nil, true,
			"record 13, peer 0: " + seal},
		"a countersignature changed": {func(b [][]byte) { b[13][signatureAt] ^= 1 }, keyNumber(0),
			true, "record 12, peer 2: " + link(2)},
		"a countersignature of the wrong peer": {func(b [][]byte) {
			copy(b[12][signatureAt:keptAt],
				b[13][signatureAt:keptAt])
		}, keyNumber(0), true, "record 11, peer 1: " + link(1)},
		"the first countersignature again": {func(b [][]byte) {
			copy(b[20][signatureAt:keptAt],
				b[12][signatureAt:keptAt])
		}, keyNumber(0), true, "record 19, peer 1: " + link(1)},
		"a countersignature without a frame": {func(b [][]byte) { b[7] = bytes.Clone(b[12]) }, keyNumber(0), true, "record 6, peer 1: a countersignature without just before it one frame \"countersign\" each way"},
		"a countersignature after one frame": {func(b [][]byte) { b[10], b[12] = bytes.Clone(b[12]), b[10] }, keyNumber(0), true, "record 9, peer 1: a countersignature without just before it one frame \"countersign\" each way"},
		"a seal that says it is done": {func(b [][]byte) { b[22][31] = 2 }, nil, true,
			"record 21, peer 0: " + seal},
		"a seal of the peer": {func(b [][]byte) {
			copy(b[14][signatureAt:keptAt],
				blocks(peers)[14][signatureAt:keptAt])
		}, nil, true, "record 13, peer 0: " + seal},
		"a session again":            {func(b [][]byte) { b[23][7] = 1 }, keyNumber(0), true, "record 22, peer 0: session 1 begins after session 1, want a higher number"},
		"a frame of another session": {func(b [][]byte) { b[24][7] = 1 }, keyNumber(0), true, "record 23, peer 1: it is of session 1, but session 2 is under way"},
		"a frame before the first session": {func(b [][]byte) { b[1] = bytes.Clone(b[2]) }, keyNumber(0),
			true, "record 0, peer 1: no session has begun"},
		"a frame to oneself":                  {func(b [][]byte) { b[2][27] = 0 }, keyNumber(0), true, "record 1, peer 0: there is no such peer among 3 parties of which this is party 0"},
		"a frame to nobody":                   {func(b [][]byte) { b[2][27] = 3 }, keyNumber(0), true, "record 1, peer 3: there is no such peer among 3 parties of which this is party 0"},
		"an opening of a peer":                {func(b [][]byte) { b[7][27] = 1 }, keyNumber(0), true, `record 6, peer 1: a record "opened" names a peer, want the party itself, 0`},
		"a payload kept after none was":       {func(b [][]byte) { unkept(b[3]); b[4][keptAt] = 1 }, keyNumber(0), true, "record 3, peer 1: its payload was kept, after a record that payloads are no longer kept in this session"},
		"payloads no longer kept, said twice": {func(b [][]byte) { unkept(b[3]); unkept(b[4]) }, keyNumber(0), true, "record 3, peer 0: payloads are no longer kept, for the second time in this session"},
		"a type that there is not": {func(b [][]byte) { b[3][0] = 8 }, keyNumber(0), true,
			"record 2: its type is 8, want 1 to 7"},
		"a time before the time": {func(b [][]byte) { copy(b[3][16:24], big64(5)) }, keyNumber(0), true, "record 2: its time is 498660h0m0.003999995s before that of the record before it"},
		"a header of another party": {func(b [][]byte) {
			reheaded(b[0],
				Header{Self: 1, Contract: l.contract, Party: l.ids[0]})
		}, keyNumber(0), true,
			"header: it is the transcript of " + short(0) + " as party 1, but that party is " + short(1)},
		"a header of no party": {func(b [][]byte) {
			reheaded(b[0], Header{Self: 3, Contract: l.contract,
				Party: l.ids[0]})
		}, keyNumber(0), true, "header: own index is 3, want 0 to 2"},
		"a header of another job": {func(b [][]byte) {
			reheaded(b[0],
				Header{Contract: other.contract, Party: l.ids[0]})
		}, keyNumber(0), true, "record 11, peer 1: " + link(1)},
		"a header of another job over one's own": {func(b [][]byte) {
			reheaded(b[0],
				Header{Contract: other.contract, Party: l.ids[0]})
		}, nil, false, "record 0: " + changed},
		"a later version":                       {func(b [][]byte) { b[0][17] = 4 }, nil, false, "it is a transcript of version 4, this program reads version 3"},
		"another file":                          {func(b [][]byte) { b[0][0] = 'H' }, nil, false, "it is not a transcript"},
		"a header changed":                      {func(b [][]byte) { b[0][30] ^= 1 }, nil, false, "the hash of its header does not fit: the header was changed"},
		"a header with something where none is": {func(b [][]byte) { b[0][120] = 1; rehashed(b[0]) }, nil, false, "its header has bytes that are not zero where version 3 has none"},
		"a header of party four thousand ninety6": {func(b [][]byte) { b[0][22] = 16; rehashed(b[0]) }, nil,
			false, "its header names party 4096, want less than 4096"},
	} {
		b := blocks(own)
		c.change(b)
		text := bytes.Join(b, nil)
		if c.chain {
			text = rechained(b, l.contract, c.repair)
		}
		_, err := verify(text, l.ids)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	if _, err := verify(own, []keys.ID{l.ids[0], l.ids[1], l.ids[1]}); err == nil ||
		err.Error() != "header: parties 1 and 2 have the same id "+short(1) {
		t.Errorf("an id twice: %v", err)
	}
}

// unkept makes a block a record that payloads are no longer kept.
func unkept(block []byte) {
	var old Record
	if err := old.Decode((*[BlockSize]byte)(block)); err != nil {
		panic(err)
	}
	r := Record{Type: TypeUnkept, Session: old.Session, Time: old.Time}
	r.Encode((*[BlockSize]byte)(block))
}

// reheaded makes a block a header.
func reheaded(block []byte, h Header) { h.Encode((*[BlockSize]byte)(block)) }

// rehashed repairs the hash of a header.
func rehashed(block []byte) {
	sum := keys.HashOf(domainHeader, block[:hashAt])
	copy(block[hashAt:], sum[:])
}

// A countersignature is on what its two ends exchanged before the round, and on nothing else.
func TestACountersignatureCoversWhatCameBeforeItsRound(t *testing.T) {
	l := smallTestNetwork(t, "tamper")
	s, err := verify(l.text(0), l.ids)
	must(t, err)
	// In each session: three frames with party 1 and two with party 2 before the first round; that round
	// and one frame more with party 1 before the second.
	if got := [2]uint64{s.Peers[1].Countersigned, s.Peers[2].Countersigned}; got != [2]uint64{2 * 6, 2 * 4} {
		t.Errorf("%v frames countersigned", got)
	}
	if got := s.Peers[1].Sent.Frames + s.Peers[1].Received.Frames; got != 2*8 {
		t.Errorf("%d frames with party 1", got)
	}
	if s.LastSignature != SignedDone || s.Signed != s.Records || s.Records != 44 || s.Sessions != 2 ||
		s.Openings != (Traffic{2, 14}) {
		t.Errorf("summary %+v", s)
	}
	if protocol.DomainLink == DomainSignature {
		t.Error("one domain for two uses")
	}
}
