package gfml

import (
	"cmp"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// The ways to select the entries that a client shares.
const (
	Coordinated   = "coordinated"   // the same entries at all clients of all servers
	Uncoordinated = "uncoordinated" // each client starts at a place of its own
)

// The ways in which servers combine their models with their neighbours'.
const (
	DiffusionMasked = "masked" // a server learns the weighted sum of its neighbourhood's models, and no single one
	DiffusionPlain  = "plain"  // neighbours send each other their models, as in the paper
)

// Limits of a job's numbers.
const (
	maxServers    = 1024
	maxClients    = 1 << 16 // of one server
	maxColumns    = 4096
	maxFeatures   = 1 << 16
	maxIterations = 1 << 30
	maxBound      = 1 << 32
)

// Params is what a job says to this algorithm: its [parameters] table. Letters in brackets are the
// paper's.
type Params struct {
	Servers  []string            `toml:"servers"`  // the parties that are servers
	Clients  map[string][]string `toml:"clients"`  // the clients of each server, K of them
	Edges    [][]string          `toml:"edges"`    // pairs of neighbouring servers, each pair once, in either order
	Clusters [][]string          `toml:"clusters"` // the servers of each cluster

	Columns  []string `toml:"columns"`  // a row's inputs, in the order of x
	Label    string   `toml:"label"`    // the column of y
	Features int      `toml:"features"` // random features [D]; default 200
	Sigma    float64  `toml:"sigma"`    // width of the Gaussian kernel; default 2
	Seed     string   `toml:"seed"`     // any text; public

	Iterations   int     `toml:"iterations"`       // [N], default 1000
	Step         float64 `toml:"step"`             // learning rate [mu], default 0.75
	Participants int     `toml:"participants"`     // clients a server chooses in an iteration [m], default 4
	Eta          float64 `toml:"eta"`              // weight of other clusters' models, 0 to 1, default 0.1
	Entries      int     `toml:"entries,omitzero"` // entries shared with a client [M]; default: all, which is O-GFML
	// how far the shared entries move each iteration [tau]; default: Entries
	Shift     int     `toml:"shift,omitzero"`
	Selection string  `toml:"selection"` // "coordinated" (default) or "uncoordinated"
	Bound     float64 `toml:"bound"`     // largest magnitude of an uploaded weight, from 1 on, default 1024

	// Diffusion is "masked" or "plain"; default: masked where no server has fewer than two others to sum, see
	// Plan.Diffusion.
	Diffusion string `toml:"diffusion,omitempty"`

	Rho     [][]float64 `toml:"rho,omitempty"`     // [p][r]: weight at p of r in another cluster; default: equal weights
	Combine [][]float64 `toml:"combine,omitempty"` // [r][p]: weight at p of r in p's cluster, c_rp; default: equal weights
}

// DefaultParams returns the parameters of a job that says nothing but who takes part and what the
// columns are.
func DefaultParams() Params {
	return Params{
		Features: 200, Sigma: 2, Iterations: 1000, Step: 0.75, Participants: 4, Eta: 0.1,
		Selection: Coordinated, Bound: 1024,
	}
}

// withDefaults fills in what depends on other parameters.
func (p Params) withDefaults() Params {
	p.Entries = cmp.Or(p.Entries, p.Features)
	p.Shift = cmp.Or(p.Shift, p.Entries)
	return p
}

// PublicSeed returns the seed of the job's random features and draws.
func (p Params) PublicSeed() kernel.Seed {
	return kernel.Seed(keys.HashOf("hanse job seed v1", []byte(p.Seed)))
}

// digest names the parameters, so that a state of other ones is told apart.
func (p Params) digest() (keys.Hash, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return keys.Hash{}, err
	}
	text, err := mode.Marshal(p)
	if err != nil {
		return keys.Hash{}, err
	}
	return keys.HashOf("hanse gfml parameters v1", text), nil
}

// ParamsOf is ParseParams for a table that was read already.
func ParamsOf(table map[string]any, parties []string) (Params, error) {
	return parameters.Of(table, parties, ParseParams)
}

// ParseParams reads a job's [parameters] table, fills in the defaults and validates them, for a job
// among the named parties. A number that is written down is meant: only for entries and shift
// does 0 ask for the default.
func ParseParams(text []byte, parties []string) (Params, error) {
	return parameters.Parse(text, parameters.Steps[Params]{
		Start:    DefaultParams(),
		Complete: Params.withDefaults,
		Validate: func(p Params) error { return p.Validate(parties) },
	})
}
