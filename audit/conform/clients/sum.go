package clients

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// servedSum is the sum that a server adds up, or the question that it asks.
type servedSum struct {
	number   uint64 // 0: none is under way
	question bool
	begun    []bool // by party: who was asked
	vectors  []bool // whose vectors came in time, by way of no other client
	told     []bool // who was told to be among the survivors
	closed   bool   // vectors come too late
	size     uint64 // of a vector on its way
	answers  int    // clients that helped to open it: by shares
	switches int    // clients that were asked to decrypt
	total    direction
	opened   bool
}

func newServedSum(parties int) servedSum {
	return servedSum{begun: make([]bool, parties), vectors: make([]bool, parties), told: make([]bool, parties)}
}

func (s *servedSum) begin(number uint64) {
	clear(s.begun)
	clear(s.vectors)
	clear(s.told)
	*s = servedSum{number: number, begun: s.begun, vectors: s.vectors, told: s.told}
}

// sent notes what a client was told.
func (s *servedSum) sent(client int, t turn) {
	switch {
	case t.kind == cohort.KindBegin || t.asks:
		s.begun[client] = true
	case t.kind == cohort.KindSurvivors:
		s.told[client], s.closed = true, true
	case t.kind == cohort.KindSwitch:
		s.switches++
	}
}

// received notes what a client has said, to its end.
func (s *servedSum) received(r *transcript.Record, kind string) string {
	switch {
	case kind == cohort.KindShares || kind == cohort.KindOpening:
		s.answers++
	case kind != vectorTurn:
	case s.size != 0 && r.Size != s.size:
		return fmt.Sprintf("a vector of %d bytes, others in sum %d have %d", r.Size, s.number, s.size)
	default:
		s.size, s.vectors[r.Peer] = r.Size, !s.closed
	}
	return ""
}

// trues counts the parties of a set.
func trues(set []bool) int {
	n := 0
	for _, is := range set {
		if is {
			n++
		}
	}
	return n
}

// contributors returns how many clients' vectors are in the total, at most, as far as the server's links show
// it: through a tree or ring vectors come added up, and the survivors that were told are all there is to count.
func (s *servedSum) contributors(star bool) int {
	n := trues(s.told)
	if star {
		n = min(n, trues(s.vectors))
	}
	return n
}

// open takes a chunk of a total that this party learned.
func (s *Conformer) open(r *transcript.Record, rule *rules.Rule) {
	v := s.vectors[rule]
	if v == nil || s.server() >= 0 || v.declared == 0 {
		s.found.Leak(finding.CheckOpenings, "record %d: operation %d (%s) opened to %s, to whom the contract "+
			"opens no such total", r.Number, r.Operation, r.Kind, s.names[s.self])
		return
	}
	fault := s.misopened(r, v)
	if fault == "" {
		var first, last bool
		if first, last, fault = s.sum.total.take(r, true); first && fault == "" {
			s.learn(r, rule, v)
		}
		s.sum.opened = s.sum.opened || last
	}
	if fault != "" {
		s.found.Fail(finding.CheckOperations, "record %d: operation %d (%s) opened: %s", r.Number, r.Operation, r.Kind, fault)
	}
}

// misopened says why a total cannot open so, or nothing.
func (s *Conformer) misopened(r *transcript.Record, v *vectorKind) string {
	switch {
	case r.Class != contract.ClassOpening || r.Encoding != contract.Fixed64:
		return fmt.Sprintf("it is %s %s, want %s %s", r.Class, r.Encoding, contract.ClassOpening, contract.Fixed64)
	case r.Operation != s.sum.number || !s.sum.closed:
		return fmt.Sprintf("the vectors of sum %d have not all come", r.Operation)
	case s.sum.opened:
		return "it opens again"
	case v.total > 0 && r.Size > v.total || r.Size == 0 || r.Size%evidence.TotalWord != 0:
		return fmt.Sprintf("a total of %d bytes, the contract says %d at most", r.Size, v.total)
	case v.front > 0 && s.sum.size > 0 && r.Size != s.sum.size-v.front:
		return fmt.Sprintf("a total of %d bytes, the vectors have %d", r.Size, s.sum.size-v.front)
	case v.class == contract.ClassMasked && s.sum.answers == 0:
		return "no shares have come to take the masks away"
	case v.class == contract.ClassHE && (s.sum.switches == 0 || s.sum.answers < s.sum.switches):
		return fmt.Sprintf("%d of %d decryption shares have come", s.sum.answers, s.sum.switches)
	}
	return ""
}

