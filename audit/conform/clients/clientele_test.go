package clients

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestRelationsAreMutual: whoever is below a party has it above, and parties have links where the job says.
func TestRelationsAreMutual(t *testing.T) {
	mirror := map[relation]relation{unrelated: unrelated, ownServer: ownClient, ownClient: ownServer, above: below,
		below: above, fellow: fellow}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 24).Draw(t, "parties")
		servers := rapid.IntRange(1, n/2).Draw(t, "servers")
		job := &contract.Job{Topology: rapid.SampledFrom([]string{"star", "tree", "ring"}).Draw(t, "topology")}
		c := &contract.Contract{Job: job, Parties: make([]contract.Facts, n)}
		for i := range n {
			job.Parties = append(job.Parties, fmt.Sprintf("p%d", i))
		}
		job.Servers = rapid.Permutation(job.Parties).Draw(t, "order")[:servers]
		all, err := newClientele(c)
		if err != nil {
			t.Fatal(err)
		}
		for a := range n {
			for b := range n {
				r := all.relation(a, b)
				if all.relation(b, a) != mirror[r] {
					t.Fatalf("p%d is %d to p%d, which is %d to it", b, r, a, all.relation(b, a))
				}
				if want := a != b && (job.ServerOf(a) == b || job.ServerOf(b) == a || job.Serves(a) && job.Serves(b) ||
					adjacent(c, a, b)); (r != unrelated) != want {
					t.Fatalf("p%d and p%d: relation %d, a link is %v", a, b, r, want)
				}
			}
		}
	})
}

// adjacent reports whether one of two clients of one server sends through the other.
func adjacent(c *contract.Contract, a, b int) bool {
	server := c.Job.ServerOf(a)
	if server == a || server == b || server != c.Job.ServerOf(b) {
		return false
	}
	topology, _ := contract.ParseTopology(c.Job.Topology)
	plan := contract.PlanAmong(topology, len(c.Parties), server, c.Job.ClientsOf(server))
	return plan.Parent[a] == b || plan.Parent[b] == a
}
