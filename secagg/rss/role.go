package rss

import (
	"fmt"
	"strings"
)

// Role is a party's place among the three.
type Role int

// The roles. Everybody else in the session is outside, and only counts messages.
const (
	LabelHolder Role = iota
	Keeper
	Helper

	Outside Role = -1
)

// Roles is how many parties hold shares.
const Roles = 3

// String returns the role's name for errors and reports.
func (r Role) String() string {
	switch r {
	case LabelHolder:
		return "label holder"
	case Keeper:
		return "keeper"
	case Helper:
		return "helper"
	case Outside:
		return "outside"
	}
	return fmt.Sprintf("role %d", int(r))
}

// third is the role that is neither a nor b.
func third(a, b Role) Role { return Roles - a - b }

// Truncated returns the kind of the truncation that sends messages of a kind, false when none does.
func Truncated(kind string) (truncation string, ok bool) {
	for _, suffix := range []string{SuffixIn, SuffixCarry, SuffixOut} {
		if truncation, ok = strings.CutSuffix(kind, suffix); ok {
			return truncation, true
		}
	}
	return "", false
}

// TruncationName returns how people are told of the truncation that sends messages of a kind, false when none does: in
// a contract's summary, a job's result and an audit's report.
func TruncationName(kind string) (name string, ok bool) {
	name, ok = Truncated(kind)
	return name + " (truncation)", ok
}

// Order is who does which part in a truncation: the first two mask, the last opens under the mask.
type Order [Roles]Role

// Next is the order in which a truncation of this one's result is soonest done: the party that has the
// result first begins it.
func (o Order) Next() Order { return Order{o[2], o[1], o[0]} }

// FirstOrder is the order of the first truncation of a chain.
func FirstOrder() Order { return Order{LabelHolder, Keeper, Helper} }
