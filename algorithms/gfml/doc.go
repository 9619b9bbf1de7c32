// Package gfml is online graph-federated multitask learning on streams (Gogineni, Werner, Huang,
// Kuh: O-GFML and PSO-GFML): servers on a graph, each with clients of its own, learn functions of
// rows that never leave the clients. Servers of one cluster learn the same function, neighbouring
// clusters related ones. A model is a vector w of D weights of random Fourier features,
//
//	f(x) = w^T z(x),   z(x) = sqrt(2/D) cos(Omega x + b),
//
// with the same (Omega, b), from the job's public seed, for all.
//
// Iteration n, the paper's Algorithm 1, is these calls, at the party named:
//
//	client   Learn                 one step of least mean squares on its newest row
//	server   Share                 w_p, or M of its entries, to the clients that Plan.Chosen names
//	client   Receive, Learn        takes them, and then its step
//	client   Upload                M of its own entries, one addend of a sum
//	server   Fill                  psi', the mean over those whose uploads came     (step 3)
//	server   Cooperate             psi, with psi' of neighbours in other clusters   (step 4)
//	server   Combine               w_p, with psi of neighbours in its cluster       (step 5)
//
// A client that is not chosen only learns. Step 5 needs psi of other servers, which they have only
// after their step 4: an edge carries psi' between clusters and psi within one, one vector of D
// numbers each way. Where the paper's equation 14 differs from its Algorithm 1, this package
// follows the algorithm.
//
// What all parties must derive alike is in a Plan: whom a server chooses, which entries go where,
// and how neighbours are weighed. All of it follows from the job's parameters and public seed;
// nothing in it is secret. Frequencies and phases come out the same to the bit on every machine;
// cosines are a client's own business and may differ in the last bit between processors.
//
// What a total tells depends on the selection. Coordinated, every entry is a sum over all survivors.
// Uncoordinated, the server learns an entry from those who select it, and since selections are
// public, a secure sum does not hide the weight of a client that is alone with an entry, as most
// are when M is small: see Plan.Exposed.
//
// Everything here is one party's straight-line part. A Federation runs all parts in one process.
package gfml
