package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Reason says for a list of jobs why one ended; cause is the full text where this node's own fault ended it.
func Reason(c *contract.Contract, e *contract.Ending, self, cause string) string {
	switch {
	case e.Outcome == contract.OutcomeDone:
		return ""
	case e.Outcome == contract.OutcomeExpired && e.By == self && cause != "":
		return cause
	case e.Outcome == contract.OutcomeExpired:
		return "not all had consented by " + c.Job.Expires + ", or no session had begun" + asSaid(e, self)
	case e.By == self:
		return cmp.Or(cause, e.Why())
	}
	if isTooFew(e) {
		return e.Why()
	}
	return e.By + ": " + e.Why()
}

// isTooFew reports whether a job ended because too few rows are common: no party's fault, whoever says it first.
func isTooFew(e *contract.Ending) bool { return slices.Contains(Codes(e), fault.CodeTooFew) }

// Codes are the codes that a job failed by: its end's own, and the one that another party told of before.
func Codes(e *contract.Ending) []fault.Code {
	if e.Fault == nil {
		return nil
	}
	codes := []fault.Code{e.Fault.Code}
	if e.Fault.Code == fault.CodeSays && len(e.Fault.Names) > 1 {
		codes = append(codes, fault.Code(e.Fault.Names[1]))
	}
	return codes
}

// asSaid is whose word an ending is, where another party's.
func asSaid(e *contract.Ending, self string) string {
	if e.By == self {
		return ""
	}
	return ", as " + e.By + " says"
}

// EndingText says of an ending that is not done what happened.
func EndingText(c *contract.Contract, e *contract.Ending, self string) string {
	switch e.Outcome {
	case contract.OutcomeRefused:
		return fmt.Sprintf("%s: refuses job %q: %s", e.By, c.Job.Name, e.Why())
	case contract.OutcomeCancelled:
		return fmt.Sprintf("%s cancelled job %q: %s", e.By, c.Job.Name, e.Why())
	case contract.OutcomeExpired:
		return fmt.Sprintf("job %q expired%s: not all had consented by %s, or no session had begun; propose it anew",
			c.Job.Name, asSaid(e, self), c.Job.Expires)
	}
	if isTooFew(e) {
		return fmt.Sprintf("job %q failed: %s", c.Job.Name, e.Why())
	}
	return fmt.Sprintf("job %q failed at %s: %s", c.Job.Name, e.By, e.Why())
}

// withAdded adds sentences to a reason.
func withAdded(reason string, added []string) string {
	return strings.Join(append([]string{reason}, added...), "; ")
}
