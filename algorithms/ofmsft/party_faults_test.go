package ofmsft

import (
	"context"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

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
	w := newTeller(t, nil)
	whole := append(w.begun(0), w.turn(0, 1), w.step(0, 1))
	wide := fewRows()
	wide.X[0] = []float64{1}
	large := fewRows()
	large.Y[0] = 2
	for name, c := range map[string]struct {
		network told
		rows    badRows
		vault   badVault
		want    string
	}{
		"no letter":       {network: told{end: errLost}, want: `client "c": wait for the server after row 0: the link is lost`},
		"ended later":     {network: told{letters: whole, end: errLost}, want: `client "c": wait for the server after row 1: the link is lost`},
		"no answer":       {network: told{letters: whole, answer: errLost}, want: `client "c", round 1 (round): the link is lost`},
		"no sum":          {network: told{letters: whole, sum: errLost}, want: `client "c", round 1 (step): sum of steps of model "m2": the link is lost`},
		"no inputs":       {network: told{letters: whole}, rows: badRows{inputs: errLost}, want: `client "c", round 1 (turn): inputs after row 0: the link is lost`},
		"no label":        {network: told{letters: whole}, rows: badRows{label: errLost}, want: `client "c", round 1 (turn): label of row 1: the link is lost`},
		"not kept":        {network: told{letters: whole}, rows: badRows{predicted: errLost}, want: `client "c", round 1 (turn): keep the prediction of row 1: the link is lost`},
		"too few columns": {network: told{letters: whole}, rows: badRows{Rows: wide}, want: `client "c", round 1 (turn): predict: row 1 has 1 `},
		"label too large": {network: told{letters: whole}, rows: badRows{Rows: large}, want: `client "c", round 1 (turn): learn: row 1`},
		"no vault":        {vault: badVault{load: errLost}, want: `client "c": the link is lost`},
		"not begun":       {vault: badVault{saves: -1}, want: `client "c": the link is lost`},
		"not saved":       {network: told{letters: whole}, vault: badVault{saves: 1}, want: `client "c", round 1 (turn): checkpoint after row 1: the link is lost`},
		"damaged":         {vault: badVault{Vault: memory.Vault{clientSlot: make([]byte, 50)}}, want: `client "c": state: its checksum is not the one of its bytes: it is damaged, or of another kind`},
	} {
		switch {
		case c.vault.saves == 0:
			c.vault.saves = 100
		case c.vault.saves < 0:
			c.vault.saves = 0
		}
		if c.vault.Vault == nil {
			c.vault.Vault = memory.Vault{}
		}
		if c.rows.Rows == nil {
			c.rows.Rows = fewRows()
		}
		if err := w.attend(t, &c.network, &c.rows, &c.vault); err == nil || len(err.Error()) < len(c.want) || err.Error()[:len(c.want)] != c.want {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, c.want)
		}
	}
}
