package conform

import (
	"testing"

	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// TestAnOpeningThatMatchesNothingIsLookedForOnce has a hostile transcript of many openings for which nobody was ready,
// in a late session, and of openings that all are far from where they belong: an auditor does not hash for ever.
func TestAnOpeningThatMatchesNothingIsLookedForOnce(t *testing.T) {
	of := func() *openingsOfKind {
		return &openingsOfKind{latest: 500, seen: make(map[uint32]*openingSeen), by: make(map[keys.Hash]uint32)}
	}
	rec := &transcript.Record{Type: transcript.TypeOpened, Kind: "scores", Session: 5000,
		Encoding: contract.Fixed64, Size: 8}
	r, scores := &readiness{found: finding.NewSet()}, of()
	for range 10 {
		r.told, r.same = []keys.Hash{{1}, {1}, {1}}, true
		r.start(rec, rec.Kind, scores)
	}
	if r.looks != nearSessions*2*nearOpenings || !r.found.Has(finding.CheckOpenings) {
		t.Errorf("%d hashes for ten openings, want %d", r.looks, nearSessions*2*nearOpenings)
	}
	for _, c := range []struct {
		number, origin uint32
		found          bool
		looks          int
	}{
		{501, 5000, true, 1},
		{564, 5000, true, nearOpenings},
		{437, 5000, true, nearOpenings + 1},
		{500, 5000, true, 2 * nearOpenings},
		{501, 4999, true, 2*nearOpenings + 1},
		{565, 5000, false, nearSessions * 2 * nearOpenings},
		{436, 5000, false, nearSessions * 2 * nearOpenings},
	} {
		r := &readiness{found: finding.NewSet()}
		told := sealed.ReadyHash(rec.Kind, c.number, c.origin)
		number, origin, ok := r.find(of(), rec.Kind, rec.Session, told)
		if ok != c.found || ok && (number != c.number || origin != c.origin) || r.looks != c.looks {
			t.Errorf("opening %d of session %d: %d of %d, %v after %d hashes, want %d",
				c.number, c.origin, number, origin, ok, r.looks, c.looks)
		}
		r.looks = mostLooks
		if _, _, ok := r.find(of(), rec.Kind, rec.Session, told); ok || r.looks != mostLooks+1 {
			t.Errorf("opening %d of session %d: it looks on after %d hashes", c.number, c.origin, r.looks)
		}
	}
}
