package federated_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// pofmklOf is POF-MKL of 51 kernels of 100 features among three clients, with an upload of three rows each.
func pofmklOf(edit func(*pofmkl.Params)) func(privacy string) (federated.Disclosure, error) {
	p := pofmkl.Params{Server: "hub", Seed: "s", Label: "y", Rounds: 100_000, RoundsPerUpload: 3}.WithDefaults()
	edit(&p)
	return func(privacy string) (federated.Disclosure, error) {
		return pofmkl.Disclose(p, privacy, []string{"a", "b", "c"})
	}
}

// gfmlOf is GFML of three servers, each the neighbour of the two others, of which two are one cluster. Each has three
// clients, chooses two of them, and shares 5 of 12 entries.
func gfmlOf(edit func(*gfml.Params)) func(privacy string) (federated.Disclosure, error) {
	p := gfml.DefaultParams()
	p.Servers, p.Clusters = []string{"p", "q", "r"}, [][]string{{"p", "q"}, {"r"}}
	p.Edges = [][]string{{"p", "q"}, {"q", "r"}, {"p", "r"}}
	p.Clients = map[string][]string{"p": {"p1", "p2", "p3"}, "q": {"q1", "q2", "q3"}, "r": {"r1", "r2", "r3"}}
	p.Columns, p.Label, p.Seed = []string{"x"}, "y", "s"
	p.Features, p.Entries, p.Participants, p.Iterations = 12, 5, 2, 100_000
	edit(&p)
	return func(privacy string) (federated.Disclosure, error) {
		parties := slices.Concat(p.Servers, p.Clients["p"], p.Clients["q"], p.Clients["r"])
		plan, err := gfml.NewPlan(p, parties)
		if err != nil {
			return federated.Disclosure{}, err
		}
		return plan.Disclose(privacy)
	}
}

// ofmsftOf is OFMS-FT of networks of 50, 100 and 10 parameters among two clients, one of which stores two of them.
func ofmsftOf(edit func(*ofmsft.Params)) func(privacy string) (federated.Disclosure, error) {
	p := ofmsft.Params{
		Server: "hub", Rounds: 100_000, RoundsPerUpload: 1, Window: 1, Clip: 1, Update: ofmsft.UpdateEquation11, WarmUp: 50,
		Budget: 0.2, Budgets: map[string]float64{"b": 1.5},
		Models: []ofmsft.Model{{Size: 50, Cost: 0.5}, {Size: 100, Cost: 1}, {Size: 10, Cost: 0.1}},
	}
	edit(&p)
	return func(privacy string) (federated.Disclosure, error) {
		return ofmsft.Disclose(p, privacy, []string{"a", "b"})
	}
}

// listed writes a disclosure without its sentences. Parties of which the same is said are in one line.
func listed(d federated.Disclosure) (text string) {
	var lines []string
	parties := make(map[string][]string)
	add := func(party string, line ...any) {
		what := fmt.Sprint(line...)
		if parties[what] == nil {
			lines = append(lines, what)
		}
		parties[what] = append(parties[what], party)
	}
	for _, s := range d.Sums {
		add(s.Server, "sum ", s.Sum.Kind, " of ", s.Clients, " clients: ", s.Times, " of ", s.Sum.N, " or ", s.Words)
	}
	for _, m := range d.Told {
		add(m.Server, "told ", m.Kind, ": ", m.Times, " of ", m.Bytes)
	}
	for _, a := range d.Answers {
		add(a.Server, "answer ", a.Kind, ": ", a.Times, " of ", a.Bytes)
	}
	for _, e := range d.Between {
		add(fmt.Sprint(e.Pairs), "between ", e.Kind, ": ", e.Times, " of ", e.Bytes)
	}
	for _, m := range d.Mixed {
		add(m.Server, "mix ", m.Sum.Kind, " after ", m.Told, " of ", m.From, ": ", m.Times, " of ", m.Sum.N)
	}
	for _, o := range d.Openings {
		add(o.To, "opens ", o.Kind, ": ", o.Count)
	}
	for _, what := range lines {
		text += fmt.Sprintln(what, parties[what])
	}
	return text
}

