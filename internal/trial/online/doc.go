// Package online is a trial of the algorithms over clients' streams on one machine: streams that are
// made up, the jobs that learn from them, and what the same learning comes to in one process, together
// and by each client alone.
//
// Parks are POF-MKL's clients: sun and wind parks of different owners that foretell their output from
// the weather at the site, one server, every owner's kernels weighed for itself. The streams are not
// stationary: the season moves on, fronts come and go, and every site has a climate of its own.
//
// Sensors are GFML's clients: the autoregressive inputs and functions of the paper's equation 20, at
// servers on a ring, two neighbours to a cluster.
package online
