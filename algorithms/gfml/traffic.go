package gfml

// numberBytes is the size of a number on the wire.
const numberBytes = 8

// Traffic counts bytes of models in transit, without frames, masks and signatures.
type Traffic struct {
	PaperDown int64 // from servers to clients as the paper counts: M numbers for each chosen client
	PaperUp   int64 // from clients to servers as the paper counts: M numbers for each chosen client
	Down      int64 // from servers to clients as sent; the same
	Up        int64 // from clients to servers as sent: uncoordinated uploads hold the union of selections
	Between   int64 // between servers: D numbers on every edge, each way
}

// Add adds other to t.
func (t *Traffic) Add(other Traffic) {
	t.PaperDown += other.PaperDown
	t.PaperUp += other.PaperUp
	t.Down += other.Down
	t.Up += other.Up
	t.Between += other.Between
}

// Traffic returns what a server and its clients send in iteration n when nobody is gone: its vectors
// to neighbours count here, theirs with them.
func (p *Plan) Traffic(server, n int) Traffic {
	chosen := int64(p.params.Participants)
	entries := numberBytes * chosen * int64(p.params.Entries)
	neighbours := len(p.OtherNeighbours(server)) + len(p.OwnNeighbours(server))
	return Traffic{
		PaperDown: entries, PaperUp: entries, Down: entries,
		Up:      numberBytes * chosen * int64(len(p.Layout(server, n))),
		Between: numberBytes * int64(neighbours) * int64(p.params.Features),
	}
}
