package pofmkl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/keys"
)

// errLost is what broken networks, streams and vaults say.
var errLost = errors.New("the link is lost")

// told is a client's network that says what it was made with, and ends.
type told struct {
	rounds []int
	values []float64
	hear   error // in the place of io.EOF
	sum    error
}

func (n *told) Hear(context.Context, string, int) (int, []float64, error) {
	if len(n.rounds) == 0 {
		return 0, nil, n.hear
	}
	r := n.rounds[0]
	n.rounds = n.rounds[1:]
	return r, n.values, nil
}

func (n *told) Sum(context.Context, federated.Sum, []float64) (bool, error) { return true, n.sum }

// badRows is a stream with faults.
type badRows struct {
	*memory.Rows
	inputs, label, predicted error
}

func (r *badRows) Inputs(ctx context.Context) (int, []float64, error) {
	if r.inputs != nil {
		return 0, nil, r.inputs
	}
	return r.Rows.Inputs(ctx)
}

func (r *badRows) Label(ctx context.Context) (float64, error) {
	if r.label != nil {
		return 0, r.label
	}
	return r.Rows.Label(ctx)
}

func (r *badRows) Predicted(row int, y float64) error {
	if r.predicted != nil {
		return r.predicted
	}
	return r.Rows.Predicted(row, y)
}

// badVault saves so many times.
type badVault struct {
	memory.Vault
	saves int
	load  error
}

func (v *badVault) Load(name string) ([]byte, error) {
	data, _ := v.Vault.Load(name)
	return data, v.load
}

func (v *badVault) Save(name string, data []byte) error {
	if v.saves == 0 {
		return errLost
	}
	v.saves--
	return v.Vault.Save(name, data)
}

func TestErrorsOfAClientsPart(t *testing.T) {
	d := newDictionary(t, several(), 1)
	theta := make([]float64, d.params.Words())
	for name, c := range map[string]struct {
		network *told
		rows    badRows
		y       float64
		vault   badVault
		want    string
	}{
		"no model":        {network: &told{hear: errLost}, want: `client "c": wait for the model after row 0: the link is lost`},
		"same round":      {network: &told{rounds: []int{3, 3}, values: theta}, want: `client "c", round 4: the server's round is out of turn, want one from 5 to 17`},
		"negative round":  {network: &told{rounds: []int{-1}, values: theta}, want: `client "c", round 0: the server's round is out of turn, want one from 1 to 17`},
		"no such round":   {network: &told{rounds: []int{17}, values: theta}, want: `client "c", round 18: the server's round is out of turn, want one from 1 to 17`},
		"no values":       {network: &told{rounds: []int{0}}, want: `client "c", round 1: the model has 0 numbers, want 30`},
		"no sum":          {network: &told{rounds: []int{0}, values: theta, sum: errLost}, want: `client "c", round 1: sum of updates after row 3: the link is lost`},
		"no inputs":       {rows: badRows{inputs: errLost}, want: `client "c", round 1: inputs after row 0: the link is lost`},
		"no label":        {rows: badRows{label: errLost}, want: `client "c", round 1: label of row 1: the link is lost`},
		"not kept":        {rows: badRows{predicted: errLost}, want: `client "c", round 1: keep the prediction of row 1: the link is lost`},
		"label too large": {y: 2, want: `client "c", round 1: learn: row 1, label column "": the label is 2, want a number from 0 to 1`},
		"no vault":        {vault: badVault{load: errLost}, want: `client "c": the link is lost`},
		"not saved":       {vault: badVault{saves: -1}, want: `client "c", round 1: checkpoint after row 3: the link is lost`},
		"damaged":         {vault: badVault{Vault: memory.Vault{clientSlot: make([]byte, 50)}}, want: `client "c": state: its checksum is not the one of its bytes: it is damaged, or of another kind`},
	} {
		if c.network == nil {
			c.network = &told{rounds: []int{0}, values: theta, hear: io.EOF}
		}
		switch {
		case c.vault.saves == 0:
			c.vault.saves = 100
		case c.vault.saves < 0:
			c.vault.saves = 1
		}
		if c.vault.Vault == nil {
			c.vault.Vault = memory.Vault{}
		}
		c.rows.Rows = memory.NewRows([][]float64{{0.5}, {0.5}, {0.5}, {0.5}, {0.5}, {0.5}}, []float64{c.y, 0, 0, 0, 0, 0})
		err := Attend(t.Context(), &ClientPart{Name: "c", Dictionary: d, Clients: 3, Network: c.network, Rows: &c.rows, Vault: &c.vault})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, c.want)
		}
	}
}

