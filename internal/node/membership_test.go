package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/psi"
)

// chartered changes the charter, which all sign.
func (l *testNetwork) chartered(change func(c *keys.Charter)) {
	l.t.Helper()
	c := l.charter.Charter
	change(&c)
	var err error
	if l.charter, err = keys.NewCharter(c); err != nil {
		l.t.Fatal(err)
	}
	for _, k := range l.keys {
		if err := l.charter.Sign(k); err != nil {
			l.t.Fatal(err)
		}
	}
}

// inquiries counts the questions that a node asks others about jobs.
type inquiries struct {
	*testnet.Transport
	asked *atomic.Int64
}

// Call implements protocol.Transport.
func (t inquiries) Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	if method == methodDescribe || method == methodConsent {
		t.asked.Add(1)
	}
	return t.Transport.Call(ctx, to, method, request)
}

// TestProberIsRefusedAtItsOwnNode has a member align a table of one row. Its node refuses before it asks anybody, and
// refuses a min_rows below what the charter lets it say. The control is a charter that says one row: then "1 common
// row" or "too few" is whether all others have that person.
func TestProberIsRefusedAtItsOwnNode(t *testing.T) {
	for _, charter := range []int{0, 1} {
		for person, there := range map[int]bool{3: true, 1: false} { // the insurer lacks the second
			l := newTestNetwork(t, 3, 1)
			l.chartered(func(c *keys.Charter) { c.Rules.MinRows = charter })
			customers{200, 3}.write(l, same)
			l.writeTable(0, "train", fmt.Sprintf("id,phone,a,y\n%s,0612345678,1,0\n", same(0, person)))
			var asked atomic.Int64
			l.wrap = func(_ int, t *testnet.Transport) protocol.Transport { return inquiries{t, &asked} }
			l.startAll()
			r, _, err := l.propose(l.align("person", "train", ""))
			if charter == 1 {
				if there && (err != nil || r.Aligned.Common != 1) ||
					!there && (err == nil || !strings.Contains(err.Error(), "few")) {
					t.Errorf("the control, and the person is there: %t: %+v, error %v", there, r, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "1 row with an id") || asked.Load() > 0 {
				t.Errorf("the person is there: %t: error %v, %d questions asked", there, err, asked.Load())
			}
			if _, _, err = l.propose(l.align("person", "train", "min_rows = 1")); err == nil || asked.Load() > 0 ||
				!strings.Contains(err.Error(), "min_rows is 1, want at least 100") {
				t.Errorf("the job says one row: error %v, %d questions asked", err, asked.Load())
			}
		}
	}
}

// TestProberIsRefusedByTheOthers has a member whose program is changed propose its table of one row as it is: the
// others refuse the contract by its numbers, before a person is asked. The control is the same contract with the
// numbers of a larger table.
func TestProberIsRefusedByTheOthers(t *testing.T) {
	l := newTestNetwork(t, 3, 1)
	l.chartered(func(c *keys.Charter) { c.Rules.MinRows = 0 })
	customers{200, 3}.write(l, same)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.align("person", "train", ""), nil)
	must(t, err)
	all := slices.Clone(c.Parties)
	all[0].Rows, all[0].IDs = 1, []int{1}
	lie, err := contract.NewContract(c.Job, all, c.Openings, c.Operations)
	must(t, err)
	for i := 1; i < 3; i++ {
		_, err = l.nodes[i].serveConsent(l.keys[0].ID(), consentRequest{Contract: string(lie.Document.Text())})
		if !faults.WithCode(fault.CodeTable)(err) || !strings.Contains(err.Error(), "bank lists 1 row with an id") {
			t.Errorf("%s answers %v", l.names[i], err)
		}
		if _, ok := l.nodes[i].job(lie.Hash()); ok {
			t.Errorf("%s keeps the proposal", l.names[i])
		}
		r, err := l.nodes[i].serveConsent(l.keys[0].ID(), consentRequest{Contract: string(c.Document.Text())})
		if err != nil || r.Signature == nil {
			t.Errorf("%s answers the control with %+v, %v", l.names[i], r, err)
		}
	}
}

// spoken is all that a federation's nodes say.
type spoken struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (o *spoken) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is what was said so far.
func (o *spoken) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestTooFewIsToldWithoutANumber runs alignments that end with too few rows, and looks for how many were common in all
// that any party keeps, logs, prints or answers: it is nowhere, and its digest neither. The control is one that opens,
// whose number is in every transcript.
func TestTooFewIsToldWithoutANumber(t *testing.T) {
	for name, parameters := range map[string]string{"dh": "", "helper": "\nmode = \"helper\"\nhelper = \"retailer\""} {
		t.Run(name, func(t *testing.T) {
			l := newTestNetwork(t, 4, 1)
			people := customers{230, 3}
			people.write(l, same)
			if parameters != "" {
				l.idle = 3
			} else {
				people.parties = 4
			}
			number := 0 // 161 beside a helper, else 138
			for person := range people.people {
				if people.common(person) {
					number++
				}
			}
			var told spoken
			l.log = slog.New(slog.NewTextHandler(&told, &slog.HandlerOptions{Level: slog.LevelDebug}))
			for i := range l.names {
				l.told[i] = func(e jobs.Event) {
					text, err := json.Marshal(e)
					fmt.Fprintf(&told, "%s %v\n", text, err)
				}
			}
			l.startAll()
			_, h, err := l.propose(l.align("customers", "train", fmt.Sprintf("min_rows = %d", number+1)+parameters))
			if err == nil {
				t.Fatal("it opens")
			}
			fmt.Fprintln(&told, err)
			for i, n := range l.nodes {
				s, _ := n.job(h)
				if err := waitFinal(t, s); err != nil {
					t.Errorf("%s: %v", l.names[i], err)
				}
				info, err := json.Marshal(l.infoAt(i, h))
				fmt.Fprintf(&told, "%s %v\n", info, err)
				l.stops[i]()
			}
			said := regexp.MustCompile(fmt.Sprintf(`.*[ =:"(]%d[ ,"})\n].*`, number))
			for _, line := range said.FindAllString(told.String(), -1) {
				t.Errorf("%s", line)
			}
			if n := l.filesWith(number); n > 0 {
				t.Errorf("%d files have the number's digest", n)
			}
			report, err := audit.Run(t.Context(), l.inputOf(h, 0, 1, 2, 3))
			must(t, err)
			for _, c := range report.Checks {
				if c.Verdict != audit.Passed && c.Verdict != audit.Skipped {
					t.Errorf("check %s of %s: %s: %s", c.Name, c.Party, c.Verdict, c.Detail)
				}
			}
			for _, o := range report.Ledger {
				counts := o.Party == "retailer"
				if parameters == "" {
					counts = o.Party == "bank" || o.Party == "insurer"
				}
				if want := map[bool]int64{true: 1}[counts && o.Kind == psi.OpensSize]; o.Count != want {
					t.Errorf("%s learned %d of %s, want %d", o.Party, o.Count, o.Kind, want)
				}
			}
			l.startAll()
			if _, _, err := l.propose(l.align("control", "train", fmt.Sprintf("min_rows = %d", number)+parameters)); err != nil {
				t.Fatal(err)
			}
			if n := l.filesWith(number); n < len(l.names) {
				t.Errorf("%d files have the control's digest, want each party's transcript", n)
			}
		})
	}
}

// filesWith counts the files in all nodes' folders that have the digest of a number, as an alignment tells it.
func (l *testNetwork) filesWith(number int) (found int) {
	l.t.Helper()
	digest := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(number)))
	for i := range l.names {
		err := filepath.WalkDir(filepath.Join(l.dirs[i], "node"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) { // a running node erases what a job no longer needs
				return nil
			}
			if bytes.Contains(data, digest[:]) || bytes.Contains(data, []byte(hex.EncodeToString(digest[:]))) {
				found++
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.t.Fatal(err)
		}
	}
	return found
}

