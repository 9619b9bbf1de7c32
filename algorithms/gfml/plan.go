package gfml

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// Plan is a validated job and all that its parties derive from it alike: choices, selections and
// weights. It never changes. Servers, and the clients of each, are numbered from 0 in the order of
// the parameters, iterations from 0 too.
type Plan struct {
	mixing
	params  Params
	seed    kernel.Seed
	digest  keys.Hash
	clients [][]string // [server][client]
	starts  [][]int    // [server][client]: the first entry selected at n = 0
}

// NewPlan validates parameters for a job among the named parties and derives the rest. Entries and
// Shift of 0 stand for their defaults.
func NewPlan(params Params, parties []string) (*Plan, error) {
	params = params.withDefaults()
	if err := params.Validate(parties); err != nil {
		return nil, err
	}
	p := &Plan{params: params, seed: params.PublicSeed()}
	var err error
	if p.digest, err = params.digest(); err != nil {
		return nil, err
	}
	if err = p.mixing.derive(&params); err != nil {
		return nil, err
	}
	for _, s := range params.Servers {
		p.clients = append(p.clients, params.Clients[s])
	}
	p.starts = make([][]int, len(p.clients))
	for s := range p.starts {
		p.starts[s] = make([]int, len(p.clients[s]))
		if p.params.Selection == Coordinated {
			continue
		}
		draw := newStream("hanse gfml selection v1", p.seed[:], number(s))
		for k := range p.starts[s] {
			p.starts[s][k] = draw.below(p.params.Features)
		}
	}
	return p, nil
}

// Params returns the validated parameters, defaults filled in.
func (p *Plan) Params() Params { return p.params }

// Servers returns the number of servers.
func (p *Plan) Servers() int { return len(p.clients) }

// Clients returns the number of clients of a server.
func (p *Plan) Clients(server int) int { return len(p.clients[server]) }

// Chosen returns S_p, the clients that a server chooses in iteration n, in ascending order. The draw
// is uniform and public: every party can tell who is chosen, which the layout of uncoordinated
// uploads needs, and no server can favour a client. A client that is away is drawn all the same and
// counts as one that dropped out.
func (p *Plan) Chosen(server, n int) []int {
	draw := newStream("hanse gfml choice v1", p.seed[:], number(server), number(n))

	// Draws m of k numbers, in ascending order (Floyd's algorithm: Bentley and Floyd 1987).
	k := p.Clients(server)
	m := p.params.Participants
	list := make([]int, 0, m)
	for j := k - m; j < k; j++ {
		t := draw.below(j + 1)
		if slices.Contains(list, t) {
			t = j
		}
		list = append(list, t)
	}
	slices.Sort(list)
	return list
}

// Selected returns S_{p,k,n}: the entries that a client of a server takes in iteration n, in
// ascending order. They are a run of M, seen as a circle, that starts Shift further every iteration.
// Those of n+1 are the ones it uploads.
func (p *Plan) Selected(server, client, n int) []int {
	list := make([]int, 0, p.params.Entries)
	p.eachRun(server, client, n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			list = append(list, i)
		}
	})
	return list
}

// eachRun visits S_{p,k,n} as one or two runs [lo, hi), in ascending order.
func (p *Plan) eachRun(server, client, n int, visit func(lo, hi int)) {
	d := p.params.Features
	start := int((int64(p.starts[server][client]) + int64(n)*int64(p.params.Shift)) % int64(d))
	end := start + p.params.Entries
	if end > d {
		visit(0, end-d)
		end = d
	}
	visit(start, end)
}

// Layout returns the entries that each upload of a server's iteration n holds, in ascending order:
// S_{n+1}, the same for all, or, uncoordinated, the union of S_{k,n+1} over the chosen clients.
func (p *Plan) Layout(server, n int) []int {
	chosen := p.Chosen(server, n)
	if p.params.Selection == Coordinated {
		chosen = chosen[:1]
	}
	var list []int
	for i, c := range p.counts(server, n, chosen) {
		if c > 0 {
			list = append(list, i)
		}
	}
	return list
}

// counts returns, for each of the D entries, how many of some clients select it for upload in
// iteration n.
func (p *Plan) counts(server, n int, clients []int) []int {
	counts := make([]int, p.params.Features)
	for _, k := range clients {
		p.eachRun(server, k, n+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				counts[i]++
			}
		})
	}
	return counts
}

// Exposed lists the entries of a server's total in iteration n that fewer than least of the
// survivors contribute to. Selections are public, so that such an entry tells the server about less
// than least clients; one that a single client contributes to is that client's weight itself. A
// coordinated selection exposes nothing while there are least survivors.
func (p *Plan) Exposed(server, n int, survivors []int, least int) []int {
	var list []int
	for i, c := range p.counts(server, n, survivors) {
		if c > 0 && c < least {
			list = append(list, i)
		}
	}
	return list
}

// Encoding says how an upload becomes fixed-point words: bits after the point, at most 40, and the
// bound of one addend, with which a total of all chosen clients' uploads stays below 2^63. An upload
// within the bound is off by at most 2^-(bits+1) in each entry, and so is psi'.
func (p *Plan) Encoding() (bits int, bound float64) {
	_, exponent := math.Frexp(p.params.Bound * float64(p.params.Participants))
	return min(maxDigits, 62-exponent), p.params.Bound
}

// maxDigits is how many binary digits after the point a sum has at most.
const maxDigits = 40

// boundTolerance is what the rounding of fixed-point words and of means may add to the bound.
const boundTolerance = 1 + 1e-6

// within reports whether a number that another party computed is within the bound of so many addends.
func (p *Plan) within(v float64, addends int) bool {
	return math.Abs(v) <= p.params.Bound*float64(addends)*boundTolerance // false for NaN
}

// checkPlace refuses a server and client that the plan does not have.
func (p *Plan) checkPlace(server, client int) error {
	if server < 0 || server >= len(p.clients) {
		return fmt.Errorf("server %d is out of range, want 0 to %d", server, len(p.clients)-1)
	}
	if client < 0 || client >= len(p.clients[server]) {
		return fmt.Errorf("client %d of server %q is out of range, want 0 to %d", client, p.graph.names[server],
			len(p.clients[server])-1)
	}
	return nil
}

// number encodes a place or an iteration for a digest.
func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
