package enrol

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/hanse-project/hanse/keys"
)

// Members who call the bank alone come to a new version together, and call nobody else.
func TestNearAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "telco"})
		bank := l.keys["bank"].ID()
		l.near = map[string][]keys.ID{"insurer": {bank}, "telco": {bank}}
		for name := range l.near {
			l.kill(name)
			l.restart(name)
		}
		l.propose("insurer", l.next("insurer"))
		settle()
		for _, name := range []string{"bank", "telco"} {
			l.signOnDisk(name)
			settle()
		}
		l.wantVersion(2, l.names...)
		for name := range l.near {
			n := l.nodes[name]
			n.mu.Lock()
			defer n.mu.Unlock()
			if len(n.called) != 1 || !n.called[bank] {
				t.Errorf("%s has called %v, want the bank alone", name, n.called)
			}
		}
	})
}

// A member's node that is only just starting has not refused what it was told: it is told again.
func TestToldWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "telco"})
		l.kill("telco")
		l.net.Restart(l.keys["telco"].ID()) // without a handler yet
		l.propose("bank", l.next("bank"))
		settle()
		l.start("telco", l.nodes["telco"].dir)
		settle()
		if files := l.nodes["telco"].proposalFiles(t); len(files) != 1 {
			t.Errorf("telco has the proposals %v, want one; the bank's log:\n%s", files, l.nodes["bank"].log)
		}
	})
}

// Who is invited as a client is a client in the charter, and whoever signs it reads that.
func TestInviteWithRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco")
		telco := l.keys["telco"].ID()
		g := Guests{Key: l.keys["bank"], Charter: l.first, Cards: []keys.Card{l.card("telco")},
			Roles: map[string][]string{"telco": {keys.RoleClient}}, Expires: l.first.Created.AddDate(1, 0, 0)}
		issued := must(Invite(l.nodes["bank"].dir, g))(t)
		if got := issued.Proposal.Roles[telco]; !slices.Equal(got, []string{keys.RoleClient}) {
			t.Errorf("the telco is invited as %v", got)
		}
		settle()
		file := l.nodes["insurer"].proposalFiles(t)[0]
		l.wantLine("insurer", "bank proposes charter version 2: adds telco ("+telco.String()+"); roles of telco: any -> client; see it with: hanse charter show "+file+"; sign it with: hanse charter sign --key FILE.key "+file)

		g.Roles = nil
		_, err := Invite(l.nodes["bank"].dir, g)
		wantError(t, err, `charter "credit": another version 2 carries this member's signature, `+issued.File+`: let it come into force first, or delete it; several newcomers can be invited at once`)
		g.Roles = map[string][]string{"lab": {keys.RoleClient}}
		_, err = Invite(l.nodes["bank"].dir, g)
		wantError(t, err, `charter "credit": there is no member "lab" to give a role`)
	})
}
