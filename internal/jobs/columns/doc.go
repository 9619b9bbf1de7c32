// Package columns runs jobs over columns of the same rows: alignments, trainings by the algorithms listed in package
// registry, and predictions, over all rows or row by row.
//
// All parties take part in a session (session.go): they exchange keys, compare their row ids, compute, store their
// parts, and countersign what passed. Package wired makes the sums that algorithms ask for. What a sealed job wants of
// its parties is in sealed.go.
//
// A row is scored no more often than a job says: scored.go keeps what was scored with a model, over all its
// predictions, asked.go what the receiver of a prediction asks for, requests.go the single rows.
package columns
