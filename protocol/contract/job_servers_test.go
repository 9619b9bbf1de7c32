package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// served returns a job text of the given parties and servers.
func served(parties, servers []string) string {
	quoted := func(list []string) string { return strings.ReplaceAll(fmt.Sprintf("%q", list), `" "`, `", "`) }
	return fmt.Sprintf("format = \"hanse-job-v1\"\nname = \"air\"\nalgorithm = \"pofmkl\"\ntask = \"train\"\nparties = %s\nservers = %s\n", quoted(parties), quoted(servers))
}

func TestServersAreCheckedWithTheJob(t *testing.T) {
	for _, c := range []struct {
		parties, servers []string
		want             string
	}{
		{[]string{"hub", "a", "b"}, []string{"hub"}, ""},
		{[]string{"hub", "a", "b"}, []string{"c"}, `server "c" is none of its parties`},
		{[]string{"hub", "a", "b", "c"}, []string{"hub", "hub"}, `servers names "hub" twice`},
		{[]string{"hub", "a", "b"}, []string{"hub", "a"}, "2 servers for 1 clients, want at least a client for each"},
	} {
		_, err := contract.ParseJob([]byte(served(c.parties, c.servers)))
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != `job "air": `+c.want) {
			t.Errorf("%v of %v: error %v, want %q", c.servers, c.parties, err, c.want)
		}
	}
}

// TestEveryClientHasOneServer: clients are dealt out in blocks that differ by at most one.
func TestEveryClientHasOneServer(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(r, "parties")
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("p%d", i))
		}
		servers := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, n/2, rapid.ID).Draw(r, "servers")
		job, err := contract.ParseJob([]byte(served(names, servers)))
		must(r, err)
		var all []int
		fewest, most := n, 0
		for _, s := range servers {
			clients := job.ClientsOf(job.Index(s))
			all = append(all, clients...)
			fewest, most = min(fewest, len(clients)), max(most, len(clients))
			for _, i := range clients {
				if job.ServerOf(i) != job.Index(s) || job.Serves(i) {
					r.Fatalf("client %d of %s belongs to %d", i, s, job.ServerOf(i))
				}
			}
		}
		slices.Sort(all)
		if len(slices.Compact(all)) != n-len(servers) || most-fewest > 1 {
			r.Fatalf("%d clients of %d, between %d and %d to a server", len(all), n-len(servers), fewest, most)
		}
	})
}

// TestRolesOfTheCharterHoldForJobsOverClients: servers and clients are what the charter has them as.
func TestRolesOfTheCharterHoldForJobsOverClients(t *testing.T) {
	server, client, both := []string{"server"}, []string{"client"}, []string{"client", "server"}
	parties := []string{"hub", "a", "b"}
	for _, c := range []struct {
		roles   map[string][]string
		servers []string
		want    string
	}{
		{nil, []string{"hub"}, ""},
		{map[string][]string{"hub": server, "a": client}, []string{"hub"}, ""},
		{map[string][]string{"hub": both, "a": both, "b": both}, []string{"a"}, ""},
		{map[string][]string{"hub": client}, []string{"hub"}, `job "air": hub may not be a server: charter "league", version 3, gives it roles = ["client"]`},
		{map[string][]string{"hub": server, "b": server}, []string{"hub"}, `job "air": b may not be a client: charter "league", version 3, gives it roles = ["server"]`},
		{map[string][]string{"hub": client, "b": server}, nil, ""},
		{map[string][]string{"stranger": client}, []string{"hub"}, ""},
	} {
		charter := keys.Charter{Name: "league", Version: 3, Roles: make(map[keys.ID][]string)}
		for i, name := range append([]string{"stranger"}, parties...) {
			m := keys.Member{Name: name, ID: keys.ID{byte(i + 1)}}
			charter.Members = append(charter.Members, m)
			charter.Roles[m.ID] = c.roles[name]
		}
		job, err := contract.ParseJob([]byte(served(parties, c.servers)))
		must(t, err)
		if err := job.CheckRoles(&charter); text(err) != c.want {
			t.Errorf("roles %v, servers %v: error %v, want %q", c.roles, c.servers, err, c.want)
		}
	}
}

// TestRolesSayNothingOfStrangers: that a party is no member is for others to say.
func TestRolesSayNothingOfStrangers(t *testing.T) {
	job, err := contract.ParseJob([]byte(served([]string{"hub", "a", "b"}, []string{"hub"})))
	must(t, err)
	charter := keys.Charter{Roles: map[keys.ID][]string{{1}: {keys.RoleClient}}}
	if err := job.CheckRoles(&charter); err != nil {
		t.Error(err)
	}
}
