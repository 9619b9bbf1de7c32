package node

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Absence is why a party of a job over clients does not come to its sessions. The name is the contract's, of the key
// that answered; of what its node says a code of the vocabulary is kept, and a reference, and no name or number: so
// nobody speaks of another, and nobody fills another's screen.
type Absence struct {
	Party string     `json:"party"`
	Code  fault.Code `json:"code"`          // away: it cannot be reached
	Ref   string     `json:"ref,omitempty"` // under which its owner reads the rest
	Since time.Time  `json:"since"`         // when it was first heard, since the node started
}

// codeAway is the code of an absence of which the party itself says nothing.
const codeAway fault.Code = "away"

// maxAbsent is how many absences a sentence names.
const maxAbsent = 3

// String says it in a clause that ends with the code.
func (a Absence) String() string {
	if a.Code == codeAway {
		return a.Party + " is away"
	}
	ref := ""
	if a.Ref != "" {
		ref = ", reference " + a.Ref
	}
	return fmt.Sprintf("%s: %s (%s%s)", a.Party, &fault.Fault{Code: a.Code}, a.Code, ref)
}

// Absences names the first of some absences, and says how many more there are; empty for none.
func Absences(all []Absence) string {
	var words []string
	for _, a := range all[:min(len(all), maxAbsent)] {
		words = append(words, a.String())
	}
	if more := len(all) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "; ")
}

// answered notes what a party answered to the question whether it comes.
func (w *watched) answered(party string, comes bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := Absence{Party: party, Code: codeAway, Since: time.Now()}
	var said *faults.Error
	switch {
	case comes:
		delete(w.absent, party)
		return
	case err == nil:
		a.Code = fault.CodeUnsigned
	case errors.As(err, &said) && said.Remote:
		a.Code, a.Ref = said.Code, said.Said.Ref
		if !a.Code.Known() || said.Said.Check() != nil {
			a.Code, a.Ref = fault.CodeMalformed, ""
		}
	}
	if before, ok := w.absent[party]; ok && before.Code == a.Code {
		a.Since = before.Since
	}
	if w.absent == nil {
		w.absent = make(map[string]Absence)
	}
	w.absent[party] = a
}

// missing lists the absences of some parties, in their order; who says why stands before who is away. The lock is held.
func (w *watched) missing(parties []string) (all []Absence) {
	var away []Absence
	for _, p := range parties {
		switch a, ok := w.absent[p]; {
		case ok && a.Code == codeAway:
			away = append(away, a)
		case ok:
			all = append(all, a)
		}
	}
	return append(all, away...)
}

// whyMissing says of some parties which do not come, and why.
func (w *watched) whyMissing(parties []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := Absences(w.missing(parties)); text != "" {
		return "; " + text
	}
	return ""
}
