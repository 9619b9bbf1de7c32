// Package fault is all that one member tells another of something that went wrong: a code, public names and numbers,
// and a reference under which the full text stays with the node that says it.
package fault

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// Code says what went wrong, as one member tells another. The codes are the vocabulary of docs/wire.md.
type Code string

// The codes of sessions and of questions about jobs.
const (
	CodeStopped      Code = "stopped"      // the node was stopped
	CodeLink         Code = "link"         // a party is gone or silent, or links do not come about
	CodeLeft         Code = "left"         // another party left the session first
	CodeDisk         Code = "disk"         // a file cannot be written or read
	CodeDescriptors  Code = "descriptors"  // too many files are open
	CodeMemory       Code = "memory"       // the job takes more memory than the node has, or the system has none left
	CodeHeld         Code = "held"         // the node died in the job's sessions, and waits for its owner
	CodeData         Code = "data"         // a table cannot be read, or is not the one consented to
	CodeDamaged      Code = "damaged"      // a file of the node's is not what was written there
	CodeClients      Code = "clients"      // a session over clients ends for another to follow
	CodeBusy         Code = "busy"         // the node is not ready yet, or is asked too much at once
	CodeEnding       Code = "ending"       // another job, which this one takes something from, has yet to end here
	CodeEnded        Code = "ended"        // the job has ended, and its end is told to who asks
	CodeUnsigned     Code = "unsigned"     // not all have signed, or a person has yet to consent
	CodeDeviation    Code = "deviation"    // a party did not follow the protocol
	CodeContradicted Code = "contradicted" // parties, or a party and its own files, contradict each other
	CodeCharter      Code = "charter"      // a contract or a job does not stand under the charter in force
	CodeJob          Code = "job"          // a party cannot take part in the job as it is written
	CodeContract     Code = "contract"     // a contract says something else than its job implies
	CodeTable        Code = "table"        // a party's table cannot be used as the job asks
	CodeOffer        Code = "offer"        // its owner does not offer a table to the member that asks about it
	CodeLabel        Code = "label"        // its owner does not offer a label column to other members
	CodeRows         Code = "rows"         // the parties' tables do not have the same row ids
	CodeTooFew       Code = "too-few"      // fewer rows are common than an alignment may open
	CodeScored       Code = "scored"       // rows were scored as often as a job lets them be
	CodePolicy       Code = "policy"       // the policy of a member's owner refuses it
	CodeUnknown      Code = "unknown"      // there is no such job
	CodeRequest      Code = "request"      // a request cannot be answered as it is
	CodeSays         Code = "says"         // another party has said that it cannot go on
	CodeAbandoned    Code = "abandoned"    // the proposer's node stopped before its owner's consent was kept
)

// The codes of calls.
const (
	CodeMethod   Code = "method"   // there is no such question
	CodeVersions Code = "versions" // no such question is answered between nodes under two versions of a charter
	CodeInvitee  Code = "invitee"  // an invited newcomer may ask for its invitation alone
	CodeLimit    Code = "limit"    // more than a member may keep open, send, or ask for at a time
)

// The codes of links between members.
const (
	CodeProgram Code = "program" // the two programs speak different versions of the wire protocol
	CodeRevoked Code = "revoked" // the charter has revoked the key
	CodeApart   Code = "apart"   // two members stand under charters that exclude each other
	CodeTwin    Code = "twin"    // another node with the same key is connected
	CodeRemoved Code = "removed" // the charter in force has the member no longer
	CodeAnew    Code = "anew"    // an invitee has become a member, and is to connect as one
	CodeTwice   Code = "twice"   // the two are connected already
	CodeWorker  Code = "worker"  // the key is not one of the node's workers'
	CodeSpent   Code = "spent"   // the key of a worker is good no more
	CodeWorkers Code = "workers" // the node has as many workers as it takes
)

// The codes of the charter's service.
const (
	CodeMember     Code = "member"     // the caller is no member
	CodeInvitation Code = "invitation" // the caller is not invited, or no longer
	CodeOutdated   Code = "outdated"   // what is brought is for a charter that is no longer proposed
	CodeSignature  Code = "signature"  // a signature or a charter is wrong
)

// CodeMalformed stands for a fault that cannot be read.
const CodeMalformed Code = "malformed"

// Limits of a fault.
const (
	// MaxFault is the longest encoding of a fault, in bytes.
	MaxFault    = 400
	maxFaultArg = 3  // names, and numbers
	refDigits   = 10 // of a reference, at most
)

// Fault is all that one member tells another of something that went wrong: a code, names and numbers that a charter or
// a contract makes public, and a reference. The full text stays with the node that says it, under the reference. No
// error crosses the wire in another form.
type Fault struct {
	Code    Code
	Names   []string
	Numbers []int64
	Ref     string // hexadecimal digits, none where there is nothing more to say
}

