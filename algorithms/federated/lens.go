package federated

import "context"

// Lens knows the vectors and messages of one job over clients as a server of it has them: what the server could do with
// them. An auditor gives it a transcript's messages in their order, and each sum's vectors before the next one begins.
// Parties are named by their index in the contract. What only some algorithms have is in LensForm, ModelLens and
// ChoiceLens.
type Lens interface {
	// Heard takes a message between the server and a client.
	Heard(m *LensMessage) error
	// Form says what the vectors of the sum that follows are.
	Form() LensForm
	// Rebuild works out rows that a vector or total is of, the likeliest first.
	Rebuild(ctx context.Context, v *LensVector) ([]LensRow, error)
	// Learned returns the numbers of the client's rows, from 0, that its vector in the sum under way is of. The client
	// has learned all before to.
	Learned(client int) (from, to int)
	// Update returns what the vector of a row is made of in the sum under way, each block up to a factor of its own, in
	// the places that LensForm.Whole gives; nil when it is not known. x and y are in the units of the client's stream.
	Update(x []float64, y float64) []float64
}

// ModelLens is a lens that knows the model, before any row and as it is now. Rows and labels are in the units of their
// stream.
type ModelLens interface {
	// Loss is the first or last model's at a row; false when the model is not known.
	Loss(last bool, x []float64, y float64) (float64, bool)
	// Tangent returns what the last model is linear in at a row, and what it misses there; nil when it is not known.
	Tangent(x []float64, y float64) (features []float64, miss float64)
}

// ChoiceLens is a lens of clients that choose among several models.
type ChoiceLens interface {
	// Models returns how many there are.
	Models() int
	// Seen returns which models, from 0, a client took or moved in a sum or round, as its server sees it from the
	// client's vector and the messages before it; nil: it was no choice.
	Seen(client int, v []float64) []int
	// Suits adds to the losses of the models, one for each, at a row in the units of its stream; false when the models
	// are not known.
	Suits(losses []float64, x []float64, y float64) bool
}

// LensMessage is what a server sent a client in a round, or what the client answered.
type LensMessage struct {
	Client int
	Down   bool   // the server sent it
	Kind   string // as contracts name it
	Round  int    // of what the server sent, from 0
	Body   []byte // without the round's number
}

// LensForm is what the vectors of a sum are. With Sum alone a vector is the numbers of one model in their order, all of
// one block, and the server knows none of them.
type LensForm struct {
	Sum    Sum                         // whose vectors they are
	Model  int                         // which model they are of: only totals of one are compared with each other
	Block  int                         // numbers of a block; 0: all of them
	Moves  int                         // blocks that one vector has; 0: one
	Factor float64                     // by which a vector has what Update returns; 0: any, which tells no label
	Whole  func(v []float64) []float64 // puts the Sum.N numbers into their places in the model; nil: they are there
	Known  func(client int) []float64  // what the server sent a client of its vector, as long as it; nil: nothing
}

// LensVector is a client's vector, or a total of some, decoded as if nothing protected it.
type LensVector struct {
	Values  []float64 // as LensForm.Whole has them
	Clients []int     // the one that it is of, or those in the total, ascending
	Total   bool
	Made    bool // by the auditor, to see what would be rebuilt: it is none of the job's
}

// LensRow is a row that was rebuilt, in the units of its stream.
type LensRow struct {
	X      []float64 // one number for each column; nil: the label alone follows
	Y      float64   // its label, NaN when that does not follow
	Proved bool      // that it is right: it explains its vector to the last digits
}
