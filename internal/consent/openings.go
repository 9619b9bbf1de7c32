package consent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Span is how far back the bounds over several jobs look.
const Span = 30 * 24 * time.Hour

// openings is the key that lists all that may open.
var openings = key{
	name: "openings", accepts: true, set: func(r *Rule) bool { return r.Openings != nil },
	mistakes: func(r *Rule, charter *keys.Charter) []string {
		var found []string
		for i := range r.Openings {
			found = append(found, r.Openings[i].mistakes(charter)...)
		}
		return found
	},
	fits: func(r *Rule, c *Case) (bool, string, string) {
		for i := range c.Contract.Openings {
			o := &c.Contract.Openings[i]
			if o.Kind == contract.KindRowset { // in every job over columns, and no number of anybody's
				continue
			}
			if !slices.ContainsFunc(r.Openings, func(b Opening) bool { return b.covers(o) }) {
				return false, fmt.Sprintf("%d %s to %s", o.Count, o.Kind, o.To), "none of that kind to that party"
			}
		}
		for i := range r.Openings {
			if ok, job, want := r.Openings[i].fits(c); !ok {
				return false, job, want
			}
		}
		return true, "", ""
	},
	words: func(r *Rule) string {
		if len(r.Openings) == 0 {
			return "nothing opens to anybody"
		}
		var parts []string
		for i := range r.Openings {
			parts = append(parts, r.Openings[i].words())
		}
		return "nothing opens but " + strings.Join(parts, "; ")
	},
}

// covers reports whether the bound is about an opening of a contract.
func (b *Opening) covers(o *contract.Opening) bool {
	return b.Kind == o.Kind && (b.To == nil || slices.Contains(b.To, o.To))
}

// limit is one of the four numbers of a bound.
type limit struct {
	name   string
	most   *int64
	inBits bool
	inSpan bool
}

// limits lists the numbers of a bound, those that are not set too.
func (b *Opening) limits() []limit {
	return []limit{
		{"count", b.Count, false, false}, {"bits", b.Bits, true, false},
		{"count_30_days", b.Count30, false, true}, {"bits_30_days", b.Bits30, true, true},
	}
}

// mistakes lists what is wrong with a bound.
func (b *Opening) mistakes(charter *keys.Charter) []string {
	var found []string
	if _, ok := kinds[b.Kind]; !ok {
		found = append(found, fmt.Sprintf("openings has the kind %q; known are %s: write one of these", clip(b.Kind),
			list(Kinds())))
	}
	if b.To != nil {
		found = append(found, unknown("to of openings", b.To, members(charter))...)
	}
	for _, l := range b.limits() {
		if l.most != nil && *l.most < 1 {
			found = append(found, fmt.Sprintf("%s of the openings of kind %q is %d, want 1 or more: "+
				"leave the kind out of the list where none may open", l.name, clip(b.Kind), *l.most))
		}
	}
	return found
}

// measure adds up what a contract opens that the bound is about.
func (b *Opening) measure(c *contract.Contract, inBits bool) int64 {
	var sum int64
	for i := range c.Openings {
		o := &c.Openings[i]
		switch {
		case !b.covers(o):
		case inBits:
			sum = plus(sum, bitsOf(c, o))
		default:
			sum = plus(sum, o.Count)
		}
	}
	return sum
}

// fits holds a job, and the jobs consented to before it, against the bound.
func (b *Opening) fits(c *Case) (ok bool, job, want string) {
	for _, l := range b.limits() {
		if l.most == nil {
			continue
		}
		own := b.measure(c.Contract, l.inBits)
		sum := own
		if l.inSpan && own > 0 { // a job that opens none of it is not held to what others opened
			for _, past := range c.Consented {
				if past.At.After(c.Now.Add(-Span)) {
					sum = plus(sum, b.measure(named(past.Contract, c.Charter), l.inBits))
				}
			}
		}
		if sum > *l.most {
			unit, with := "", ""
			if l.inBits {
				unit = " bits of"
			}
			if l.inSpan {
				with = " with the jobs of the last 30 days"
			}
			return false, fmt.Sprintf("%d%s %s%s%s", sum, unit, b.Kind, b.receivers(), with),
				fmt.Sprintf("at most %d (%s)", *l.most, l.name)
		}
	}
	return true, "", ""
}

// named is a contract whose openings name their receivers as the charter in force does: a member that was renamed has
// the key that it had.
func named(c *contract.Contract, charter *keys.Charter) *contract.Contract {
	if charter == nil {
		return c
	}
	renamed := *c
	renamed.Openings = slices.Clone(c.Openings)
	for i := range renamed.Openings {
		o := &renamed.Openings[i]
		for _, f := range c.Parties {
			if m, ok := charter.Member(f.ID); ok && f.Name == o.To {
				o.To = m.Name
				break
			}
		}
	}
	return &renamed
}

// receivers says to whom the bound is.
func (b *Opening) receivers() string {
	if b.To == nil {
		return ""
	}
	return " to " + list(b.To)
}

// words says what the bound lets through.
func (b *Opening) words() string {
	var parts []string
	for _, l := range b.limits() {
		if l.most == nil {
			continue
		}
		text := fmt.Sprintf("at most %d", *l.most)
		if l.inBits {
			text += " bits"
		}
		if l.inSpan {
			text += " in 30 days"
		} else {
			text += " a job"
		}
		parts = append(parts, text)
	}
	text := b.Kind + b.receivers()
	if b.To == nil {
		text += " to anybody"
	}
	if len(parts) == 0 {
		return text + ", any number"
	}
	return text + ", " + strings.Join(parts, ", ")
}
