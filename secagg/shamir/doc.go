// Package shamir shares a secret among n holders so that any t of them recover it, where the
// holders' shares are given and not drawn by the dealer.
//
// Share i is derived by the dealer and holder i alike from a secret they have in common, so that
// nothing is sent to a holder. The dealer interpolates the polynomial f of degree at most n with
// f(0) the secret and f(i) share i, i = 1..n, over the integers modulo P = 2^61 - 1, and publishes
// its n+1-t values at n+1 .. 2n+1-t. This is the scheme of Shamir with n+1-t evaluations in public.
//
// Any t shares and the public points are n+1 points of f, so f, so the secret. Fewer say nothing:
// f is fixed by its values at any n+1 distinct points, and the map from the values at one such
// list of points to the values at another is linear and invertible. Take as a second list 0, the
// points of t-1 holders and the public points. With secret and shares uniform and independent the
// values at the first list 0..n are uniform, hence so are those at the second: the secret is
// uniform and independent of everything that t-1 holders see. For the same reason each single
// secret gives t-1 holders the same uniform view. The argument needs uniform shares which are used
// for one secret only; a share that is an HKDF output is as good as that to a bounded attacker.
//
// A secret is Words elements, shared in parallel with the same points. The time taken depends on
// n, t and on who the holders are, never on secrets or shares.
package shamir
