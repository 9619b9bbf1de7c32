package psi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi/okvs"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// Limits of an intersection.
const (
	MaxIDs    = 1 << 24 // of one party and pass
	MaxPasses = 8
)

// None stands for a helper where there is none.
const None = -1

// Sizes on the wire, in bytes.
const (
	hashSize  = 32
	seedSize  = 16 // an AES key
	wordSize  = 16 // a value of a store, a doubled point, a tag, an entry of the list
	sizeSize  = 8
	placeSize = 4
)

// Spec is what all parties agree on.
type Spec struct {
	Counts  [][]int // by party and pass: IDs of its list; a helper without rows has none
	Asker   int     // parties by index
	Keeper  int
	Helper  int // None in mode dh
	MinRows int // fewer common rows than this do not open; they count over the passes up to the one that opens
	// Buckets is in how many buckets the stores of a list are made, and in how many pieces lists travel, so that no party
	// holds more of them at a time; 0 stands for 1.
	Buckets int
}

// Passes returns how often rows are compared, each time by another key.
func (s *Spec) Passes() int { return len(s.Counts[s.Asker]) }

// Check refuses what cannot be run.
func (s *Spec) Check() error {
	q := len(s.Counts)
	in := func(i int) bool { return 0 <= i && i < q }
	switch {
	case q < 2:
		return fmt.Errorf("%d parties, want at least 2", q)
	case !in(s.Asker) || !in(s.Keeper) || s.Asker == s.Keeper:
		return fmt.Errorf("asker is party %d and keeper party %d, want two different ones of %d", s.Asker, s.Keeper, q)
	case s.Helper != None && (!in(s.Helper) || s.Helper == s.Asker || s.Helper == s.Keeper):
		return fmt.Errorf("helper is party %d, want one that is neither asker nor keeper", s.Helper)
	case s.Passes() < 1 || s.Passes() > MaxPasses:
		return fmt.Errorf("%d keys, want 1 to %d", s.Passes(), MaxPasses)
	case s.MinRows < 0:
		return fmt.Errorf("min_rows is %d, want 0 or more", s.MinRows)
	case s.Buckets < 0 || s.Buckets > MaxBuckets:
		return fmt.Errorf("%d buckets, want 1 to %d", s.Buckets, MaxBuckets)
	}
	for i, counts := range s.Counts {
		if len(counts) == 0 && i == s.Helper {
			continue
		}
		if len(counts) != s.Passes() {
			return fmt.Errorf("party %d has lists of %d keys, the asker of %d", i, len(counts), s.Passes())
		}
		for _, n := range counts {
			if n < 0 || n > MaxIDs {
				return fmt.Errorf("party %d has %d ids, want 0 to %d", i, n, MaxIDs)
			}
		}
	}
	if i := s.Short(); i >= 0 {
		return fmt.Errorf("party %d has %d ids under the first key and min_rows is %d: no more than these can be common",
			i, s.Counts[i][0], s.MinRows)
	}
	return nil
}

// Short returns a party that has fewer IDs under the first key than may open, -1 where none has: all that could come of
// its list is an answer about the few that are in it.
func (s *Spec) Short() int {
	return slices.IndexFunc(s.Counts, func(counts []int) bool { return len(counts) > 0 && counts[0] < s.MinRows })
}

// holds reports whether a party has rows.
func (s *Spec) holds(i int) bool { return len(s.Counts[i]) > 0 }

// outsider reports whether a party has rows and is neither asker nor keeper.
func (s *Spec) outsider(i int) bool { return i != s.Asker && i != s.Keeper && s.holds(i) }

// outside lists the parties with rows that are neither asker nor keeper.
func (s *Spec) outside() []int {
	var list []int
	for i := range s.Counts {
		if s.outsider(i) {
			list = append(list, i)
		}
	}
	return list
}

// pieces is in how many pieces a list travels: as many as there are buckets.
func (s *Spec) pieces() int { return max(1, s.Buckets) }

// piece is where one of the pieces of a list of n begins, and where it ends. Their lengths differ by one at most.
func (s *Spec) piece(n, at int) (lo, hi int) { return n * at / s.pieces(), n * (at + 1) / s.pieces() }

// pieceSize is the bytes of a piece of a list of n words of so many bytes.
func (s *Spec) pieceSize(n, at, word int) int {
	lo, hi := s.piece(n, at)
	return (hi - lo) * word
}

// Most is the most common rows that a pass can have.
func (s *Spec) Most(pass int) int {
	least := MaxIDs
	for _, counts := range s.Counts {
		if len(counts) > 0 {
			least = min(least, counts[pass])
		}
	}
	return least
}

// step is a place in the order of a pass's messages.
type step int

// The steps of a pass. Commitment and coin come once, before the first.
const (
	stepCommitment step = iota
	stepCoin
	stepSeed
	stepStore
	stepHalfKey
	stepTags
	stepPoints
	stepCommitted
	stepDoubledBack
	stepDoubled
	stepEnough
	stepSize
	stepOrder
	stepPlaces
	stepListPoint
	stepListProof
	stepListDigest
	stepList
	steps
)

