package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/conform"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// examined examines transcripts and compares them.
func (l *testNetwork) examined(sources ...evidence.Source) ([]*conform.Examination, []finding.Check) {
	l.t.Helper()
	in := &evidence.Input{Contract: l.contract, Sources: sources}
	var all []*conform.Examination
	for i := range sources {
		e, err := conform.Examine(l.t.Context(), in, &sources[i])
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all, conform.Cross(l.t.Context(), in, all)
}

func checksOf(all []*conform.Examination, cross []finding.Check) []finding.Check {
	var checks []finding.Check
	for _, e := range all {
		checks = append(checks, e.Checks...)
	}
	return append(checks, cross...)
}

// wantPassed wants all checks to have passed.
func wantPassed(t testing.TB, checks []finding.Check) {
	t.Helper()
	for _, c := range checks {
		if c.Verdict != finding.Passed {
			t.Errorf("%s: %s %s: %s", c.Party, c.Name, c.Verdict, c.Detail)
		}
	}
}

// wantCheck wants one check with a verdict and a text in its detail.
func wantCheck(t testing.TB, checks []finding.Check, name string, v finding.Verdict, part string) {
	t.Helper()
	for _, c := range checks {
		if c.Name == name && c.Verdict == v && strings.Contains(c.Detail, part) {
			return
		}
	}
	t.Errorf("no check %q %s with %q in:", name, v, part)
	for _, c := range checks {
		t.Logf("  %s: %s %s: %s", c.Party, c.Name, c.Verdict, c.Detail)
	}
}

// trainings are small jobs of all kinds.
func trainings() map[string]fdskl.Params {
	return map[string]fdskl.Params{
		"fixed":             {Features: 48, Iterations: 23},
		"doubly stochastic": {Schedule: fdskl.DoublyStochastic, Iterations: 50, Batch: 4, BlockFeatures: 3},
	}
}

func TestHonestTrainingsPassAllChecks(t *testing.T) {
	for name, p := range trainings() {
		for _, privacy := range []string{fdskl.Masked, fdskl.Published} {
			for _, active := range []int{1, 2} {
				for _, topology := range []contract.Topology{contract.Tree, contract.Ring, contract.Star} {
					t.Run(fmt.Sprintf("%s, %s, %d active, %s", name, privacy, active, topology), func(t *testing.T) {
						t.Parallel()
						tr := newTraining(t, 4, active, privacy, topology, p)
						must(t, tr.train(-1, 0, nil))
						all, cross := tr.examined(tr.sources()...)
						wantPassed(t, checksOf(all, cross))
						wantCounts(t, tr, all)
					})
				}
			}
		}
	}
}

// wantCounts holds what was counted against the contract.
func wantCounts(t testing.TB, tr *training, all []*conform.Examination) {
	t.Helper()
	for i, e := range all {
		s := e.Transcript
		if s.Party != tr.names[i] || s.Sessions != 1 || s.Cut || s.Countersigned < 0.5 || s.First == "" ||
			s.Last == "" || s.BytesSent == 0 || s.BytesReceived == 0 {
			t.Errorf("%+v", s)
		}
		for _, line := range e.Egress {
			if line.Frames > line.BudgetFrames || line.Bytes > line.BudgetBytes || line.From != tr.names[i] {
				t.Errorf("%+v", line)
			}
		}
		for _, l := range e.Learned {
			if tr.privacy == fdskl.Masked && l.Words > 0 && l.Contributors != 4 ||
				l.MostWords != l.Words || l.MostTold != l.Told {
				t.Errorf("%s: %+v", s.Party, l)
			}
		}
	}
	if len(all[0].Learned) == 0 {
		t.Error("the active party learned nothing")
	}
}

// Whoever leaves a session in its middle, and however, the transcripts still fit.
func TestInterruptedAndResumedTrainingsPassAllChecks(t *testing.T) {
	for _, failure := range []error{errors.New("disk full"), errKilled} {
		for name, p := range trainings() {
			for _, privacy := range []string{fdskl.Masked, fdskl.Published} {
				t.Run(fmt.Sprintf("%s, %s, %v", name, privacy, failure), func(t *testing.T) {
					t.Parallel()
					tr := newTraining(t, 4, 2, privacy, contract.Tree, p)
					for _, l := range []struct{ who, at int }{{1, 1}, {0, 9}, {2, 6}, {3, 12}, {1, 30}} {
						tr.train(l.who, l.at, failure)
					}
					all, cross := tr.examined(tr.sources()...)
					wantUnfinished(t, checksOf(all, cross), 4)
					must(t, tr.train(-1, 0, nil))
					all, cross = tr.examined(tr.sources()...)
					wantPassed(t, checksOf(all, cross))
					if all[1].Transcript.Sessions != 6 {
						t.Errorf("%+v", all[1].Transcript)
					}
				})
			}
		}
	}
}

// wantUnfinished wants all checks to have passed but that so many transcripts come to an end of the job.
func wantUnfinished(t testing.TB, checks []finding.Check, transcripts int) {
	t.Helper()
	for _, c := range checks {
		if c.Name == finding.CheckComplete && c.Verdict == finding.Skipped && strings.Contains(c.Detail,
			"the job was under way, or what came later was cut off") {
			transcripts--
			continue
		}
		wantPassed(t, []finding.Check{c})
	}
	if transcripts != 0 {
		t.Errorf("%d transcripts more than came to no end", -transcripts)
	}
}

// A transcript that is cut anywhere is never clean by itself. Beside another party's it lacks what it has signed.
func TestTranscriptThatIsCutNeverPasses(t *testing.T) {
	tr := newTraining(t, 4, 1, fdskl.Masked, contract.Tree, trainings()["fixed"])
	must(t, tr.train(-1, 0, nil))
	text := tr.text(2)
	const size = transcript.BlockSize
	half := len(text) / 2 / size
	for _, n := range []int{len(text) - 100, len(text) - size, half * size, size, size + 1} {
		all, _ := tr.examined(source("p2", text[:n]))
		wantUnfinished(t, all[0].Checks, 1)
		if !all[0].Transcript.Cut {
			t.Errorf("cut at %d: %+v", n, all[0].Transcript)
		}
	}
	zeros := func(at, count int) []byte { return append(bytes.Clone(text[:at]), make([]byte, count)...) }
	for _, text := range [][]byte{
		zeros(len(text), 5000), zeros(half*size, 5000), zeros(half*size, size), zeros(half*size+96, 5000),
	} {
		all, _ := tr.examined(source("p2", text))
		wantUnfinished(t, all[0].Checks, 1)
		if !all[0].Transcript.Cut {
			t.Errorf("%d bytes, zeros at the end: %+v", len(text), all[0].Transcript)
		}
	}
	all, _ := tr.examined(source("p2", append(zeros(len(text), 5000), 1)))
	wantCheck(t, all[0].Checks, finding.CheckChain, finding.Failed, "the chain is broken: record 0 stands here")
	all, cross := tr.examined(tr.source(0), source("p2", text[:half*size+5]))
	wantCheck(t, all[1].Checks, finding.CheckComplete, finding.Skipped,
		fmt.Sprintf("it ends inside record %d, as a killed process or a power cut leaves it; the job was under way", half-1))
	wantCheck(t, cross, finding.CheckCross, finding.Failed, "p2 cannot show ")
}

// TestATranscriptThatGrowsIsAuditedAsItWasExamined appends to a transcript between the passes: the hash in the report,
// and what is looked at later, are of what was examined.
func TestATranscriptThatGrowsIsAuditedAsItWasExamined(t *testing.T) {
	l := sumsOf(t)
	whole := l.text(0)
	first := whole[:len(whole)/2/transcript.BlockSize*transcript.BlockSize+70] // inside a record
	opened := 0
	s := evidence.Source{Path: "growing", Open: func() (io.ReadCloser, error) {
		if opened++; opened == 1 {
			return io.NopCloser(bytes.NewReader(first)), nil
		}
		return io.NopCloser(bytes.NewReader(whole)), nil
	}}
	all, _ := l.examined(s)
	sum := sha256.Sum256(first)
	if got, want := all[0].Transcript.SHA256, hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the hash is %s, want that of what was examined, %s", got, want)
	}
	file, err := all[0].Source.Open()
	mustDo(t, err)
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, first) {
		t.Errorf("%d bytes are looked at later, %v, want %d", len(got), err, len(first))
	}
	broken := bytes.Clone(whole)
	broken[len(broken)/2] ^= 1
	all, _ = l.examined(source("broken", broken))
	sum = sha256.Sum256(broken)
	if got, want := all[0].Transcript.SHA256, hex.EncodeToString(sum[:]); got != want {
		t.Errorf("of a transcript that does not verify the hash is %s, want %s", got, want)
	}
}