// learn counts a total that opens, and those whose vectors are in it.
func (s *Conformer) learn(r *transcript.Record, rule *rules.Rule, v *vectorKind) {
	n := s.sum.contributors(s.star)
	s.tally.opened(n)
	if v.opened += r.Size; v.opened > v.declared {
		s.found.Leak(finding.CheckOpenings, "record %d: totals of %s have opened %d words in session %d, the contract has %d",
			r.Number, r.Kind, v.opened/evidence.TotalWord, s.session, v.declared/evidence.TotalWord)
	}
	if l := &rule.Learnt; l.Contributors == 0 || n < l.Contributors {
		l.Contributors = n
	}
	if !evidence.Protected(v.class) || n >= s.least {
		return
	}
	s.found.Leak(finding.CheckContributors,
		"record %d: operation %d (%s) opened with the vectors of %s in it, at least %d are wanted",
		r.Number, r.Operation, r.Kind, wording.Count(n, "client"), s.least)
}

// servedTally counts the sums and questions of a server, in all sessions.
type servedTally struct {
	sums      uint64
	sizes     []uint64 // opened sums, by how many clients' vectors they have
	absent    []uint64 // by client: sums that it was asked for and that went on without it
	questions uint64
	answers   uint64 // whole, and in time
	silent    uint64 // clients that were asked, of all questions, and gave no answer in time
}

func newServedTally(parties int) servedTally {
	return servedTally{sizes: make([]uint64, parties+1), absent: make([]uint64, parties)}
}

// opened counts a sum that opened.
func (t *servedTally) opened(contributors int) { t.sizes[contributors]++ }

// count counts the sum or question that ends, and who was lost in it.
func (s *Conformer) count() {
	switch {
	case s.sum.number == 0:
		return
	case s.sum.question:
		s.tally.questions++
		for client, asked := range s.sum.begun {
			switch {
			case asked && s.owes(client):
				s.tally.silent++
			case asked:
				s.tally.answers++
			}
		}
		return
	}
	s.tally.sums++
	for client, asked := range s.sum.begun {
		if asked && (s.sum.closed && !s.sum.told[client] || s.owes(client)) {
			s.tally.absent[client]++
		}
	}
}

// owes reports whether a client has not answered the last that it was told in the sum under way. Where its
// vector goes through other clients, that cannot be told of a vector.
func (s *Conformer) owes(client int) bool {
	t := s.links[client].of(s.sum.number)
	if t == nil {
		return false
	}
	for i, answer := range s.turns {
		// without a commitment a deposit is owed
		if !answer.up || answer.kind == vectorTurn && !s.star || answer.kind == cohort.KindCommit {
			continue
		}
		if asked := s.at(s.before(t, i)); asked >= 0 && t.begun>>asked&1 == 1 && t.whole>>i&1 == 0 {
			return true
		}
	}
	return false
}

// Federation returns what the report says of the sums, nil at a client.
func (s *Conformer) Federation() *finding.Federation {
	if s.server() >= 0 {
		return nil
	}
	t := &s.tally
	f := &finding.Federation{Server: s.names[s.self], Sums: t.sums, Questions: t.questions,
		Answers: t.answers, Silent: t.silent}
	for peer, kin := range s.kin {
		if kin != ownClient {
			continue
		}
		f.Clients++
		if n := s.tally.absent[peer]; n > 0 {
			f.Dropouts = append(f.Dropouts, finding.Dropout{Client: s.names[peer], Sums: n})
		}
	}
	slices.SortStableFunc(f.Dropouts, func(a, b finding.Dropout) int { return cmp.Compare(b.Sums, a.Sums) })
	f.Opened, f.Fewest, f.Median = s.tally.spread()
	f.Counted = s.Evidence()
	f.Mixtures, f.MixturesOpened, f.MixturesFewest = s.mixtures()
	return f
}

// Evidence says what contributors are counted by.
func (s *Conformer) Evidence() string {
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

// Lines leaves out of a budget what can have no place: messages to parties without a link, of which none was sent.
func (s *Conformer) Lines(all []finding.Egress) []finding.Egress {
	return slices.DeleteFunc(all, func(e finding.Egress) bool {
		return e.Frames == 0 && (e.Kind == contract.KindSessionKey || s.kin[slices.Index(s.names, e.To)] == unrelated)
	})
}
