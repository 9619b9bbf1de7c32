package columns

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// featuresFile is where a party keeps shares of all features while it trains.
const featuresFile = joint.FilePrefix + "features"

// idleFacts is what a party without data says of it.
func (j *Jobs) idleFacts() contract.Facts {
	return contract.Facts{Name: j.Name(), ID: j.ID, Role: joint.RoleHelper}
}

// checkSealable refuses sealed jobs of which nothing can come.
func checkSealable(job *contract.Job) error {
	if len(job.Parties) < rss.Roles {
		return fmt.Errorf("job %q: sealed jobs need %d parties, it has %d: name any third member of the charter as one; it "+
			"needs no data and learns of no row by itself, and with either of the others it could rebuild all (helper = "+
			"\"its name\" in the job's parameters)", job.Name, rss.Roles, len(job.Parties))
	}
	if job.Encrypted() {
		return fmt.Errorf("job %q: aggregation is %q: the sums of a sealed job are under masks and open no angle", job.Name,
			job.Aggregation)
	}
	return nil
}

// apart checks that no two of the three that hold shares in a sealed job are affiliated.
func (j *Jobs) apart(job *contract.Job, g *joint.Goal) error {
	if job.Privacy != keys.PrivacySealed {
		return nil
	}
	charter := j.Charter()
	three := []string{g.Active[0], g.Keeper, g.Helper}
	for i, a := range three {
		for _, b := range three[:i] {
			if charter.Affiliated(a, b) {
				return fmt.Errorf("job %q: %s and %s are affiliated in charter %q: together they could rebuild everything, so "+
					"no two of label holder, keeper and helper may be", job.Name, b, a, charter.Name)
			}
		}
	}
	return nil
}
