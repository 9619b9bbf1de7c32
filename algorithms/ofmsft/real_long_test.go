//go:build long

package ofmsft

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// What the paper's air experiment has.
const (
	airClients = 100
	airRounds  = 200
	airSite    = 10000 // rows of a site
	airNorm    = 10052.2
	airLow     = 2
	airHigh    = 228
)

// dataFile reads a file of the real data.
func dataFile(t testing.TB, name ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(needs.Data(t, name...))
	mustDo(t, err)
	return data
}

// airNetworks reads the paper's twenty networks, those of Dongsi first.
func airNetworks(t testing.TB) (names []string, networks []*nn.Network) {
	t.Helper()
	for site := 1; site <= 2; site++ {
		for _, number := range []int{11, 12, 13, 14, 15, 21, 22, 23, 24, 25} {
			name := fmt.Sprintf("ff_air_%d_d%d", number, site)
			n, err := nn.Parse(dataFile(t, "ofmsft-models", "air", name+".safetensors"))
			mustDo(t, err)
			names, networks = append(names, name), append(networks, n)
		}
	}
	return names, networks
}

// airRows reads the first complete rows of two sites and deals 200 consecutive ones to each client.
func airRows(t testing.TB) (rows [][][]float64, labels [][]float64) {
	t.Helper()
	var x [][]float64
	var y []float64
	for _, site := range []string{"Aotizhongxin", "Changping"} {
		sx, sy := readSite(t, dataFile(t, "air", "PRSA_Data_"+site+".csv.gz"))
		x, y = append(x, sx...), append(y, sy...)
	}
	for r := range airRounds {
		rows, labels = append(rows, nil), append(labels, nil)
		for i := range airClients {
			rows[r], labels[r] = append(rows[r], x[i*airRounds+r]), append(labels[r], y[i*airRounds+r])
		}
	}
	return rows, labels
}

// readSite reads the first complete rows of a site: NO2, and 14 inputs with the wind's direction
// counted by its first appearance.
func readSite(t testing.TB, packed []byte) (x [][]float64, y []float64) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	mustDo(t, err)
	table, err := csv.NewReader(z).ReadAll()
	mustDo(t, err)
	at := map[string]int{}
	for c, name := range table[0] {
		at[name] = c
	}
	winds := map[string]float64{}
	for _, line := range table[1:] {
		var row []float64
		complete := true
		for _, name := range []string{"month", "day", "hour", "PM2.5", "PM10", "SO2", "CO", "O3", "TEMP", "PRES", "DEWP",
			"RAIN", "wd", "WSPM", "NO2"} {
			text := line[at[name]]
			complete = complete && text != "NA" && text != ""
			if name == "wd" {
				if _, known := winds[text]; !known && text != "NA" && text != "" {
					winds[text] = float64(len(winds))
				}
				row = append(row, winds[text])
				continue
			}
			v, _ := strconv.ParseFloat(text, 64)
			row = append(row, v)
		}
		if complete {
			x, y = append(x, row[:14]), append(y, row[14])
		}
		if len(y) == airSite {
			break
		}
	}
	return x, y
}

// airParams is the paper's set-up with the authors' options.
func airParams(t testing.TB, budget float64, update string) (Params, []*nn.Network) {
	t.Helper()
	names, networks := airNetworks(t)
	p, err := Params{
		Label: "NO2", Budget: budget, Rounds: airRounds, Update: update,
		MaxImportance: 20, WarmUp: 50, Window: 51, InputNorm: airNorm, LabelLow: airLow, LabelHigh: airHigh,
	}.WithNetworks(names, networks)
	mustDo(t, err)
	return p.WithDefaults(airClients), networks
}
