// Package ofmsftbaseline holds the algorithms that the OFMS-FT paper compares with, each as a federation in
// one process: a server, N clients, and the Federation interface, which ofmsft.Federation has too.
// Rows, labels and predictions are in the units of ofmsft.Params.
//
//	NewMAB          MAB: the server draws one network for all clients in each round by Exp3
//	NewFixed        Non-Fed-OMS: each client draws by Exp3 among a fixed set of networks
//	NewRandom       RMS-FT: each client fine-tunes a random set and predicts with a random one of them
//	NewBudgeted     B-Fed-OMFT: all clients fine-tune the same fixed set, and draw among it by Exp3
//	NewDescent      Fed-OMD: all clients fine-tune one network
//	NewPerFedAvg    PerFedAvg: all clients fine-tune one network, and each adapts it to its own rows
//
// The paper says little more of them than this. Each type tells what it does where the paper leaves
// that open; figures are not expected to be the paper's. Params.Update holds for RMS-FT and
// B-Fed-OMFT, the published figures of which come from UpdateInPlace; the other options of
// fine-tuning, Window, WarmUp, Step and Bandwidth, hold wherever there is any. Rounds all have one
// row: RoundsPerUpload must be 1.
package ofmsftbaseline

// Federation is a server and its clients.
type Federation interface {
	// Round has every client predict its row before it learns the label, [N] each.
	Round(rows [][]float64, labels, predictions []float64) error
}