// words is what a code says: a clause about whoever sends it. Both arguments may be shorter than the clause wants.
type words func(names []string, numbers []int64) string

// always is a clause without arguments.
func always(clause string) words { return func([]string, []int64) string { return clause } }

// Known reports whether this version has words for a code.
func (c Code) Known() bool { return vocabulary(c) != nil }

// vocabulary is the one table of what each code says.
func vocabulary(c Code) words {
	switch c {
	case CodeStopped:
		return always("it was stopped")
	case CodeLink:
		return about("a link of its to the other parties broke or did not come about",
			"its link to %s broke or did not come about")
	case CodeLeft:
		return about("another party had left the session", "%s had left the session")
	case CodeDisk:
		return always("its disk is full, or cannot be written or read")
	case CodeDescriptors:
		return always("too many files are open there")
	case CodeMemory:
		return always("its memory does not suffice for the job")
	case CodeHeld:
		return always("its node stopped in the middle of the job's sessions, and waits for its owner to resume the job")
	case CodeData:
		return always("its table cannot be read, or is not the one that it consented to")
	case CodeDamaged:
		return always("one of its files is damaged")
	case CodeClients:
		return always("the session ends for another to follow")
	case CodeBusy:
		return always("it is not ready yet")
	case CodeEnding:
		return about("the end of a job that this one builds on has not come to it yet",
			"the end of job %s, which this one builds on, has not come to it yet")
	case CodeEnded:
		return always("the job has ended there")
	case CodeUnsigned:
		return always("not all have signed or consented yet")
	case CodeDeviation:
		return sayDeviation
	case CodeContradicted:
		return always("its files or its parts of the job contradict each other")
	case CodeCharter:
		return sayCharter
	case CodeJob:
		return always("it cannot take part in the job as it is written")
	case CodeContract:
		return always("the contract says something else than its node works out from the job")
	case CodeTable:
		return always("its table cannot be used as the job asks")
	case CodeOffer:
		return always("it does not offer that table to this member")
	case CodeLabel:
		return always("it does not offer that label column to other members")
	case CodeRows:
		return sayRows
	case CodeTooFew:
		return always("fewer rows are common to all than the alignment may open")
	case CodeScored:
		return sayScored
	case CodePolicy:
		return sayPolicy
	case CodeUnknown:
		return always("it has no such job")
	case CodeRequest:
		return always("it cannot answer this as it was asked")
	case CodeSays:
		return saySays
	case CodeAbandoned:
		return always("its node stopped before its owner's consent was kept: the job has to be proposed anew")
	case CodeMethod:
		return always("it knows no such question: the two programs are of different versions")
	case CodeVersions:
		return always("the two nodes stand under different versions of the charter: no data until both have the same")
	case CodeInvitee:
		return always("an invited newcomer may ask about its invitation alone")
	case CodeLimit:
		return sayLimit
	case CodeMember:
		return always("this key is no member's of its charter")
	case CodeInvitation:
		return always("this key is not invited there, or no longer: ask for a new invitation")
	case CodeOutdated:
		return always("the charter that this is for is no longer proposed there: ask for a new invitation, or join again")
	case CodeSignature:
		return always("the charter or a signature on it is not right")
	case CodeProgram:
		return sayProgram
	case CodeRevoked:
		return sayUnder("%s was revoked, as version %d of its charter says")
	case CodeApart:
		return sayUnder("it stands under charter %s, version %d, and so another: one of the two has the wrong charter file")
	case CodeTwin:
		return about("another node with this key is connected: only one may run",
			"another node with the key of %s is connected: only one may run")
	case CodeRemoved:
		return sayUnder("%s is not a member any longer, as version %d of its charter says")
	case CodeAnew:
		return sayUnder("%s is a member now, as version %d of its charter says, and is to connect as one")
	case CodeTwice:
		return always("the two are connected already")
	case CodeWorker:
		return always("this key is not one of its workers', or no longer")
	case CodeSpent:
		return saySpent
	case CodeWorkers:
		return sayWorkers
	case CodeMalformed:
		return always("it says that something is wrong, and its words cannot be read")
	}
	return nil
}

// about is a clause that names somebody where a name is given.
func about(nobody, somebody string) words {
	return func(names []string, _ []int64) string {
		if len(names) == 0 {
			return nobody
		}
		return fmt.Sprintf(somebody, names[0])
	}
}

