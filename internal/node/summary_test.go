package node

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/protocol/contract"
)

func TestSummary(t *testing.T) {
	l := newTestNetwork(t, 4, 600)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 256\nsigma = 1.0"), nil)
	must(t, err)
	want := `bank will be able to rebuild your column of 600 people.

job "trial" (fdskl train), proposed by bank, contract ` + c.Hash().Short() + `
on table train, label y: 2 classes
no purpose is stated
privacy masked, sums along a tree, 600 rows

party     role          rows  columns  key
bank      label holder  600   1        KEY
insurer   passive       600   1        KEY
telco     passive       600   1        KEY
retailer  passive       600   1        KEY

who learns what
  bank: 76800 angles
      about 128 angles a row against 3 columns of the other parties: enough to
      rebuild the differences of all their rows, and with min-max scaling the
      rows themselves
  bank, insurer, telco, retailer, each: 3 rowset
      whether the row ids of each other party with data are the same as its own;
      a party that guesses the whole list of another can test its guess
  insurer, telco, retailer, each: 2 class names
      the label's name for each class

what leaves telco's machine in one session, at most
  96 B      a key of the two: says whether ids are the same
  1024 B    meant for all: told by design
  153.6 kB  one-time masks: noise to whoever receives it
  4404 B    keys, signatures, counters: nothing of the data

THE WHOLE CONTRACT

digest of the contract
  ` + c.Hash().String() + `

messages of one session
  message  to                content            at most
      protected how
  rowset   each other party  -                  96 B
      a key of the two: says whether ids are the same
  target   retailer          -                  1024 B
      meant for all: told by design
  angles   bank              600 x 128 turns16  153.6 kB
      one-time masks: noise to whoever receives it
  control  all               -                  4404 B
      keys, signatures, counters: nothing of the data
  control is session-key, past, resume-point, shared, states, done,
    countersign, abort

lambda is chosen among six from 0.1 to 1e-06, by a fifth of the rows that are
kept out of a first solution, at bank: nothing more opens for it

memory beside the table: bank 811.0 kB, the others a few megabytes

every party keeps a signed transcript with a digest of each message, for
hanse audit
`
	if got := keyShort.ReplaceAllString(summaryOf(t, c, "telco"), "KEY"); got != want {
		t.Errorf("summary is\n%s\nwant\n%s", got, want)
	}
}

// TestSummaryOfShards: of a job in shards a person hears what must run here, and what workers send.
func TestSummaryOfShards(t *testing.T) {
	l := newTestNetwork(t, 4, 10000)
	l.startAll()
	for privacy, want := range map[string][]string{
		"masked": {"the rows are worked on in 2 shards, by workers of all parties: telco must run 2 workers, one for each;",
			"hanse shard manifest trial writes the file", "what leaves telco's workers in the sessions of all shards together",
			"angles bank 1280000 turns16 2560.0 kB one-time masks", "its share is sent again, about 1284.3 kB",
			"A worker reads its part of this party's rows, prepared and in the clear"},
		"sealed": {"angles", "one-time pads"},
	} {
		c, err := l.nodes[0].Prepare(t.Context(), l.job("train", fmt.Sprintf("privacy = %q\nshards = 2", privacy),
			activeBank+"features = 256\nsigma = 1.0\nloss = \"square\""), nil)
		must(t, err)
		text := strings.Join(strings.Fields(summaryOf(t, c, "telco")), " ")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: the summary lacks %q:\n%s", privacy, w, summaryOf(t, c, "telco"))
			}
		}
	}
}

// TestShardsThatCannotBe: a job whose rows cannot be worked on in shards is refused with a sentence that says why.
func TestShardsThatCannotBe(t *testing.T) {
	l := newTestNetwork(t, 4, 600)
	l.startAll()
	for _, c := range []struct{ task, head, parameters, want string }{
		{"train", "shards = 5000", "", "shards is 5000, want 1 to 4096"},
		{"train", "privacy = \"sealed\"\nshards = 2", "loss = \"logistic\"\nouter = 24", "the loss \"square\" alone"},
		{"train", "privacy = \"masked\"\nshards = 2", "loss = \"logistic\"", "the loss \"square\" alone"},
		{"train", "privacy = \"masked\"\naggregation = \"he\"\nshards = 2", "loss = \"square\"", "homomorphic encryption"},
		{"train", "privacy = \"published\"\nshards = 2", "loss = \"square\"", "privacy is \"published\""},
		{"train", "privacy = \"sealed\"\nshards = 3", "", "3 shards of 600 rows, want 1 to 2"},
		{"predict", "shards = 2\nrequests = 10\nopen_to = \"bank\"\nmodel = \"" + strings.Repeat("0", 64) + "\"", "",
			"shards is 2: only a training or prediction"},
	} {
		_, err := l.nodes[0].Prepare(t.Context(), l.job(c.task, c.head, activeBank+"features = 1024\n"+c.parameters), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "shards") {
			t.Errorf("%s %s: %v\nwant %s", c.task, c.head, err, c.want)
		}
	}
}

// summaryOf is a summary without its last line, which names a day.
func summaryOf(t *testing.T, c *contract.Contract, party string) string {
	t.Helper()
	text, day, ok := strings.Cut(summary.Of(c, party, summary.Known{}).String(), "the proposal ends by itself on ")
	if !ok || !strings.HasSuffix(day, " UTC unless all have consented\n") {
		t.Errorf("the summary does not say until when it can be consented to: %q", day)
	}
	return text
}

// keyShort finds the short ids of keys, which tests draw.
var keyShort = regexp.MustCompile(`hanse-id1[a-z0-9]{8}`)
