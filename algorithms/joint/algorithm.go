package joint

import (
	"context"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Algorithm is all that nodes and auditors know of one algorithm over columns. Package registry lists them.
type Algorithm struct {
	Name string // as jobs have it
	// Goal says what a training learns, and by what. Read may refuse more, of a job whose parties have said all that it
	// leaves open.
	Goal func(job *contract.Job) (Goal, error)
	// Read reads a training's parameters, with defaults.
	Read func(job *contract.Job) (Training, error)
	// Part reads what Part.Encode has written, and refuses what is no part of the algorithm's.
	Part func(data []byte) (Part, error)
	// Complete fills in what a proposal of a training leaves open. apart reports whether two parties are not affiliated,
	// so that both may hold shares. nil: nothing.
	Complete func(job *contract.Job, apart func(a, b string) bool) error
	// CompleteFor fills in what follows from the number of rows, and says it in words, empty where there is nothing to
	// say; nil: nothing.
	CompleteFor func(job *contract.Job, rows int) (string, error)
	// Warnings says what is doubtful in a training by public numbers alone; nil: nothing.
	Warnings func(job *contract.Job) []string
	// Work is a worker's part of the session of a shard: it returns what ShardWork.Take gets; nil: there are no shards.
	Work func(ctx context.Context, s *Session, w Work) ([]byte, error)
}

// Training is a training as its algorithm reads it.
type Training interface {
	// Accepts refuses labels that the job cannot be of.
	Accepts(labels *Labels) error
	// Outline describes a session of the job, its own or that of a shard. facts are those of the parties, in the job's
	// order.
	Outline(facts []contract.Facts, shard *contract.Shard) (Outline, error)
	// Train is a party's part of a session. own is what it brings, nil where that is nothing. scores are those of the
	// model for the rows that it was trained on, row-major [rows][Goal.Scores], as the solver sees them, where the party
	// has them anyway; else nil.
	Train(ctx context.Context, s *Session, own *Table) (p Part, scores []float64, err error)
}

// Part is one party's part of a trained model.
type Part interface {
	// Model says what is known of the model whatever its algorithm is.
	Model() *Model
	// Encode returns the part's bytes, the same of equal parts.
	Encode() ([]byte, error)
	// Predict reads a job that scores rows with the model.
	Predict(job *contract.Job) (Prediction, error)
}

// Prediction is a prediction as the algorithm of its model reads it.
type Prediction interface {
	// Outline is that of a session; see Training.
	Outline(facts []contract.Facts, shard *contract.Shard) (Outline, error)
	// Scorer prepares this party's part of a session.
	Scorer(ctx context.Context, s *Session, o Scoring) (Scorer, error)
}

// Scorer is one party's part of a joint prediction.
type Scorer interface {
	// Score returns the scores of n rows, row-major [n][scores of a row], at the receiver, and nil elsewhere. number is
	// the opening's, from 1 on: the same rows have the same in all sessions. rows and ids are this party's own of them,
	// in the same order everywhere; nil at a party without data.
	Score(ctx context.Context, number, n int, rows *kernel.Matrix, ids []string) ([]float64, error)
}

// Outline is what public numbers say of one session.
type Outline interface {
	// Disclose lists what the session opens and does.
	Disclose() (Disclosure, error)
	// Follow says which rows and features the messages of the session are of; nil: nobody knows.
	Follow() *trace.Follower
	// Cut cuts the rows of the job into n shards, and refuses what cannot be cut.
	Cut(n int) ([]contract.Shard, error)
}
