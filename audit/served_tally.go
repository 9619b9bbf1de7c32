package audit

import (
	"cmp"
	"slices"

	"github.com/hanse-project/hanse/secagg/cohort"
)

// servedTally counts the sums and questions of a server, in all sessions.
type servedTally struct {
	sums      uint64
	sizes     []uint64 // opened sums, by how many clients' vectors they have
	absent    []uint64 // by client: sums that it was asked for and that went on without it
	questions uint64
	answers   uint64 // whole, and in time
	silent    uint64 // clients that were asked, of all questions, and gave no answer in time
}

// newServedTally has counted none.
func newServedTally(parties int) servedTally {
	return servedTally{sizes: make([]uint64, parties+1), absent: make([]uint64, parties)}
}

// opened counts a sum that opened.
func (t *servedTally) opened(contributors int) { t.sizes[contributors]++ }

// count counts the sum or question that ends, and who was lost in it.
func (s *served) count() {
	switch {
	case s.sum.number == 0:
		return
	case s.sum.question:
		s.countAnswers()
		return
	}
	s.tally.sums++
	for client, asked := range s.sum.begun {
		if asked && (s.sum.closed && !s.sum.told[client] || s.owes(client)) {
			s.tally.absent[client]++
		}
	}
}

// countAnswers counts a question, and who answered it.
func (s *served) countAnswers() {
	s.tally.questions++
	for client, asked := range s.sum.begun {
		switch {
		case asked && s.owes(client):
			s.tally.silent++
		case asked:
			s.tally.answers++
		}
	}
}

// owes reports whether a client has not answered the last that it was told in the sum under way. Where its
// vector goes through other clients, that cannot be told of a vector.
func (s *served) owes(client int) bool {
	t := s.links[client].of(s.sum.number)
	if t == nil {
		return false
	}
	for i, answer := range s.turns {
		if !answer.up || answer.kind == vectorTurn && !s.star || answer.kind == cohort.KindCommit { // without a commitment a deposit is owed
			continue
		}
		if asked := s.at(s.before(t, i)); asked >= 0 && t.begun>>asked&1 == 1 && t.whole>>i&1 == 0 {
			return true
		}
	}
	return false
}

// report returns what the report says of the sums, nil at a client.
func (s *served) report() *Federation {
	if s.server() >= 0 {
		return nil
	}
	t := &s.tally
	f := &Federation{Server: s.names[s.self], Sums: t.sums, Questions: t.questions, Answers: t.answers, Silent: t.silent}
	for peer, kin := range s.kin {
		if kin != ownClient {
			continue
		}
		f.Clients++
		if n := s.tally.absent[peer]; n > 0 {
			f.Dropouts = append(f.Dropouts, Dropout{Client: s.names[peer], Sums: n})
		}
	}
	slices.SortStableFunc(f.Dropouts, func(a, b Dropout) int { return cmp.Compare(b.Sums, a.Sums) })
	f.Opened, f.Fewest, f.Median = s.tally.spread()
	f.Counted = s.evidence()
	f.Mixtures, f.MixturesOpened, f.MixturesFewest = s.mixtures()
	return f
}

// evidence says what contributors are counted by.
func (s *served) evidence() string {
	if s.star {
		return "counted by the vectors that came"
	}
	return "counted by the survivors that were told, since vectors come added up"
}

// spread returns how many sums opened, and the smallest and the median number of contributors.
func (t *servedTally) spread() (opened uint64, fewest, median int) {
	for _, sums := range t.sizes {
		opened += sums
	}
	var before uint64
	for n, sums := range t.sizes {
		if sums > 0 && before == 0 {
			fewest = n
		}
		if before += sums; before > 0 && 2*before >= opened {
			return opened, fewest, n
		}
	}
	return opened, fewest, median
}
