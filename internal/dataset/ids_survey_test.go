package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/source"
)

// idsOf writes a table of ids.
func idsOf(ids ...string) string {
	var b strings.Builder
	b.WriteString("cust,x\n")
	for i, id := range ids {
		fmt.Fprintf(&b, "%s,%d\n", id, i%2)
	}
	return b.String()
}

// TestTheSurveySaysWhatIDsLookLike: how many are written so, where the first stands, and what to do; and nothing where
// they are as people and databases write them.
func TestTheSurveySaysWhatIDsLookLike(t *testing.T) {
	const recipe = "write the column as text, or give it the recipe number in the charter"
	for _, c := range []struct{ ids, want string }{ // ids with "|" between
		{"3.0|1.0|2.0", `all 3 ids are whole numbers with ".0", the first in line 2, as programs write them where a cell was ` +
			`missing: ` + recipe},
		{"3|20|1.0", `1 of 3 ids is a whole number with ".0", in line 4, as programs write them where a cell was missing: ` +
			recipe},
		{"99999|1e+05|2e+05", "2 of 3 ids are numbers with an exponent, the first in line 3, as programs write long ones: " +
			recipe},
		{"6.12E+08|5.4E+08", "all 2 ids are numbers with an exponent, the first in line 2, as programs write long ones: " +
			recipe},
		{"7|002|001", "2 of 3 ids have zeros in front, the first in line 3, and others have none: write all alike, or give " +
			"the column the recipe number in the charter"},
		{"1 234|1234 5|7", "2 of 3 ids have blanks inside, the first in line 2: write the column without them"},
		{"AB 12|AB13|AB 1", ""}, {"AB 123|AB124|AB 125", "2 of 3 ids have blanks inside, the first in line 2: write the " +
			"column without them"},
		{"Ab1|aB1|ab2", "1 of 3 ids equals another but for capitals, in line 3: write all alike, or give the column the " +
			"recipe casefold in the charter"},
		{"1.000|2.000", "all 2 ids have points or commas that may stand for decimals or for thousands, the first in line 2: " +
			"write the column as text, in plain digits"},
		{"17|18|Total", "1 of 3 ids is a word that stands before sums, in line 4: leave the row out"},
		{"K1|K2|Summe", "1 of 3 ids is a word that stands before sums, in line 4: leave the row out"},
		{"Ann|Bob|Sum", ""}, {"1|20|300", ""}, {"001|020|300", ""}, {"001|002", ""}, {"c1|c20", ""},
		{"12E45|12F45", ""}, {"1012 AB|1013 AC", ""},
		{"de Vries|Jansen", ""}, {"12.3|12.4", ""}, {"10.0.0.1|10.0.0.2", ""},
	} {
		s := survey(t, idsOf(strings.Split(c.ids, "|")...), Options{ID: "cust"})
		var got []string
		for _, d := range s.IDs {
			got = append(got, strings.TrimPrefix(d.Says, `ids in "cust": `))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %q, want %q", c.ids, got, c.want)
		}
		if notes := strings.Join(s.Notes(), "\n"); c.want != "" && !strings.Contains(notes, c.want) {
			t.Errorf("%s: the notes lack it: %s", c.ids, notes)
		}
	}
	o := Options{ID: "cust", Identify: []string{"cust"}}
	if s := survey(t, idsOf("1.0", "2.0"), o); s.IDs != nil {
		t.Errorf("ids that a charter's recipe is about: %+v", s.IDs)
	}
}

// TestIDsAreLookedAtUnderARecipe: what a recipe makes alike is no doubt, and what it refuses is one.
func TestIDsAreLookedAtUnderARecipe(t *testing.T) {
	o := Options{ID: "cust"}
	r, err := parseReading(&source.Source{Text: strings.NewReader(idsOf("1.0", "2.0"))}, asCSV, o, standardLimits())
	must(t, err)
	for _, same := range []bool{true, false} {
		look, err := r.LookAt("cust", func(a, b string) bool { return same && strings.TrimSuffix(a, ".0") == b })
		if err != nil || (len(look.Doubts) == 0) != same {
			t.Errorf("alike %t: %+v, %v", same, look, err)
		}
	}
	if _, err := r.LookAt("x", nil); err == nil {
		t.Error("a column that was not read for it is looked at")
	}
}

// TestIDsHaveAShape: where there is no doubt, what ids are all together is said.
func TestIDsHaveAShape(t *testing.T) {
	for ids, want := range map[string]string{
		"1|20|300": "3 ids, whole numbers of 1 to 3 digits",
		"001|002":  "2 ids, whole numbers with zeros in front, of 3 digits",
		"a1|b":     "2 ids, texts of 1 to 2 characters, all letters small",
		"A1|B2":    "2 ids, texts of 2 characters, all letters capitals",
		"Ab|C-":    "2 ids, texts of 2 characters, capitals and small letters",
		"7":        "1 id, whole numbers of 1 digit", "|": "none",
	} {
		lines := make([]int32, 5)
		look := lookAtIDs("cust", strings.Split(ids, "|"), lines, true, nil)
		if s := look.Sentences(); len(s) != 1 || s[0] != `ids in "cust": `+want {
			t.Errorf("%s: %q, want %q", ids, s, want)
		}
	}
}
