package psi

import (
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// FuzzSpecOf reads parameters as a stranger may write them, and facts as strangers may state them: what is taken can
// be run, within its limits, and what is not is an error.
func FuzzSpecOf(f *testing.F) {
	f.Add("mode = \"dh\"\nasker = \"a\"\nkeeper = \"b\"\nmin_rows = 1\nkeep_days = 9", 5, 7, 9)
	f.Add("mode = \"helper\"\nasker = \"a\"\nkeeper = \"b\"\nhelper = \"c\"\nmin_rows = 1", 5, -7, 0)
	f.Add("asker = \"a\"\nkeeper = \"a\"\nmin_rows = -1", 1<<24, 1<<25, 1<<30)
	f.Add("keys = [1]", 0, 0, 0)
	f.Add("mode = \"dh\"\nasker = \"a\"\nkeeper = \"b\"\nmin_rows = 1\nkeep_days = 9\nbuckets = 1024", 5, 1<<24, 1<<24)
	f.Add("asker = \"a\"\nkeeper = \"b\"\nbuckets = -1", 5, 7, 9)
	f.Add("min_rows = \"1\"\n[asker]\nb = 1", 0, 0, 0)
	charter := &keys.Charter{Name: "test"}
	f.Fuzz(func(t *testing.T, text string, a, b, c int) {
		job := &contract.Job{Name: "job", Proposer: "a", Parties: []string{"a", "b", "c"}}
		if _, err := toml.Decode(text, &job.Parameters); err != nil {
			return
		}
		p, err := ParamsOf(job)
		if err != nil {
			return
		}
		allowed := p.Check(job, charter) == nil
		s, err := SpecOf(job, []contract.Facts{{IDs: []int{a}}, {IDs: []int{b}}, {IDs: []int{c}}})
		if err != nil {
			return
		}
		if s.Buckets < 0 || s.Buckets > MaxBuckets {
			t.Fatalf("%q is taken with %d buckets", text, s.Buckets)
		}
		if s.Asker == s.Keeper || s.Helper == s.Asker || s.Helper == s.Keeper || allowed && s.MinRows < 1 {
			t.Fatalf("%q is taken as %+v", text, s)
		}
		_, operations := s.Disclose(job.Parties)
		for _, o := range operations {
			if o.Bytes < 0 || o.Bytes > (MaxIDs+MaxIDs/5)*32 {
				t.Fatalf("%s has %d bytes", o.Kind, o.Bytes)
			}
		}
	})
}

// TestLargeTablesHaveBuckets: where a job says nothing, the longest list of any party and key tells how many.
func TestLargeTablesHaveBuckets(t *testing.T) {
	for _, test := range []struct{ says, longest, want int }{
		{0, 100, 0}, {0, BucketIDs, 0}, {0, BucketIDs + 1, 2}, {0, 2_000_000, 8}, {1, 2_000_000, 1}, {5, 100, 5},
	} {
		facts := []contract.Facts{{IDs: []int{3, 4}}, {}, {IDs: []int{1, test.longest}}}
		p, err := Params{Keeper: "b", Buckets: test.says}.CompleteFor(&contract.Job{}, facts, nil)
		if err != nil || p.Buckets != test.want {
			t.Errorf("a job that says %d, and %d ids: %d buckets, want %d; error %v", test.says, test.longest, p.Buckets,
				test.want, err)
		}
	}
}

// TestWhoCountsWhereAJobDoesNotSay: a party without rows, where there is one; the keeper is kept apart from it.
func TestWhoCountsWhereAJobDoesNotSay(t *testing.T) {
	job := &contract.Job{Name: "job", Proposer: "a", Parties: []string{"a", "b", "c", "d"}}
	charter := &keys.Charter{Name: "test", Affiliations: [][]string{{"b", "d"}}}
	apart := func(x, y string) bool { return !charter.Affiliated(x, y) }
	for _, test := range []struct {
		says  Params
		helps string // a party without rows
		want  Params
		fails bool
	}{
		{says: Params{}, want: Params{Mode: ModeDH, Asker: "a", Keeper: "b"}},
		{says: Params{}, helps: "d", want: Params{Mode: ModeHelper, Asker: "a", Keeper: "c", Helper: "d"}},
		{says: Params{Helper: "c"}, want: Params{Mode: ModeHelper, Asker: "a", Keeper: "b", Helper: "c"}},
		{says: Params{Mode: ModeHelper}, helps: "c", want: Params{Mode: ModeHelper, Asker: "a", Keeper: "b", Helper: "c"}},
		{says: Params{Mode: ModeHelper}, fails: true},
		{says: Params{Mode: ModeDH, Keeper: "c"}, want: Params{Mode: ModeDH, Asker: "a", Keeper: "c"}},
	} {
		p := test.says.Complete(job, charter.Rules)
		if err := p.Check(job, charter); err != nil {
			t.Errorf("%+v before it is known who has rows: %v", test.says, err)
		}
		if test.helps != "" {
			if !p.WantsHelper() {
				t.Errorf("%+v wants no helper", test.says)
			}
			p = p.Help(test.helps)
		}
		got, err := p.CompleteFor(job, nil, apart)
		if (err != nil) != test.fails {
			t.Errorf("%+v: %v", test.says, err)
		}
		if test.fails {
			continue
		}
		if err := got.Check(job, charter); err != nil {
			t.Errorf("%+v: %v", test.says, err)
		}
		if got.Mode != test.want.Mode || got.Asker != test.want.Asker || got.Keeper != test.want.Keeper ||
			got.Helper != test.want.Helper || got.MinRows != keys.DefaultMinRows {
			t.Errorf("%+v, and %q has no rows: %+v, want %+v", test.says, test.helps, got, test.want)
		}
	}
}
