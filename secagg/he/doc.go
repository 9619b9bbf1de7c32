// Package he adds vectors under homomorphic encryption: the parties make a collective public key whose
// secret key nobody holds, encrypt their vectors, add the ciphertexts, and open the total together, to one
// party. It is slower than masks (package secagg) and needs no pairwise state.
//
// The scheme is BGV without multiplications (Brakerski, Gentry, Vaikuntanathan 2012) with the keys and
// shares of the multiparty scheme of Mouchet et al. 2021, both from Lattigo; plaintexts are packed into
// coefficients. A decryption share is drowned in noise of this package's own, see flooder.
//
// No other package imports Lattigo.
package he
