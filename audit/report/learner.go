package report

import (
	"slices"
	"strings"

	"github.com/hanse-project/hanse/audit"
)

// learner is what one party learned, and what was tried with its view.
type learner struct {
	Name    string
	Role    string
	Member  bool      // it is a party, not all transcripts together
	Learned []finding // openings
	Found   []finding // attacks that are not clean
	Quiet   []string  // the attacks that are
	Untried []string  // the attacks that were not tried; why stands among what was not looked at
}

// gathering collects learners by name.
type gathering struct {
	list  []learner
	index map[string]int
}

// at returns the learner of a name, a new one if need be.
func (g *gathering) at(name, role string) *learner {
	i, known := g.index[name]
	if !known {
		i = len(g.list)
		g.index[name] = i
		g.list = append(g.list, learner{Name: name, Role: role})
	}
	return &g.list[i]
}

// learners returns the parties of the job, then whoever else the ledger or the attacks name.
func learners(r *audit.Report) []learner {
	g := gathering{index: map[string]int{}}
	for _, p := range r.Job.Parties {
		g.at(p.Name, roleOf(p)).Member = true
	}
	for _, l := range r.Ledger {
		p := g.at(l.Party, "")
		detail := strings.TrimSpace(sentence(plain(l)) + " " + sentence(system(l)))
		p.Learned = append(p.Learned, finding{l.Verdict, openings(l), detail})
	}
	for _, a := range r.Attacks {
		p := g.at(a.Party, "")
		switch name := tried(a); {
		case a.Verdict == audit.Skipped:
			if !slices.Contains(p.Untried, name) && len(p.Untried) < maxFindings {
				p.Untried = append(p.Untried, name)
			}
		case a.Verdict != audit.Clean:
			p.Found = append(p.Found, finding{a.Verdict, "Attack: " + name, sentence(a.Detail)})
		case !slices.Contains(p.Quiet, name) && len(p.Quiet) < maxFindings:
			p.Quiet = append(p.Quiet, name)
		}
	}
	for i := range g.list {
		p := &g.list[i]
		p.Learned, p.Found = shorten(p.Learned), shorten(p.Found)
		p.Name = named(p.Name, "All transcripts together")
	}
	return g.list[:min(len(g.list), maxRows)]
}

// openings says how many values of a kind were opened.
func openings(l audit.Learned) string {
	switch {
	case l.Unread:
		return "May learn " + values(l, l.Declared) + ", by the contract; its transcript was not read"
	case l.Declared == l.Count:
		return "Learned " + values(l, l.Count) + ", as many as the contract allows"
	}
	return "Learned " + values(l, l.Count) + ", where the contract allows " + count(l.Declared)
}

// tried names an attack with what it looked at.
func tried(a audit.Attack) string {
	if a.View == "" {
		return named(a.Name, "attack")
	}
	return named(a.Name, "attack") + " (" + a.View + ")"
}