// sayDeviation takes the party, the kind of message, the number of the operation and, where two contradict each other,
// the second party; or, without a number, the parties one of whom it was.
func sayDeviation(names []string, numbers []int64) string {
	switch {
	case len(names) > 2 && len(numbers) > 0:
		return fmt.Sprintf("%s or %s did not follow the protocol: the two contradict each other, in operation %d (%s)",
			names[0], names[2], numbers[0], names[1])
	case len(names) == 0:
		return "a party did not follow the protocol"
	case len(numbers) == 0:
		return strings.Join(names, " or ") + " did not follow the protocol"
	case len(names) == 1:
		return names[0] + " did not follow the protocol"
	}
	return fmt.Sprintf("%s did not follow the protocol, in operation %d (%s)", names[0], numbers[0], names[1])
}

// saySays takes the other party and its code.
func saySays(names []string, _ []int64) string {
	if len(names) < 2 {
		return "another party cannot go on"
	}
	if names[1] == string(CodeSays) { // words about words lead nowhere
		return names[0] + " says that another party cannot go on"
	}
	return fmt.Sprintf("%s says: %s", names[0], &Fault{Code: Code(names[1])})
}

// sayCharter takes a party whose key or role is another than the contract's, and the version of the charter in force.
func sayCharter(names []string, numbers []int64) string {
	clause := "the job does not stand under the charter in force there"
	if len(numbers) > 0 {
		clause += fmt.Sprintf(", version %d", numbers[0])
	}
	if len(names) > 0 {
		clause += ", for the sake of " + names[0]
	}
	return clause
}

// sayProgram takes the two wire versions, the caller's first.
func sayProgram(_ []string, numbers []int64) string {
	if len(numbers) < 2 {
		return "the two programs are of different versions: the older one must be updated"
	}
	return fmt.Sprintf("it speaks wire version %d, and was spoken to in version %d: the older program must be updated",
		numbers[1], numbers[0])
}

// sayUnder takes a name and a charter's version.
func sayUnder(clause string) words {
	return func(names []string, numbers []int64) string {
		name, version := "this key", int64(0)
		if len(names) > 0 {
			name = names[0]
		}
		if len(numbers) > 0 {
			version = numbers[0]
		}
		return fmt.Sprintf(clause, name, version)
	}
}

// sayRows takes two parties and, where they differ, how many rows each has.
func sayRows(names []string, numbers []int64) string {
	switch {
	case len(names) < 2:
		return "the parties' row ids are not the same, and nothing was computed: find the common ones with " +
			"hanse align, and propose the job anew"
	case len(numbers) < 2:
		return fmt.Sprintf("the row ids of %s and %s are not the same, and nothing was computed: find the common "+
			"ones with hanse align, and propose the job anew",
			names[0], names[1])
	}
	return fmt.Sprintf("%s has %d rows and %s has %d: find the common ones with hanse align",
		names[0], numbers[0], names[1], numbers[1])
}

// sayPolicy takes the fields of the job's purpose that say nothing, and that the policy wants.
func sayPolicy(names []string, _ []int64) string {
	if len(names) == 0 {
		return "the policy of its owner refuses it"
	}
	return fmt.Sprintf("the policy of its owner wants the job to say what it is for: add %s to [purpose] in the job file",
		strings.Join(names, ", "))
}

// sayScored takes how many rows were scored before, and how often the job lets a row be scored.
func sayScored(_ []string, numbers []int64) string {
	if len(numbers) < 2 {
		return "rows asked for were scored as often as the job lets them be"
	}
	return fmt.Sprintf("%d of the rows asked for were scored before with this model, as often as the job lets a row be "+
		"scored (%d): take their scores from the member that received them, or propose a job with scores_per_row = %d",
		numbers[0], numbers[1], numbers[1]+1)
}

// sayLimit takes the limit.
func sayLimit(_ []string, numbers []int64) string {
	if len(numbers) == 0 {
		return "it takes no more of this for now"
	}
	return fmt.Sprintf("it takes no more of this for now: %d is the limit", numbers[0])
}

// What a key that is good no more has come to: the name of a CodeSpent.
const (
	SpentDone    = "done"    // its job is done
	SpentEnded   = "ended"   // its job has ended otherwise; a second name may be the outcome
	SpentExpired = "expired" // its time has ended
	SpentRevoked = "revoked" // its owner has taken it back
)

// saySpent takes what the key has come to and, of a job that has ended without a result, the outcome.
func saySpent(names []string, _ []int64) string {
	if len(names) == 0 {
		names = []string{""}
	}
	switch names[0] {
	case SpentDone:
		return "the job of this worker's key is done"
	case SpentEnded:
		how := ""
		if len(names) > 1 {
			how = ", " + names[1]
		}
		return "the job of this worker's key has ended there" + how + ": hanse jobs says more"
	case SpentExpired:
		return "the time of this worker's key has ended: have another made with hanse worker key"
	case SpentRevoked:
		return "this worker's key was revoked: have another made with hanse worker key"
	}
	return "this worker's key is good no more"
}

