package gfml

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestDisclosure is of the test network with 5 of 12 entries shared, and models that neighbours send each other.
func TestDisclosure(t *testing.T) {
	p := plan(t, func(p *Params) { p.Entries, p.Diffusion = 5, DiffusionPlain })
	d, err := p.Disclose("masked")
	must(t, err)
	// a is a neighbour of b in its cluster and of e in the other
	want := []contract.Opening{
		{To: "a", Kind: "uploads", Count: 400 * 5,
			Meaning: "the sum of 5 of 12 weights over the chosen clients' models, once an iteration; a client is among the " +
				"3 chosen of 5 in turn"},
		{To: "a", Kind: "psi-prime", Count: 400 * 12,
			Meaning: "the models of neighbouring servers in other clusters, once an iteration, with what their chosen " +
				"clients just added"},
		{To: "a", Kind: "psi", Count: 400 * 12,
			Meaning: "the models of neighbouring servers in its cluster, once an iteration, after they took in those of " +
				"other clusters"},
	}
	if !slices.Equal(d.Openings[:3], want) {
		t.Errorf("server a learns\n%+v\nwant\n%+v", d.Openings[:3], want)
	}
	last := contract.Opening{To: "e5", Kind: "model", Count: 400 * 5,
		Meaning: "5 of 12 weights of its server's model, in the iterations in which it is chosen, at most"}
	if got := d.Openings[len(d.Openings)-1]; got != last {
		t.Errorf("client e5 learns %+v, want %+v", got, last)
	}
	sum := federated.Summed{Server: "c", Clients: 5, Sum: federated.Sum{Kind: "uploads", N: 5, Bits: 40, Bound: 1024},
		Times: 400, Words: 2000}
	if len(d.Sums) != 5 || d.Sums[2] != sum {
		t.Errorf("the sums are %+v, want %+v at c", d.Sums, sum)
	}
	told := []federated.Told{{Server: "e", Kind: "model", Times: 400, Bytes: 16000},
		{Server: "e", Kind: "iteration", Times: 400}}
	if len(d.Told) != 10 || !slices.Equal(d.Told[8:], told) {
		t.Errorf("told is %+v, want %+v by e", d.Told, told)
	}
	between := []federated.Exchanged{
		{Kind: "psi-prime", Pairs: [][2]string{{"a", "e"}, {"b", "c"}, {"b", "e"}}, Times: 400, Bytes: 400 * 96},
		{Kind: "psi", Pairs: [][2]string{{"a", "b"}, {"c", "d"}, {"d", "e"}}, Times: 400, Bytes: 400 * 96},
	}
	if !reflect.DeepEqual(d.Between, between) {
		t.Errorf("between servers %+v, want %+v", d.Between, between)
	}
}

// TestDisclosureBoundsWhatIsSent: no iteration sends more than its part of the disclosure.
func TestDisclosureBoundsWhatIsSent(t *testing.T) {
	for _, selection := range []string{Coordinated, Uncoordinated} {
		p := plan(t, func(p *Params) { p.Entries, p.Selection = 3, selection })
		d, err := p.Disclose(federated.Published)
		must(t, err)
		for s := range p.Servers() {
			var words int64
			for n := range p.params.Iterations {
				sum := p.UploadSum(s, n)
				if sum.N != len(p.Layout(s, n)) || sum.N > d.Sums[s].Sum.N {
					t.Fatalf("iteration %d sums %d words, want at most %d", n, sum.N, d.Sums[s].Sum.N)
				}
				words += int64(sum.N)
			}
			if words > d.Sums[s].Words {
				t.Errorf("server %d sums %d words, want at most %d", s, words, d.Sums[s].Words)
			}
		}
		if o := d.Openings[0]; o.Count != 3*d.Sums[0].Words || !strings.HasPrefix(o.Meaning,
			"3 of 12 weights of the model of every chosen client, once an iteration") {
			t.Errorf("published, the server learns %+v", o)
		}
	}
}
