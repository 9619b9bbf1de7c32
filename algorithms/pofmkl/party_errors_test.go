package pofmkl

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/keys"
)

// errLost is what broken networks, streams and vaults say.
var errLost = errors.New("the link is lost")

func TestErrorsOfAClientsPart(t *testing.T) {
	d := newDictionary(t, several(), 1)
	theta := make([]float64, d.params.Words())
	for name, c := range map[string]struct {
		network *memory.ToldClient
		rows    memory.FaultyRows
		y       float64
		vault   memory.FaultyVault
		want    string
	}{
		"no model":       {network: &memory.ToldClient{End: errLost}, want: `client "c": wait for the model after row 0: the link is lost`},
		"same round":     {network: &memory.ToldClient{Rounds: []int{3, 3}, Values: theta}, want: `client "c", round 4: the server's round is out of turn, want one from 5 to 17`},
		"negative round": {network: &memory.ToldClient{Rounds: []int{-1}, Values: theta}, want: `client "c", round 0: the server's round is out of turn, want one from 1 to 17`},
		"no such round":  {network: &memory.ToldClient{Rounds: []int{17}, Values: theta}, want: `client "c", round 18: the server's round is out of turn, want one from 1 to 17`},
		"no values": {network: &memory.ToldClient{Rounds: []int{0}},
			want: `client "c", round 1: the model has 0 numbers, want 30`},
		"no sum": {network: &memory.ToldClient{Rounds: []int{0}, Values: theta, SumErr: errLost}, want: `client "c", round 1: sum of updates after row 3: the link is lost`},
		"no inputs": {rows: memory.FaultyRows{InputsErr: errLost},
			want: `client "c", round 1: inputs after row 0: the link is lost`},
		"no label": {rows: memory.FaultyRows{LabelErr: errLost},
			want: `client "c", round 1: label of row 1: the link is lost`},
		"not kept":        {rows: memory.FaultyRows{PredictedErr: errLost}, want: `client "c", round 1: keep the prediction of row 1: the link is lost`},
		"label too large": {y: 2, want: `client "c", round 1: learn: row 1, label column "": the label is 2, want a number from 0 to 1`},
		"no vault":        {vault: memory.FaultyVault{LoadErr: errLost}, want: `client "c": the link is lost`},
		"not saved":       {vault: memory.FaultyVault{Saves: 1, SaveErr: errLost}, want: `client "c", round 1: checkpoint after row 3: the link is lost`},
		"damaged":         {vault: memory.FaultyVault{Vault: memory.Vault{federated.ClientSlot: make([]byte, 50)}}, want: `client "c": state: its checksum is not the one of its bytes: it is damaged, or of another kind`},
	} {
		if c.network == nil {
			c.network = &memory.ToldClient{Rounds: []int{0}, Values: theta, End: io.EOF}
		}
		c.rows.Rows = memory.NewRows([][]float64{{0.5}, {0.5}, {0.5}, {0.5}, {0.5}, {0.5}}, []float64{c.y, 0, 0, 0, 0, 0})
		err := RunClient(t.Context(), &ClientPart{Name: "c", Dictionary: d, Clients: 3, Network: c.network, Rows: &c.rows,
			Vault: &c.vault})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, c.want)
		}
	}
}

func TestErrorsOfAServersPart(t *testing.T) {
	p := several()
	p.Server = "hub"
	d := newDictionary(t, p, 1)
	over, err := sealServing(3, &Server{dictionary: d, theta: make([]float64, d.params.Words()), applied: 4})
	mustDo(t, err)
	for name, c := range map[string]struct {
		network memory.FaultyServer
		vault   memory.FaultyVault
		want    string
	}{
		"not told": {network: memory.FaultyServer{SendErr: errLost}, want: `server "hub", round 1: tell client 1 the model: the link is lost`},
		"no sum": {network: memory.FaultyServer{SumErr: errLost},
			want: `server "hub", round 1: sum of updates: the link is lost`},
		"short total": {network: memory.FaultyServer{Total: &federated.Total{}}, want: `server "hub", round 1: sum of updates: sum 1 has 0 words, want 30`},
		"no vault":    {vault: memory.FaultyVault{LoadErr: errLost}, want: `server "hub": the link is lost`},
		"not saved":   {want: `server "hub", round 10: checkpoint: the link is lost`},
		"other rounds": {vault: memory.FaultyVault{Vault: memory.Vault{federated.ServerSlot: over}},
			want: `server "hub": state: 3 rounds were held, want 4 to 17`},
	} {
		c.network.N, c.vault.SaveErr = 3, errLost
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
	part.client, part.attendance.Row, part.attendance.Squared = c, 7, 0.5
	saved, err := part.State()
	mustDo(f, err)
	f.Add(saved[:len(saved)-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(attendanceDomain, body)
		vault := memory.Vault{federated.ClientSlot: append(bytes.Clone(body), sum[:]...)}
		a := &ClientPart{Name: "c", Dictionary: d, Clients: 2, Vault: vault}
		if err := federated.Resume(t.Context(), vault, federated.ClientSlot, a); err != nil {
			return
		}
		mustDo(t, federated.Save(vault, federated.ClientSlot, a))
		if _, err := readAttendance(vault[federated.ClientSlot]); err != nil {
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
