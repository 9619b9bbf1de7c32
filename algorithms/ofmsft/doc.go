// Package ofmsft selects among many trained networks, client by client, and fine-tunes them together:
// OFMS-FT (Ghari and Shen 2024, Budgeted Online Model Selection and Fine-Tuning via Federated Learning,
// Algorithms 1 and 2).
//
// The server holds K networks. A client has a budget for some of them at a time, and weights of all of
// them that it never sends. A communication round of a client is
//
//	Draw     one network by the weights, and one of the clusters that the others are packed into
//	Predict  with the drawn network, before the label is known
//	Learn    the losses of all stored networks, over the probability that each is stored
//	Step     eta_f (alpha / q_k) grad_k for each stored network k, if the client is in the group
//
// and a round of the server
//
//	Group    packs the clients by the bandwidth that their networks take, and draws one group of alpha
//	Apply    theta_k less an N-th part of the sum of the group's steps (equation 11)
//
// The server needs nothing but that sum: whether it is taken in one process, in the open or masked is the
// caller's affair. No element of a client's step exceeds Params.Clip.
//
// With rounds_per_upload = n a communication round has n rows, as in appendix D.1. The client draws
// once for them all; their losses and gradients are summed. What the appendix leaves open is done like
// this: where n does not divide the number of rounds, the last communication round has what is left;
// and with a window of more than one sample each of the n rows contributes the mean gradient of the
// window that ends with it.
//
// Federation runs everything in one process; package baseline holds what the paper compares with.
package ofmsft
