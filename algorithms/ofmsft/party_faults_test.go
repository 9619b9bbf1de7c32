package ofmsft

import (
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

func TestErrorsOfAClientsPart(t *testing.T) {
	w := newTeller(t, nil)
	whole := append(w.begun(0), w.turn(0, 1), w.step(0, 1))
	wide := fewRows()
	wide.X[0] = []float64{1}
	large := fewRows()
	large.Y[0] = 2
	for name, c := range map[string]struct {
		network told
		rows    memory.FaultyRows
		vault   memory.FaultyVault
		want    string
	}{
		"no letter":   {network: told{end: errLost}, want: `client "c": wait for the server after row 0: the link is lost`},
		"ended later": {network: told{messages: whole, end: errLost}, want: `client "c": wait for the server after row 1: the link is lost`},
		"no answer": {network: told{messages: whole, answer: errLost},
			want: `client "c", round 1 (round): the link is lost`},
		"no sum":    {network: told{messages: whole, sum: errLost}, want: `client "c", round 1 (step): sum of steps of model "m2": the link is lost`},
		"no inputs": {network: told{messages: whole}, rows: memory.FaultyRows{InputsErr: errLost}, want: `client "c", round 1 (turn): inputs after row 0: the link is lost`},
		"no label":  {network: told{messages: whole}, rows: memory.FaultyRows{LabelErr: errLost}, want: `client "c", round 1 (turn): label of row 1: the link is lost`},
		"not kept":  {network: told{messages: whole}, rows: memory.FaultyRows{PredictedErr: errLost}, want: `client "c", round 1 (turn): keep the prediction of row 1: the link is lost`},
		"too few columns": {network: told{messages: whole}, rows: memory.FaultyRows{Rows: wide},
			want: `client "c", round 1 (turn): predict: row 1 has 1 `},
		"label too large": {network: told{messages: whole}, rows: memory.FaultyRows{Rows: large},
			want: `client "c", round 1 (turn): learn: row 1`},
		"no vault":  {vault: memory.FaultyVault{LoadErr: errLost}, want: `client "c": the link is lost`},
		"not begun": {vault: memory.FaultyVault{SaveErr: errLost}, want: `client "c": the link is lost`},
		"not saved": {network: told{messages: whole}, vault: memory.FaultyVault{Saves: 1, SaveErr: errLost}, want: `client "c", round 1 (turn): checkpoint after row 1: the link is lost`},
		"damaged":   {vault: memory.FaultyVault{Vault: memory.Vault{federated.ClientSlot: make([]byte, 50)}}, want: `client "c": state: its checksum is not the one of its bytes: it is damaged, or of another kind`},
	} {
		if c.rows.Rows == nil {
			c.rows.Rows = fewRows()
		}
		if err := w.runClient(t, &c.network, &c.rows, &c.vault); err == nil || len(err.Error()) < len(c.want) ||
			err.Error()[:len(c.want)] != c.want {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, c.want)
		}
	}
}
