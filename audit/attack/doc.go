// Package attack holds the numeric attacks of an audit: what a party that keeps everything it saw
// could work out from it. They work on plain numbers and know nothing of files or messages.
//
//   - Difference rebuilds the differences between rows from angles under a shift that is the same in every row.
//   - Uniformity tests whether masked words look uniform.
//   - Reuse and Periods look for masks that were used twice.
//   - KnownRows predicts the rows that a coalition does not know from those it knows.
//   - Labels looks for the labels in what a party without labels saw.
//
// Every random choice follows from a seed: the same input gives the same result, whatever the
// number of workers. Attacks can prove that something leaks; they never prove that nothing does.
package attack
