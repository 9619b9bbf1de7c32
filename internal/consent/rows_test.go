package consent

import (
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestRequestsAvoidNoRefusal: a rule that refuses small tables by max_rows = 99 refuses a prediction on one row that
// says requests = 100.
func TestRequestsAvoidNoRefusal(t *testing.T) {
	p := parsed(t, "[[refuse]]\nmax_rows = 99\n[[accept]]\nproposers = [\"bank\"]")
	c := scoring(100)
	for i := range c.Contract.Parties {
		c.Contract.Parties[i].Rows = min(c.Contract.Parties[i].Rows, 1)
	}
	if got := p.Judge(c); got.Verdict != Refuse {
		t.Errorf("a job on a table of one row is judged %s", got.Verdict)
	}
}

// TestJobsOverClientsHaveAnyNumberOfRows: their streams have no end, so that no rule with max_rows accepts one.
func TestJobsOverClientsHaveAnyNumberOfRows(t *testing.T) {
	p := parsed(t, "[[accept]]\nproposers = [\"bank\"]\nmax_rows = 100")
	c := credit()
	c.Contract.Job.Servers, c.Contract.Job.Algorithm, c.Contract.Job.Privacy = []string{"bank"}, "gfml", "published"
	c.Contract.Parties = []contract.Facts{{Name: "bank", Role: "server"}, {Name: "insurer", Role: "client"},
		{Name: "telco", Role: "client"}}
	c.Role = RoleClient
	if got := p.Judge(c); got.Verdict == Accept {
		t.Errorf("a job without a number of rows is accepted as one of at most 100")
	}
}

// TestANewNameIsNoNewReceiver: what opened to a member under an earlier name of its key counts.
func TestANewNameIsNoNewReceiver(t *testing.T) {
	p := parsed(t, "[[accept]]\nopenings = [{kind = \"scores\", to = [\"kreditbank\"], count_30_days = 300}]")
	before, now := scoring(0), scoring(0)
	now.Contract.Openings[0].To, now.Contract.Job.OpenTo = "kreditbank", "kreditbank"
	now.Charter = charterOf("kreditbank", "insurer", "telco", "retailer")
	key := keys.ID{1}
	before.Contract.Parties[0].ID, now.Contract.Parties[0].ID, now.Charter.Members[0].ID = key, key, key
	now.Contract.Parties[0].Name = "kreditbank"
	now.Consented = []Past{{before.Contract, noon}}
	if got := p.Judge(now); got.Verdict == Accept {
		t.Error("600 scores open to one key within a day, the bound is 300 in 30 days")
	}
}
