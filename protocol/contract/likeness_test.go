package contract_test

import (
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// likenessOf makes a contract of a draft that change has changed, read from its text as others read it.
func likenessOf(t *testing.T, l *members, change func(*draft)) keys.Hash {
	t.Helper()
	d := newDraft(t, l)
	change(d)
	c, err := d.contract()
	if err == nil {
		c, err = contract.ParseContract(c.Document.Text())
	}
	must(t, err)
	h, err := c.Likeness()
	must(t, err)
	return h
}

// TestLikeness holds which parts of a contract a likeness leaves out, and that every other part counts.
func TestLikeness(t *testing.T) {
	names := []string{"bank", "insurer", "shop"}
	l := newMembers(t, names...)
	want := likenessOf(t, l, func(*draft) {})
	if got := likenessOf(t, newMembers(t, names...), func(*draft) {}); got != want {
		t.Error("members with other keys make another likeness")
	}
	some := keys.HashOf("test", []byte("some"))
	for name, change := range map[string]func(*draft){
		"charter":    func(d *draft) { d.job.Charter = some.String() },
		"nonce":      func(d *draft) { d.job.Nonce = "0102" },
		"expiry":     func(d *draft) { d.job.Expires = "2027-01-02T03:04:05Z" },
		"alignment":  func(d *draft) { d.job.Rows, d.job.Alignment = "common", some.String() },
		"header":     func(d *draft) { d.parties[1].Header = some },
		"commitment": func(d *draft) { d.parties[1].Commitment = some.String() },
		"row set":    func(d *draft) { d.parties[1].RowSet = some.String() },
		"labels":     func(d *draft) { d.parties[1].Labels = some.String() },
	} {
		without := want
		if name == "alignment" { // its name counts, its contract does not
			without = likenessOf(t, l, func(d *draft) { d.job.Rows = "common" })
		}
		if likenessOf(t, l, change) != without {
			t.Errorf("another %s makes another likeness", name)
		}
	}
	seen := map[keys.Hash]string{want: "the draft"}
	for name, change := range map[string]func(*draft){
		"job name":  func(d *draft) { d.job.Name = "other" },
		"privacy":   func(d *draft) { d.job.Privacy = keys.PrivacyPublished },
		"topology":  func(d *draft) { d.job.Topology = "star" },
		"record":    func(d *draft) { d.job.Record = contract.RecordFull },
		"rows from": func(d *draft) { d.job.Rows = "common" },
		"purpose":   func(d *draft) { d.job.Purpose = &contract.Purpose{Text: "trial"} },
		"parameter": func(d *draft) { d.job.Parameters = map[string]any{"features": int64(7)} },
		"rows":      func(d *draft) { d.parties[1].Rows++ },
		"columns":   func(d *draft) { d.parties[2].Columns++ },
		"bins":      func(d *draft) { d.parties[2].Bins++ },
		"role":      func(d *draft) { d.parties[1].Role = "active" },
		"opening":   func(d *draft) { d.openings[0].Count++ },
		"operation": func(d *draft) { d.operations[0].Bytes++ },
	} {
		h := likenessOf(t, l, change)
		if before, ok := seen[h]; ok {
			t.Errorf("another %s makes the likeness of %s", name, before)
		}
		seen[h] = "another " + name
	}
}
