package fdskl

import (
	"fmt"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// Published is a row of the paper's Tables 3 and 4.
type Published struct {
	Set                string
	Columns, Rows      int
	FDSKL, SecureBoost string // minutes to train
}

// PublishedSets returns the paper's Tables 3 and 4, in their order.
func PublishedSets() []Published {
	return []Published{
		{"gisette", 5_000, 6_000, "1", "46"}, {"phishing", 68, 11_055, "1", "10"}, {"a9a", 123, 48_842, "2", "15"},
		{"ijcnn1", 22, 49_990, "1", "17"}, {"cod-rna", 8, 59_535, "1", "16"}, {"w8a", 300, 64_700, "1", "17"},
		{"real-sim", 20_958, 72_309, "14", "65"}, {"epsilon", 2_000, 400_000, "29", "> 900"},
		{"defaultcredit", 23, 30_000, "1", "13"}, {"givemecredit", 10, 150_000, "3", "32"},
	}
}

// rows is a set cut into training and test rows, as the program and as its rivals want them.
type rows struct {
	set    sets.Benchmark
	data   *trial.Data
	owners []keys.ID
	split  *split
	train  *rivals.Rows // all columns
	test   *rivals.Rows
	sigma  float64
}

// readRows reads a set and cuts it by a seed; at most so many rows are kept.
func readRows(s sets.Benchmark, most int, seed uint64) (*rows, error) {
	data, err := trial.Files(s.Files, s.Options(), sets.Parties, seed)
	if err != nil {
		return nil, err
	}
	if all := data.Train[0].Rows() + data.Test[0].Rows(); all > most {
		share := float64(most) / float64(all)
		data = cut(data, int(share*float64(data.Train[0].Rows())), int(share*float64(data.Test[0].Rows())), seed)
	}
	return newRows(s, data, seed)
}

// cut keeps so many training and test rows, drawn by a seed.
func cut(data *trial.Data, train, test int, seed uint64) *trial.Data {
	rng := rand.New(rand.NewPCG(seed, 0x637574)) // "cut"
	few := *data
	few.Train, few.Test = nil, nil
	first, second := rng.Perm(data.Train[0].Rows())[:train], rng.Perm(data.Test[0].Rows())[:test]
	for i := range data.Train {
		few.Train, few.Test = append(few.Train, data.Train[i].Select(first)), append(few.Test,
			data.Test[i].Select(second))
	}
	return &few
}

// newRows normalises rows that are cut. A set without a kernel width gets the median distance of sampled rows.
func newRows(s sets.Benchmark, data *trial.Data, seed uint64) (*rows, error) {
	r := &rows{set: s, data: data}
	for i := range data.Names {
		r.owners = append(r.owners, keys.ID{byte(i + 1)})
	}
	var err error
	if r.split, err = prepareSplit(data.Train, data.Test, trainingParams(s, data.Label, seed)); err != nil {
		return nil, err
	}
	r.train, r.test = rivals.Stack(r.split.Train...), rivals.Stack(r.split.Test...)
	if r.sigma = s.Sigma; r.sigma == 0 {
		r.sigma = rivals.MedianDistance(r.train, seed)
	}
	return r, nil
}

// head is the first n training rows, prepared anew, with all test rows.
func (r *rows) head(n int, seed uint64) (*rows, error) {
	if n >= r.data.Train[0].Rows() {
		return r, nil
	}
	s := r.set
	s.Sigma = r.sigma
	return newRows(s, cut(r.data, n, r.data.Test[0].Rows(), seed), seed)
}

// trainingParams are those of a training of this program.
func trainingParams(s sets.Benchmark, label string, seed uint64) fdskl.Params {
	return fdskl.Params{
		Label: label, Loss: s.Loss, Features: s.Features, Sigma: s.Sigma, Lambda: fdskl.Lambda(s.Lambda),
		Scale: s.Scale, Constant: "drop", Seed: fmt.Sprint(seed),
	}.WithDefaults()
}

// svmGamma returns the kernel width of the support vector machines.
func (r *rows) svmGamma() float64 {
	s := r.set
	s.Sigma = r.sigma
	return s.SVMGamma()
}
