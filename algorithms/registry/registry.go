// Package registry lists the algorithms that a program knows: over columns of the same rows, and over clients' streams.
package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/algorithms/glm"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol/contract"
)

// List is which algorithms are known; nil stands for those of this program.
type List struct {
	Columns []*joint.Algorithm
	Clients []*federated.Algorithm
}

// Program lists the algorithms of this program.
func Program() List { return List{}.All() }

// All is the list with those of this program in place of nil.
func (l List) All() List {
	if l.Columns == nil {
		l.Columns = []*joint.Algorithm{kernels(), glm.Algorithm()}
	}
	if l.Clients == nil {
		l.Clients = []*federated.Algorithm{gfml.Algorithm(), ofmsft.Algorithm(), pofmkl.Algorithm()}
	}
	return l
}

// kernels is FDSKL in all privacy modes.
func kernels() *joint.Algorithm {
	return &joint.Algorithm{
		Name: contract.FDSKL, Goal: fdskl.GoalOf, Part: sealed.ReadPart, Warnings: fdskl.Warnings,
		CompleteFor: fdskl.CompleteFeatures,
		Read: func(job *contract.Job) (joint.Training, error) {
			if job.Privacy == fdskl.Sealed {
				return sealed.Read(job)
			}
			return fdskl.Read(job)
		},
		Complete: func(job *contract.Job, apart func(a, b string) bool) error {
			if job.Privacy == fdskl.Sealed {
				return sealed.Complete(job, apart)
			}
			return nil
		},
		Work: func(ctx context.Context, s *joint.Session, w joint.Work) ([]byte, error) {
			if s.Sealed != nil {
				return sealed.Work(ctx, s, w)
			}
			return fdskl.Work(ctx, s, w)
		},
	}
}

// Check refuses a list with an entry that lacks what every job needs, or with a name that is there twice.
func (l List) Check() error {
	l = l.All()
	names := []string{contract.PSI}
	for i, a := range l.Columns {
		if a.Name == "" || a.Goal == nil || a.Read == nil || a.Part == nil {
			return fmt.Errorf("algorithm %d over columns, %q, lacks its Name, Goal, Read or Part", i+1, a.Name)
		}
		names = append(names, a.Name)
	}
	for i, a := range l.Clients {
		if a.Name == "" || a.Read == nil || a.Summed == nil {
			return fmt.Errorf("algorithm %d over clients, %q, lacks its Name, Read or Summed", i+1, a.Name)
		}
		names = append(names, a.Name)
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return fmt.Errorf("of the algorithms two are called %q", names[i])
		}
	}
	return nil
}

// OverColumns returns the algorithm of a job over columns; one without a name, of which nothing is known, where the
// list has none.
func (l List) OverColumns(job *contract.Job) *joint.Algorithm {
	return of(l.All().Columns, func(a *joint.Algorithm) bool { return a.Name == job.Algorithm })
}

// OverClients returns the algorithm of a job over clients; see OverColumns.
func (l List) OverClients(job *contract.Job) *federated.Algorithm {
	return of(l.All().Clients, func(a *federated.Algorithm) bool { return a.Name == job.Algorithm })
}

// of returns the entry of a list that is meant, or an empty one.
func of[T any](list []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}
	return new(T)
}

// Goal says what a training over columns learns; see joint.Algorithm.
func (l List) Goal(job *contract.Job) (joint.Goal, error) {
	a := l.OverColumns(job)
	if a.Goal == nil || job.Task != contract.TaskTrain {
		return joint.Goal{}, noTraining(job)
	}
	g, err := a.Goal(job)
	if err == nil && len(g.Active) == 0 {
		err = fmt.Errorf("algorithm %q names no party that holds labels", a.Name)
	}
	return g, err
}

// Sharers reads from a contract who holds shares.
func (l List) Sharers(c *contract.Contract) joint.Sharers {
	if g, err := l.Goal(c.Job); err == nil {
		return g.Sharers()
	}
	return joint.SharersByMessages(c)
}

// Training reads a training over columns.
func (l List) Training(job *contract.Job) (joint.Training, error) {
	a := l.OverColumns(job)
	if a.Read == nil || job.Task != contract.TaskTrain {
		return nil, noTraining(job)
	}
	return a.Read(job)
}

// Outline describes a session of a job over columns, its own or that of a shard. facts are those of the parties, in the
// job's order; part is any party's part of the model of a prediction.
func (l List) Outline(job *contract.Job, part joint.Part, facts []contract.Facts, shard *contract.Shard) (
	joint.Outline, error,
) {
	if job.Task == contract.TaskPredict {
		if part == nil {
			return nil, ErrNoModel
		}
		p, err := part.Predict(job)
		if err != nil {
			return nil, err
		}
		return p.Outline(facts, shard)
	}
	t, err := l.Training(job)
	if err != nil {
		return nil, err
	}
	return t.Outline(facts, shard)
}

// ErrNoModel says that the model that a prediction scores with is not known.
var ErrNoModel = errors.New("what a prediction opens follows from its model, of which no part was given")

// Part reads a party's part of the model of a training over columns.
func (l List) Part(training *contract.Contract, data []byte) (joint.Part, error) {
	a := l.OverColumns(training.Job)
	if a.Part == nil {
		return nil, noTraining(training.Job)
	}
	return a.Part(data)
}

// noTraining says that a job is no training over columns.
func noTraining(job *contract.Job) error {
	return fmt.Errorf("it is task %q of %q, want a training over columns", job.Task, job.Algorithm)
}
