package node

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
)

// Warnings says what is doubtful in a job by public numbers alone, a sentence each, for whoever is to consent to it.
func Warnings(c *protocol.Contract) []string {
	switch c.Job.Algorithm {
	case "fdskl":
		return fdsklWarnings(c.Job)
	case "gfml":
		return gfmlWarnings(c.Job)
	case "pofmkl":
		return pofmklWarnings(c.Job)
	}
	return nil
}

// fdsklWarnings holds the step of the paper's schedule against its Theorem 4.
func fdsklWarnings(job *protocol.Job) []string {
	if job.Task != protocol.TaskTrain {
		return nil
	}
	params, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return nil // it is no contract
	}
	if w := params.StepWarning(); w != "" {
		return []string{w}
	}
	return nil
}

// gfmlWarnings holds the learning rate against what features of any rows have in common.
func gfmlWarnings(job *protocol.Job) []string {
	plan, err := gfmlPlan(job)
	if err != nil {
		return nil // it is no contract
	}
	var list []string
	for _, w := range plan.PublicWarnings() {
		list = append(list, fmt.Sprintf("%v, whatever the rows are", w))
	}
	return list
}

// pofmklWarnings holds the step against the job's numbers.
func pofmklWarnings(job *protocol.Job) []string {
	if len(job.Servers) != 1 {
		return nil // it is no contract
	}
	params, err := pofmklParams(job)
	if err != nil {
		return nil // it is no contract
	}
	if w := params.StepWarning(clientsOf(job)); w != "" {
		return []string{w}
	}
	return nil
}

// clientsOf returns how many clients a job with one server has.
func clientsOf(job *protocol.Job) int { return len(job.Parties) - len(job.Servers) }

// forewarn tells what is doubtful in the job, when its first session starts.
func (r *run) forewarn() {
	if r.number > 1 {
		return
	}
	for _, text := range Warnings(r.state.contract) {
		r.warn(text)
	}
}

// warn tells that something may go wrong.
func (r *run) warn(text string) {
	r.node.tell(r.hash(), Event{Kind: EventWarning, Text: text})
}