// TestAPartyWithoutRowsCounts: where a job does not say who counts, a party without a table does, at any place among
// the parties. With tables at all asker and keeper count. A second one without a table is refused, and one that is
// affiliated with the asker.
func TestAPartyWithoutRowsCounts(t *testing.T) {
	for name, test := range map[string]struct {
		idle, parties int
		second        int // another one without a table
		parameters    string
		affiliated    []string
		mode, keeper  string
		fails         string
	}{
		"the last has none":   {idle: 3, parties: 4, mode: "helper", keeper: "insurer"},
		"the second has none": {idle: 1, parties: 3, mode: "helper", keeper: "telco"},
		"only the mode is said": {idle: 2, parties: 3, parameters: "mode = \"helper\"", mode: "helper",
			keeper: "insurer"},
		"two have none":               {idle: 3, second: 1, parties: 4, fails: "one party at most may have none"},
		"all have one":                {parties: 3, mode: "dh", keeper: "insurer"},
		"all have one, and one helps": {parties: 3, parameters: "mode = \"helper\"", fails: "every party has rows"},
		"dh is said, and one has none": {idle: 2, parties: 3, parameters: "mode = \"dh\"",
			fails: "its table cannot be used"},
		"it is affiliated with the asker": {idle: 2, parties: 3, affiliated: []string{"bank", "telco"},
			fails: "its table cannot be used"},
		"it is affiliated with another": {idle: 3, parties: 4, affiliated: []string{"insurer", "retailer"}, mode: "helper",
			keeper: "telco"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, test.parties, 1)
			customers{200, test.parties}.write(l, same)
			if l.idle = test.idle; test.affiliated != nil {
				l.chartered(func(c *keys.Charter) { c.Affiliations = [][]string{test.affiliated} })
			}
			l.startAll()
			if test.second > 0 {
				l.nodes[test.second].tables.Specs = nil
			}
			c, err := l.nodes[0].Prepare(t.Context(), l.align("customers", "train", test.parameters), nil)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("error is %v, want %q", err, test.fails)
				}
				return
			}
			must(t, err)
			p, err := psi.ParamsOf(c.Job)
			helper := ""
			if test.idle > 0 {
				helper = l.names[test.idle]
			}
			if err != nil || p.Mode != test.mode || p.Keeper != test.keeper || p.Helper != helper {
				t.Errorf("%+v, error %v, want mode %s, keeper %s, helper %q", p, err, test.mode, test.keeper, helper)
			}
			if _, err := l.nodes[0].Launch(t.Context(), c.Hash(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTheFirstSentenceSaysHowManyIDsAreAskedAbout reads the summary of an alignment at each party, and who could learn
// of one person beside what opens.
func TestTheFirstSentenceSaysHowManyIDsAreAskedAbout(t *testing.T) {
	for name, test := range map[string]struct {
		parties, idle, people int
		parameters            string
		first                 map[string]string
		could                 string
	}{
		"two": {parties: 2, people: 2000, parameters: "min_rows = 100", could: "bank (asker) and insurer (keeper) could",
			first: map[string]string{
				"bank":    "insurer will learn which of the 1,800 ids it lists are yours.",
				"insurer": "bank will learn which of the 1,800 ids it lists are yours."}},
		"few may open": {parties: 2, people: 200, parameters: "min_rows = 30",
			could: "bank (asker) and insurer (keeper) could",
			first: map[string]string{
				"insurer": "bank will learn which of the 180 ids it lists are yours; this opens from 30 common rows on, fewer " +
					"than the usual 100: so few come close to asking about single people."}},
		"a helper": {parties: 4, idle: 3, people: 200, parameters: "min_rows = 100",
			could: "retailer (helper) and any one of the others, or bank (asker) and insurer (keeper), two together, could",
			first: map[string]string{
				"telco": "bank will learn which of the 180 ids it lists are yours and all others', and so will insurer of its " +
					"180 ids.",
				"retailer": "bank will learn which of the 180 ids it lists are in all tables, and so will insurer of its 180 " +
					"ids and telco of its 180 ids."}},
		"a helper with rows": {parties: 3, people: 200, parameters: "min_rows = 100\nhelper = \"telco\"",
			could: "telco (helper), with a changed program, and bank (asker) and insurer (keeper), together, could"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, test.parties, 1)
			customers{test.people, test.parties}.write(l, same)
			l.idle = test.idle
			l.startAll()
			c, err := l.nodes[0].Prepare(t.Context(), l.align("customers", "train", test.parameters), nil)
			must(t, err)
			for party, want := range test.first {
				first, _, _ := strings.Cut(summary.Of(c, party, summary.Known{}).String(), "\n\n")
				if got := strings.Join(strings.Fields(first), " "); got != want {
					t.Errorf("%s reads first %q, want %q", party, got, want)
				}
			}
			all := strings.Join(strings.Fields(summary.Of(c, "bank", summary.Known{}).String()), " ")
			if !strings.Contains(all, test.could+" learn whether one person of their choice is in the others' tables") {
				t.Errorf("the summary is %q, want %q", all, test.could)
			}
		})
	}
}

