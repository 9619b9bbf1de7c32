package contract

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// checkServers checks the servers of a job over clients.
func (j *Job) checkServers() error {
	for i, s := range j.Servers {
		switch {
		case j.Index(s) < 0:
			return fmt.Errorf("server %q is none of its parties%s", wording.Clip(s), wording.DidYouMean(s, j.Parties))
		case slices.Contains(j.Servers[:i], s):
			return fmt.Errorf("servers names %q twice", s)
		}
	}
	if n := len(j.Parties) - len(j.Servers); len(j.Servers) > 0 && n < len(j.Servers) {
		return fmt.Errorf("%d servers for %d clients, want at least a client for each", len(j.Servers), n)
	}
	return nil
}

// CheckRoles holds the servers and the clients of a job over clients against the roles that a
// charter gives its members. It finds nothing wrong with other jobs, and says nothing about parties
// who are no members; see Members.
func (j *Job) CheckRoles(c *keys.Charter) error {
	if len(j.Servers) == 0 || len(c.Roles) == 0 {
		return nil
	}
	for i, name := range j.Parties {
		role := roleClient
		if j.Serves(i) {
			role = roleServer
		}
		m, ok := c.MemberNamed(name)
		if ok && !c.Allows(m.ID, role) {
			return fmt.Errorf("job %q: %s may not be a %s: charter %q, version %d, gives it roles = %q", wording.Clip(j.Name),
				name, role, c.Name, c.Version, c.Roles[m.ID])
		}
	}
	return nil
}

// Serves reports whether a party is a server of the job.
func (j *Job) Serves(party int) bool { return slices.Contains(j.Servers, j.Parties[party]) }

// Group returns the number of the group of servers whose totals open at a server: its place among the servers, from
// 1; see Groups.
func (j *Job) Group(server int) uint16 {
	return uint16(slices.Index(j.Servers, j.Parties[server]) + 1)
}

// ServerOf returns the server that a party belongs to, itself if it is one, -1 in jobs without
// servers. The clients, in the order of the parties, are dealt out to the servers in their order,
// in blocks that differ by at most one.
func (j *Job) ServerOf(party int) int {
	if len(j.Servers) == 0 {
		return -1
	}
	if j.Serves(party) {
		return party
	}
	place := 0
	for i := range party {
		if !j.Serves(i) {
			place++
		}
	}
	return j.Index(j.Servers[place*len(j.Servers)/(len(j.Parties)-len(j.Servers))])
}

// ClientsOf returns the clients of a server, ascending; see ServerOf.
func (j *Job) ClientsOf(server int) []int {
	var clients []int
	for i := range j.Parties {
		if i != server && j.ServerOf(i) == server {
			clients = append(clients, i)
		}
	}
	return clients
}

// ClientNames returns the names of a server's clients; see ClientsOf.
func (j *Job) ClientNames(server int) []string {
	var names []string
	for _, i := range j.ClientsOf(server) {
		names = append(names, j.Parties[i])
	}
	return names
}
