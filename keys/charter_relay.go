package keys

import (
	"fmt"
	"slices"
)

// RelayLimits bound what a member that relays (Member.Relay) carries for others. Zero is the default: no limit of time
// and bytes, a place for every member, circuits with every other member.
type RelayLimits struct {
	Minutes      int // one circuit lasts; then the two ends connect anew
	MiB          int // one circuit carries each way; then the two ends connect anew
	Reservations int // members for whom one relay holds a place
	Circuits     int // circuits of one member through one relay at a time
}

// maxRelayLimit is the largest limit of each kind.
const maxRelayLimit = 1 << 30

// relayText is the table of relays in a charter. Its evolution is that of charterText.
type relayText struct {
	Minutes      int `toml:"minutes"`
	MiB          int `toml:"mib"`
	Reservations int `toml:"reservations"`
	Circuits     int `toml:"circuits"`
}

// Relays lists the members that relay, in the order of the text.
func (c *Charter) Relays() []Member {
	return slices.DeleteFunc(slices.Clone(c.Members), func(m Member) bool { return !m.Relay })
}

// checkRelays holds the limits of relays against the values they may have.
func (c *Charter) checkRelays() error {
	for _, limit := range c.Relay.named() {
		if limit.value < 0 || limit.value > maxRelayLimit {
			return fmt.Errorf("relay: %s is %d, want 0 to %d; 0 is no limit", limit.name, limit.value, maxRelayLimit)
		}
	}
	return nil
}

// relayLimit is one of the limits, as texts call it.
type relayLimit struct {
	name    string
	value   int
	meaning string
}

// named lists the limits.
func (l RelayLimits) named() []relayLimit {
	return []relayLimit{
		{"minutes", l.Minutes, "Minutes that a circuit lasts before its ends connect anew."},
		{"mib", l.MiB, "MiB that a circuit carries each way before its ends connect anew."},
		{"reservations", l.Reservations, "Members for whom one relay holds a place."},
		{"circuits", l.Circuits, "Circuits of one member through one relay at a time."},
	}
}

// write renders the limits that are set.
func (l RelayLimits) write(p *page) {
	if l == (RelayLimits{}) {
		return
	}
	p.comment("Limits of members that relay for others.")
	p.table("[relay]")
	for _, limit := range l.named() {
		if limit.value > 0 {
			p.comment(limit.meaning)
			p.number(limit.name, limit.value)
		}
	}
	p.gap()
}

// String says the limits in a line.
func (l RelayLimits) String() string {
	var said []string
	for _, limit := range l.named() {
		if limit.value > 0 {
			said = append(said, fmt.Sprintf("%s %d", limit.name, limit.value))
		}
	}
	return words(said)
}
