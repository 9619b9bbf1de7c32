package pofmkl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestUpdateSumsFitAndAreAsFineAsTheyCan for any job and number of clients.
func TestUpdateSumsFitAndAreAsFineAsTheyCan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, clients := drawParams(t), rapid.IntRange(1, 1<<16).Draw(t, "clients")
		if got, want := UpdateSum(p, clients), federated.Finest(KindUpdates, p.UploadWords(), p.SumBound(),
			clients); got != want || !got.Fits(clients) {
			t.Fatalf("the sum is %+v, want %+v, which fits", got, want)
		}
	})
}

// disclosed is Disclose that must not fail.
func disclosed(t testing.TB, p Params, privacy string, clients []string) federated.Disclosure {
	t.Helper()
	d, err := Disclose(p, privacy, clients)
	mustDo(t, err)
	return d
}

// TestDisclosure is of the paper's job with three clients.
func TestDisclosure(t *testing.T) {
	p := Params{Server: "hub", Seed: "s", Label: "y", RoundsPerUpload: 3}.WithDefaults()
	d := disclosed(t, p, "masked", []string{"a", "b", "c"})
	const uploads, words = 167, 10200
	want := federated.Disclosure{
		Openings: []contract.Opening{
			{To: "hub", Kind: "updates", Count: uploads * words,
				Meaning: "the sum of the clients' updates, once a round; a client moves at most 3 of 51 kernels, so that a " +
					"kernel's part is a sum over about 0.173 of 3 clients, and may be one client's, without its name, where that is few"},
		},
		Sums: []federated.Summed{{Server: "hub", Clients: 3, Sum: UpdateSum(p, 3), Times: uploads, Words: uploads * words}},
		Told: []federated.Told{{Server: "hub", Kind: "model", Times: uploads, Bytes: uploads * words * 8}},
	}
	for _, c := range []string{"a", "b", "c"} {
		want.Openings = append(want.Openings, contract.Opening{To: c, Kind: "model", Count: uploads * words,
			Meaning: "theta, the server's parameters of every kernel, once a round: what all clients' updates so far made of it"})
	}
	if !slices.Equal(d.Openings, want.Openings) || !slices.Equal(d.Sums, want.Sums) ||
		!slices.Equal(d.Told, want.Told) || d.Between != nil {
		t.Errorf("the disclosure is\n%+v\nwant\n%+v", d, want)
	}
	d = disclosed(t, p, federated.Published, []string{"a", "b", "c"})
	if o := d.Openings[0]; o.Count != 3*uploads*words || !strings.HasPrefix(o.Meaning,
		"every client's update of every round, with the kernels it drew") {
		t.Errorf("published, the server learns %+v", o)
	}
	p.CommonBin, p.Chosen = true, 5
	d = disclosed(t, p, "he", []string{"a", "b", "c"})
	if s := d.Sums[0]; s.Sum.N != 1000 || s.Words != uploads*1000 || d.Told[0].Bytes != uploads*words*8 {
		t.Errorf("with a common bin of 5 kernels, clients add %+v", s)
	}
	if o := d.Openings[0]; o.Count != uploads*1000 || o.Meaning != "the sum of the clients' updates, once a round, of "+
		"at most 5 of 51 kernels, "+
		"which the job's seed draws for all: a kernel's part is a sum over all of the 3 clients that take part in the round" {
		t.Errorf("with a common bin, the server learns %+v", o)
	}
	d = disclosed(t, p, federated.Published, []string{"a", "b", "c"})
	if o := d.Openings[0]; o.Count != 3*uploads*1000 || !strings.Contains(o.Meaning,
		"which tell nothing of what suits it") {
		t.Errorf("published with a common bin, the server learns %+v", o)
	}
	for _, o := range d.Openings {
		if len(o.Meaning) > 500 {
			t.Errorf("a meaning of %d bytes, want at most 500", len(o.Meaning))
		}
	}
}

// TestKernelsOfAnUploadAreCounted against draws of bins with equal probability.
func TestKernelsOfAnUploadAreCounted(t *testing.T) {
	p := Params{Chosen: 10, RoundsPerUpload: 2}.WithDefaults() // 6 bins
	if got, want := p.Contributors(36), 36*(1-25.0/36); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v clients move a kernel, want %v", got, want)
	}
}