// sayWorkers takes how many workers the node takes.
func sayWorkers(_ []string, numbers []int64) string {
	if len(numbers) == 0 {
		return "it has as many workers as it takes"
	}
	return fmt.Sprintf("it has as many workers as it takes at once, which is %d", numbers[0])
}

// String says the fault as a clause about whoever sent it.
func (f *Fault) String() string {
	say := vocabulary(f.Code)
	if say == nil {
		say = always(fmt.Sprintf("it says %q, for which this version has no words", f.Code))
	}
	clause := say(f.Names, f.Numbers)
	if f.Ref != "" {
		clause += fmt.Sprintf(" (its owner reads more with hanse jobs --ref %s)", f.Ref)
	}
	return clause
}

// Check refuses a fault that is none: its fields are bounded, and hold names and numbers alone.
func (f *Fault) Check() error {
	switch {
	case !wording.IsWord(string(f.Code)):
		return fmt.Errorf("fault: the code is %q, want a word", wording.Clip(string(f.Code)))
	case len(f.Names) > maxFaultArg || len(f.Numbers) > maxFaultArg:
		return fmt.Errorf("fault: %d names and %d numbers, at most %d of each are allowed",
			len(f.Names), len(f.Numbers), maxFaultArg)
	case slices.ContainsFunc(f.Names, func(n string) bool { return !isName(n) }):
		return errors.New("fault: a name is not 1 to 64 characters of a-z, A-Z, 0-9, \"-\", \"_\" and \".\"")
	case len(f.Ref) > refDigits || strings.Trim(f.Ref, "0123456789abcdef") != "":
		return fmt.Errorf("fault: the reference is %q, want at most %d hexadecimal digits", wording.Clip(f.Ref), refDigits)
	}
	return nil
}

// isName reports whether s may stand in a fault: names of members, jobs, charters and kinds of messages do.
func isName(s string) bool {
	ok := 1 <= len(s) && len(s) <= wording.MaxWord && s != none
	for _, r := range s {
		ok = ok && ('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	return ok
}

// Clean returns the fault without names that may not stand in one.
func (f *Fault) Clean() *Fault {
	clean := *f
	clean.Names = slices.DeleteFunc(slices.Clone(f.Names), func(n string) bool { return !isName(n) })
	return &clean
}

// MarshalText renders the fault as one line of at most MaxFault bytes, such as "deviation bank,angles 7 7f3a2c": its
// code, names, numbers and reference, with "-" for what it has none of.
func (f *Fault) MarshalText() ([]byte, error) {
	clean := f.Clean()
	if err := clean.Check(); err != nil {
		return nil, err
	}
	var numbers []string
	for _, n := range clean.Numbers {
		numbers = append(numbers, strconv.FormatInt(n, 10))
	}
	return fmt.Appendf(nil, "%s %s %s %s", clean.Code, cmp.Or(strings.Join(clean.Names, ","), none),
		cmp.Or(strings.Join(numbers, ","), none), cmp.Or(clean.Ref, none)), nil
}

// none stands for an empty field of a fault.
const none = "-"

// UnmarshalText reads what MarshalText wrote.
func (f *Fault) UnmarshalText(text []byte) error {
	if len(text) > MaxFault {
		return fmt.Errorf("fault: %d bytes, at most %d are read", len(text), MaxFault)
	}
	fields := strings.Split(string(text), " ")
	if len(fields) != 4 {
		return fmt.Errorf("fault: %d fields, want 4", len(fields))
	}
	read := Fault{Code: Code(fields[0])}
	if fields[1] != none {
		read.Names = strings.Split(fields[1], ",")
	}
	if fields[2] != none {
		for _, n := range strings.Split(fields[2], ",") {
			v, err := strconv.ParseInt(n, 10, 64)
			if err != nil || strconv.FormatInt(v, 10) != n {
				return fmt.Errorf("fault: %q is no number", wording.Clip(n))
			}
			read.Numbers = append(read.Numbers, v)
		}
	}
	if fields[3] == "" {
		return errors.New("fault: the reference is empty")
	}
	if fields[3] != none {
		read.Ref = fields[3]
	}
	if err := read.Check(); err != nil {
		return err
	}
	*f = read
	return nil
}

// Encode returns the fault's line for the wire.
func (f *Fault) Encode() []byte {
	text, err := f.MarshalText()
	if err != nil { // whoever made it did not keep to its limits
		text, _ = (&Fault{Code: CodeContradicted}).MarshalText()
	}
	return text
}

// DecodeFault reads what Encode wrote. What is malformed comes back as a fault that says so: whoever sent it wanted to
// say that something is wrong.
func DecodeFault(data []byte) *Fault {
	f := new(Fault)
	if f.UnmarshalText(data) != nil {
		return &Fault{Code: CodeMalformed}
	}
	return f
}
