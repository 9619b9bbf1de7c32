package node

import (
	"errors"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/rss"
)

// inWords makes of an error what others are told of it: a code, and names and numbers that all of them know. The full
// text stays with this node, under a reference. to is who is told, on is what of.
func (n *member) inWords(err error, to, on string) *fault.Fault {
	var f *faults.Error
	if errors.As(err, &f) && f.Remote { // who said it has the text
		return &fault.Fault{Code: fault.CodeSays, Names: []string{f.Who, string(f.Said.Code)}, Ref: f.Said.Ref}
	}
	if f != nil && f.Said != nil {
		return f.Said
	}
	c, _ := faults.CodeOf(err)
	told := &fault.Fault{Code: c}
	var step *protocol.StepError
	var deviation *rss.DeviationError
	var left *protocol.AbortError
	switch {
	case f == nil && errors.As(err, &left) && left.Fault.Code == fault.CodeSays: // somebody before it knows why
		return left.Fault
	case f == nil && errors.As(err, &left) && errors.As(err, &step):
		return (&fault.Fault{Code: fault.CodeSays, Names: []string{step.Peer, string(left.Fault.Code)},
			Ref: left.Fault.Ref}).Clean()
	case f != nil:
		told.Names, told.Numbers = f.Names, f.Numbers
	case errors.As(err, &deviation):
		told.Names = deviation.Parties
	case errors.As(err, &step):
		told.Names, told.Numbers = []string{step.Peer, step.Kind}, []int64{int64(step.Operation)}
		if step.Other != "" {
			told.Names = append(told.Names, step.Other)
		}
	}
	if faults.HasReference(c) {
		told.Ref = n.config.References.Add(reference.Entry{At: n.config.Now(), To: to, On: on, Code: string(c),
			Text: err.Error()})
	}
	if told.Ref != "" {
		n.config.Log.Warn("another member was told of a fault by its code alone", "told", to, "on", on, "code", c,
			"ref", told.Ref, "error", err)
	}
	return told.Clean()
}
