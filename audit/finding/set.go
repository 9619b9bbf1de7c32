package finding

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
)

// The names of the checks of one transcript, in the order of the report.
const (
	CheckContract          = "contract"
	CheckChain             = "hash chain"
	CheckSeals             = "seals"
	CheckCountersignatures = "countersignatures"
	CheckSequence          = "sequence"
	CheckSessions          = "sessions"
	CheckOperations        = "operations"
	CheckEgress            = "egress budget"
	CheckTrees             = "trees"
	CheckContributors      = "contributors"
	CheckOpenings          = "openings"  // in jobs over clients, and in sealed ones
	CheckAlignment         = "alignment" // in jobs that align
	CheckMasks             = "fresh masks"
	CheckCiphertexts       = "fresh ciphertexts"
	CheckComplete          = "complete"
)

// Set collects what is wrong with one transcript, or not looked at, by check: the first of each check, and how
// many more there are.
type Set struct {
	Party string
	first map[string]Check
	more  map[string]int
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{first: make(map[string]Check), more: make(map[string]int)}
}

// Fail notes that the transcript is not what an honest run leaves.
func (f *Set) Fail(name, format string, args ...any) { f.note(name, Failed, format, args) }

// Skip notes that something was not looked at, or cannot be told from the transcript.
func (f *Set) Skip(name, format string, args ...any) { f.note(name, Skipped, format, args) }

// Leak notes that what the transcript shows gives something away.
func (f *Set) Leak(name, format string, args ...any) { f.note(name, Leak, format, args) }

// note keeps the first finding of a check. What was not looked at gives way to what was found.
func (f *Set) note(name string, v Verdict, format string, args []any) {
	first, ok := f.first[name]
	if ok && (first.Verdict != Skipped || v == Skipped) {
		f.more[name]++
		return
	}
	f.first[name] = Check{Name: name, Party: f.Party, Verdict: v, Detail: fmt.Sprintf(format, args...)}
}

// Has reports whether a check found something.
func (f *Set) Has(name string) bool {
	_, ok := f.first[name]
	return ok
}

// Check returns the outcome of a check: what was found, or that it passed and with what.
func (f *Set) Check(name, passed string) Check {
	c, ok := f.first[name]
	if !ok {
		return Check{Name: name, Party: f.Party, Verdict: Passed, Detail: passed}
	}
	if n := f.more[name]; n > 0 {
		c.Detail += fmt.Sprintf(" (and %s of the kind)", wording.Count(n, "more finding"))
	}
	return c
}

// CheckCharter is the name of the check of the contract's parties against the charter.
const CheckCharter = "charter"

// CheckCross is the name of the checks of two transcripts against each other.
const CheckCross = "cross"

// CheckTables is the name of the check that the columns given are those that the parties trained on.
const CheckTables = "columns"

// CheckConsented is the name of the check that the tables given are those that the parties consented to use.
const CheckConsented = "tables"

// CheckApprovals is the name of the check of the approvals in a party's record of consent.
const CheckApprovals = "approvals"

// CheckParameters is the name of the check that the job's own words take no protection away.
const CheckParameters = "parameters"

// CheckTogether is the name of the check of what several jobs tell of the same rows.
const CheckTogether = "jobs together"

// CheckAffiliations is the name of the check that no two of the three are affiliated.
const CheckAffiliations = "affiliations"

// CheckPayloads is the name of the check that what a transcript says was kept is there, unchanged.
const CheckPayloads = "payloads"

// CheckWords is the name of the check of the points, tags and lists of an alignment.
const CheckWords = "words"

// CheckCommitment is the name of the check that a party's ids are those that it committed to in the contract.
const CheckCommitment = "commitment"

// CheckRows is the name of the check that attacks work on as many rows as they do unless told otherwise.
const CheckRows = "rows"

// CheckShards is the name of the checks that the sessions of a job's shards are there, and follow from the job.
const CheckShards = "shards"

// CheckShardsCompared is the name of the check that the parties compared the shards' sessions as these were.
const CheckShardsCompared = "shards compared"
