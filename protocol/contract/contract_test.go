package contract_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"pgregory.net/rapid"
)

// members are the parties of a contract, with their keys.
type members struct {
	keys    []*keys.PrivateKey
	ids     []keys.ID
	parties []contract.Party
}

// newMembers draws keys for the named members.
func newMembers(t testing.TB, names ...string) *members {
	t.Helper()
	m := &members{}
	for _, name := range names {
		k, err := keys.GenerateKey()
		must(t, err)
		m.keys, m.ids = append(m.keys, k), append(m.ids, k.ID())
		m.parties = append(m.parties, contract.Party{Name: name, ID: k.ID()})
	}
	return m
}

// draft is what a contract is made of.
type draft struct {
	job        *contract.Job
	parties    []contract.Facts
	openings   []contract.Opening
	operations []contract.Operation
}

// newDraft makes an honest contract of three parties.
func newDraft(t testing.TB, l *members) *draft {
	t.Helper()
	job, err := contract.ParseJob([]byte(goodJob))
	must(t, err)
	d := &draft{job: job}
	for i, p := range l.parties {
		role := "passive"
		if i == 0 {
			role = "active"
		}
		d.parties = append(d.parties, contract.Facts{Name: p.Name, ID: p.ID, Role: role, Rows: 1000, Columns: 10 + i})
	}
	d.openings = []contract.Opening{{To: "bank", Kind: "angles", Count: 5000, Meaning: "sums of angles – nobody's own"}}
	d.operations = []contract.Operation{
		{Kind: "angles", Stage: 1, Collective: "sum", Root: "bank", Class: "masked", Encoding: "turns16",
			Shape: []int64{1000, 5}, Count: 2, Bytes: 10000},
		{Kind: "width", Stage: 2, Collective: "broadcast", Root: "bank", Class: "control",
			Encoding: "bytes", Count: 1, Bytes: 8},
	}
	return d
}

func (d *draft) contract() (*contract.Contract, error) {
	return contract.NewContract(d.job, d.parties, d.openings, d.operations)
}

func TestContractRoundTrip(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	c, err := newDraft(t, l).contract()
	must(t, err)
	for _, k := range l.keys {
		c.Sign(k)
	}
	again, err := contract.ParseContract(c.Document.Text())
	must(t, err)
	if !reflect.DeepEqual(again.Parties, c.Parties) || !reflect.DeepEqual(again.Openings, c.Openings) ||
		!reflect.DeepEqual(again.Operations, c.Operations) || again.Job.Name != c.Job.Name {
		t.Errorf("the contract reads %+v, want %+v", again, c)
	}
	if again.Hash() != c.Hash() || !bytes.Equal(again.Document.Text(), c.Document.Text()) {
		t.Error("the contract has another hash or text when it is read again")
	}
	if _, err := again.InForce(); err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(again.Members(), l.parties) {
		t.Errorf("the members are %v, want %v", again.Members(), l.parties)
	}
}

func TestContractNamesWhoMustSign(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	c, err := newDraft(t, l).contract()
	must(t, err)
	for i, missing := range []string{"bank, insurer, shop", "insurer, shop", "shop"} {
		want := fmt.Sprintf("the contract of job %q is not in force: %s must still sign it", "credit-risk", missing)
		if _, err := c.InForce(); text(err) != want {
			t.Errorf("error is %v, want %s", err, want)
		}
		c.Sign(l.keys[i])
	}
	if _, err := c.InForce(); err != nil {
		t.Error(err)
	}
}

