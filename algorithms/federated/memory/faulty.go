package memory

import (
	"context"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// FaultyRows is a stream that fails where an error is given.
type FaultyRows struct {
	*Rows
	InputsErr, LabelErr, PredictedErr error
}

// Inputs implements federated.Rows.
func (r *FaultyRows) Inputs(ctx context.Context) (row int, x []float64, err error) {
	if r.InputsErr != nil {
		return 0, nil, r.InputsErr
	}
	return r.Rows.Inputs(ctx)
}

// Label implements federated.Rows.
func (r *FaultyRows) Label(ctx context.Context) (float64, error) {
	if r.LabelErr != nil {
		return 0, r.LabelErr
	}
	return r.Rows.Label(ctx)
}

// Predicted implements federated.Rows.
func (r *FaultyRows) Predicted(row int, prediction float64) error {
	if r.PredictedErr != nil {
		return r.PredictedErr
	}
	return r.Rows.Predicted(row, prediction)
}

// FaultyVault is a vault that fails where an error is given; to begin with it is empty.
type FaultyVault struct {
	Vault            Vault
	LoadErr, SaveErr error
	Saves            int // that succeed before SaveErr
}

// Load implements federated.Vault.
func (v *FaultyVault) Load(name string) ([]byte, error) {
	if v.LoadErr != nil {
		return nil, v.LoadErr
	}
	return v.Vault.Load(name)
}

// Save implements federated.Vault.
func (v *FaultyVault) Save(name string, data []byte) error {
	if v.SaveErr != nil && v.Saves == 0 {
		return v.SaveErr
	}
	v.Saves--
	if v.Vault == nil {
		v.Vault = Vault{}
	}
	return v.Vault.Save(name, data)
}

// FaultyServer is a server's network of clients that are all there and whose sum is always the same. It fails
// where an error is given; it implements federated.Server.
type FaultyServer struct {
	N               int // clients
	Total           *federated.Total
	SendErr, SumErr error
}

// Clients implements federated.Server.
func (n *FaultyServer) Clients() int { return n.N }

// Present implements federated.Server.
func (n *FaultyServer) Present() []int {
	var all []int
	for k := range n.N {
		all = append(all, k)
	}
	return all
}

// SendValues implements federated.Server.
func (n *FaultyServer) SendValues(context.Context, int, string, int, []float64) error {
	return n.SendErr
}

// Sum implements federated.Server.
func (n *FaultyServer) Sum(context.Context, federated.Sum, []int) (*federated.Total, error) {
	return n.Total, n.SumErr
}

// ToldClient is a client's network whose server tells the same values in each of some rounds; it implements
// federated.Client.
type ToldClient struct {
	Rounds []int // to come
	Values []float64
	End    error // after them
	SumErr error
	Sums   int // so far
}

// ReceiveValues implements federated.Client.
func (n *ToldClient) ReceiveValues(context.Context, string, int) (round int, values []float64, err error) {
	if len(n.Rounds) == 0 {
		return 0, nil, n.End
	}
	round, n.Rounds = n.Rounds[0], n.Rounds[1:]
	return round, n.Values, nil
}

// Sum implements federated.Client.
func (n *ToldClient) Sum(context.Context, federated.Sum, []float64) (included bool, err error) {
	n.Sums++
	return true, n.SumErr
}
