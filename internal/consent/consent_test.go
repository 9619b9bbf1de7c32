package consent

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// noon is a Wednesday in Berlin.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.FixedZone("CET", 3600))

// charterOf is a charter with these members.
func charterOf(names ...string) *keys.Charter {
	c := &keys.Charter{}
	for _, n := range names {
		c.Members = append(c.Members, keys.Member{Name: n, ID: idOf(n)})
	}
	return c
}

// idOf is the id of a member of that name.
func idOf(name string) keys.ID { return keys.ID(keys.HashOf("test", []byte(name))) }

// four are the members of most tests.
var four = charterOf("bank", "insurer", "telco", "retailer")

// credit is a training that the bank proposes, as the insurer judges it.
func credit() *Case {
	return &Case{
		Contract: &contract.Contract{
			Job: &contract.Job{
				Name: "credit", Algorithm: "fdskl", Task: "train", Privacy: "sealed", Table: "train", Proposer: "bank",
				Parties: []string{"bank", "insurer", "telco"}, Parameters: map[string]any{"label": "default"},
			},
			Parties: []contract.Facts{
				{Name: "bank", ID: idOf("bank"), Role: "active", Rows: 300},
				{Name: "insurer", ID: idOf("insurer"), Role: "passive", Rows: 300},
				{Name: "telco", ID: idOf("telco"), Role: "helper"},
			},
			Openings: []contract.Opening{{To: "bank", Kind: "bound", Count: 1}, {To: "insurer", Kind: "class names", Count: 2}},
			Operations: []contract.Operation{{
				Kind: "step", Collective: contract.CollectiveDirect, Root: "insurer", To: "bank",
				Class:    contract.ClassMasked.String(),
				Encoding: contract.Bytes.String(), Count: 1, Bytes: 5000,
			}},
		},
		Self: "insurer", Role: RoleKeeper, Charter: four, Now: noon,
	}
}

// inShards is credit with four shards, in which as much leaves as beside them.
func inShards() *Case {
	c := credit()
	c.Contract.Job.Shards, c.Contract.Sharded = 4, c.Contract.Operations
	return c
}

// scoring is a prediction for the bank.
func scoring(requests int) *Case {
	c := credit()
	j := c.Contract.Job
	j.Task, j.Model, j.OpenTo, j.Requests, j.Parameters = "predict", "m1", "bank", requests, nil
	c.Contract.Openings = []contract.Opening{{To: "bank", Kind: "scores", Count: int64(max(300, requests))}}
	return c
}

// masked is a case of a masked job.
func masked(c *Case) *Case {
	c.Contract.Job.Privacy = "masked"
	return c
}

// told is a case of a job before which so much was told. The party brings rows where it has columns.
func told(c *Case, t Told) *Case {
	if t.Adds = t.With - t.Before; t.Entropy > 0 {
		t.Rows = 300
	}
	with := *c
	with.Told = t
	return &with
}

// aligning is an alignment that opens where so many rows are common.
func aligning(rows int) *Case {
	c := credit()
	j := c.Contract.Job
	j.Task, j.Algorithm, j.Parameters = contract.TaskAlign, contract.PSI, map[string]any{"asker": "bank",
		"min_rows": int64(rows)}
	c.Contract.Openings = nil
	return c
}

// accepts reports whether a key has no place in a rule that refuses.
func accepts(name string) bool {
	return name == "openings" || name == "scores_per_row" ||
		slices.ContainsFunc(ledgerKeys, func(k key) bool { return k.name == name })
}

// listing is an alignment in which the bank lists so many ids under each key, and the insurer 300 in all.
func listing(bank ...int) *Case {
	c := aligning(100)
	for i := range c.Contract.Parties {
		f := &c.Contract.Parties[i]
		switch {
		case f.Name == "bank":
			f.IDs = bank
		case f.Rows > 0:
			f.IDs = []int{100, 200}
		}
	}
	return c
}

// perRow is a case of a job that lets a row be scored so many times.
func perRow(c *Case, times int) *Case {
	c.Contract.Job.ScoresPerRow = times
	return c
}

