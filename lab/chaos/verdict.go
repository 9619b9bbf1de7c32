package chaos

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/node/job"
)

// Verdict says what became of a federation under a fault; the package comment lists them.
type Verdict string

// The verdicts.
const (
	Right    Verdict = "right"
	Degraded Verdict = "degraded"
	Failed   Verdict = "failed"
	Silent   Verdict = "silent"
	Skipped  Verdict = "skipped"
)

// Bad reports whether a verdict is a failure.
func (v Verdict) Bad() bool { return v == Failed || v == Silent }

// standing is where one job stands at one party.
type standing struct {
	party, name, contract string
	state                 job.State
	reason                string
}

// account is all that a trial knows when it is over.
type account struct {
	lasting bool           // the fault may leave a degraded result
	cause   *regexp.Regexp // what those who wait must name besides; nil: nothing
	parties []string       // of the job
	limit   string         // why the wait was given up; empty when every job ended
	code    int            // exit code of the command that proposed the job
	said    string         // its last words
	excused bool           // its node was killed, so that it could not see the end
	jobs    []standing
	ended   []string // nodes that ended by themselves, each with its last words
	panics  []string // lines of logs
	unasked []string // parties that signed before anybody there approved
	running bool     // the command has not ended
	warned  string   // a line of the victim's log that names what was damaged
	unread  string   // why the result of a done job cannot be had
	wrong   string   // how the result differs from the right one
	done    bool     // one job is done at every party
	off     float64  // how far its result is from the right one; see scene.tolerance
}

// judge gives the verdict and says why in a few words.
func judge(a account) (Verdict, string) {
	switch {
	case len(a.unasked) > 0:
		return Failed, "signed though nobody approved: " + strings.Join(a.unasked, ", ")
	case len(a.panics) > 0:
		return Failed, "crash: " + a.panics[0]
	case len(a.ended) > 0:
		return a.refusal("node ended: "+a.ended[0], a.ended[0])
	case a.wrong != "" && a.code == 0:
		return Silent, a.wrong
	case a.wrong != "":
		return Failed, a.wrong
	case a.open() != nil:
		return a.waiting()
	case a.unread != "":
		return a.refusal("the result cannot be had: "+a.unread, a.unread)
	case !a.done:
		return a.undone()
	case a.code != 0 && !a.excused && !strings.Contains(a.said, goesOn):
		return Failed, fmt.Sprintf("the exit code lies: the job is done, the command ended with %d: %s", a.code, a.said)
	}
	return Right, fmt.Sprintf("done, and the result is right (%.3f off)", a.off)
}

// goesOn are words by which a command that ends early says that its job does not.
const goesOn = "goes on"

// refusal is the verdict when the program refuses: it must name the file or the party.
func (a *account) refusal(what, text string) (Verdict, string) {
	if a.lasting && named(text, a.parties) {
		return Degraded, what
	}
	return Failed, what
}

// helpful reports whether what somebody waits for is said well enough to be mended: party or file, the fault, and what
// would help. Whoever knows that a clock is off needs no more.
func (a *account) helpful(text string) bool {
	known := a.cause == nil || a.cause.MatchString(text)
	return a.lasting && known && named(text, a.parties) && (remedied(text) || a.cause == clockCause)
}

// waiting is the verdict when a job has not ended: each that has not must name what it waits for and say what helps.
func (a *account) waiting() (Verdict, string) {
	verdict, what := Degraded, ""
	for _, j := range a.jobs {
		if final(j.state) {
			continue
		}
		if !a.helpful(j.reason) {
			verdict = Failed
		}
		if what == "" || verdict == Failed && !strings.HasPrefix(what, "never ends") {
			what = fmt.Sprintf("%s is %s at %s: %s", j.name, stateName(j.state), j.party, reasonOr(j.reason))
			if verdict == Failed {
				what = "never ends: " + what
			}
		}
	}
	return verdict, what
}

// undone is the verdict when every job has ended, but none is done everywhere.
func (a *account) undone() (Verdict, string) {
	for _, j := range a.jobs {
		if final(j.state) && j.state != job.Done {
			return a.refusal(fmt.Sprintf("%s %s at %s: %s", j.name, j.state, j.party, reasonOr(j.reason)), j.reason)
		}
	}
	switch {
	case a.lasting && a.warned != "":
		return Degraded, a.warned
	case a.running && a.helpful(a.said):
		return Degraded, "the command waits: " + a.said
	case a.running:
		return Failed, "the command does not end: " + a.said
	case a.code == 0:
		return Failed, "the exit code lies: the command ended with 0, and the job is not done at every party"
	}
	return a.refusal("the command ended with an error: "+a.said, a.said)
}

// open returns a job that has not ended, nil when all have.
func (a *account) open() *standing {
	for i := range a.jobs {
		if !final(a.jobs[i].state) {
			return &a.jobs[i]
		}
	}
	return nil
}

// States that not every version of the program has.
const (
	stateCancelled job.State = "cancelled"
	stateExpired   job.State = "expired"
)

// final reports whether a job in this state has ended.
func final(s job.State) bool {
	ends := []job.State{job.Done, job.Refused, job.Failed, stateCancelled, stateExpired}
	return slices.Contains(ends, s)
}

// stateName names a state for people.
func stateName(s job.State) string {
	if s == "" {
		return "in no state"
	}
	return string(s)
}

// reasonOr returns a reason, or says that there is none.
func reasonOr(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}

// pathLike finds what looks like a file: a path, or a name that a node's folder has.
var pathLike = regexp.MustCompile(`[\w.-]*/[\w./-]+|\b[\w-]+\.(toml|hanse|json|csv)\b` +
	`|\b(phase|width|angles|transcript|payloads|solver|checkpoint)\b`)

// named reports whether a text names a party or a file.
func named(text string, parties []string) bool {
	for _, p := range parties {
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(p) + `\b`).MatchString(text) {
			return true
		}
	}
	return pathLike.MatchString(text)
}

// remedyLike finds words that tell somebody what to do.
var remedyLike = regexp.MustCompile(`(?i)\b(free|put|give|propose|restore|remove|delete|move|copy|raise|set)\b` +
	`|\bcorrect\b|\bhanse \w+|\bstart (it|its|the|this|that|a node|again)\b`)

// remedied reports whether a text says what would help.
func remedied(text string) bool { return remedyLike.MatchString(text) }
