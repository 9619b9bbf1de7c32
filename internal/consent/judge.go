package consent

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Case is a job that a policy judges, with all else that the judgement depends on.
type Case struct {
	Contract  *contract.Contract
	Self      string        // the party that judges
	Role      string        // its role in the job, one of the Role constants
	Charter   *keys.Charter // in force; nil: members are not looked up
	Now       time.Time
	Consented []Past // all other jobs that the party has consented to, and of which something may have opened
	Told      Told   // what they have told of the rows of this one

	Memory Memory // of this node

	refusing bool // it is held against a rule that refuses
}

// Past is a job that was consented to, and as of when it counts: now while it goes on, else its end.
type Past struct {
	Contract *contract.Contract
	At       time.Time
}

// job is the case's job.
func (c *Case) job() *contract.Job { return c.Contract.Job }

// fewestRows and mostRows bound the rows of a job, so that nobody gets around a rule. Jobs over clients do not say how
// many they have: it may be none, and any number. A prediction of single rows has at most as many as it answers, where
// that is more than its table has.
func (c *Case) fewestRows() int64 {
	if len(c.job().Servers) > 0 {
		return 0
	}
	return c.rows()
}

func (c *Case) mostRows() int64 {
	if len(c.job().Servers) > 0 {
		return math.MaxInt64
	}
	return max(c.rows(), int64(c.job().Requests))
}

// rows returns the rows that parties bring.
func (c *Case) rows() int64 {
	most := 0
	for i := range c.Contract.Parties {
		most = max(most, c.Contract.Parties[i].Rows)
	}
	return int64(most)
}

// egress returns the payload bytes that the contract lets this party send in one session.
func (c *Case) egress() int64 {
	self := c.job().Index(c.Self)
	lines, err := c.Contract.Egress(self)
	inShards, errShards := c.Contract.ShardEgress(self)
	if err != nil || errShards != nil {
		return math.MaxInt64 // never small enough for a rule
	}
	var sum int64
	lines = append(lines, inShards...)
	for i := range lines {
		sum = plus(sum, lines[i].MaxBytes)
	}
	return sum
}

// scoresPerRow returns how often one row may be scored with the job's model. Of a sealed one that is what the job says,
// which all parties hold against what was scored before. Of another it is by this job and those before it: once by a
// prediction of all rows, and by one with requests as often as it answers.
func (c *Case) scoresPerRow() int64 {
	if c.job().Privacy == keys.PrivacySealed {
		return int64(c.job().TimesPerRow())
	}
	sum := scoresOf(c.job())
	for _, past := range c.Consented {
		if j := past.Contract.Job; j.Task == contract.TaskPredict && j.Model == c.job().Model {
			sum = plus(sum, scoresOf(j))
		}
	}
	return sum
}

// scoresOf returns how often a prediction may score one row.
func scoresOf(j *contract.Job) int64 { return int64(max(1, j.Requests)) }

// Verdict is what a policy says of a job.
type Verdict string

// The verdicts.
const (
	Ask    Verdict = "ask" // a person decides
	Accept Verdict = "accept"
	Refuse Verdict = "refuse"
)

// Judgement is a verdict with its reasons.
type Judgement struct {
	Verdict Verdict  `json:"verdict"`
	Rule    string   `json:"rule,omitempty"` // which one decided, such as "accept rule 2"
	Reasons []Reason `json:"reasons"`        // one for each rule, in the order in which they are looked at
}

// Reason says of one rule whether it fits a job, and if not, the first thing that does not.
type Reason struct {
	Rule string `json:"rule"`
	Fits bool   `json:"fits"`
	Key  string `json:"key,omitempty"`
	Job  string `json:"job,omitempty"`  // the job's value
	Want string `json:"want,omitempty"` // the rule's
}

// Judge holds a job against all rules. The first that fits decides, rules that refuse before those that accept.
func (p *Policy) Judge(c *Case) Judgement {
	judged := Judgement{Verdict: Ask}
	for _, n := range p.rules() {
		reason := n.judge(c)
		judged.Reasons = append(judged.Reasons, reason)
		if !reason.Fits || judged.Verdict != Ask {
			continue
		}
		judged.Rule, judged.Verdict = n.name, Refuse
		if n.accept {
			judged.Verdict = Accept
		}
	}
	return judged
}

// judge holds a job against one rule. A rule that accepts does nothing while it names somebody whom the charter does
// not know; one that refuses goes on to refuse.
func (n *numbered) judge(c *Case) Reason {
	reason := Reason{Rule: n.name}
	if n.rule.isEmpty() {
		reason.Key, reason.Job, reason.Want = "no key", "any", "none: the rule is empty"
		return reason
	}
	if name, key := n.rule.stranger(c.Charter); n.accept && name != "" {
		reason.Key, reason.Job, reason.Want = key, "any", fmt.Sprintf("none: %q is no member of the charter", clip(name))
		return reason
	}
	held := *c
	held.refusing = !n.accept
	c = &held
	for _, k := range ruleKeys {
		ok, job, want := true, "", ""
		switch {
		case k.set(n.rule):
			ok, job, want = k.fits(n.rule, c)
		case n.accept && k.standard != nil:
			ok, job, want = k.standard(c)
		}
		if !ok {
			reason.Key, reason.Job, reason.Want = k.name, job, want
			return reason
		}
	}
	reason.Fits = true
	return reason
}

// Why says why a person decides: what did not fit, rule by rule.
func (j *Judgement) Why() string {
	if len(j.Reasons) == 0 {
		return "no policy accepts it: it waits for hanse approve"
	}
	var parts []string
	for _, r := range j.Reasons {
		if strings.HasPrefix(r.Rule, "accept") {
			parts = append(parts, r.String())
		}
	}
	return "no rule of the policy accepts it: " + strings.Join(parts, "; ")
}

// String says what of a job did not fit the rule.
func (r *Reason) String() string {
	if r.Fits {
		return r.Rule + " fits"
	}
	return fmt.Sprintf("%s does not fit: %s: the job has %s, the rule wants %s", r.Rule, r.Key, r.Job, r.Want)
}