// broken is a server's network with faults.
type broken struct {
	federated.Server
	tell, sum error
	total     *federated.Total
}

func (n *broken) Clients() int   { return 3 }
func (n *broken) Present() []int { return []int{0, 1, 2} }

func (n *broken) Tell(context.Context, int, string, int, []float64) error { return n.tell }

func (n *broken) Sum(context.Context, federated.Sum, []int) (*federated.Total, error) {
	return n.total, n.sum
}

func TestErrorsOfAServersPart(t *testing.T) {
	p := several()
	p.Server = "hub"
	d := newDictionary(t, p, 1)
	over, err := sealServing(3, &Server{dictionary: d, theta: make([]float64, d.params.Words()), applied: 4})
	mustDo(t, err)
	for name, c := range map[string]struct {
		network broken
		vault   badVault
		want    string
	}{
		"not told":     {network: broken{tell: errLost}, want: `server "hub", round 1: tell client 1 the model: the link is lost`},
		"no sum":       {network: broken{sum: errLost}, want: `server "hub", round 1: sum of updates: the link is lost`},
		"short total":  {network: broken{total: &federated.Total{}}, want: `server "hub", round 1: sum of updates: sum 1 has 0 words, want 30`},
		"no vault":     {vault: badVault{load: errLost}, want: `server "hub": the link is lost`},
		"not saved":    {want: `server "hub", round 10: checkpoint: the link is lost`},
		"other rounds": {vault: badVault{Vault: memory.Vault{serverSlot: over}}, want: `server "hub": state: 3 rounds were held, want 4 to 17`},
	} {
		if c.vault.Vault == nil {
			c.vault.Vault = memory.Vault{}
		}
		err := Serve(t.Context(), &ServerPart{Dictionary: d, Network: &c.network, Vault: &c.vault})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, c.want)
		}
	}
}

// FuzzAttendanceState repairs the checksum of any body: a part that takes it up keeps the same bytes.
func FuzzAttendanceState(f *testing.F) {
	d, c := trained(f, small(), 5)
	part := &ClientPart{Name: "c", Dictionary: d, Clients: 2, Vault: memory.Vault{}}
	mustDo(f, (&attendance{ClientPart: part, client: c, row: 7, squared: 0.5}).save())
	saved, _ := part.Vault.Load(clientSlot)
	f.Add(saved[:len(saved)-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(attendanceDomain, body)
		vault := memory.Vault{clientSlot: append(bytes.Clone(body), sum[:]...)}
		a, err := (&ClientPart{Name: "c", Dictionary: d, Clients: 2, Vault: vault}).resume()
		if err != nil {
			return
		}
		mustDo(t, a.save())
		if _, err := readAttendance(vault[clientSlot]); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzServingState is the same for servers.
func FuzzServingState(f *testing.F) {
	d := newDictionary(f, small(), 2)
	saved, err := sealServing(3, NewServer(d))
	mustDo(f, err)
	f.Add(saved[:len(saved)-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(servingDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		round, s, err := readServing(d, data)
		if err != nil {
			return
		}
		if again, err := sealServing(round, s); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("error %v, or other bytes", err)
		}
	})
}
