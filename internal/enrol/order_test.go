package enrol

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// In whatever order members sign, die and come back, all end with the same version.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			l := newTestNetwork(t, []string{"bank", "insurer", "retailer", "telco"})
			c := l.next(l.names[r.IntN(4)])
			from := l.names[r.IntN(4)]
			l.propose(from, c)
			settle()
			for _, i := range r.Perm(4) {
				name := l.names[i]
				if !c.SignedBy(l.keys[name].ID()) { // without it no node can have put the version into force
					l.signOnDisk(name)
				}
				time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
				victim := l.names[r.IntN(4)]
				l.kill(victim)
				time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
				l.restart(victim)
			}
			time.Sleep(askEvery)
			settle()
			l.wantVersion(2, l.names...)
		})
	}
}
