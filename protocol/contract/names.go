package contract

import "slices"

// The algorithms that jobs name. What a party's node does for each is in internal/jobs. The privacy modes have their
// names in keys, because a charter's rules speak of them too.
const (
	FDSKL  = "fdskl"  // kernel learning over columns of the same rows
	GLM    = "glm"    // scorecards: linear and logistic models of bins of columns, sealed
	GFML   = "gfml"   // over clients' streams, several servers that know each other's models
	OFMSFT = "ofmsft" // over clients' streams, networks of one server
	POFMKL = "pofmkl" // over clients' streams, kernels with weights of each client's own
	PSI    = "psi"    // alignments: which rows are common to all
)

// Algorithms lists those that learn, in the order of their names.
func Algorithms() []string { return []string{FDSKL, GFML, GLM, OFMSFT, POFMKL} }

// Tasks lists the tasks of jobs.
func Tasks() []string { return []string{TaskTrain, TaskPredict, TaskAlign} }

// OverClients reports whether a job is over clients' streams, which servers aggregate; else it is over columns of the
// same rows.
func (j *Job) OverClients() bool { return len(j.Servers) > 0 }

// Encrypted reports whether a job's sums are by homomorphic encryption.
func (j *Job) Encrypted() bool { return j.Aggregation == AggregateHE }

// Rows returns how many rows a job over columns has.
func (c *Contract) Rows() int { return RowsOf(c.Parties) }

// RowsOf returns how many rows the parties have, those of them who have any.
func RowsOf(all []Facts) int {
	n := 0
	for _, f := range all {
		n = max(n, f.Rows)
	}
	return n
}

// WithData returns the parties that bring rows.
func WithData(all []Facts) []Facts {
	return slices.DeleteFunc(slices.Clone(all), func(f Facts) bool { return f.Role == roleHelper })
}