// TestContractMessages: what no honest node proposes is refused when it is written and when it is read.
func TestContractMessages(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	long := strings.Repeat("m", 501)
	for _, c := range []struct {
		change func(d *draft)
		want   string
	}{
		{func(d *draft) { d.parties = d.parties[:2] }, "facts of 2 parties, the job has 3"},
		{func(d *draft) { d.parties[1].Name = "telco" }, `party 2 is "telco", the job says "insurer"`},
		{func(d *draft) { d.parties[1].ID = d.parties[0].ID }, "bank and insurer have the same id"},
		{func(d *draft) { d.parties[1].ID = keys.ID{} }, "insurer: the id is missing"},
		{func(d *draft) { d.parties[2].Role = "idle" }, `shop: role is "idle", want "active", "passive", "helper", "server" or "client"`},
		{func(d *draft) { d.parties[2].Rows = -1 }, "shop: rows is -1, want 0 to 1125899906842624"},
		{func(d *draft) { d.parties[2].Rows = 1 << 60 }, "shop: rows is 1152921504606846976, want 0 to 1125899906842624"},
		{func(d *draft) { d.parties[2].Columns = -5 }, "shop: columns is -5, want 0 to 1125899906842624"},
		{func(d *draft) { d.openings[0].To = "telco" }, `opening 1: to is "telco", want one of the job's parties`},
		{func(d *draft) { d.openings[0].Kind = "" }, `opening 1: kind is "", want 1 to 24 characters of a-z, 0-9, "-" and space`},
		{func(d *draft) { d.openings[0].Count = -1 }, "opening 1: count is -1, want 0 to 1125899906842624"},
		{func(d *draft) { d.openings[0].Meaning = long }, "opening 1: meaning of 501 bytes, want one line of at most 500 that prints"},
		{func(d *draft) { d.openings[0].Meaning = "\x1b[2J" }, "opening 1: meaning of 4 bytes, want one line of at most 500 that prints"},
		{func(d *draft) { d.operations[1].Root = "" }, `operation 2: width: root is "", want one of the job's parties`},
		{func(d *draft) { d.operations[0].Root = "*" }, `operation 1: angles: root is "*", want one of the job's parties`},
		{func(d *draft) { d.operations[1].Kind = "Width" }, `operation 2: kind is "Width", want 1 to 24 characters of a-z, 0-9, "-" and space`},
		{func(d *draft) { d.operations[1].Class = "secret" }, `operation 2: width: class is "secret", want "control", "masked", "published", "opening" or "he"`},
		{func(d *draft) { d.operations[1].Encoding = "morse" }, `operation 2: width: encoding is "morse", want "bytes", "turns16", "turns32", "fixed64", "float64", "rlwe", "ring48", "ring32" or "packed8" to "packed56"`},
		{func(d *draft) { d.operations[1].Collective = "rumour" },
			`operation 2: width: collective is "rumour", want "sum", "broadcast", "exchange", "direct", "pairs", "upload", ` +
				`"download" or "servers"`},
		{func(d *draft) { d.operations[1].Collective = "exchange" }, "operation 2: width: an exchange has no root"},
		{func(d *draft) { d.operations[1].To = "shop" }, "operation 2: width: only direct messages have a receiver"},
		{func(d *draft) { d.operations[1].Collective = "direct" }, `operation 2: width: to is "", want one of the job's parties other than the root`},
		{func(d *draft) { d.operations[1].Collective, d.operations[1].To = "direct", "bank" }, `operation 2: width: to is "bank", want one of the job's parties other than the root`},
		{func(d *draft) { d.operations[1].Collective, d.operations[1].To = "direct", "telco" }, `operation 2: width: to is "telco", want one of the job's parties other than the root`},
		{func(d *draft) {
			d.operations[1].Collective, d.operations[1].Root, d.operations[1].To = "direct", "*", "shop"
		}, `operation 2: width: root is "*", want one of the job's parties`},
		{func(d *draft) {
			d.operations[1].Collective, d.operations[1].To, d.operations[1].Class = "direct", "shop", "he"
		}, `operation 2: width: class is "he", want "control", "masked" or "opening" for a direct message`},
		{func(d *draft) {
			o := &d.operations[1]
			o.Collective, o.To, o.Tree, o.Excluded = "direct", "shop", 1, "insurer"
		}, "operation 2: width: only sums have a tree and an excluded party"},
		{func(d *draft) { d.operations[1].Tree = 1 }, "operation 2: width: only sums have a tree and an excluded party"},
		{func(d *draft) { d.operations[0].Tree = 3 }, "operation 1: angles: tree is 3, want 0, 1 or 2"},
		{func(d *draft) { d.operations[0].Tree, d.operations[0].Excluded = 1, "bank" }, `operation 1: angles: excluded is "bank", want a party other than the root with tree 1 or 2, else nothing`},
		{func(d *draft) { d.operations[0].Excluded = "shop" }, `operation 1: angles: excluded is "shop", want a party other than the root with tree 1 or 2, else nothing`},
		{func(d *draft) { d.operations[0].Shape = make([]int64, 5) }, "operation 1: angles: shape has 5 numbers, at most 4 are allowed"},
		{func(d *draft) { d.operations[0].Shape[1] = -1 }, "operation 1: angles: shape is -1, want 0 to 1125899906842624"},
		{func(d *draft) { d.operations[1].Bytes = -8 }, "operation 2: width: bytes is -8, want 0 to 1125899906842624"},
		{func(d *draft) { d.operations[1].Count = 1 << 50 }, "operation 2: all up to it have 1125899906842626 vectors of 10008 bytes, at most 1125899906842624 are allowed"},
		{func(d *draft) { d.operations[1] = d.operations[0]; d.operations[1].Stage = 2 }, `operation 2: "angles" has another stage, collective, class or encoding than before`},
		{func(d *draft) { d.operations = make([]contract.Operation, 1<<16+1) }, "1 openings and 65537 operations, at most 65536 of each are allowed"},
	} {
		d := newDraft(t, l)
		c.change(d)
		want := `contract of job "credit-risk": ` + c.want
		if _, err := d.contract(); text(err) != want {
			t.Errorf("written: error is %v\nwant              %s", err, want)
		}
	}
}

