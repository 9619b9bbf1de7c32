package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/internal/statusview"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
)

// way looks at the way to one member, step by step, up to the first that fails.
func (p *Patient) way(ctx context.Context, host *peer.Host, m keys.Member, e peer.Examination) []Check {
	s := e.Status
	check := func(name string, v Verdict, text, mend string) Check {
		return Check{About: m.Name, Name: name, Verdict: v, Text: text, Mend: mend}
	}
	address := check(CheckAddress, Fine, p.addresses(e), "")
	if !s.Connected {
		return p.apart(m, e, address)
	}
	if len(e.Addresses) == 0 {
		address.Text = "none is known; the member dials this node"
	}
	how := fmt.Sprintf("connected at %s, found by %s", statusview.Address(s.Address), s.Source)
	if s.Source == peer.SourceDialled {
		how = "connected from " + statusview.Address(s.Address) + ": it dialled this node"
	}
	checks := []Check{address, check(CheckDial, Fine, how, ""),
		check(CheckTLS, Fine, "TLS 1.3 has shown its key, "+m.ID.Short(), "")}
	if !e.Full {
		return append(checks, check(CheckAdmission, Failed, s.Trouble, p.oldCharter()))
	}
	version := "has not said which version it runs"
	if s.Program != "" {
		version = "runs hanse " + s.Program
	}
	checks = append(checks, check(CheckAdmission, Fine, "both are under the same charter; it "+version, ""))
	return append(checks, measure(ctx, host, m)...)
}

// oldCharter is what mends two versions of a charter.
func (p *Patient) oldCharter() string {
	return fmt.Sprintf("the one behind takes the newer version by itself while both nodes run, once all have signed it; "+
		"if it does not, copy the newer charter over %s and start that node again", p.CharterFile)
}