// parsed reads a policy whose rules are given.
func parsed(t testing.TB, rules string) *Policy {
	t.Helper()
	p, err := Parse("policy.toml", []byte("format = \"hanse-policy-v1\"\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryKey has for each key a value that fits a job, one that does not, and one that is a mistake.
func TestEveryKey(t *testing.T) {
	covered := make(map[string]bool)
	for _, c := range []struct {
		key, fits, misfits, mistake string // without the key's name
		said                        string // of the mistake
		job                         *Case
		value                       string // the job's, where it does not fit
	}{
		{"proposers", `["bank"]`, `["telco"]`, `["bnak"]`,
			`proposers has "bnak"; known are bank, insurer, telco and retailer: write one of these`, credit(), "bank"},
		{"algorithms", `["gfml", "fdskl"]`, `["gfml"]`, `["fdslk"]`,
			`algorithms has "fdslk"; known are fdskl, gfml, glm, ofmsft, pofmkl and psi: write one of these`, credit(), "fdskl"},
		{"tasks", `["train"]`, `["predict"]`, `["learn"]`,
			`tasks has "learn"; known are train, predict and align: write one of these`, credit(), "train"},
		{"privacy", `["sealed"]`, `["masked"]`, `["seald"]`,
			`privacy has "seald"; known are published, masked and sealed: write one of these`, credit(), "sealed"},
		{"aggregation", `["masked"]`, `["he"]`, `["aes"]`,
			`aggregation has "aes"; known are masked and he: write one of these`, credit(), "masked"},
		{"tables", `["train"]`, `["test"]`, `[]`,
			`tables is an empty list, which fits no job: name what fits, or leave the key out`, credit(), "train"},
		{"label_columns", `["default"]`, `["salary"]`, `[""]`,
			`label_columns has an empty word: name what fits, or take it out`, credit(), "default"},
		{"roles", `["keeper"]`, `["helper", "passive"]`, `["holder"]`,
			`roles has "holder"; known are active, passive, keeper, helper, server and client: write one of these`, credit(),
			"keeper"},
		{"parties", `["bank", "telco"]`, `["bank"]`, `["smith"]`,
			`parties has "smith"; known are bank, insurer, telco and retailer: write one of these`, credit(), "party telco"},
		{"open_to", `["bank"]`, `["telco"]`, `["smith"]`,
			`open_to has "smith"; known are bank, insurer, telco and retailer: write one of these`, scoring(0), "bank"},
		{"min_rows", "300", "301", "-1", "min_rows is -1, want 0 or more: 0 is no bound",
			credit(), "300"},
		{"max_rows", "300", "299", "-1", "max_rows is -1, want 1 or more: a large number is no bound",
			credit(), "300"},
		{"max_rows", "5000", "4999", "0", "max_rows is 0, want 1 or more: a large number is no bound",
			scoring(5000), "5000"},
		{"max_bytes", "5000", "4999", "0", "max_bytes is 0, want 1 or more: a large number is no bound",
			credit(), "5000"},
		{"max_bytes", "10000", "9999", "0", "max_bytes is 0, want 1 or more: a large number is no bound",
			inShards(), "10000"},
		{"max_memory", `"3MB"`, `"2MB"`, `"2"`, `max_memory: "2" is no size: want a whole number and MB, GB or TB, such as 50GB`,
			greedy(7e6), "3000.0 kB"},
		{"max_shards", "4", "3", "0", "max_shards is 0, want 1 or more: a large number is no bound",
			inShards(), "4"},
		{"openings", `[{kind = "bound", to = ["bank"]}, {kind = "class names", count = 2}]`, `[{kind = "bound"}]`,
			`[{kind = "bund"}]`,
			`openings has the kind "bund"; known are ` + list(Kinds()) + `: write one of these`, credit(),
			"2 class names to insurer"},
		{"openings", `[{kind = "scores", count = 300}]`, `[{kind = "scores", count = 299}]`, `[{kind = "scores", count = 0}]`,
			`count of the openings of kind "scores" is 0, want 1 or more: leave the kind out of the list where none may open`,
			scoring(0), "300 scores"},
		{"openings", `[{kind = "scores", bits = 19200}]`, `[{kind = "scores", bits = 19199}]`,
			`[{kind = "scores", to = ["smith"]}]`,
			`to of openings has "smith"; known are bank, insurer, telco and retailer: write one of these`, scoring(0),
			"19200 bits of scores"},
		{"openings", `[{kind = "scores", to = ["bank"]}]`, `[]`, `[{kind = "scores", to = []}]`,
			`to of openings is an empty list, which fits no job: name what fits, or leave the key out`, scoring(0),
			"300 scores to bank"},
		{"scores_per_row", "1", "", "0",
			"scores_per_row is 0, want 1 or more: a large number is no bound", scoring(0), ""},
		{"scores_per_row", "20", "19", "0",
			"scores_per_row is 0, want 1 or more: a large number is no bound", masked(scoring(20)), "20"},
		{"scores_per_row", "3", "2", "0",
			"scores_per_row is 0, want 1 or more: a large number is no bound", perRow(scoring(20), 3), "3"},
		{"trainings_30_days", "3", "2", "0",
			"trainings_30_days is 0, want 1 or more: a large number is no bound",
			told(credit(), Told{Trainings: 2}), "3"},
		{"alignments_30_days", "2", "1", "0",
			"alignments_30_days is 0, want 1 or more: a large number is no bound",
			told(aligning(100), Told{Alignments: 1}), "2"},
		{"list_percent", "151", "150", "0",
			"list_percent is 0, want 1 or more: a large number is no bound", listing(200, 251),
			"451 ids that bank lists, 151 % of the 300 that insurer lists"},
		{"row_bits", "27", "26", "0", "row_bits is 0, want 1 or more: a large number is no bound",
			told(scoring(0), Told{Before: 16, With: 27, Models: 1, Entropy: 31}), "27"},
		{"least_difference", "3", "4", "-1", "least_difference is -1, want 0 or more: 0 is no bound",
			told(credit(), Told{Nearest: 3}), "3 rows that an earlier training had not, or the other way round"},
		{"hours", `["mon-fri 08:00-18:00 Europe/Berlin"]`,
			`["sat-sun 08:00-18:00 Europe/Berlin", "mon-fri 11:01-18:00 UTC"]`, `["mo-fr 08:00-18:00 UTC"]`,
			`hours has "mo-fr 08:00-18:00 UTC": the days "mo-fr" are none: want some of mon, tue, wed, thu, fri, sat, sun, ` +
				`such as mon-fri`, credit(), "Wed 11:00 UTC"},
		{"until", `"2026-11-25"`, `"2026-11-24"`, `"25.11.2026"`, `until is "25.11.2026": want a date such as 2026-12-31`,
			credit(), "2026-11-25"},
	} {
		covered[c.key] = true
		t.Run(c.key+" "+c.fits, func(t *testing.T) {
			for _, kind := range []string{"accept", "refuse"} {
				if kind == "refuse" && accepts(c.key) {
					continue
				}
				p := parsed(t, "[["+kind+"]]\n"+c.key+" = "+c.fits)
				if err := p.Check(four); err != nil {
					t.Error(err)
				}
				if got := p.Judge(c.job); string(got.Verdict) != kind || got.Rule != kind+" rule 1" {
					t.Errorf("%s: a job that fits is judged %+v", kind, got)
				}
				if c.misfits == "" {
					continue
				}
				p = parsed(t, "[["+kind+"]]\n"+c.key+" = "+c.misfits)
				if err := p.Check(four); err != nil {
					t.Error(err)
				}
				got := p.Judge(c.job)
				if kind == "refuse" && c.key == "max_rows" && c.job.job().Requests > 0 { // requests avoid no refusal
					if got.Verdict != Refuse {
						t.Errorf("a job on few rows with many requests is judged %+v", got)
					}
					continue
				}
				if r := got.Reasons[0]; got.Verdict != Ask || r.Key != c.key || r.Job != c.value || r.Want == "" {
					t.Errorf("%s: a job that does not fit is judged %+v", kind, got)
				}
			}
			err := parsed(t, "[[accept]]\n"+c.key+" = "+c.mistake).Check(four)
			if want := "policy policy.toml: accept rule 1: " + c.said; err == nil || err.Error() != want {
				t.Errorf("the mistake is\n%v, want\n%s", err, want)
			}
		})
	}
	for _, k := range ruleKeys {
		if !covered[k.name] {
			t.Errorf("key %s has no case", k.name)
		}
	}
}

// TestMistakes are those that no single key has.
func TestMistakes(t *testing.T) {
	for rules, want := range map[string]string{
		"[[accept]]": "accept rule 1: it sets no key and would fit every job: say which jobs it is for, or take it out",
		"[[accept]]\ntasks = [\"train\"]\n[[refuse]]": "refuse rule 1: it sets no key and would fit every job: " +
			"say which jobs it is for, or take it out",
		"[[refuse]]\nopenings = []": "refuse rule 1: openings bounds what may be accepted, " +
			"and has no place in a rule that refuses: put it into an accept rule",
		"[[refuse]]\nscores_per_row = 1": "refuse rule 1: " +
			"scores_per_row bounds what may be accepted, and has no place in a rule that refuses: put it into an accept rule",
		"[[accept]]\nmin_rows = 5\nmax_rows = 4": "accept rule 1: min_rows is 5 and max_rows 4: " +
			"no job fits both",
		"[[table]]\nlabels = [\"y\"]": "table 1: name is missing: " +
			"write that of a table that the node is started with (--data NAME=FILE)",
		"[[table]]\nname = \"a\"\n[[table]]\nname = \"a\"": `table 2: name is "a", as that of table 1: ` +
			`put both into one`,
		"[[table]]\nname = \"a\"\nlabels = [\"\"]": "table 1: labels has an empty name: " +
			"write a column's name, or take it out",
		"[[table]]\nname = \"a\"\nmembers = [\"smith\"]": `table 1: members has "smith"; known are bank, insurer, ` +
			`telco and retailer: write one of these`,
		"[[accept]]\nhours = [\"mon-fri 08:00-18:00\"]": `accept rule 1: hours has "mon-fri 08:00-18:00": ` +
			`want days, hours and a time zone, such as "mon-fri 08:00-18:00 Europe/Berlin"`,
		"[[accept]]\nhours = [\"mon 18:00-08:00 UTC\"]": `accept rule 1: hours has "mon 18:00-08:00 UTC": ` +
			`the hours "18:00-08:00" are none: want two times of one day such as 08:00-18:00, the first before the second`,
		"[[accept]]\nhours = [\"mon 8:00-18:00 UTC\"]": `accept rule 1: hours has "mon 8:00-18:00 UTC": ` +
			`the hours "8:00-18:00" are none: want two times of one day such as 08:00-18:00, the first before the second`,
		"[[accept]]\nhours = [\"mon 08:00-18:00 Local\"]": `accept rule 1: hours has "mon 08:00-18:00 Local": ` +
			`there is no time zone "Local": want one such as Europe/Berlin, or UTC`,
		"[[accept]]\nhours = []": "accept rule 1: hours is an empty list, " +
			"which fits no job: name what fits, or leave the key out",
		"[[accept]]\nproposers = [\"a\"]\nprivacy = [\"seald\"]": `accept rule 1: proposers has "a"; known are bank, ` +
			`insurer, telco and retailer: write one of these (one of 2 mistakes: hanse policy check lists them)`,
	} {
		err := parsed(t, rules).Check(four)
		if want = "policy policy.toml: " + want; err == nil || err.Error() != want {
			t.Errorf("%q: the mistake is\n%v, want\n%s", rules, err, want)
		}
	}
	if err := parsed(t, "[[accept]]\nproposers = [\"anybody\"]").Check(nil); err != nil {
		t.Errorf("without a charter every name is one: %v", err)
	}
	for text, want := range map[string]string{
		"format = \"hanse-policy-v2\"": `policy p: format is "hanse-policy-v2", ` +
			`want "hanse-policy-v1"`,
		"format = \"hanse-policy-v1\"\n[[accept]]\nproposer = []": `unknown key "accept.proposer"`,
		"format = \"hanse-policy-v1\"\n[accept]":                  "accept",
		"":                                                        `policy p: format is "", want "hanse-policy-v1"`,
	} {
		if _, err := Parse("p", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %s in it", text, err, want)
		}
	}
}

// TestAnEmptyRuleFitsNothing also where a program makes the policy and nobody checks it.
func TestAnEmptyRuleFitsNothing(t *testing.T) {
	p := &Policy{Accept: []Rule{{}}, Refuse: []Rule{{}}}
	if got := p.Judge(credit()); got.Verdict != Ask {
		t.Errorf("an empty rule decides: %+v", got)
	}
	if got := (*Policy)(nil).Judge(credit()); got.Verdict != Ask {
		t.Errorf("no policy decides: %+v", got)
	}
}

// TestStrangers holds a rule that accepts back while it names somebody who is no member. One that refuses goes on.
func TestStrangers(t *testing.T) {
	for _, key := range []string{`proposers = ["bank", "smith"]`, `parties = ["bank", "telco", "smith"]`,
		`open_to = ["smith"]`,
		`openings = [{kind = "bound", to = ["smith"]}, {kind = "bound"}, {kind = "class names"}]`} {
		p := parsed(t, "[[accept]]\n"+key)
		if got := p.Judge(credit()); got.Verdict != Ask || !strings.Contains(got.Why(),
			`"smith" is no member of the charter`) {
			t.Errorf("%s: judged %+v", key, got)
		}
	}
	if got := parsed(t, "[[refuse]]\nproposers = [\"bank\", \"smith\"]").Judge(credit()); got.Verdict != Refuse {
		t.Errorf("a rule that refuses no longer does: %+v", got)
	}
}

// TestBoundsOver30Days adds up the jobs consented to, those of 30 days and no older ones.
func TestBoundsOver30Days(t *testing.T) {
	p := parsed(t, "[[accept]]\nopenings = [{kind = \"scores\", to = [\"bank\"], count = 300, count_30_days = 900, "+
		"bits_30_days = 100000}]")
	c := scoring(0)
	for days, want := range map[int]Verdict{1: Ask, 29: Ask, 30: Accept, 31: Accept} {
		at := noon.AddDate(0, 0, -days)
		c.Consented = []Past{{scoring(0).Contract, noon.AddDate(0, 0, -1)}, {scoring(0).Contract, noon},
			{scoring(0).Contract, at}}
		if got := p.Judge(c); got.Verdict != want {
			t.Errorf("a job of %d days ago: judged %+v, want %s", days, got, want)
		}
	}
	c.Consented[2].At = noon
	want := "no rule of the policy accepts it: accept rule 1 does not fit: openings: " +
		"the job has 1200 scores to bank with the jobs of the last 30 days, the rule wants at most 900 (count_30_days)"
	if got := p.Judge(c); got.Why() != want {
		t.Errorf("the reason is\n%s, want\n%s", got.Why(), want)
	}
	c.Consented[2].Contract = credit().Contract // opens no scores
	if got := p.Judge(c); got.Verdict != Accept {
		t.Errorf("a job that opens no scores counts: %+v", got)
	}
	huge := scoring(0).Contract
	huge.Openings[0].Count = math.MaxInt64
	c.Consented[2].Contract = huge
	if got := p.Judge(c); got.Verdict != Ask {
		t.Errorf("a sum that is too large wraps: %+v", got)
	}
}

// TestScoresPerRowAddUp by model, over all predictions, but for sealed ones: of these the parties count what was
// scored.
func TestScoresPerRowAddUp(t *testing.T) {
	p := parsed(t, "[[accept]]\nscores_per_row = 3")
	c, other := masked(scoring(2)), scoring(50).Contract
	other.Job.Model = "m2"
	c.Consented = []Past{{scoring(0).Contract, noon.AddDate(-1, 0, 0)}, {other, noon}, {credit().Contract, noon}}
	if got := p.Judge(c); got.Verdict != Accept {
		t.Errorf("three scores: %+v", got)
	}
	c.Consented = append(c.Consented, Past{scoring(0).Contract, noon})
	if got := p.Judge(c); got.Verdict != Ask || got.Reasons[0].Job != "4" {
		t.Errorf("four scores: %+v", got)
	}
	c.Contract.Job.Privacy = "sealed"
	if got := p.Judge(c); got.Verdict != Accept {
		t.Errorf("a sealed job that lets rows be scored once: %+v", got)
	}
	if got := p.Judge(perRow(c, 4)); got.Verdict != Ask || got.Reasons[0].Job != "4" {
		t.Errorf("a sealed job that lets rows be scored four times: %+v", got)
	}
}

func TestHours(t *testing.T) {
	for _, c := range []struct {
		hours, now string
		want       bool
	}{
		{"mon-fri 08:00-18:00 Europe/Berlin", "2026-11-25T07:00:00Z", true},  // 08:00 in winter
		{"mon-fri 08:00-18:00 Europe/Berlin", "2026-11-25T06:59:59Z", false}, //
		{"mon-fri 08:00-18:00 Europe/Berlin", "2026-07-22T06:00:00Z", true},  // 08:00 in summer
		{"mon-fri 08:00-18:00 Europe/Berlin", "2026-11-25T17:00:00Z", false}, // 18:00
		{"mon-fri 08:00-18:00 Europe/Berlin", "2026-11-22T12:00:00Z", false}, // Sunday
		{"sat-mon 00:00-24:00 UTC", "2026-11-23T23:59:59Z", true},
		{"sat-mon 00:00-24:00 UTC", "2026-11-24T00:00:00Z", false},
		{"mon,wed 12:00-13:00 UTC", "2026-11-25T12:30:00Z", true},
		{"mon,wed 12:00-13:00 UTC", "2026-11-24T12:30:00Z", false},
		{"tue 00:00-06:00 Asia/Tokyo", "2026-11-23T16:00:00Z", true}, // Tuesday 01:00 there
	} {
		w, err := parseHours(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		now, _ := time.Parse(time.RFC3339, c.now)
		if w.holds(now) != c.want {
			t.Errorf("%s at %s: %v", c.hours, c.now, !c.want)
		}
	}
}

// TestOffers is who may ask about what.
func TestOffers(t *testing.T) {
	p := parsed(t, "[[table]]\nname = \"train\"\nlabels = [\"default\"]\n[[table]]\nname = \"test\"\nmembers = [\"bank\"]")
	none := "and no [[table]] of the policy offers it"
	for _, c := range []struct {
		p                   *Policy
		table, label, asker string
		want                string // part of the error; "" for none
		ofTable             bool
	}{
		{nil, "train", "", "telco", "", false},
		{nil, "train", "y", "telco", `telco asks for the labels in column "y" of table "train", ` +
			`and no [[table]] of the policy offers that column: these lines would: ` +
			`[[table]] name = "train" labels = ["y"]`, false},
		{parsed(t, ""), "any", "", "telco", "", false},
		{parsed(t, ""), "any", "y", "telco", "offers that column", false},
		{p, "train", "", "telco", "", false},
		{p, "train", "default", "telco", "", false},
		{p, "train", "salary", "telco", "offers that column", false},
		{p, "test", "", "bank", "", false},
		{p, "test", "default", "bank", "offers that column", false},
		{p, "test", "", "telco", none, true},
		{p, "test", "y", "telco", none, true},
		{p, "payroll", "", "bank", `bank asks about table "payroll", ` + none + ` to that member: these lines would: ` +
			`[[table]] name = "payroll" members = ["bank"]`, true},
	} {
		err := c.p.Offers(c.table, c.label, c.asker)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			err.(*NotOffered).OfTable != c.ofTable) {
			t.Errorf("table %s, label %q, asked by %s: %v, want %s", c.table, c.label, c.asker, err, c.want)
		}
	}
	err := p.Offers("train", strings.Repeat("\x1b[2J", 1000), "bank")
	if text := err.Error(); len(text) > 800 || strings.Contains(text, "\x1b") {
		t.Errorf("a hostile name reaches the log: %d bytes", len(text))
	}
}

// TestAcceptedOnlyWhatTheOracleAccepts holds the judgement against straight-line code that knows the keys one by one.
func TestAcceptedOnlyWhatTheOracleAccepts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"bank", "telco", "retailer"}
		words := func(label string, from ...string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 2, rapid.ID[string]).Draw(t, label)
		}
		optional := func(label string, most int64) *int64 {
			if !rapid.Bool().Draw(t, label+" set") {
				return nil
			}
			return new(rapid.Int64Range(1, most).Draw(t, label))
		}
		maybe := func(w []string) []string {
			if len(w) == 0 {
				return nil
			}
			return w
		}
		r := Rule{
			Proposers: maybe(words("proposers", names...)), Tasks: maybe(words("tasks", tasks...)),
			Privacy: maybe(words("privacy", privacies...)),
			Roles:   maybe(words("roles", RoleKeeper, RoleHelper)), OpenTo: maybe(words("open_to", names...)),
			LabelColumns: maybe(words("labels", "default", "y")),
			MinRows:      optional("min_rows", 400), MaxRows: optional("max_rows", 600),
			ScoresPerRow: optional("scores_per_row", 60), MaxBytes: optional("max_bytes", 10000),
		}
		if rapid.Bool().Draw(t, "openings") {
			r.Openings = []Opening{{Kind: "scores", To: maybe(words("to", names...)), Count: optional("count", 700),
				Count30: optional("count3", 1500)}, {Kind: "class names"}, {Kind: "bound"}}
		}
		draw := func(label string) *Case {
			c := credit()
			if rapid.Bool().Draw(t, label+" predicts") {
				c = scoring(rapid.SampledFrom([]int{0, 5, 500}).Draw(t, label+" requests"))
				c.Contract.Job.OpenTo = rapid.SampledFrom(names).Draw(t, label+" to")
				c.Contract.Openings[0].To = c.Contract.Job.OpenTo
				c.Contract.Job.ScoresPerRow = rapid.SampledFrom([]int{0, 1, 30}).Draw(t, label+" scores per row")
				c.Contract.Job.Privacy = rapid.SampledFrom([]string{"sealed", "masked"}).Draw(t, label+" privacy")
			}
			c.Contract.Job.Proposer = rapid.SampledFrom(names).Draw(t, label+" proposer")
			return c
		}
		c := draw("job")
		for i := range rapid.IntRange(0, 3).Draw(t, "past") {
			days := rapid.IntRange(0, 40).Draw(t, "days")
			c.Consented = append(c.Consented, Past{draw(fmt.Sprint("past ", i)).Contract, noon.AddDate(0, 0, -days)})
		}
		got := (&Policy{Accept: []Rule{r}}).Judge(c).Verdict == Accept
		if want := oracle(&r, c); got != want {
			t.Fatalf("accepted %v, want %v: %+v", got, want, (&Policy{Accept: []Rule{r}}).Judge(c))
		}
	})
}