// TestForeignContracts are texts that NewContract does not write.
func TestForeignContracts(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	c, err := newDraft(t, l).contract()
	must(t, err)
	c.Sign(l.keys[0])
	signed := string(c.Document.Text())
	unsigned := string(keys.NewDocument(contract.DomainContract, c.Body).Text())
	for _, f := range []struct{ text, from, to, want string }{
		{unsigned, "hanse-contract-v3", "hanse-contract-v9",
			`contract: format is "hanse-contract-v9", want "hanse-contract-v3"`},
		{unsigned, "rows = 1000", "rows = -1", `contract of job "credit-risk": bank: rows is -1, want 0 to 1125899906842624`},
		{unsigned, "columns = 11", "columns = -1", `contract of job "credit-risk": insurer: columns is -1, want 0 to 1125899906842624`},
		{unsigned, "bytes = 10000", "bytes = -1", `contract of job "credit-risk": operation 1: angles: bytes is -1, want 0 to 1125899906842624`},
		{unsigned, `name = "shop"`, `name = "telco"`, `contract of job "credit-risk": party 3 is "telco", the job says "shop"`},
		{unsigned, `sums of`, `\u001b[2J`, `contract of job "credit-risk": opening 1: meaning of 28 bytes, want one line of at most 500 that prints`},
		{unsigned, `hanse-job-v1`, `hanse-job-v2`, `job "credit-risk": format is "hanse-job-v2", want "hanse-job-v1"`},
		{signed, "count = 5000", "count = 5", "contract: the signature of " + l.ids[0].Short() +
			" does not fit the text above it: one of the two was changed, or it was made for another text"},
	} {
		changed := strings.Replace(f.text, f.from, f.to, 1)
		if changed == f.text {
			t.Errorf("%q is not in the contract", f.from)
		}
		if _, err := contract.ParseContract([]byte(changed)); text(err) != f.want {
			t.Errorf("error is %v\nwant     %s", err, f.want)
		}
	}
}

// FuzzParseContract: what parses is written back byte for byte, and its parts make a contract.
func FuzzParseContract(f *testing.F) {
	l := newMembers(f, "bank", "insurer", "shop")
	c, err := newDraft(f, l).contract()
	must(f, err)
	f.Add(c.Document.Text())
	f.Add(directContract(f, l).Document.Text())
	c.Sign(l.keys[1])
	f.Add(c.Document.Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := contract.ParseContract(text)
		if err != nil {
			return
		}
		if !bytes.Equal(c.Document.Text(), text) {
			t.Fatalf("a contract that parses is written back otherwise:\n%s", c.Document.Text())
		}
		remade, err := contract.NewContract(c.Job, c.Parties, c.Openings, c.Operations)
		if err != nil {
			t.Fatalf("a contract that parses cannot be made: %v", err)
		}
		if _, err := contract.ParseContract(remade.Document.Text()); err != nil {
			t.Fatalf("a contract made of what parses is refused: %v", err)
		}
	})
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
