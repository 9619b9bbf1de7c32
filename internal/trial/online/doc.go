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
//
// Houses are OFMS-FT's clients: they foretell their demand for heat, with networks that ten other towns have trained
// and one server holds. No house is of any of these towns. A third of the way it is refurbished or extended, at once
// or little by little, and a cold spell begins; at two thirds there is a tariff that no town had. Each network knows
// buildings of one insulation, which is an input: so there is one network that could be right for all houses, though
// none is at first. Where what sets houses apart is no input, equation 11 draws all networks towards the average
// house, and fine-tuning does harm. Own streams and networks, read from files, can take the place of both.
package online