// oracle decides for rules of a few keys, straight.
func oracle(r *Rule, c *Case) bool {
	j := c.Contract.Job
	if r.Proposers == nil && r.Tasks == nil && r.Privacy == nil && r.Roles == nil && r.OpenTo == nil &&
		r.LabelColumns == nil &&
		r.MinRows == nil && r.MaxRows == nil && r.ScoresPerRow == nil && r.MaxBytes == nil && r.Openings == nil {
		return false
	}
	has := func(list []string, v string) bool { return list == nil || slices.Contains(list, v) }
	if !has(r.Proposers, j.Proposer) || !has(r.Tasks, j.Task) || !has(r.Privacy, j.Privacy) || !has(r.Roles, "keeper") {
		return false
	}
	if j.Task == "predict" && !has(r.OpenTo, j.OpenTo) || j.Task == "train" && !has(r.LabelColumns, "default") {
		return false
	}
	if r.MinRows != nil && *r.MinRows > 300 || r.MaxRows != nil && (*r.MaxRows < 300 || *r.MaxRows < int64(j.Requests)) {
		return false
	}
	if r.MaxBytes != nil && *r.MaxBytes < 5000 {
		return false
	}
	perRow, all := int64(0), int64(0)
	past := append([]Past{{c.Contract, noon}}, c.Consented...)
	for i, p := range past {
		if p.Contract.Job.Task != "predict" {
			continue
		}
		perRow += int64(max(1, p.Contract.Job.Requests))
		if o := p.Contract.Openings[0]; r.Openings != nil && (i == 0 || noon.Sub(p.At) < 30*24*time.Hour) &&
			has(r.Openings[0].To, o.To) {
			all += o.Count
		}
	}
	if j.Privacy == "sealed" {
		perRow = int64(max(1, j.ScoresPerRow))
	}
	if j.Task == "predict" && r.ScoresPerRow != nil && perRow > *r.ScoresPerRow {
		return false
	}
	if r.Openings != nil && j.Task == "predict" {
		b, o := r.Openings[0], c.Contract.Openings[0]
		if !has(b.To, o.To) || b.Count != nil && o.Count > *b.Count || b.Count30 != nil && all > *b.Count30 {
			return false
		}
	}
	return true
}

