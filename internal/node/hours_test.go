package node

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// timekeeper is a proposer whose clock says what it likes: that it is noon of a Monday when at the others it is night.
type timekeeper struct{ l *testNetwork }

// asks has it ask for a party's consent, as often as it may.
func (a timekeeper) asks(party int, text string) {
	a.l.t.Helper()
	for range 50 {
		if _, err := a.l.nodes[party].serveConsent(a.l.keys[0].ID(), consentRequest{Contract: text}); err != nil {
			a.l.t.Fatal(err)
		}
	}
}

// TestHoursAreTheNodesOwn: whether it is the hour of a rule says the clock of the node whose rule it is, when it
// judges: no clock and no word of the proposer's moves it, and asking often changes nothing. A record of consent that
// is rewritten afterwards, to say that a rule gave it in its hours, is told from the one that the transcript was begun
// under.
func TestHoursAreTheNodesOwn(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	night := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC) // a Monday
	noon := night.Add(10 * time.Hour)
	var telcos atomic.Int64 // hours that have passed there
	l.now = func() time.Time { return noon }
	l.start(0)
	l.start(1)
	l.policy = wideRules(t, "[[accept]]\nproposers = [\"bank\"]\nhours = [\"mon-fri 08:00-18:00 UTC\"]\n")
	l.now = func() time.Time { return night.Add(time.Duration(telcos.Load()) * time.Hour) }
	l.start(2)

	forger := timekeeper{l}
	text := l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 8")
	byRule := l.proposed(text)
	forger.asks(2, string(byRule.Document.Text()))
	if j := l.infoAt(2, byRule.Hash()); j.State != job.Proposed || j.Consent != nil {
		t.Fatalf("at night telco's rule has consented: %+v", j.Consent)
	}
	telcos.Store(6)
	forger.asks(2, string(byRule.Document.Text()))
	eight := night.Add(6 * time.Hour)
	if j := l.infoAt(2, byRule.Hash()); j.Consent == nil || j.Consent.By != job.ByPolicy || !j.Consent.At.Equal(eight) {
		t.Errorf("at eight telco's rule has %+v", j.Consent)
	}
	telcos.Store(18)
	byNight := l.proposed(text)
	forger.asks(2, string(byNight.Document.Text()))
	if j := l.infoAt(2, byNight.Hash()); j.Consent != nil {
		t.Fatalf("in the evening telco's rule has consented: %+v", j.Consent)
	}

	// Its owner consents to it in the evening, and says later that the rule did, at noon.
	if _, err := l.nodes[2].Decide(Decision{Contract: byNight.Hash(), Yes: true, Person: "tom"}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.nodes[0].Launch(minute(t), byNight.Hash(), nil); err != nil {
		t.Fatal(err)
	}
	l.awaitDone(t.Context(), byNight.Hash())
	l.stops[2]()
	folder := filepath.Dir(l.jobFile(2, byNight.Hash(), TranscriptFile))
	if c, bound, err := readConsent(folder); err != nil || !bound || c.By != job.ByOwner || c.Person != "tom" {
		t.Fatalf("the record is %+v, bound %v, %v", c, bound, err)
	}
	changeRecord(t, folder, byNight.Hash(), func(r *job.Record) {
		r.Consent.By, r.Consent.Rule, r.Consent.Person, r.Consent.At = job.ByPolicy, "accept rule 1", "", noon
	})
	if c, bound, err := readConsent(folder); err != nil || bound {
		t.Errorf("a forged record is bound to the transcript: %+v, %v", c, err)
	}

	// A record that says that the rule did in the evening contradicts the rule.
	changeRecord(t, folder, byNight.Hash(), func(r *job.Record) { r.Consent.At = night.Add(18 * time.Hour) })
	l.start(2)
	e, err := l.nodes[2].Explain(byNight.Hash())
	if err != nil || e.Judgement.Rule != "" ||
		!strings.Contains(fmt.Sprint(e.Judgement.Reasons), "mon-fri 08:00-18:00 UTC") {
		t.Errorf("explained as %+v, %v", e, err)
	}
}

// changeRecord rewrites what a stopped node keeps of a job, as whoever can write in its folder may.
func changeRecord(t *testing.T, folder string, h keys.Hash, change func(*job.Record)) {
	t.Helper()
	v, err := vault.Open(folder, vault.Options{Owner: h})
	must(t, err)
	defer v.Close()
	text, err := v.Load(job.RecordFile)
	var r job.Record
	if err == nil {
		err = keys.DecodeStrict(job.RecordFile, text, &r)
	}
	must(t, err)
	change(&r)
	if text, err = toml.Marshal(r); err == nil {
		err = v.Save(job.RecordFile, text)
	}
	must(t, err)
}
