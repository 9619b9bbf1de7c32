package gfml

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errLost is what broken networks, streams and vaults say.
var errLost = errors.New("the link is lost")

// turns returns an iteration in which client 0 of server 0 is chosen, and one in which it is not.
func turns(p *Plan) (in, out int) {
	in, out = -1, -1
	for n := 0; in < 0 || out < 0; n++ {
		if slices.Contains(p.Chosen(0, n), 0) {
			in = n
		} else {
			out = n
		}
	}
	return in, out
}

func TestErrorsOfAClientsPart(t *testing.T) {
	p := plan(t, func(*Params) {})
	in, out := turns(p)
	if in != 0 || out != 1 { // the texts below are of this plan
		t.Fatalf("client 0 is in at %d and out at %d, want 0 and 1", in, out)
	}
	w := make([]float64, 12)
	for name, c := range map[string]struct {
		network *memory.ToldClient
		rows    memory.FaultyRows
		vault   memory.FaultyVault
		want    string
	}{
		"nothing":   {network: &memory.ToldClient{End: errLost}, want: `client "a1" of server "a": wait for iteration after row 0: the link is lost`},
		"again":     {network: &memory.ToldClient{Rounds: []int{1, 1}}, want: `client "a1" of server "a": the server announces iteration 1, want one from 2 to 399`},
		"too late":  {network: &memory.ToldClient{Rounds: []int{400}}, want: `client "a1" of server "a": the server announces iteration 400, want one from 0 to 399`},
		"negative":  {network: &memory.ToldClient{Rounds: []int{-1}}, want: `client "a1" of server "a": the server announces iteration -1, want one from 0 to 399`},
		"no values": {network: &memory.ToldClient{Rounds: []int{in}}, want: `client "a1" of server "a": what the server sent is a vector of 0 numbers, want 12`},
		"not chosen": {network: &memory.ToldClient{Rounds: []int{out}, Values: w},
			want: `client "a1" of server "a" is not chosen in iteration 1`},
		"no sum":    {network: &memory.ToldClient{Rounds: []int{in}, Values: w, SumErr: errLost}, want: `client "a1" of server "a", iteration 0: sum of uploads after row 1: the link is lost`},
		"not saved": {vault: memory.FaultyVault{SaveErr: errLost}, want: `client "a1" of server "a", iteration 0: checkpoint after row 1: the link is lost`},
		"no vault":  {vault: memory.FaultyVault{LoadErr: errLost}, want: `client "a1" of server "a": the link is lost`},
		"damaged":   {vault: memory.FaultyVault{Vault: memory.Vault{federated.ClientSlot: {0xa0}}}, want: `client "a1" of server "a": saved state: version is 0, want 1`},
		"no inputs": {rows: memory.FaultyRows{InputsErr: errLost}, want: `client "a1" of server "a", iteration 0: inputs after row 0: the link is lost`},
		"no label":  {rows: memory.FaultyRows{LabelErr: errLost}, want: `client "a1" of server "a", iteration 0: row 1: label: the link is lost`},
		"not kept":  {rows: memory.FaultyRows{PredictedErr: errLost}, want: `client "a1" of server "a", iteration 0: row 1: keep the prediction: the link is lost`},
		"short inputs": {rows: memory.FaultyRows{Rows: memory.NewRows([][]float64{{1}}, []float64{1})},
			want: `client "a1" of server "a", iteration 0: row 1: inputs: `},
	} {
		if c.network == nil {
			c.network = &memory.ToldClient{Rounds: []int{in}, Values: w, End: io.EOF}
		}
		if c.rows.Rows == nil {
			c.rows.Rows = memory.NewRows([][]float64{{0.5, 1}}, []float64{1})
		}
		err := RunClient(t.Context(), &ClientPart{Plan: p, Privacy: "masked", Least: 3, Network: c.network, Rows: &c.rows,
			Vault: &c.vault})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, c.want)
		}
		if name == "not saved" && c.network.Sums > 0 {
			t.Error("an upload left before its state was saved")
		}
	}
}

// TestAnIterationIsTakenPartInOnce over all of a client's sessions.
func TestAnIterationIsTakenPartInOnce(t *testing.T) {
	p := plan(t, func(*Params) {})
	vault := memory.Vault{}
	runClient := func() error {
		return RunClient(t.Context(), &ClientPart{
			Plan: p, Privacy: "masked", Least: 3, Vault: vault,
			Network: &memory.ToldClient{Rounds: []int{0}, Values: make([]float64, 12), End: io.EOF},
			Rows:    memory.NewRows([][]float64{{0.5, 1}}, []float64{1}),
		})
	}
	must(t, runClient())
	wantError(t, runClient(), `client "a1" of server "a": the server announces iteration 0, want one from 1 to 399`)
}

// broken is a server's network with faults.
type broken struct {
	memory.FaultyServer
	theirs   map[int][]float64
	exchange error
	mixture  *federated.Mixture
	mix      error
}

