// Package pofmkl learns regressions online and together, with many kernels and a blend of them for
// each client: POF-MKL (Ghari and Shen 2022, Personalized Online Federated Learning with Multiple
// Kernels, Algorithms 1 and 2).
//
// There are N Gaussian kernels with D random features each, z_i(x) = [sin, cos](rho^T x) / sqrt(D),
// the same at all parties, and K clients. The server holds theta, one vector of 2D numbers for each
// kernel, and each client holds weights of the kernels that it never sends. A round of a client is
//
//	Predict   sum_i w_i theta_i^T z_i(x), before the label is known
//	Learn     the kernels' losses, the weights, the draw of one bin of kernels, and its update
//	Upload    theta_i - theta_ik = eta grad_i / p_i on the drawn bin's kernels, 0 elsewhere
//
// and the server subtracts the K-th part of the sum of all uploads (equation 10). It needs nothing
// but that sum: whether it is taken in one process, in the open or masked is the caller's affair.
//
// Federation runs everything in one process; package baseline holds what the paper compares with.
//
// What leaves a client is in Upload alone, and is bounded: Params.SumBound.
package pofmkl
