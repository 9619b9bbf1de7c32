package columns

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// TestFlattered: what a decision was fitted to is found again by ids, in any order and among other rows. Where a class
// has too few rows for probabilities the threshold is named all the same, and where nobody knows which rows it was, the
// sentence says so.
func TestFlattered(t *testing.T) {
	v, err := vault.Open(t.TempDir(), vault.Options{Owner: keys.HashOf("test")})
	must(t, err)
	defer v.Close()
	j := &judged{vault: v, model: &joint.Model{}}
	d := &figures.Decision{Of: "the rows of job may", Threshold: 0.25, Platt: &figures.Platt{A: -1}}
	youden := figures.Rule{Kind: figures.Youden}
	says := func(d *figures.Decision, rule figures.Rule, ids ...string) string {
		t.Helper()
		words, err := j.flattered(d, rule, ids)
		must(t, err)
		return strings.Join(words, "\n")
	}
	const probabilities = ", which flatters log loss, Brier and calibration"
	const errors = ", which flatters error, recall and precision"
	const all = "the probabilities were fitted to these very rows" + probabilities
	unknown := "the probabilities were fitted to the rows of job may" + probabilities + " if these are among them\n" +
		"the threshold 0.2500 (youden) was chosen by the rows of job may" + errors + " if these are among them"
	if got := says(d, youden, "a"); got != unknown {
		t.Errorf("a decision of rows that nobody knows says %q, want %q", got, unknown)
	}
	must(t, saveFitted(v, DecisionRowsFile, []string{"a", "b", "c"}))
	for _, c := range []struct {
		d    *figures.Decision
		rule figures.Rule
		ids  []string
		want string
	}{
		{d, figures.Rule{Kind: figures.Zero}, []string{"c", "a", "b"}, all},
		{d, figures.Rule{Kind: figures.Given, Amount: 0.25}, []string{"a"}, all},
		{d, youden, []string{"x", "b", "y"}, "the probabilities were fitted to 1 of these 3 rows" + probabilities +
			"\nthe threshold 0.2500 (youden) was chosen by 1 of these 3 rows" + errors},
		{d, youden, []string{"x", "y"}, ""},
		{&figures.Decision{Of: d.Of, Threshold: 0.25}, youden, []string{"a"}, "there are no probabilities: one class has " +
			"too few rows\nthe threshold 0.2500 (youden) was chosen by these very rows" + errors},
	} {
		if got := says(c.d, c.rule, c.ids...); got != c.want {
			t.Errorf("rows %v under the rule %s: %q, want %q", c.ids, c.rule, got, c.want)
		}
	}
	j.model.Probable = true // by the loss, whose probabilities are not fitted to rows
	if got := says(d, figures.Rule{Kind: figures.Zero}, "a"); got != "" {
		t.Errorf("a model with probabilities of its own says %q", got)
	}
}