func TestTranscriptThatCannotBeReadIsAnError(t *testing.T) {
	tr := newTraining(t, 4, 1, fdskl.Masked, contract.Tree, trainings()["fixed"])
	s := tr.source(0)
	_, err := conform.Examine(t.Context(), &evidence.Input{Contract: tr.contract}, &s)
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "transcript "+s.Path) {
		t.Error(err)
	}
}

func TestTranscriptsOfAnotherKindAreFound(t *testing.T) {
	l, other := sumsOf(t), otherSumsOf(t)
	text := l.text(0)
	renamed := transcript.Header{Self: 2, Contract: l.contract.Hash(), Party: l.members[1].ID}
	stranger := transcript.Header{Self: 2, Contract: l.contract.Hash(), Party: other.members[1].ID}
	for _, c := range []struct {
		name   string
		text   []byte
		check  string
		detail string
	}{
		{"empty", nil, finding.CheckChain, "the file is empty, want a transcript"},
		{"no transcript", []byte(strings.Repeat("x", 500)), finding.CheckChain, "it is not a transcript"},
		{"another job", other.text(0), finding.CheckContract,
			"it is of the job with contract " + other.contract.Hash().Short() + ", not " + l.contract.Hash().Short()},
		{"another party's, renamed", withHeader(renamed, text), finding.CheckContract, "it is the transcript of p1, party 2 of the contract, but says that it is party 3"},
		{"of nobody", withHeader(stranger, text), finding.CheckContract, "who is no party of the contract"},
		{"changed", changed(text, 5), finding.CheckChain, "record 5: the chain is broken: its hash does not follow from the record before it: it was changed, or is of another transcript; it verifies up to there: 5 records"},
		{"frame changed by the party itself", l.forge(0, alter(of(received, "angles", 1), 1, flip)),
			finding.CheckCountersignatures, "the countersignature is not that of"},
		{"frame left out", l.forge(0, drop(of(received, "angles", 1).chunk(1))), finding.CheckCountersignatures,
			"the countersignature is not that of"},
		{"number", l.renumbered(), finding.CheckSequence, "frame 7 was received where frame 6 was next"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, _ := l.examined(source(c.name, c.text))
			wantCheck(t, all[0].Checks, c.check, finding.Failed, c.detail)
		})
	}
}

