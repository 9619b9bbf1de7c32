// Package federated is what algorithms over clients' streams ask of the federation: a server that
// tells its clients vectors and learns sums of theirs, and streams of rows. The parts of the
// algorithms are written against it, and run alike in one process and across machines.
package federated
