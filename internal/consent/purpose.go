package consent

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol/contract"
)

// purposeFields lists the fields that a policy may want of a job's purpose.
func purposeFields() []string {
	var all []string
	for _, f := range (*contract.Purpose)(nil).Fields() {
		all = append(all, f.Key)
	}
	return all
}

// Unstated lists the fields of a job's purpose that the policy wants and the job leaves out.
func (p *Policy) Unstated(j *contract.Job) []string {
	var missing []string
	for _, f := range j.Purpose.Fields() {
		if p != nil && f.Text == "" && slices.Contains(p.Purpose, f.Key) {
			missing = append(missing, f.Key)
		}
	}
	return missing
}

// purposeMistakes lists what is wrong with what a policy wants of purposes.
func (p *Policy) purposeMistakes() []string {
	if p.Purpose == nil {
		return nil
	}
	found := unknown("purpose", p.Purpose, purposeFields())
	if len(p.Purpose) > 0 && !slices.Contains(p.Purpose, "text") {
		found = append(found, fmt.Sprintf("purpose lacks %q, which every purpose has: add it", "text"))
	}
	return found
}