// rider is a bank that has a hundred true customers of the insurer's two hundred, and lists any number of people beside
// them of whom it only guesses that they are customers there.
type rider struct {
	*testNetwork
	guesses int
}

// newRider gives the insurer its table, and the rider its list.
func newRider(t *testing.T, guesses int) *rider {
	l := &rider{newTestNetwork(t, 2, 1), guesses}
	table := func(people ...[2]int) string {
		text := "id,a\n"
		for _, from := range people {
			for person := from[0]; person < from[1]; person++ {
				text += fmt.Sprintf("%s,%d\n", same(0, person), person%7)
			}
		}
		return text
	}
	l.writeTable(1, "train", table([2]int{0, 200}))
	l.writeTable(0, "train", table([2]int{0, 100}, [2]int{195, 195 + guesses})) // five guesses are true
	return l
}

// TestRiderWaitsForAPerson: under a short rule an alignment in which ten times as many ids are listed as the owner has
// rows waits for a person, who reads the numbers; whether the rider asks, or keeps and has the insurer ask. The control
// is a rule that says so high a number: then the rider learns of each guess whether it is true. With one and a half
// times as many ids it is accepted.
func TestRiderWaitsForAPerson(t *testing.T) {
	const rule = "[[accept]]\nproposers = [\"bank\"]\n"
	for _, test := range []struct {
		guesses, common int
		asker, rule     string
		waits, reads    string
	}{
		{guesses: 1900, asker: "bank", rule: rule,
			waits: "list_percent: the job has 2000 ids that bank lists, 1000 % of the 200 that insurer lists, the rule wants " +
				"at most 150 %, where it does not say list_percent",
			reads: "bank will learn which of the 2,000 ids it lists are yours; bank lists 1,000 % of the 200 ids of insurer, " +
				"more than the usual 150 %: the rest is common in no case, and may be guesses."},
		{guesses: 1900, asker: "insurer", rule: rule,
			waits: "list_percent: the job has 2000 ids that bank lists, 1000 % of the 200 that insurer lists"},
		{guesses: 1900, asker: "bank", rule: rule + "list_percent = 1000\n", common: 105},
		{guesses: 201, asker: "bank", rule: rule, waits: "list_percent: the job has 301 ids that bank lists, 151 %"},
		{guesses: 200, asker: "bank", rule: rule, common: 105},
	} {
		l := newRider(t, test.guesses)
		l.policy = rulesOf(t, test.rule)
		l.startAll()
		text := l.align("customers", "train", fmt.Sprintf("min_rows = 100\nasker = %q", test.asker))
		if test.waits == "" {
			if r, _, err := l.propose(text); err != nil || r.Aligned.Common != test.common {
				t.Errorf("%+v: %+v, error %v", test, r, err)
			}
			continue
		}
		c := l.proposed(text, 1)
		asked, err := l.nodes[1].caseOf(mustJob(t, l.nodes[1], c))
		must(t, err)
		j, judged := l.infoAt(1, c.Hash()), l.policy.Judge(asked)
		if j.State != job.Proposed || !strings.Contains(judged.Why(), test.waits) {
			t.Errorf("%+v: it is %s: %s", test, j.State, judged.Why())
		}
		first, _, _ := strings.Cut(j.Summary, "\n\n")
		if got := strings.Join(strings.Fields(first), " "); test.reads != "" && got != test.reads {
			t.Errorf("the person reads first\n%s, want\n%s", got, test.reads)
		}
	}
}

// TestTheFirstSentenceSaysHowManyIDsWereListed: after two alignments of the month the summary of the third says at the
// owner, in its first sentence, how many ids the asker listed in them, and at the asker nothing of itself.
func TestTheFirstSentenceSaysHowManyIDsWereListed(t *testing.T) {
	l := newRider(t, 120)
	l.policy = rulesOf(t, "[[accept]]\nproposers = [\"bank\"]\n")
	l.startAll()
	for month := range 3 {
		text := l.align(fmt.Sprintf("list-%d", month), "train", "min_rows = 100")
		if month < 2 {
			if _, _, err := l.propose(text); err != nil {
				t.Fatal(err)
			}
			continue
		}
		h := l.proposed(text, 1).Hash()
		for party, want := range []string{"insurer will learn which of the 200 ids it lists are yours.",
			"bank will learn which of the 220 ids it lists are yours; it has listed 440 in 30 days."} {
			first, _, _ := strings.Cut(l.infoAt(party, h).Summary, "\n\n")
			if got := strings.Join(strings.Fields(first), " "); got != want {
				t.Errorf("%s reads first\n%s, want\n%s", l.names[party], got, want)
			}
		}
	}
}