// TestTracesEqualWhatIsCountedByHand: every number of the table is a product of the parameters above it. A network's
// file has at most 65,536 bytes beside its parameters of 4 bytes, and a number of 2 bytes before it.
func TestTracesEqualWhatIsCountedByHand(t *testing.T) {
	for _, c := range []struct {
		disclose func(privacy string) (federated.Disclosure, error)
		privacy  string
		want     string
	}{
		{pofmklOf(func(*pofmkl.Params) {}), "masked", `
sum updates of 3 clients: 33334 of 10200 or 340006800 [hub]
told model: 33334 of 2720054400 [hub]
opens updates: 340006800 [hub]
opens model: 340006800 [a b c]`},
		{pofmklOf(func(*pofmkl.Params) {}), federated.Published, `
sum updates of 3 clients: 33334 of 10200 or 340006800 [hub]
told model: 33334 of 2720054400 [hub]
opens updates: 1020020400 [hub]
opens model: 340006800 [a b c]`},
		{pofmklOf(func(p *pofmkl.Params) { p.CommonBin, p.Chosen = true, 5 }), "masked", `
sum updates of 3 clients: 33334 of 1000 or 33334000 [hub]
told model: 33334 of 2720054400 [hub]
opens updates: 33334000 [hub]
opens model: 340006800 [a b c]`},
		{gfmlOf(func(*gfml.Params) {}), "masked", `
sum uploads of 3 clients: 100000 of 5 or 500000 [p q r]
told model: 100000 of 4000000 [p q r]
told iteration: 100000 of 0 [p q r]
mix diffusion after neighbours of [q r]: 100000 of 12 [p]
mix diffusion after neighbours of [p r]: 100000 of 12 [q]
mix diffusion after neighbours of [p q]: 100000 of 12 [r]
opens uploads: 500000 [p q r]
opens model: 500000 [p1 p2 p3 q1 q2 q3 r1 r2 r3]
opens diffusion: 1200000 [p q r]`},
		{gfmlOf(func(p *gfml.Params) { p.Selection = gfml.Uncoordinated }), federated.Published, `
sum uploads of 3 clients: 100000 of 10 or 1000000 [p q r]
told model: 100000 of 4000000 [p q r]
told iteration: 100000 of 0 [p q r]
between psi-prime: 100000 of 9600000 [[[p r] [q r]]]
between psi: 100000 of 9600000 [[[p q]]]
opens uploads: 2000000 [p q r]
opens psi-prime: 1200000 [p q]
opens psi: 1200000 [p q]
opens psi-prime: 2400000 [r]
opens model: 500000 [p1 p2 p3 q1 q2 q3 r1 r2 r3]`},
		{gfmlOf(func(p *gfml.Params) {
			p.Diffusion, p.Edges, p.Participants = gfml.DiffusionPlain, p.Edges[:2], 3
		}), "masked", `
sum uploads of 3 clients: 100000 of 5 or 500000 [p q r]
told model: 100000 of 4000000 [p q r]
told iteration: 100000 of 0 [p q r]
between psi-prime: 100000 of 9600000 [[[q r]]]
between psi: 100000 of 9600000 [[[p q]]]
opens uploads: 500000 [p q r]
opens psi: 1200000 [p q]
opens psi-prime: 1200000 [q r]
opens model: 500000 [p1 p2 p3 q1 q2 q3 r1 r2 r3]`},
		{ofmsftOf(func(*ofmsft.Params) {}), "masked", `
sum updates of 2 clients: 200000 of 100 or 15000000 [hub]
told round: 100000 of 9600000 [hub]
told model: 200000 of 13167600000 [hub]
told turn: 100000 of 400000 [hub]
told step: 200000 of 400000 [hub]
answer choice: 100000 of 200000 [hub]
opens updates: 16000000 [hub]
opens choice: 200000 [hub]
opens model: 200000 [a b]
opens round: 100000 [a b]
opens turn: 100000 [a b]
opens step: 200000 [a b]`},
		{ofmsftOf(func(p *ofmsft.Params) { p.Broadcast = true }), federated.Published, `
sum updates of 2 clients: 300000 of 100 or 16000000 [hub]
told round: 100000 of 9600000 [hub]
told model: 300000 of 19725400000 [hub]
told turn: 100000 of 400000 [hub]
told step: 300000 of 600000 [hub]
answer choice: 100000 of 200000 [hub]
opens updates: 32000000 [hub]
opens choice: 200000 [hub]
opens model: 300000 [a b]
opens round: 100000 [a b]
opens turn: 100000 [a b]
opens step: 300000 [a b]`},
	} {
		d, err := c.disclose(c.privacy)
		if err != nil {
			t.Fatal(err)
		}
		if got := listed(d); strings.TrimSpace(got) != strings.TrimSpace(c.want) {
			t.Errorf("%s: the trace is\n%s\nwant\n%s", c.privacy, got, c.want)
		}
	}
}
