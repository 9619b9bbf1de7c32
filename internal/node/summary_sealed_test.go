package node

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestSealedSummary(t *testing.T) {
	l := newTestNetwork(t, 4, 600)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(),
		l.job("train", "privacy = \"sealed\"",
			activeBank+"features = 256\nlambda = 1e-6\niterations = 100\nsigma = 1.0"), nil)
	must(t, err)
	want := `No party alone learns anything of a single one of your rows; any two of bank,
insurer and telco together could rebuild your column of 600 people.

job "trial" (fdskl train), proposed by bank, contract ` + c.Hash().Short() + `
on table train, label y: 2 classes
no purpose is stated
privacy sealed, sums along a tree, 600 rows, features in words of 32 bits

party     role          rows  columns  key
bank      label holder  600   1        KEY
insurer   keeper        600   1        KEY
telco     helper        600   1        KEY
retailer  passive       600   1        KEY

bank (label holder), insurer (keeper) and telco (helper) hold shares of whatever
is computed. Any two of these three together could rebuild all columns, the
labels and the model; each alone, together with any of the other parties, learns
nothing but what is listed below.

who learns what
  bank: 1 bound
      the order of magnitude of the norm of the Gram matrix, times a random
      factor that nobody knows: how alike the rows are on the whole
  bank, insurer, telco, each: 40 check
      whether the steps of the solver were taken as agreed: numbers of 20 bits,
      of an honest training rounding alone
  bank, insurer, telco, retailer, each: 3 rowset
      whether the row ids of each other party with data are the same as its own;
      a party that guesses the whole list of another can test its guess
  insurer, telco, retailer, each: 2 class names
      the label's name for each class
  insurer, telco, retailer, each: 1 reach
      the order of magnitude of the norm of the Gram matrix, times a random
      factor

what leaves insurer's machine in one session, at most
  96 B       a key of the two: says whether ids are the same
  4188.7 kB  one-time pads: noise to whoever receives it
  1 B        one-time masks: noise to whoever receives it
  100 B      meant for its receiver: told by design
  5777 B     keys, signatures, counters: nothing of the data

THE WHOLE CONTRACT

digest of the contract
  ` + c.Hash().String() + `

messages of one session
  message                    to                content        at most
      protected how
  rowset                     each other party  -              96 B
      a key of the two: says whether ids are the same
  angles                     bank              76800 turns16  153.6 kB
      one-time pads: noise to whoever receives it
  features                   telco             153600 ring32  614.4 kB
      one-time pads: noise to whoever receives it
  windows (truncation)       bank, telco       66818 words    400.9 kB
      one-time pads: noise to whoever receives it
  means (truncation)         bank, telco       512 words      4096 B
      one-time pads: noise to whoever receives it
  gram (truncation)          bank, telco       65792 words    526.3 kB
      one-time pads: noise to whoever receives it
  sides (truncation)         bank, telco       512 words      4096 B
      one-time pads: noise to whoever receives it
  norm (truncation)          bank, telco       808 words      6464 B
      one-time pads: noise to whoever receives it
  bound                      bank              1 of 8 bits    1 B
      one-time masks: noise to whoever receives it
  multiples (truncation)     bank, telco       1024 words     8192 B
      one-time pads: noise to whoever receives it
  step (truncation)          bank, telco       153600 words   2457.6 kB
      one-time pads: noise to whoever receives it
  coefficients (truncation)  bank, telco       1536 words     12.3 kB
      one-time pads: noise to whoever receives it
  offset (truncation)        bank, telco       6 words        48 B
      one-time pads: noise to whoever receives it
  check (truncation)         bank, telco       80 words       640 B
      one-time pads: noise to whoever receives it
  check                      bank              40 of 20 bits  100 B
      meant for its receiver: told by design
  control                    all               -              5777 B
      keys, signatures, counters: nothing of the data
  control is session-key, past, resume-point, held, ready, coin commitment,
    coin, check vouched, shared, states, done, countersign, abort

memory beside the table: about SIZE at each of bank, insurer and telco; the
others a few megabytes

every party keeps a signed transcript with a digest of each message, for
hanse audit
`
	got := memoryFigure.ReplaceAllString(keyShort.ReplaceAllString(summaryOf(t, c, "insurer"), "KEY"), "about SIZE at")
	if got != want {
		t.Errorf("summary is\n%s\nwant\n%s", got, want)
	}
}

// memoryFigure finds how much memory a sealed training takes, which is an estimate.
var memoryFigure = regexp.MustCompile(`about [0-9.]+ [kMG]?B at`)

func TestSealedSummaryOfTheLogisticLoss(t *testing.T) {
	l := newTestNetwork(t, 3, 200)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(),
		l.job("train", "privacy = \"sealed\"", activeBank+"loss = \"logistic\"\nfeatures = 32"), nil)
	must(t, err)
	got := summaryOf(t, c, "bank")
	for _, want := range []string{
		"Any two of these three together could rebuild all columns, the labels and the model; each alone\nlearns nothing " +
			"but what is listed below.",
		"at each of bank, insurer and telco\n",
		"on the disk until the training ends: 25.6 kB at each of insurer and telco, shares of all features, encrypted under a " +
			"key that is in memory alone; so memory does not grow with rows times features\n",
		"  events ", "  sines ",
	} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("summary lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "the score of every training row") {
		t.Errorf("scores of training rows open:\n%s", got)
	}
}

func TestSealedSummaryOfAHelperWithoutData(t *testing.T) {
	l := newTestNetwork(t, 4, 200)
	for _, name := range []string{"train", "test"} {
		must(t, os.Remove(l.tablePath(1, name)))
	}
	l.idle = 1
	l.startAll()
	report, h, err := l.propose(l.job("train", "privacy = \"sealed\"",
		activeBank+"features = 32\niterations = 20\nkeeper = \"retailer\"\nhelper = \"insurer\""))
	must(t, err)
	if report.Trained == nil || report.Trained.Iterations != 20 || report.Trained.TrainError != nil {
		t.Errorf("the label holder's report is %+v", report.Trained)
	}
	c, err := l.nodes[0].Prepare(t.Context(), l.job("predict", fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = "+
		"\"bank\"\nprivacy = \"sealed\"\n", h), ""), nil)
	must(t, err)
	got := summaryOf(t, c, "bank")
	for _, want := range []string{
		"insurer   helper, without data  -     -\n",
		"retailer  keeper                200   1\n",
		"telco     passive               200   1\n",
		"bank (label holder), retailer (keeper) and insurer (helper) hold shares",
		"could rebuild all columns of these rows, their scores and the model;",
		"  factors ", "  prediction (truncation) ",
		"bank: 200 scores\n      the predictions themselves, 6 bits behind the point",
		"bank, telco, retailer, each: 2 rowset whether the row ids",
		"insurer: nothing but sizes and timing",
	} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("summary lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "memory") {
		t.Errorf("summary of a prediction speaks of memory:\n%s", got)
	}
}
