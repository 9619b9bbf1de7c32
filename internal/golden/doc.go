// Package golden has no code of its own. Its tests run whole federations in memory and compare with files what may not
// change while code is moved about: contracts, frames, transcripts, audit reports, and the parties' models.
//
// All randomness is fixed, by party, and time is fake. So keys, nonces, masks, ciphertexts and signatures are the same
// in every run, and the files need no placeholders. Three things are left out: the times in transcripts and in reports,
// the digests of transcripts in reports, which depend on these, and the order of records of different links.
//
// What a party draws depends on how many draws of the same length it made before. A change that adds a draw, or changes
// the order of two, changes these files although no format changes.
//
// Where a change is meant, go test ./internal/golden -update writes the files anew. Look at the difference before
// keeping it: a format that changes takes another version number.
package golden
