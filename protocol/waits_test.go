package protocol

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitsOfAllLengthsCount: seven waits of 1.6 seconds are 11.2 seconds; the one that lasts counts, also as one that
// is long; what nobody owes does not.
func TestWaitsOfAllLengthsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		w.Ignore("request")
		for range 7 {
			end := w.begin("telco", "chunk")
			time.Sleep(1600 * time.Millisecond)
			end()
			end = w.begin("bank", "request")
			if time.Sleep(time.Hour); w.Now() != (Waiting{}) {
				t.Errorf("it waits for %+v", w.Now())
			}
			end()
		}
		began := time.Now()
		w.begin("telco", "gram")
		time.Sleep(3 * time.Second)
		if now := w.Now(); now != (Waiting{"telco", "gram", began}) {
			t.Errorf("it waits for %+v, want telco's gram", now)
		}
		by := w.By()
		if want := (Waited{Long: 1, Time: 14200 * time.Millisecond}); len(by) != 1 || by["telco"] != want {
			t.Errorf("the waits are %v, want telco's %v alone", by, want)
		}
	})
}
