package audit

import (
	"slices"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/protocol"
)

// algorithmOFMSFT is how jobs name the algorithm whose servers ask their clients.
const algorithmOFMSFT = "ofmsft"

// questionTurns are the question that the servers of a job ask each of their clients, and its answer. A question
// has a number of its own among those of the sums.
func questionTurns(j *protocol.Job) []turn {
	if j.Algorithm != algorithmOFMSFT {
		return nil
	}
	return []turn{
		{ofmsft.KindRound, false, keyKind},
		{ofmsft.KindChoice, true, ofmsft.KindRound},
	}
}

// isQuestion reports whether messages of a kind ask.
func isQuestion(kind string) bool { return kind == ofmsft.KindRound }

// answerKinds finds how long the contract lets answers to the party's questions, or of the party, be.
func (s *served) answerKinds(c *protocol.Contract) {
	server := c.Parties[c.Job.ServerOf(s.self)].Name
	for i := range c.Operations {
		o := &c.Operations[i]
		is := func(t turn) bool { return t.up && t.kind == o.Kind }
		if o.Root == server && o.Count > 0 && slices.ContainsFunc(questionTurns(c.Job), is) {
			s.answers[s.rules.byKind[o.Kind]] = uint64(o.Bytes / o.Count)
		}
	}
}