func (n *broken) Begin(context.Context, int) error { return nil }

func (n *broken) Mix(context.Context, federated.Sum, int, []int, func([]int) []int) (*federated.Mixture, error) {
	return n.mixture, n.mix
}

func (n *broken) Contribute(_ context.Context, _ federated.Sum, _, _ int, vector func([]int) ([]float64, error)) error {
	_, err := vector([]int{0})
	return err
}

func (n *broken) Exchange(context.Context, string, int, []int, []float64) (map[int][]float64, error) {
	return n.theirs, n.exchange
}

func TestErrorsOfAServersPart(t *testing.T) {
	twelve := make([]float64, 12)
	for name, c := range map[string]struct {
		network broken
		vault   memory.FaultyVault
		masked  bool
		want    string
	}{
		"no mixture":      {masked: true, network: broken{mix: errLost}, want: `server "a", iteration 0: sum of the models around "a": the link is lost`},
		"short mixture":   {masked: true, network: broken{mixture: &federated.Mixture{There: []int{1, 2}}}, want: `server "a", iteration 0: server "a": the total of its neighbourhood has 0 numbers, want 12`},
		"strange mixture": {masked: true, network: broken{mixture: &federated.Mixture{There: []int{3}, Values: twelve}}, want: `server "a", iteration 0: server "a": a total of servers [] of [3], want some of [1 2 4]`},
		"more than told":  {masked: true, network: broken{mixture: &federated.Mixture{There: []int{1}, From: []int{1, 2}, Values: twelve}}, want: `server "a", iteration 0: server "a": a total of servers [1 2] of [1], want some of [1 2 4]`},

		"not told": {network: broken{FaultyServer: memory.FaultyServer{SendErr: errLost}}, want: `server "a", iteration 0: tell client "a1" of server "a": the link is lost`},
		"no sum": {network: broken{FaultyServer: memory.FaultyServer{SumErr: errLost}},
			want: `server "a", iteration 0: sum of uploads: the link is lost`},
		"bad total":       {network: broken{FaultyServer: memory.FaultyServer{Total: &federated.Total{Clients: []int{9}}}}, want: `server "a", iteration 0: client 9 of server "a" is out of range, want 0 to 4`},
		"no neighbours":   {network: broken{exchange: errLost}, want: `server "a", iteration 0: exchange psi-prime with neighbours: the link is lost`},
		"strange vectors": {network: broken{theirs: map[int][]float64{3: make([]float64, 12)}}, want: `server "a", iteration 0: server "a" has 1 vectors of servers that are no such neighbours of it`},
		"not saved": {vault: memory.FaultyVault{SaveErr: errLost},
			want: `server "a", iteration 0: checkpoint: the link is lost`},
		"no vault": {vault: memory.FaultyVault{LoadErr: errLost}, want: `server "a": the link is lost`},
		"damaged": {vault: memory.FaultyVault{Vault: memory.Vault{federated.ServerSlot: {0xa0}}},
			want: `server "a": saved state: version is 0, want 1`},
	} {
		c.network.N = 5
		p := plan(t, func(p *Params) {
			if !c.masked {
				p.Diffusion = DiffusionPlain
			}
		})
		err := Serve(t.Context(), &ServerPart{
			Plan: p, Privacy: "masked", Least: 3, Network: &c.network, Neighbours: &c.network,
			Mixing: &c.network, Vault: &c.vault,
		})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, c.want)
		}
	}
}

// announcer is a server's network that notes what is announced, until it breaks.
type announcer struct {
	broken
	lives int
	seen  func(n int)
}

func (a *announcer) SendValues(_ context.Context, _ int, _ string, n int, _ []float64) error {
	a.seen(n)
	if a.lives--; a.lives == 0 {
		return errLost
	}
	return nil
}

// TestNoLifeOfAServerAnnouncesWhatAnEarlierOneDid, however often each saves its state.
func TestNoLifeOfAServerAnnouncesWhatAnEarlierOneDid(t *testing.T) {
	p := plan(t, func(*Params) {})
	vault, newest := memory.Vault{}, -1
	for life, every := range []int{5, 3, 0, 7, 1} {
		before := newest
		// all five clients are told
		network := &announcer{broken: broken{FaultyServer: memory.FaultyServer{N: 5}},
			lives: 5*(life+3) + 2, seen: func(n int) {
				if n <= before {
					t.Fatalf("life %d announces iteration %d, one before it was at %d", life, n, before)
				}
				newest = max(newest, n)
			}}
		err := Serve(t.Context(), &ServerPart{Plan: p, Privacy: "masked", Least: 3, Network: network, Neighbours: network,
			Mixing: network, Vault: vault, CheckpointEvery: every})
		if !errors.Is(err, errLost) {
			t.Fatalf("life %d ended with %v, want that its link was lost", life, err)
		}
	}
	if newest < 25 {
		t.Errorf("the newest iteration is %d, want all lives to get on", newest)
	}
}