// TestTranscriptsOfOtherVersionsAccuseNobody: they cannot be read, and that is not what a dishonest party left.
func TestTranscriptsOfOtherVersionsAccuseNobody(t *testing.T) {
	l := sumsOf(t)
	for _, version := range []byte{1, 2, 9} {
		text := slices.Clone(l.text(0))
		text[17] = version
		r, err := Run(t.Context(), &evidence.Input{Contract: l.contract, Sources: []evidence.Source{source("other", text)}})
		want := fmt.Sprintf("transcript other: it cannot be read: it is a transcript of version %d, this program reads "+
			"version 3", version)
		if err == nil || err.Error() != want {
			t.Errorf("version %d: %v, %+v, want the error %q", version, err, r, want)
		}
	}
}

// withHeader is a transcript under another header.
func withHeader(h transcript.Header, text []byte) []byte {
	var block [transcript.BlockSize]byte
	h.Encode(&block)
	return append(block[:], text[transcript.BlockSize:]...)
}

// changed is a transcript with one bit of a record changed.
func changed(text []byte, record int) []byte {
	text = slices.Clone(text)
	text[(record+1)*transcript.BlockSize+100] ^= 1
	return text
}

// renumbered leaves a frame out, with the numbers of those behind it as they were.
func (l *testNetwork) renumbered() []byte {
	text := l.forge(0, drop(func(*transcript.Record) bool { return false }))
	reader, _ := transcript.NewReader(bytes.NewReader(text))
	chain, out, count := reader.Header().Hash(), slices.Clone(text[:transcript.BlockSize]), uint64(0)
	for _, r := range l.records(0) {
		if r.Type == received && r.Peer == 1 && r.Sequence == 6 {
			continue
		}
		var block [transcript.BlockSize]byte
		r.Number = count
		r.Encode(&block)
		r.Hash = sha256.Sum256(append(chain[:], block[:transcript.BlockSize-len(chain)]...))
		r.Encode(&block)
		chain, out, count = r.Hash, append(out, block[:]...), count+1
	}
	return out
}

