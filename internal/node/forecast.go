package node

import (
	"strings"

	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/protocol/contract"
)

// forecast says what this node expects of a contract. Nothing hangs on it: a node that cannot say has none, and its log
// has why.
func (n *roster) forecast(c *contract.Contract) *forecast.Forecast {
	var known forecast.Known
	kind, err := n.algorithms.kindOf(c.Job)
	if err == nil {
		known = kind.Known(c.Job)
	}
	var speeds *forecast.Speeds
	if n.config.Speeds != nil && err == nil {
		speeds, err = n.config.Speeds()
	}
	var f *forecast.Forecast
	if err == nil {
		f, err = forecast.Of(c, n.member.nameIn(c), known, speeds, n.place(c))
	}
	if err != nil {
		n.config.Log.Warn("there is no forecast", "job", c.Hash().Short(), "error", err)
	}
	return f
}

// place says where the parties of a contract are, as far as this node knows: by the links that it has.
func (n *roster) place(c *contract.Contract) (at forecast.Place) {
	if n.config.Network == nil {
		return at
	}
	members := make(map[string]MemberStatus)
	for _, m := range n.config.Network().Members {
		members[m.ID] = m
	}
	at.Together = true
	var others []string
	for _, p := range n.asker.othersOf(c) {
		others = append(others, p.Name)
		m := members[p.ID.String()]
		here := strings.HasPrefix(m.Address, "/ip4/127.") || strings.HasPrefix(m.Address, "/ip6/::1/")
		at.Together = at.Together && m.Connected && here
		at.Trip = max(at.Trip, m.RTT.Seconds())
	}
	if n.config.Lines != nil {
		at.Rate = n.config.Lines.Slowest(others)
	}
	return at
}
