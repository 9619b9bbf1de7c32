package daemon

import (
	"cmp"

	"github.com/hanse-project/hanse/internal/node"
)

// network says how the network stands.
func (d *Daemon) network() node.Network {
	n := node.Network{Listening: d.host.Addresses()}
	traffic := d.host.Traffic()
	for _, p := range d.host.Status() {
		m := node.MemberStatus{
			Name: p.Name, ID: p.ID.String(), Kept: p.Kept, Connected: p.Connected, Since: p.Since, Address: p.Address,
			Path: p.Source, RTT: p.RTT, Version: p.Program, Heard: p.Heard, ClockAhead: p.ClockAhead, Clock: p.ClockTrouble,
			Trouble: p.Trouble, OtherWire: p.OtherWire, Links: p.Links, In: traffic[p.ID].In, Out: traffic[p.ID].Out,
		}
		if !p.Connected {
			m.Trouble = cmp.Or(p.Refused, p.Trouble)
		}
		n.Members = append(n.Members, m)
	}
	for _, w := range d.enrol.Waiting() {
		n.Waiting = append(n.Waiting, node.WaitingCharter{Version: w.Version, Digest: w.Digest.String(), By: w.By,
			Since: w.Created, File: w.File, Signed: w.Signed, Missing: w.Missing, New: w.New})
	}
	for _, s := range d.host.Strangers() {
		n.Strangers = append(n.Strangers, node.StrangerStatus{ID: s.ID.String(), Address: s.Address, Reason: s.Reason,
			Last: s.Last})
	}
	return n
}
