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
		if got := (Params{Buckets: test.says}).CompleteFor(facts).Buckets; got != test.want {
			t.Errorf("a job that says %d, and %d ids: %d buckets, want %d", test.says, test.longest, got, test.want)
		}
	}
}
