package contract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// sharded is a job of four shards in force, with the keys of its parties.
func sharded(t testing.TB, l *members) contract.InForce {
	t.Helper()
	d := newDraft(t, l)
	d.job.Shards = 4
	d.operations = append(d.operations, contract.InShards(4, shardOperations(), shardOperations())...)
	c, err := d.contract()
	must(t, err)
	for _, k := range l.keys {
		c.Sign(k)
	}
	if c, err = contract.ParseContract(c.Text()); err != nil {
		t.Fatal(err)
	}
	f, err := c.InForce()
	must(t, err)
	return f
}

// shardOperations are those of one shard.
func shardOperations() []contract.Operation {
	return []contract.Operation{{Kind: "factors", Stage: 1, Collective: "direct", Root: "bank", To: "shop",
		Class: "masked", Encoding: "bytes", Count: 1, Bytes: 100}}
}

// delegations are those of all parties for a shard, to fresh keys.
func delegations(
	t testing.TB, l *members, f contract.InForce, s contract.Shard, generation uint32,
) []*contract.Delegation {
	t.Helper()
	list := make([]*contract.Delegation, len(l.keys))
	for i, k := range l.keys {
		list[i] = delegated(t, k, contract.Delegation{Contract: f.Contract().Hash(), Shard: s, Generation: generation})
	}
	return list
}

// delegated signs a delegation to a fresh key.
func delegated(t testing.TB, by *keys.PrivateKey, d contract.Delegation) *contract.Delegation {
	t.Helper()
	worker, err := keys.GenerateKey()
	must(t, err)
	d.Worker, d.Expires = worker.ID(), time.Date(2027, 1, 2, 3, 4, 5, 6, time.UTC)
	signed, err := contract.NewDelegation(d, by)
	must(t, err)
	read, err := contract.ParseDelegation(signed.Text())
	must(t, err)
	return read
}

// TestShardsContractsRoundTrip: a shard's contract is read as it was written, its parties are the workers, and the
// budget of a shard is the shard's alone.
func TestShardsContractsRoundTrip(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	f := sharded(t, l)
	s := contract.Shard{Index: 1, Of: 4, First: 250, Rows: 250}
	list := delegations(t, l, f, s, 3)
	shard, err := f.Shard(list, nil, shardOperations())
	must(t, err)
	again, err := f.ParseShard(shard.Contract().Text())
	must(t, err)
	c := again.Contract()
	if c.Hash() != shard.Contract().Hash() || c.Hash() == f.Contract().Hash() {
		t.Errorf("hash %s, written %s, job's %s", c.Hash().Short(), shard.Contract().Hash().Short(),
			f.Contract().Hash().Short())
	}
	if c.Shard.Shard != s || c.Shard.Generation != 3 || c.Rows() != 250 {
		t.Errorf("shard %+v of %d rows", c.Shard, c.Rows())
	}
	for i, p := range c.Members() {
		if p.Name != l.parties[i].Name || p.ID != list[i].Worker {
			t.Errorf("party %d is %v", i, p)
		}
	}
	b, err := contract.NewBudget(c, 0)
	must(t, err)
	if err := b.Spend("factors", contract.ClassMasked, contract.Bytes, 2, 100); err != nil {
		t.Error(err)
	}
	if err := b.Spend("angles", contract.ClassMasked, contract.Turns16, 2, 100); err == nil {
		t.Error("a shard's session may send what is the job's")
	}
	// What all shards do stands in the job's contract, and its own session may send none of it.
	if all := f.Contract().Sharded; len(all) != 1 || all[0].Count != 2 || all[0].Bytes != 200 || all[0].Shards != 4 {
		t.Errorf("the contract lists %+v of shards", all)
	}
	if b, err = contract.NewBudget(f.Contract(), 0); err != nil {
		t.Fatal(err)
	}
	if err := b.Spend("factors", contract.ClassMasked, contract.Bytes, 2, 100); err == nil {
		t.Error("the job's session may send what is a shard's")
	}
}

