// Package pofmklbaseline holds the algorithms that the POF-MKL paper compares with, each as a federation in
// one process: a server, K clients, and one method
//
//	Round(rows [][]float64, labels, predictions []float64) error
//
// that has every client predict its row before it learns the label. pofmkl.Federation has the same
// method. Rows and labels are in the units of pofmkl.Params, predictions in those of labels.
//
//	NewAverage   OFMKL-Avg: every kernel learns by itself, the prediction is their mean; with a dictionary
//	             of one kernel it is OFSKL
//	NewGlobal    vM-KOFL: one vector of weights for all clients, driven by the clients' mean losses
//	NewDrawn     eM-KOFL: the server draws one kernel for all clients in each round
//	NewPerFedAvg PerFedAvg: a small neural network, adapted by each client with one step
//
// The paper and its references leave open how eM-KOFL treats the kernels that are not drawn, and every
// number of PerFedAvg's steps. The types say what is done here; their figures are not expected to be
// the paper's.
package pofmklbaseline