func TestContractThatIsNotCompleteIsFound(t *testing.T) {
	l := sumsOf(t)
	c, err := contract.NewContract(l.contract.Job, l.contract.Parties, l.contract.Openings, l.contract.Operations)
	if err != nil || c.Hash() != l.contract.Hash() {
		t.Fatal("another contract")
	}
	c.Sign(l.keys[0])
	l.contract = c
	all, _ := l.examined(l.source(0))
	wantCheck(t, all[0].Checks, finding.CheckContract, finding.Failed, `the contract of job "test" is not in force: p1, p2, p3 must still sign it`)
}

func TestSessionKeysAreComparedWithoutTheirSignatures(t *testing.T) {
	l := sumsOf(t)
	s := l.source(0)
	text := l.deviate(0, alter(of(received, contract.KindSessionKey, 2), -1, func(r *transcript.Record) { r.Kept = true }))
	kept := source("kept", text)
	kept.Payload = func([32]byte) ([]byte, error) { return make([]byte, 96), nil }
	all, _ := l.examined(s, kept)
	wantPassed(t, all[0].Checks)
	wantCheck(t, all[1].Checks, finding.CheckSessions, finding.Failed, "the session key received from p2 in session 2 is that of record 5")
}

func TestCharterMayAskForMoreContributors(t *testing.T) {
	l := sumsOf(t)
	s := l.source(0)
	e, err := conform.Examine(t.Context(), &evidence.Input{Contract: l.contract, MinContributors: 5}, &s)
	mustDo(t, err)
	wantCheck(t, e.Checks, finding.CheckContributors, finding.Leak, "opened with the vectors of 4 of 4 parties in it, at least 5 are wanted")
}

func TestReadingStopsWithItsContext(t *testing.T) {
	l := sumsOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := l.source(0)
	if _, err := conform.Examine(ctx, &evidence.Input{Contract: l.contract}, &s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTranscriptsWithPayloadsPassAllChecks(t *testing.T) {
	tr := newTraining(t, 4, 2, fdskl.Masked, contract.Tree, trainings()["fixed"])
	tr.keep()
	for range 2 {
		must(t, tr.train(-1, 0, nil))
	}
	all, cross := tr.examined(tr.sources()...)
	wantPassed(t, checksOf(all, cross))
	if !all[3].Transcript.Kept {
		t.Errorf("%+v", all[3].Transcript)
	}
}

// faultyFile is a disk that fails.
type faultyFile struct{ inMemory }

// Read implements io.Reader.
func (f faultyFile) Read(p []byte) (int, error) {
	if f.Len() < 500 {
		return 0, errors.New("the disk is gone")
	}
	return f.inMemory.Read(p[:min(len(p), 300)])
}

func TestDisksThatFailAreErrors(t *testing.T) {
	l := sumsOf(t)
	for _, text := range [][]byte{l.text(0), l.text(0)[:400]} {
		s := evidence.Source{Path: "x",
			Open: func() (io.ReadCloser, error) { return faultyFile{inMemory{bytes.NewReader(text)}}, nil }}
		if _, err := conform.Examine(t.Context(), &evidence.Input{Contract: l.contract},
			&s); err == nil || err.Error() != "transcript x: the disk is gone" {
			t.Error(err)
		}
	}
}

func TestTranscriptThatChangesWhileItIsRead(t *testing.T) {
	l := sumsOf(t)
	again, opened := l.deviate(0, repeat(of(received, "angles", 1))), 0
	s := evidence.Source{Path: "x", Open: func() (io.ReadCloser, error) {
		if opened++; opened > 1 {
			return inMemory{bytes.NewReader(again[:500])}, nil
		}
		return inMemory{bytes.NewReader(again)}, nil
	}}
	_, err := conform.Examine(t.Context(), &evidence.Input{Contract: l.contract}, &s)
	if err == nil || !strings.HasPrefix(err.Error(), "transcript x: it changed while it was read: ") {
		t.Error(err)
	}
}