// FuzzParse reads whatever is there: no text makes the program fall over, and none is accepted by a rule that sets
// nothing.
func FuzzParse(f *testing.F) {
	f.Add([]byte("format = \"hanse-policy-v1\"\n[[accept]]\nproposers = [\"bank\"]\nopenings = [{kind = \"scores\", " +
		"to = [\"bank\"], bits = 3}]"))
	f.Add([]byte("format = \"hanse-policy-v1\"\n[[refuse]]\nhours = [\"mon-fri 08:00-18:00 UTC\"]\nuntil = " +
		"\"2026-12-31\"\n[[table]]\nname = \"a\""))
	f.Add([]byte("format = \"hanse-policy-v1\"\n[[accept]]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("p", text)
		if err != nil {
			return
		}
		mistakes := p.Mistakes(four)
		p.Words()
		p.Offers("train", "default", "bank")
		judged := p.Judge(credit())
		if i := slices.IndexFunc(p.rules(), func(n numbered) bool { return n.name == judged.Rule }); i >= 0 &&
			p.rules()[i].rule.isEmpty() {
			t.Errorf("an empty rule decides")
		}
		for _, err := range mistakes {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("a mistake breaks the line: %q", err)
			}
		}
	})
}

// TestStandardsOfAShortRule: what an accept rule says nothing of is bounded all the same, and what it says holds in the
// place of the standard.
func TestStandardsOfAShortRule(t *testing.T) {
	packed := func(requests int) *Case { // ten bits a score, as sealed ones have
		c := scoring(requests)
		c.Contract.Operations = []contract.Operation{{Kind: "scores", Encoding: contract.Packed(10).String()}}
		return c
	}
	few := credit()
	for i := range few.Contract.Parties {
		few.Contract.Parties[i].Rows = 99
	}
	classes, steps := packed(0), credit()
	classes.Contract.Openings[0].Count = 3 * 300
	steps.Contract.Operations = packed(0).Contract.Operations
	steps.Contract.Openings = []contract.Opening{{To: "bank", Kind: "scores", Count: 300 * 63}}
	angles := packed(0)
	angles.Contract.Openings = []contract.Opening{{To: "bank", Kind: "angles", Count: 300 * 64}}
	for name, c := range map[string]struct {
		job  *Case
		key  string // that does not fit; empty: all do
		said string
		rule string // that lets it through
	}{
		"few rows":       {few, "min_rows", "at least 100, where it does not say min_rows", "min_rows = 99"},
		"four trainings": {told(credit(), Told{Trainings: 3}), "", "", ""},
		"five trainings": {told(credit(), Told{Trainings: 4}), "trainings_30_days",
			"at most 4, where it does not say trainings_30_days", "trainings_30_days = 5"},
		"two alignments": {told(aligning(100), Told{Alignments: 1}), "", "", ""},
		"three alignments": {told(aligning(100), Told{Alignments: 2}), "alignments_30_days",
			"at most 2, where it does not say alignments_30_days", "alignments_30_days = 3"},
		"an alignment that opens with few rows": {aligning(99), "min_rows", "at least 100, where it does not say min_rows",
			"min_rows = 50"},
		"one and a half times as many ids": {listing(450, 0), "", "", ""},
		"one id more": {listing(450, 1), "list_percent", "at most 150 %, where it does not say list_percent",
			"list_percent = 151"},
		"fewer ids than others": {listing(100, 0), "", "", ""},
		"the same rows":         {told(credit(), Told{Nearest: 0, Trainings: 1}), "", "", ""},
		"nine others": {told(credit(), Told{Nearest: 9}), "least_difference",
			"none or at least 10, where it does not say least_difference", "least_difference = 9"},
		"ten others":              {told(credit(), Told{Nearest: 10}), "", "", ""},
		"the scores of one model": {told(packed(0), Told{With: 30, Entropy: 8}), "", "", ""},
		"two models, within half": {told(packed(0), Told{Before: 7, With: 14, Models: 1, Entropy: 30}), "", "", ""},
		"two models, beyond half": {told(packed(0), Told{Before: 11, With: 16, Models: 1, Entropy: 30}), "row_bits",
			"at most 15, half of what your columns have, where it does not say row_bits", "row_bits = 16"},
		"the same model on the same rows": {told(packed(0), Told{Before: 40, With: 40, Models: 3, Entropy: 30}), "", "", ""},
		"angles of a first model": {told(angles, Told{With: 1024, Entropy: 30}), "row_bits",
			"at most 15, half of what your columns have, where it does not say row_bits", "row_bits = 1024"},
		"the scores of three classes": {told(classes, Told{With: 30, Entropy: 31}), "row_bits",
			"at most 15, half of what your columns have, where it does not say row_bits", "row_bits = 30"},
		"a row scored again and again": {told(perRow(packed(65536), 65536), Told{With: 655360, Entropy: 31}), "row_bits",
			"at most 15, half of what your columns have, where it does not say row_bits", "row_bits = 655360"},
		"a training of 63 steps": {told(steps, Told{With: 567, Entropy: 31}), "row_bits",
			"at most 15, half of what your columns have, where it does not say row_bits", "row_bits = 567"},
		"rows of a training that are not known": {told(credit(), Told{Unknown: true}), "least_difference",
			"none or at least 10, where it does not say least_difference", "least_difference = 1"},
		"rows of a training, and any difference": {told(credit(), Told{Nearest: 1}), "least_difference",
			"none or at least 10, where it does not say least_difference", "least_difference = 0"},
		"half of the memory": {greedy(6e6), "", "", ""},
		"more than half of the memory": {greedy(6e6 - 1), "max_memory", "at most 3000.0 kB, half of what this node has",
			"max_memory = \"3MB\""},
		"a party without rows": {told(angles, Told{With: 1024}), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.job.Charter = four
			if within := c.job.WithinStandards(); within != (c.key == "") { // so that one of a series is held to them, too
				t.Errorf("within the standards: %v", within)
			}
			got := parsed(t, "[[accept]]\nproposers = [\"bank\"]").Judge(c.job)
			if c.key == "" {
				if got.Verdict != Accept {
					t.Errorf("judged %+v, want accepted", got)
				}
				return
			}
			if r := got.Reasons[0]; got.Verdict != Ask || r.Key != c.key || r.Want != c.said {
				t.Errorf("judged %+v, want %s: %s", got, c.key, c.said)
			}
			if got := parsed(t, "[[accept]]\nproposers = [\"bank\"]\n"+c.rule).Judge(c.job); got.Verdict != Accept {
				t.Errorf("with %s judged %+v, want accepted", c.rule, got)
			}
		})
	}
}

// greedy is a training that takes 3 MB of so much memory.
func greedy(has int64) *Case {
	c := credit()
	c.Memory = Memory{Takes: 3e6, Has: has}
	return c
}
