// Package ledger counts over all jobs what a node has consented to tell of its tables: to whom, of which rows, by how
// many bits. One job is bounded by its contract; jobs over the same rows add up, and what they add up to stands here.
//
// An entry is on the disk before its consent is, and so before a word of the job leaves. A set of rows is kept as keyed
// hashes of their ids, so that rows are known again in another table or after another alignment; the key is in the
// ledger's folder and never leaves it. Entries are of contracts, not of job folders: whoever removes a job, or deletes
// its folder, takes nothing back that was told.
package ledger
