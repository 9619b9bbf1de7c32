package consent

import (
	"math"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// The words that jobs and contracts use. Tests hold them against the packages that own them.
var (
	algorithms   = append(contract.Algorithms(), contract.PSI)
	tasks        = contract.Tasks()
	privacies    = keys.Privacies()
	aggregations = []string{contract.AggregateMasked, contract.AggregateHE}
)

// The roles that a node may take in a job. A party of a sealed job that holds shares has the role that it holds them
// in, whether it brings columns or not.
const (
	RoleActive  = "active" // label holder
	RolePassive = "passive"
	RoleKeeper  = "keeper"
	RoleHelper  = "helper"
	RoleServer  = "server"
	RoleClient  = "client"
)

var roles = []string{RoleActive, RolePassive, RoleKeeper, RoleHelper, RoleServer, RoleClient}

// wordBits is the width of an opened value of a kind that is not listed.
const wordBits = 64

// kinds lists what may open, and how many bits a value has at most.
var kinds = map[string]int64{
	"angles": 16, "partial angles": 16,
	"class names": 8 * 512,
	"bound":       wordBits, "check": wordBits, "choice": wordBits, "derivatives": wordBits, "diffusion": wordBits,
	"distances": wordBits, "labelled": 1, "lambda": wordBits, "validation": wordBits,
	"model": wordBits, "pace": wordBits, "points": wordBits, "products": wordBits, "psi": wordBits,
	"psi-prime": wordBits, "progress": wordBits, "reach": wordBits, "round": wordBits, "scores": wordBits,
	"step": wordBits, "target moments": wordBits, "turn": wordBits, "updates": wordBits, "uploads": wordBits,
	contract.KindRowset: 1, // yes or no
	"z-scores":          wordBits,
	psi.OpensSize:       wordBits, psi.OpensRows: 1,
}

// Knows reports whether a kind of openings is one whose meaning this program knows.
func Knows(kind string) bool { return kinds[kind] > 0 }

// Kinds lists the kinds of openings in order.
func Kinds() []string {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// bitsOf is how many bits an opening of a contract tells at most: those of its values, of which packed words have as
// many as their encoding says, or, where the messages that carry them are longer, as of whole models, those of the
// messages.
func bitsOf(c *contract.Contract, o *contract.Opening) int64 {
	width, ok := kinds[o.Kind]
	if !ok {
		return math.MaxInt64
	}
	var carried int64
	for i := range c.Operations {
		m := &c.Operations[i]
		if m.Kind != o.Kind {
			continue
		}
		if e, err := contract.ParseEncoding(m.Encoding); err == nil && e.IsPacked() {
			width = min(width, int64(e.Bits())) // no more of a value leaves its senders
			continue
		}
		if m.Class == contract.ClassOpening.String() {
			carried = plus(carried, times(8, m.Bytes))
		}
	}
	return max(times(width, o.Count), carried)
}

// plus adds two counts. What is too large for a bound, or no count, stays the largest there is.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 || a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times multiplies two counts in the same way.
func times(a, b int64) int64 {
	if a < 0 || b < 0 || b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// clip shortens a value from outside.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// list joins names for people.
func list(names []string) string { return join(names, "and") }

// join joins names with a word before the last.
func join(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}
