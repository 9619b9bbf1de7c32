package node

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
)

// TestWaitsAddUp: one wait counts once however often it is told, with all its time; another of the same job anew.
func TestWaitsAddUp(t *testing.T) {
	var w waits
	at := func(s float64) time.Time {
		return time.Unix(1700000000, 0).Add(time.Duration(s * float64(time.Second)))
	}
	say := func(job string, since, now float64, who ...string) {
		w.note(jobs.Event{Kind: jobs.EventWaiting, Job: job, Who: who, Since: at(since), Time: at(now)})
	}
	say("a", 0, 2, "telco")
	say("a", 0, 4, "telco")
	say("b", 1, 3, "telco", "insurer")
	say("a", 10, 13, "telco")
	w.note(jobs.Event{Kind: jobs.EventWaiting, Job: "a", Text: "a sum goes on without one", Time: at(20)})
	w.forget("a")
	got := w.status()
	want := []WaitStatus{{"insurer", 1, 2}, {"telco", 3, 9}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the waits are %+v, want %+v", got, want)
	}
}

// TestWaitsOfSeveralAddUpApart: a job that waits for two members, who are asked together, tells of both in turn.
// Each wait counts once, with its own time.
func TestWaitsOfSeveralAddUpApart(t *testing.T) {
	var w waits
	start := time.Unix(1700000000, 0)
	for s := 2; s <= 60; s += 2 {
		for i, who := range []string{"insurer", "telco"} {
			w.note(jobs.Event{Kind: jobs.EventWaiting, Job: "a", Who: []string{who},
				Since: start.Add(time.Duration(i) * time.Millisecond), Time: start.Add(time.Duration(s) * time.Second)})
		}
		w.note(jobs.Event{Kind: jobs.EventWaiting, Job: "a", Who: []string{"insurer", "telco"}, // for people there
			Since: start.Add(2 * time.Millisecond), Time: start.Add(time.Duration(s) * time.Second)})
	}
	got := w.status()
	if len(got) != 2 || got[0].Count != 1 || got[1].Count != 1 || got[0].Seconds > 60 || got[1].Seconds > 60 {
		t.Errorf("of one minute the waits are %+v", got)
	}
}

// drowsy is a member's network whose machine stands still before each message that it sends in a session.
type drowsy struct {
	*testnet.Transport
	nap time.Duration
}

// drowsyMesh is a session's end of it.
type drowsyMesh struct {
	protocol.Mesh
	nap time.Duration
}

func (d drowsy) Open(ctx context.Context, id protocol.SessionID, peers []keys.ID) (protocol.Mesh, error) {
	m, err := d.Transport.Open(ctx, id, peers)
	return drowsyMesh{m, d.nap}, err
}

func (m drowsyMesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	time.Sleep(m.nap)
	return m.Mesh.Send(ctx, to, parts...)
}

// TestASlowMemberIsNamed: telco's machine stands still for 1.6 seconds before each message, which is no wait that
// anybody is told of. The job takes far longer than forecast: while it runs the others' status has an alert that names
// telco, and when it is done so does its report. Nobody is named where telco's machine runs.
func TestASlowMemberIsNamed(t *testing.T) {
	for _, nap := range []time.Duration{1600 * time.Millisecond, 0} {
		synctest.Test(t, func(t *testing.T) {
			l := newTestNetwork(t, 3, 60)
			l.wrap = func(i int, transport *testnet.Transport) protocol.Transport {
				if l.names[i] == "telco" {
					return drowsy{transport, nap}
				}
				return transport
			}
			l.speeds = &forecast.Speeds{Cores: 1, Unit: map[forecast.Kind]float64{forecast.Message: 1e-6}}
			l.startAll()
			var alert atomic.Pointer[Alert]
			l.told[0] = func(e jobs.Event) {
				for _, a := range l.nodes[0].Status().Alerts {
					if a.Code == CodeSlow {
						alert.Store(&a)
					}
				}
			}
			r, _, err := l.propose(l.job("train", "", activeBank+"features = 64\nloss = \"square\""))
			must(t, err)
			a, slow := alert.Load(), r.Forecast.Slow
			if nap == 0 {
				if a != nil || slow != nil {
					t.Errorf("nobody is slow, and the alert is %v, the report says %v", a, slow)
				}
				return
			}
			if a == nil || !strings.Contains(a.Text, "waiting for telco") || a.About != "trial" {
				t.Errorf("the alert is %+v: want one of the job that names telco", a)
			}
			if slow == nil || slow.Party != "telco" || slow.Share < .5 {
				t.Errorf("the report says %v of %.1f s: want it to name telco", slow, r.Seconds)
			}
			var waited float64
			for _, w := range l.nodes[0].Status().Waits {
				if w.Peer == "telco" {
					waited = w.Seconds
				}
			}
			if waited < r.Waited["telco"] || waited < .5*r.Seconds {
				t.Errorf("%.1f s waited for telco, in the report %.1f of %.1f s", waited, r.Waited["telco"], r.Seconds)
			}
			for _, s := range l.stops {
				s()
			}
		})
	}
}
