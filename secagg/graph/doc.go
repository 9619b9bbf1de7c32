// Package graph says who is masked against whom in a sum that survives drop-outs.
//
// Few parties are all masked against each other. Many stand on a circle in random order, each
// masked against, and sharing its secrets among, the k/2 next and the k/2 previous ones (Bell et
// al. 2020, "SecAgg+", section 3.2). Of n parties C are corrupt: they tell the server everything.
// D drop out. Pick finds the smallest even k, with a threshold t, such that
//
//   - no party has so many corrupt neighbours, c, that 2t <= k+c, except with probability 2^-40. Then
//     the server has no t shares of a party's secret from corrupt neighbours alone; nor has a lying
//     server, that shows some neighbours one list of survivors and the others another, t shares of
//     each of a party's two secrets, for honest neighbours answer for one of them only;
//   - what is left without corrupt parties and drop-outs hangs together, except with probability
//     2^-40: otherwise the server would learn the sums of the pieces;
//   - every party keeps t neighbours that answer, except with probability 2^-20: otherwise the sum
//     fails and nothing leaks.
//
// The corrupt among the k neighbours of an honest party, a uniform choice of k of n-1, are
// hypergeometric, and so are the drop-outs; the probability for one party times n bounds that for any.
// A circle falls apart only when two separate runs of k/2 parties are all gone: there are at most
// n(n-1)/2 places for two runs, and k given parties are all gone with probability
// R(R-1)..(R-k+1) / n(n-1)..(n-k+1), R = C+D.
//
// C is a part of all parties that there are, and a sum may be among few of them: whoever picks those
// may pick all the corrupt (see PickAmong).
//
// All this holds for corrupt parties and drop-outs that do not depend on the graph. So the seed of
// the graph must be unknown until the parties are fixed. A server that invents drop-outs once it knows the
// graph is not covered by the second point: it may learn the sums of pieces, each of which has at
// least t-c+1 honest parties in it (see Choice.Least).
package graph
