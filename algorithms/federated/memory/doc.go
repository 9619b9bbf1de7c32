// Package memory is a federation in one process: servers, clients and streams that are goroutines and
// slices. Totals are the fixed-point totals that secure sums open, to the bit; nothing is masked. It is
// for tests and simulations of the parts that are written against package federated.
//
// Nothing waits for a clock. A server waits for a client until its vector is there or it leaves, so that
// a run has one outcome whatever the order in which goroutines run.
package memory
