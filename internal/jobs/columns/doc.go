// Package columns runs jobs over columns of the same rows: trainings by FDSKL in every privacy mode, and predictions,
// over all rows or row by row.
//
// All parties take part in a session (session.go): they exchange keys, compare their row ids, compute, store their
// parts, and countersign what passed. Package wired makes the sums that FDSKL asks for. Sealed jobs are in sealed.go;
// sharers.go reads from a contract who holds shares.
//
// A row is scored no more often than a job says: scored.go keeps what was scored with a model, over all its
// predictions, asked.go what the receiver of a prediction asks for, requests.go the single rows.
package columns