// kinds are the messages of the steps on the wire and in contracts.
func (s step) kind() string {
	return [steps]string{
		"coin hash", "coin", "seed", "store", "half key", "tags", "points", "doubled hash", "doubled back", "doubled",
		"enough", "common size", "order", "places", "list point", "list proof", "list digest",
		"common rows",
	}[s]
}

// told is how many bytes those who count tell each other party in a step.
func (s step) told() int {
	if s == stepEnough {
		return 1
	}
	return sizeSize
}

// of returns what a message of a step is called in a pass, counted from 0.
func (s step) of(pass int) string {
	if pass == 0 {
		return s.kind()
	}
	return s.kind() + " " + strconv.Itoa(pass+1)
}

// stepOf returns the step and the pass of a kind of message.
func stepOf(kind string) (at step, pass int, ok bool) {
	for at = range steps {
		rest, found := strings.CutPrefix(kind, at.kind())
		if found && rest == "" {
			return at, 0, true
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(rest, " ")); found && err == nil && at.of(n-1) == kind {
			return at, n - 1, true
		}
	}
	return 0, 0, false
}

// Secret reports whether messages of a kind are never kept but for their digests: who later had those of asker and
// keeper in one hand could test ids with them.
func Secret(kind string) bool {
	at, _, ok := stepOf(kind)
	return ok && slices.Contains([]step{stepCoin, stepSeed, stepStore, stepHalfKey, stepOrder}, at)
}

// Words returns how many bytes a message of a kind has for each row, the pass that it is of, and whether its words are
// sorted. It returns 0 bytes for kinds that are not made of rows one by one, or are never kept.
func Words(kind string) (size, pass int, sorted bool) {
	at, pass, ok := stepOf(kind)
	switch {
	case !ok:
		return 0, 0, false
	case at == stepPoints:
		return point.Size, pass, false
	case at == stepTags || at == stepDoubledBack || at == stepDoubled:
		return wordSize, pass, false
	case at == stepList:
		return wordSize, pass, true
	}
	return 0, pass, false
}

// Meets reports whether words of a kind stand in another party's list as well: those of common rows do.
func Meets(kind string) bool {
	at, _, ok := stepOf(kind)
	return ok && slices.Contains([]step{stepTags, stepDoubled, stepDoubledBack}, at)
}

// Protection says in words what protects messages of a kind from whoever receives them; nothing for coins, votes and
// kinds that are none of an intersection.
func Protection(kind string) string {
	at, _, ok := stepOf(kind)
	if !ok {
		return ""
	}
	switch at {
	case stepCommitment, stepCoin, stepEnough:
		return ""
	case stepSeed, stepHalfKey:
		return "a key of the two"
	case stepStore:
		return "noise to whoever lacks the seed"
	case stepTags:
		return "codes under a key of asker and keeper"
	case stepPoints, stepDoubledBack, stepDoubled:
		return "under a secret scalar: noise to whoever lacks it"
	case stepCommitted, stepListPoint, stepListProof, stepListDigest:
		return "says whether lists are the same, and nothing else"
	}
	return "told by design"
}

// Message is one vector from one party to another, or with To All from each to each other.
type Message struct {
	Kind     string
	Stage    int64
	Class    contract.Class
	From, To int
	Size     int // bytes, in the contract at most
	Piece    int // which one it is of those of its kind from the one to the other, which follow each other
}

// Counts reports whether a message tells how many rows are common, as 8 bytes, big-endian.
func (m *Message) Counts() bool { at, _, ok := stepOf(m.Kind); return ok && at == stepSize }

// Votes reports whether a message says if its sender, who has counted, found as many common rows as may open: 1, or 0.
func (m *Message) Votes() bool { at, _, ok := stepOf(m.Kind); return ok && at == stepEnough }

// Opens reports whether a message comes only when all who count have found enough: it, or what follows it, tells how
// many rows are common, and which.
func (m *Message) Opens() bool { at, _, ok := stepOf(m.Kind); return ok && at > stepEnough }

// All stands for both ends of what everybody sends everybody.
const All = -1

// message describes what one party sends another in a pass.
func (s *Spec) message(at step, pass, from, to int, size int) Message {
	class := contract.ClassControl
	switch at {
	case stepStore, stepTags, stepPoints, stepDoubled, stepDoubledBack:
		class = contract.ClassMasked
	case stepSize, stepPlaces, stepList, stepOrder:
		class = contract.ClassOpening
	}
	return Message{Kind: at.of(pass), Stage: int64(1 + pass*int(steps) + int(at)), Class: class, From: from, To: to,
		Size: size}
}

