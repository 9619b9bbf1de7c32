package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestADamagedRecordForgetsNoOpenings: after a session the record is damaged, the owner consents again as it is told
// to, and the job is cancelled before its next session. What had opened counts.
func TestADamagedRecordForgetsNoOpenings(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = nil
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 32"), 1)
	if _, err := l.nodes[1].Decide(Decision{Contract: c.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	s, _ := l.nodes[1].job(c.Hash())
	if err := s.openSession(1, time.Now()); err != nil {
		t.Fatal(err)
	}
	l.stops[1]()
	if err := os.Truncate(filepath.Join(l.dirs[1], "node", "jobs", c.Hash().String(), statusFile), 20); err != nil {
		t.Fatal(err)
	}
	l.start(1)
	s, _ = l.nodes[1].job(c.Hash())
	if _, ok := l.nodes[1].opensAt(s); !ok {
		t.Error("damaged, it does not count")
	}
	if _, err := l.nodes[1].Decide(Decision{Contract: c.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	if err := l.nodes[1].Cancel(c.Hash(), "no"); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.nodes[1].opensAt(s); !ok {
		t.Error("consented to again and cancelled, a job that had a session does not count")
	}
}
