package fdskl

// The kinds of the messages of trainings and predictions.
const (
	KindTarget          = "target"           // broadcast: what the leader says of the target
	KindWidthKnown      = "width-known"      // broadcast: the kernel's width of an earlier session, 0 for none
	KindDistances       = "distances"        // sum: squared distances of sampled pairs of rows, or their mean
	KindWidth           = "width"            // broadcast: the kernel's width
	KindResumePoint     = "resume-point"     // broadcasts of the active parties: what they have of earlier sessions
	KindAngles          = "angles"           // sums: turns
	KindPublishedAngles = "published-angles" // sums on tree 1 of Algorithm 3
	KindPublishedPhases = "published-phases" // sums on tree 2
	KindBatch           = "batch"            // broadcasts of who leads an iteration: row numbers
	KindLabelled        = "labelled"         // broadcasts of the active parties: which rows they have labels for
	KindSolverPoint     = "solver-point"     // broadcasts of all: what they have of the solver's earlier sessions
	KindScores          = "scores"           // sums
	KindDerivatives     = "derivatives"      // sums: derivatives of the loss by the scores
	KindProducts        = "products"         // sums: the solver's inner products; the totals are broadcast
	KindObjective       = "objective"        // sums: the value of the objective; the total is broadcast
)

// total ends the kind of the broadcast that follows a sum of scalars.
const total = "-total"

// stageOf is the part of a training to which a kind of message belongs: no party does anything of one before all of
// the one before it is done.
func (p Params) stageOf(kind string) int64 {
	switch kind {
	case KindTarget:
		return 1
	case KindWidthKnown:
		return 2
	case KindDistances:
		return 3
	case KindWidth:
		return 4
	}
	begun := p.begun()
	switch {
	case kind == KindResumePoint:
		return begun
	case kind == KindAngles, kind == KindPublishedAngles, kind == KindPublishedPhases, p.Schedule == DoublyStochastic:
		return begun + 1
	case kind == KindLabelled:
		return begun + 2
	case kind == KindSolverPoint:
		return begun + 3
	}
	return begun + 4
}

// begun is the stage that follows the beginning of a training; see Begin.
func (p Params) begun() int64 {
	if p.Sigma == 0 {
		return p.stageOf(KindWidth) + 1
	}
	return p.stageOf(KindTarget) + 1
}