// Messages lists what all parties send in a pass, in order, each as long as it can be.
func (s *Spec) Messages(pass int) []Message {
	var list []Message
	add := func(at step, from, to, size int) { list = append(list, s.message(at, pass, from, to, size)) }
	words := func(at step, from, to, piece, n, word int) {
		add(at, from, to, s.pieceSize(n, piece, word))
		list[len(list)-1].Piece = piece
	}
	both := func(at step, size int) {
		add(at, s.Asker, s.Keeper, size)
		add(at, s.Keeper, s.Asker, size)
	}
	if pass == 0 {
		add(stepCommitment, All, All, hashSize)
		add(stepCoin, All, All, hashSize)
	}
	for _, i := range s.outside() {
		add(stepSeed, i, s.Keeper, seedSize)
		for n := range s.pieces() {
			add(stepStore, i, s.Asker, s.storeSize(i, pass))
			list[len(list)-1].Piece = n
		}
	}
	most := s.Most(pass)
	a, k := s.Counts[s.Asker][pass], s.Counts[s.Keeper][pass]
	if s.Helper == None {
		for n := range s.pieces() {
			words(stepPoints, s.Asker, s.Keeper, n, a, point.Size)
			words(stepPoints, s.Keeper, s.Asker, n, k, point.Size)
		}
		add(stepCommitted, s.Asker, s.Keeper, hashSize)
		for n := range s.pieces() {
			words(stepDoubledBack, s.Keeper, s.Asker, n, a, wordSize)
		}
		for n := range s.pieces() {
			words(stepDoubled, s.Asker, s.Keeper, n, k, wordSize)
		}
	} else {
		both(stepHalfKey, hashSize)
		for n := range s.pieces() {
			words(stepTags, s.Asker, s.Helper, n, a+dummies, wordSize)
		}
		for n := range s.pieces() {
			words(stepTags, s.Keeper, s.Helper, n, k+dummies, wordSize)
		}
	}
	for _, at := range []step{stepEnough, stepSize} {
		for _, from := range s.counters() {
			for to := range s.Counts {
				if to != from {
					add(at, from, to, at.told())
				}
			}
		}
	}
	if s.Helper == None {
		both(stepOrder, hashSize)
	} else {
		add(stepPlaces, s.Helper, s.Asker, (most+dummies)*placeSize)
		add(stepPlaces, s.Helper, s.Keeper, (most+dummies)*placeSize)
	}
	both(stepListPoint, point.Size)
	both(stepListProof, hashSize)
	for _, i := range s.outside() {
		add(stepListDigest, s.Keeper, i, hashSize)
		add(stepList, s.Asker, i, most*wordSize)
	}
	return list
}

// SizeOf is how long a message is in a pass of so many common rows, in bytes.
func (s *Spec) SizeOf(m Message, common int) int {
	switch at, _, _ := stepOf(m.Kind); at {
	case stepPlaces:
		return (common + dummies) * placeSize
	case stepList:
		return common * wordSize
	}
	return m.Size
}

// Learns reports whether a party finds out how many rows are common also where they are too few to open.
func (s *Spec) Learns(party int) bool { return slices.Contains(s.counters(), party) }

// counters are the parties that know how many rows are common before all others.
func (s *Spec) counters() []int {
	if s.Helper == None {
		return []int{s.Asker, s.Keeper}
	}
	return []int{s.Helper}
}

// storeSize is how long a party's store of a bucket is in a pass: which of the seeds it is for, and its slots. All
// buckets have the same, however many IDs are in them.
func (s *Spec) storeSize(party, pass int) int {
	return 1 + wordSize*okvs.Length(Capacity(s.Counts[party][pass], s.pieces()))
}

// The kinds of what opens.
const (
	OpensSize = "common size"
	OpensRows = "common rows"
)

// Disclose lists what the parties learn, and what they send; names are theirs.
func (s *Spec) Disclose(names []string) (openings []contract.Opening, operations []contract.Operation) {
	most := 0
	for pass := range s.Passes() {
		most += s.Most(pass)
		type vector struct {
			kind     string
			from, to int
		}
		at := make(map[vector]int) // pieces of one are one operation
		for _, m := range s.Messages(pass) {
			v := vector{m.Kind, m.From, m.To}
			if i, ok := at[v]; ok {
				operations[i].Count++
				operations[i].Bytes += int64(m.Size)
				continue
			}
			o := contract.Operation{
				Kind: m.Kind, Stage: m.Stage, Class: m.Class.String(), Encoding: contract.Bytes.String(), Count: 1,
				Bytes: int64(m.Size), Collective: contract.CollectiveExchange,
			}
			if m.From != All {
				o.Collective, o.Root, o.To = contract.CollectiveDirect, names[m.From], names[m.To]
			}
			at[v] = len(operations)
			operations = append(operations, o)
		}
	}
	least := fmt.Sprintf("how many rows all parties have, where they are at least %d; else only that they are too few",
		s.MinRows)
	for i, name := range names {
		meaning := least
		if s.Learns(i) {
			meaning = fmt.Sprintf("how many rows all parties have; where they are fewer than %d, its program shows, keeps and "+
				"tells nobody the number", s.MinRows)
		}
		openings = append(openings, contract.Opening{To: name, Kind: OpensSize, Count: int64(s.Passes()),
			Meaning: meaning})
		if !s.holds(i) {
			continue
		}
		openings = append(openings, contract.Opening{To: name, Kind: OpensRows, Count: int64(most),
			Meaning: "which of its rows all parties have, and nothing of anybody's other rows"})
	}
	return openings, operations
}
