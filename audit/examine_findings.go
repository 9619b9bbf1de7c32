package audit

import "fmt"

// The names of the checks of one transcript, in the order of the report.
const (
	checkContract          = "contract"
	checkChain             = "hash chain"
	checkSeals             = "seals"
	checkCountersignatures = "countersignatures"
	checkSequence          = "sequence"
	checkSessions          = "sessions"
	checkOperations        = "operations"
	checkEgress            = "egress budget"
	checkTrees             = "trees"
	checkContributors      = "contributors"
	checkOpenings          = "openings" // in jobs over clients, and in sealed ones
	checkMasks             = "fresh masks"
	checkCiphertexts       = "fresh ciphertexts"
	checkComplete          = "complete"
)

// findings collects what is wrong with one transcript, or not looked at, by check: the first of each check, and how
// many more there are.
type findings struct {
	party string
	first map[string]Check
	more  map[string]int
}

// newFindings returns none.
func newFindings() *findings {
	return &findings{first: make(map[string]Check), more: make(map[string]int)}
}

// fail notes that the transcript is not what an honest run leaves.
func (f *findings) fail(name, format string, args ...any) { f.note(name, Failed, format, args) }

// skip notes that something was not looked at, or cannot be told from the transcript.
func (f *findings) skip(name, format string, args ...any) { f.note(name, Skipped, format, args) }

// leak notes that what the transcript shows gives something away.
func (f *findings) leak(name, format string, args ...any) { f.note(name, Leak, format, args) }

// note keeps the first finding of a check. What was not looked at gives way to what was found.
func (f *findings) note(name string, v Verdict, format string, args []any) {
	first, ok := f.first[name]
	if ok && (first.Verdict != Skipped || v == Skipped) {
		f.more[name]++
		return
	}
	f.first[name] = Check{Name: name, Party: f.party, Verdict: v, Detail: fmt.Sprintf(format, args...)}
}

// has reports whether a check found something.
func (f *findings) has(name string) bool {
	_, ok := f.first[name]
	return ok
}

// check returns the outcome of a check: what was found, or that it passed and with what.
func (f *findings) check(name, passed string) Check {
	c, ok := f.first[name]
	if !ok {
		return Check{Name: name, Party: f.party, Verdict: Passed, Detail: passed}
	}
	if n := f.more[name]; n > 0 {
		c.Detail += fmt.Sprintf(" (and %s of the kind)", counted(uint64(n), "more finding"))
	}
	return c
}

// counted writes a number of things: "1 frame", "2 frames".
func counted(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
