// Package forecast says of a contract, before consent, how many bytes each party will send and receive and how many
// seconds the job will take; and once it is done, how far that was off.
//
// Bytes follow from the operations that the contract lists, which a dry run of the job's own code has counted. Seconds
// follow from a model that stands here once: how much of each kind of work a job is (work.go), how long this machine
// takes for each kind, measured by calls of the same code that jobs run (speeds.go), and the line (time.go). A forecast
// is this node's alone: nothing of it is signed, and no other member is told.
package forecast