// addresses lists what is known of where a member is.
func (p *Patient) addresses(e peer.Examination) string {
	var all []string
	for _, a := range e.Addresses {
		text := fmt.Sprintf("%s by %s", statusview.Address(a.Text), a.Source)
		if !a.Dialled {
			text += " (of a network that this machine is not in, not dialled)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// apart says why there is no link to a member, and what to change.
func (p *Patient) apart(m keys.Member, e peer.Examination, address Check) []Check {
	self, _ := p.Charter.Member(p.Key.ID())
	failed := func(name, text, mend string) Check {
		return Check{About: m.Name, Name: name, Verdict: Failed, Text: text, Mend: mend}
	}
	dialled := 0
	for _, a := range e.Addresses {
		if a.Dialled {
			dialled++
		}
	}
	if dialled == 0 {
		return []Check{p.unreachable(m, self, address)}
	}
	checks := []Check{address}
	if refused := e.Status.Refused; refused != "" { // somebody answered, and it is the member
		mend := "read the reason: it says which of the two to change"
		switch {
		case e.Status.OtherWire:
			mend = "update that one program; docs/life.md says how, and hanse version which wire a program speaks"
		case strings.Contains(refused, "wrong charter file") || strings.Contains(refused, "stands under"):
			mend = fmt.Sprintf("compare the two files (hanse charter show %s at both): one of them is of another charter; give "+
				"the right one with --charter", p.CharterFile)
		case strings.Contains(refused, "neither a member") || strings.Contains(refused, "not a member"):
			mend = fmt.Sprintf("its charter does not have this node's key %s: it takes a version of the charter that does, or "+
				"this node is given the key file that the charter names, with --key", p.Key.ID().Short())
		}
		return append(checks, failed(CheckAdmission, refused, mend))
	}
	if len(e.Attempts) == 0 {
		return append(checks, failed(CheckDial, cmp.Or(e.Status.Trouble, "no attempt has ended"),
			"see "+m.Name+"'s own hanse doctor: it may know more"))
	}
	for _, a := range e.Attempts {
		at, where := statusview.Address(a.Address), lineOf(p.CharterFile, a.Address)
		port := at[strings.LastIndex(at, ":")+1:]
		renew := fmt.Sprintf("if the address is wrong (%s): %s makes a new card with hanse keys card --address, and hanse "+
			"charter change %s --add %s.card -o new.toml puts it into the charter", where, m.Name, p.CharterFile, m.Name)
		switch a.Cause {
		case peer.CauseRefused:
			checks = append(checks, failed(CheckDial, fmt.Sprintf("%s: the port is closed: %s", at, a.Text), fmt.Sprintf(
				"start the node of %s, or open port %s there, in its firewall or its port forwarding; %s", m.Name, port, renew)))
		case peer.CauseSilent, peer.CauseNoRoute:
			checks = append(checks, failed(CheckDial, fmt.Sprintf("%s: %s", at, a.Text), fmt.Sprintf(
				"have the firewall of %s, and this one's outbound rules, let TCP port %s pass; %s", m.Name, port, renew)))
		case peer.CauseNoName:
			checks = append(checks, failed(CheckDial, fmt.Sprintf("%s: %s", at, a.Text),
				"mend the name in the DNS, or this machine's resolver; "+renew))
		case peer.CauseOtherKey:
			who := "a key that is no member's, " + a.Found.Short()
			if other, ok := p.Charter.Member(a.Found); ok {
				who = "the key of " + other.Name
			}
			checks = append(checks, failed(CheckTLS, fmt.Sprintf("%s answers with %s, not with the key of %s, %s", at, who,
				m.Name, m.ID.Short()), fmt.Sprintf("the node there runs with another key file, which %s mends with --key; %s",
				m.Name, renew)))
		default:
			checks = append(checks, failed(CheckDial, fmt.Sprintf("%s: %s", at, a.Text),
				"see what listens there; "+renew))
		}
	}
	return checks
}

// unreachable is what is said of a member that has no address which can be dialled from here, and has not dialled.
func (p *Patient) unreachable(m, self keys.Member, c Check) Check {
	c.Verdict = Failed
	public := false
	for _, a := range self.Addresses {
		public = public || !peer.IsPrivate(a)
	}
	what := "the charter has no address of " + m.Name + ", and nothing else has found one"
	if c.Text != "" {
		what = c.Text
	}
	if len(self.Addresses) > 0 && (public || len(m.Addresses) == 0) {
		c.Text = fmt.Sprintf("%s: it has to dial this node, and has not", what)
		c.Mend = fmt.Sprintf("start the node of %s, and see there whether it reaches this one at %s (hanse doctor)", m.Name,
			statusview.Address(self.Addresses[0]))
		return c
	}
	c.Text = what + ": both are behind NAT, or a firewall that lets nobody in, and no member relays between them"
	if relay := p.relay(); relay != "" {
		c.Text = fmt.Sprintf("%s: both are behind NAT, and the way through %s, which relays, has not come about", what,
			relay)
		c.Mend = fmt.Sprintf("see whether both reach %s: hanse doctor --member %s, here and at %s", relay, relay, m.Name)
		return c
	}
	c.Mend = "give one of the two a public address: forward a port to it and put the address into its card with hanse " +
		"keys card --address; or have a member with a public address relay: relay = true in its card; then hanse charter " +
		"change " + p.CharterFile + " --add CARD -o new.toml"
	return c
}

// relay names a member that relays for others.
func (p *Patient) relay() string {
	for _, m := range p.Charter.Members {
		if m.Relay && m.ID != p.Key.ID() {
			return m.Name
		}
	}
	return ""
}

// ports says where this node listens and whether members that are there can dial it.
func (p *Patient) ports(ctx context.Context, host *peer.Host, met []peer.Examination) Check {
	self, _ := p.Charter.Member(p.Key.ID())
	c := Check{Name: CheckPorts, Verdict: Fine}
	var at []string
	for _, a := range host.Addresses() {
		at = append(at, statusview.Address(a))
	}
	if c.Text = "listening at " + strings.Join(at, ", "); len(at) == 0 {
		c.Text = "it listens nowhere, and only dials: the charter has no address of " + self.Name
	}
	if len(self.Addresses) == 0 {
		return c
	}
	for _, e := range met {
		if !e.Full {
			continue
		}
		closed, err := askReach(ctx, host, e.Status.ID)
		if err != nil {
			continue // of an older version, or gone meanwhile
		}
		around := false
		for _, a := range closed {
			if a.Cause == peer.CauseAround { // of this node's own network: it says nothing of the port
				around = true
				continue
			}
			c.Verdict = Failed
			c.Text += fmt.Sprintf("; %s cannot dial %s: %s", e.Status.Name, statusview.Address(a.Address), a.Cause)
			c.Mend = fmt.Sprintf("open that port in this machine's firewall and its network's port forwarding, or correct the "+
				"address (%s): a new card with hanse keys card --address, then hanse charter change %s --add %s.card -o new.toml",
				lineOf(p.CharterFile, a.Address), p.CharterFile, self.Name)
		}
		if c.Verdict == Fine && !around {
			c.Text += "; " + e.Status.Name + " can dial it at the charter's addresses"
			return c
		}
	}
	return c
}
