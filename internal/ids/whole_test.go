package ids

import (
	"testing"

	"github.com/hanse-project/hanse/keys"
)

// TestAnIDWrittenAsAFloatIsAnotherPersons documents what happens: a program that wrote whole numbers with a point or an
// exponent, as pandas does where a cell was missing and R from 100,000 on, gives rows the ids of other people.
func TestAnIDWrittenAsAFloatIsAnotherPersons(t *testing.T) {
	digits := recipe(t, keys.IDColumn{Name: "c", Trim: true, Digits: true})
	phone := recipe(t, keys.IDColumn{Name: "c", Trim: true, E164: "+31"})
	for _, c := range []struct {
		r              *Recipe
		written, other string
	}{
		{digits, "1.0", "10"}, {digits, "1e+05", "105"}, {digits, "12,0", "120"}, {digits, "-5", "5"},
		{digits, "1\uff0e0", "10"}, {digits, "1\uff12", "1"}, {phone, "612345678.0", "6123456780"},
	} {
		normal, err := c.r.Normal(0, c.written)
		other, bad := c.r.Normal(0, c.other)
		if err != nil || bad != nil || normal != other {
			t.Errorf("%q is %q, %v; %q is %q, %v", c.written, normal, err, c.other, other, bad)
		}
	}
}
