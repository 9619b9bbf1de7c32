package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/conform"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// flip changes what a payload was.
func flip(r *transcript.Record) { r.Proof[0] ^= 1 }

// TestTranscriptsThatDoNotFitAreFound changes one of two transcripts so that it passes by itself, or
// nearly so, and compares them.
func TestTranscriptsThatDoNotFitAreFound(t *testing.T) {
	l := sumsOf(t)
	for _, d := range []struct {
		name   string
		party  int
		text   []byte
		other  int
		detail string
	}{
		{"other digest, as all signed it", 1, l.deviate(1, alter(of(sent, "angles", 0), 4, flip)), 0,
			"session 1, p1 -> p0, frame 9 (operation 5, angles): p0 recorded other bytes (record 35 of p1, record 43 of p0)"},
		{"other digest, received", 0, l.deviate(0, alter(of(received, "angles", 1), 0, flip)), 1, "p0 recorded other bytes"},
		{"all recorded anew with other bytes", 0, l.forge(0, both(alter(of(received, "angles", 1), 7, flip), unsigned())), 1,
			"session 1, p1 -> p0, frame 12 (operation 6, angles): p0 recorded other bytes"},
		{"frame that only one has", 1, l.deviate(1, insert(sealOf(transcript.SignedDone), lastWords)), 0,
			"session 1, p1 -> p0, frame 17 (operation 8, abort): only p1 has it (record 64), though p0 says that it has the whole session"},
		{"end missing", 1, l.forge(1, both(unsigned(), drop(operationOf(contract.KindDone)))), 0,
			"(operation 8, done): p1 cannot show 2 frames from there on that p0 has (record "},
		{"the same", 1, l.forge(1, both(unsigned(), drop(operationOf(contract.KindDone)))), 0,
			"and that it has signed: its transcript has lost them, or they were taken out"},
		{"operation that only one has", 2, l.deviate(2, drop(operationOf("scores"))), 3, "session 1, p3 -> p2, frame 13 (operation 7, scores): p2 recorded it as of operation 8, done"},
		{"another size", 1, l.deviate(1, alter(of(sent, "angles", 0), 1, func(r *transcript.Record) { r.Size += 2 })), 0,
			"p0 recorded chunk 1 with 1048576 bytes of 2621440, it was sent as chunk 1 with 1048576 bytes of 2621442"},
		{"another class", 1, l.deviate(1, alter(of(sent, "angles", 0), 1, func(r *transcript.Record) { r.Class = 3 })), 0,
			"p0 recorded it as masked turns16, it was sent as published turns16"},
		{"last session missing", 1, l.forge(1, drop(func(r *transcript.Record) bool { return r.Session == 2 })),
			0, "session 2, p"},
		{"the same last session missing", 1, l.forge(1, drop(func(r *transcript.Record) bool { return r.Session == 2 })),
			0, "frame 0 (operation 1, session-key): p1 cannot show "},
	} {
		t.Run(d.name, func(t *testing.T) {
			for _, swapped := range []bool{false, true} {
				both := []evidence.Source{source("forged", d.text), l.source(d.other)}
				if swapped {
					slices.Reverse(both)
				}
				_, cross := l.examined(both...)
				t.Log(cross[0].Detail)
				if !strings.Contains(cross[0].Detail, d.detail) {
					t.Errorf("%s: %s, want %s", cross[0].Verdict, cross[0].Detail, d.detail)
				}
			}
		})
	}
}

// TestDigestsThatWereNotKeptAreNotTakenForEqual has two transcripts with more links than an auditor keeps digests of,
// so that a forger's differs where neither side has one.
func TestDigestsThatWereNotKeptAreNotTakenForEqual(t *testing.T) {
	l := sumsOf(t)
	examined := func(s evidence.Source) *conform.Examination {
		x, err := conform.ExamineKeeping(t.Context(), &evidence.Input{Contract: l.contract}, &s, 2)
		mustDo(t, err)
		return x
	}
	compared := func(own evidence.Source) []finding.Check {
		return conform.Cross(t.Context(), &evidence.Input{Contract: l.contract},
			[]*conform.Examination{examined(own), examined(l.source(0))})
	}
	wantCheck(t, compared(l.source(1)), finding.CheckCross, finding.Passed,
		"frames of p1 and p0 are the same in both transcripts")
	if strings.HasPrefix(compared(l.source(1))[0].Detail, "0 frames") {
		t.Error("nothing was compared")
	}
	late := func(all []transcript.Record) []transcript.Record {
		at := slices.IndexFunc(all, func(r transcript.Record) bool { return r.Session == 2 && of(sent, "angles", 0)(&r) })
		flip(&all[at])
		return all
	}
	wantCheck(t, compared(source("forged", l.deviate(1, late))), finding.CheckCross, finding.Failed,
		"p0 recorded other bytes")
	less := drop(func(r *transcript.Record) bool { return r.Session == 2 })
	wantCheck(t, compared(source("forged", l.forge(1, less))), finding.CheckCross, finding.Skipped, "p1 has no session 2")
}

// lastWords is a frame that leaves the session.
func lastWords(all []transcript.Record, _ int) []transcript.Record {
	at := slices.IndexFunc(all, func(r transcript.Record) bool { return of(sent, contract.KindDone, 0)(&r) })
	r := all[at]
	r.Kind = contract.KindAbort
	return []transcript.Record{r}
}

// Whatever record is left out, doubled or swapped with the next, with every signature made anew: the
// transcript itself or the comparison with the others shows it.
func TestEveryRecordLeftOutDoubledOrSwappedIsFound(t *testing.T) {
	l := sumsOf(t)
	in := &evidence.Input{Contract: l.contract}
	honest, _ := l.examined(l.sources()...)
	for _, party := range []int{0, 2} {
		for n, r := range l.records(party) {
			if !r.Type.Payload() || r.Session > 1 {
				continue
			}
			for what, change := range map[string]edit{
				"left out": func(all []transcript.Record) []transcript.Record { return slices.Delete(all, n, n+1) },
				"doubled":  func(all []transcript.Record) []transcript.Record { return slices.Insert(all, n, all[n]) },
				"swapped": func(all []transcript.Record) []transcript.Record {
					all[n], all[n+1] = all[n+1], all[n]
					return all
				},
			} {
				forged, all := source("forged", l.deviate(party, change)), slices.Clone(honest)
				all[party] = mustExamine(t, in, &forged)
				if !slices.ContainsFunc(checksOf(all, conform.Cross(t.Context(), in, all)),
					func(c finding.Check) bool { return c.Verdict != finding.Passed }) {
					t.Errorf("p%d: record %d (%s, %s) %s: nobody sees it", party, n, r.Type, r.Kind, what)
				}
			}
		}
	}
}

func TestTranscriptsThatCannotBeComparedAreNamed(t *testing.T) {
	l, other := sumsOf(t), otherSumsOf(t)
	_, cross := l.examined(l.source(0), l.source(0), other.source(1))
	wantCheck(t, cross, finding.CheckCross, finding.Failed,
		"there are two transcripts of p0: "+l.path(0)+" and "+l.path(0))
	wantCheck(t, cross, finding.CheckCross, finding.Failed, other.path(1)+" is no transcript of the job and was not compared with the others")
}
