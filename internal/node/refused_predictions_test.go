package node

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
)

// TestPredictionsThatAreRefused: a prediction has the parties, the protection and the algorithm of the training of its
// model, who receives the scores brings rows, and no two of those who hold shares are affiliated by now.
func TestPredictionsThatAreRefused(t *testing.T) {
	l := newTestNetwork(t, 4, 120)
	l.idle = 2
	must(t, os.Remove(l.tablePath(l.idle, "train")))
	must(t, os.Remove(l.tablePath(l.idle, "test")))
	l.startAll()
	_, h, err := l.propose(l.job("train", "privacy = \"sealed\"",
		activeBank+"features = 64\nlambda = 1e-2\nsigma = 1.0\nkeeper = \"insurer\"\nhelper = \"telco\""))
	must(t, err)
	head := fmt.Sprintf("table = \"test\"\nmodel = %q\n", h)
	refuse := func(want, head string, change ...string) {
		t.Helper()
		text := strings.NewReplacer(change...).Replace(string(l.job("predict", head, "")))
		if _, err := l.nodes[0].Prepare(minute(t), []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	sealed := head + "privacy = \"sealed\"\nopen_to = \"bank\"\n"
	refuse("its parties are", sealed, `"bank", "insurer"`, `"insurer", "bank"`)
	refuse(`privacy is "masked", the model was trained "sealed"`, head+"privacy = \"masked\"\nopen_to = \"bank\"\n")
	refuse(`algorithm is "glm"`, sealed, `"fdskl"`, `"glm"`)
	refuse("brings no rows", head+"privacy = \"sealed\"\nopen_to = \"telco\"\n")
	next := l.nextCharter(func(c *keys.Charter) { c.Affiliations = [][]string{{"bank", "insurer"}} })
	l.nodes[0].SetCharter(inForce(t, next))
	refuse("bank and insurer are affiliated", sealed)
}