// TestForgedDelegations: no thief of a delegation, no party and no worker makes a shard's contract with one that is
// another party's, of another job, shard, cut or generation, or changed.
func TestForgedDelegations(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	f, other := sharded(t, l), sharded(t, newMembers(t, "bank", "insurer", "shop"))
	s := contract.Shard{Index: 1, Of: 4, First: 250, Rows: 250}
	at := func(change func(d *contract.Delegation)) func([]*contract.Delegation) {
		return func(list []*contract.Delegation) {
			d := contract.Delegation{Contract: f.Contract().Hash(), Shard: s, Generation: 3}
			change(&d)
			list[1] = delegated(t, l.keys[1], d)
		}
	}
	for _, c := range []struct {
		name, want string
		forge      func(list []*contract.Delegation)
	}{
		{"another party's", "insurer has not signed the delegation for shard 1 that is said to be its own",
			func(list []*contract.Delegation) { list[1] = list[2] }},
		{"of another job", "the delegation of insurer is for contract", at(func(d *contract.Delegation) {
			d.Contract = other.Contract().Hash()
		})},
		{"of another shard", "the delegation of insurer is for shard 2 of 4, rows 250 to 500, want shard 1 of 4",
			at(func(d *contract.Delegation) { d.Shard.Index = 2 })},
		{"of another number of shards", "the delegation of insurer is for shard 1 of 8",
			at(func(d *contract.Delegation) { d.Shard.Of = 8 })},
		{"of other rows", "rows 250 to 501, want shard 1 of 4, rows 250 to 500",
			at(func(d *contract.Delegation) { d.Shard.Rows = 251 })},
		{"of another generation", "the delegation of insurer for shard 1 is of generation 2, want 3",
			at(func(d *contract.Delegation) { d.Generation = 2 })},
		{"with a worker twice", "bank and insurer have the same id", func(list []*contract.Delegation) {
			d := contract.Delegation{Contract: f.Contract().Hash(), Shard: s, Generation: 3, Worker: list[0].Worker}
			twin, err := contract.NewDelegation(d, l.keys[1])
			must(t, err)
			list[1] = twin
		}},
	} {
		list := delegations(t, l, f, s, 3)
		c.forge(list)
		if _, err := f.Shard(list, nil, shardOperations()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v\nwant %s", c.name, err, c.want)
		}
	}

	// A changed text is no delegation; a shard beyond the job's rows and one of none are none of it.
	text := strings.Replace(string(delegations(t, l, f, s, 3)[0].Text()), "generation = 3", "generation = 4", 1)
	if _, err := contract.ParseDelegation([]byte(text)); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("a changed delegation: %v", err)
	}
	for _, wrong := range []contract.Shard{
		{Index: 4, Of: 4, Rows: 10}, {Index: -1, Of: 4, Rows: 10}, {Of: 5, Rows: 10}, {Of: 4, First: 995, Rows: 10}, {Of: 4},
		{Of: 4, First: -1, Rows: 10},
	} {
		if _, err := f.Shard(delegations(t, l, f, wrong, 1), nil, shardOperations()); err == nil {
			t.Errorf("a shard %+v was taken", wrong)
		}
	}
	now := time.Date(2027, 1, 2, 3, 4, 6, 0, time.UTC)
	if err := delegations(t, l, f, s, 3)[0].Fresh(l.parties[0], now); err == nil ||
		err.Error() != "the delegation of bank for shard 1 expired at 2027-01-02T03:04:05Z" {
		t.Errorf("an expired delegation: %v", err)
	}
	// A shard's contract has no shards of its own, and is no other job's.
	shard, err := f.Shard(delegations(t, l, f, s, 3), nil, shardOperations())
	must(t, err)
	if _, err := shard.Shard(delegations(t, l, f, s, 3), nil, shardOperations()); err == nil {
		t.Error("a shard was cut into shards")
	}
	if _, err := other.ParseShard(shard.Contract().Text()); err == nil {
		t.Error("a shard's contract was read as another job's")
	}
}

// FuzzParseDelegation: whatever a text holds, reading it ends in a delegation that reads the same, or in an error.
func FuzzParseDelegation(f *testing.F) {
	l := newMembers(f, "bank", "insurer", "shop")
	s := contract.Shard{Index: 1, Of: 4, First: 250, Rows: 250}
	f.Add(delegated(f, l.keys[0], contract.Delegation{Shard: s, Generation: 1}).Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := contract.ParseDelegation(text)
		if err != nil {
			return
		}
		again, err := contract.ParseDelegation(d.Text())
		if err != nil || again.Worker != d.Worker || again.Shard != d.Shard {
			t.Errorf("read %+v, and again %+v, %v", d, again, err)
		}
	})
}
