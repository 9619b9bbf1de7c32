package audit

import (
	"context"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// Figures of the alignments here: rows of each party, those that all have, and the fewest that may open.
const alignedRows, alignedCommon, alignedLeast = 40, 20, 10

// said is a message of an alignment as it is sent.
type said struct {
	psi.Message
	data []byte
}

// conspiracy are parties that leave together what an alignment would leave, but for what they change: each message is
// of the contract's kind and size, with bytes that mean nothing.
type conspiracy struct {
	*testNetwork
	spec   *psi.Spec
	change func(session uint32, list []said) []said // nil: nothing
	broken uint32                                   // a session that ends after the points
}

// newConspiracy agrees on an alignment of so many parties in so many buckets, the first of which asks and the second of
// which keeps.
func newConspiracy(t *testing.T, q, buckets int) *conspiracy {
	t.Helper()
	l := newTestNetwork(t, q)
	l.unbudgeted = true
	job := &contract.Job{Format: "hanse-job-v1", Name: "customers", Algorithm: contract.PSI, Task: contract.TaskAlign,
		Privacy: keys.PrivacySealed, Table: "train", Parties: l.names, Topology: l.topology.String(),
		Charter: l.charter.Digest().String()}
	params := psi.Params{Mode: psi.ModeDH, Asker: l.names[0], Keeper: l.names[1], MinRows: alignedLeast, KeepDays: 1,
		Buckets: buckets}
	mustDo(t, job.SetParameters(params))
	var facts []contract.Facts
	for i, m := range l.members {
		role := "passive"
		if i == 0 {
			role = "active"
		}
		facts = append(facts, contract.Facts{Name: m.Name, ID: m.ID, Role: role, Rows: alignedRows, IDs: []int{alignedRows},
			Commitment: keys.HashOf("a commitment").String()})
	}
	spec, err := psi.SpecOf(job, facts)
	mustDo(t, err)
	openings, operations := spec.Disclose(l.names)
	if l.contract, err = contract.NewContract(job, facts, openings,
		contract.SessionOperations(len(facts), operations)); err != nil {
		t.Fatal(err)
	}
	for _, k := range l.keys {
		l.contract.Sign(k)
	}
	return &conspiracy{testNetwork: l, spec: spec}
}

// messages are what an honest run of so many common rows would send.
func (c *conspiracy) messages(common int) []said {
	var list []said
	for _, m := range c.spec.Messages(0) {
		s := said{m, nil}
		size := c.spec.SizeOf(m, common)
		switch {
		case m.Counts():
			s.data = binary.BigEndian.AppendUint64(nil, uint64(common))
		case m.Votes():
			s.data = []byte{1}
		default:
			for at := 0; len(s.data) < size; at++ {
				h := keys.HashOf("noise", []byte(m.Kind), []byte{byte(m.From), byte(at), byte(m.Piece)})
				s.data = append(s.data, h[:]...)
			}
			s.data = s.data[:size]
		}
		list = append(list, s)
	}
	return list
}

// errLeft ends a session.
var errLeft = errors.New("left")

// align runs a session.
func (c *conspiracy) align() []error {
	list := c.messages(alignedCommon)
	if c.change != nil {
		list = c.change(c.session+1, list)
	}
	return c.run(func(ctx context.Context, i int, s *protocol.Session) error {
		for _, m := range list {
			if c.session == c.broken && m.Kind == "doubled hash" {
				return errLeft
			}
			if m.From == psi.All {
				if _, err := s.Exchange(ctx, m.Kind, m.data, len(m.data)); err != nil {
					return err
				}
				continue
			}
			if err := s.Pass(ctx, protocol.Direct{Kind: m.Kind, Class: m.Class, Encoding: contract.Bytes, From: m.From,
				To: m.To, Size: len(m.data),
				Load:  func(offset int, chunk []byte) error { copy(chunk, m.data[offset:]); return nil },
				Store: func(int, []byte) error { return nil },
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// audit audits all transcripts.
func (c *conspiracy) audit(ids []*evidence.IDs) *finding.Report {
	c.t.Helper()
	r, err := Run(c.t.Context(), &evidence.Input{Contract: c.contract, Charter: c.charter, Sources: c.sources(), IDs: ids,
		Workers: 1})
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// at finds a message.
func at(list []said, kind string, from int) int {
	return slices.IndexFunc(list, func(s said) bool { return s.Kind == kind && (s.From == from || s.From == psi.All) })
}

// piece finds a piece of a list.
func piece(list []said, kind string, from, piece int) int {
	return slices.IndexFunc(list, func(s said) bool { return s.Kind == kind && s.From == from && s.Piece == piece })
}

// TestAuditFindsWhatIsNoAlignment has all parties conspire, so that none of them refuses.
func TestAuditFindsWhatIsNoAlignment(t *testing.T) {
	for name, test := range map[string]struct {
		change func(session uint32, list []said) []said
		broken uint32
		says   string // empty: nothing is found
		leak   bool

		buckets int
	}{
		"honest": {},
		"a session that is resumed with the same bytes": {broken: 1},
		"a session that is resumed with other points": {broken: 1, says: "other bytes than the same message",
			change: func(session uint32, list []said) []said {
				list[at(list, "points", 0)].data[0] ^= byte(session)
				return list
			}},
		"a step is missing": {says: "was next", change: func(_ uint32, list []said) []said {
			return slices.Delete(list, at(list, "points", 1), at(list, "points", 1)+1)
		}},
		"the last step is missing": {says: "neither come nor gone", change: func(_ uint32, list []said) []said {
			return list[:len(list)-1]
		}},
		"points of one party twice": {says: "other bytes than the same message", change: func(_ uint32, list []said) []said {
			i := at(list, "points", 0)
			again := list[i]
			again.data = slices.Clone(again.data)
			again.data[0]++
			return slices.Insert(list, i+1, again)
		}},
		"a list that is longer": {says: "336 bytes, want 320", change: func(_ uint32, list []said) []said {
			i := at(list, "common rows", 0)
			list[i].data = append(list[i].data, make([]byte, 16)...)
			return list
		}},
		"another list to each party": {says: "another list of common rows", change: func(_ uint32, list []said) []said {
			i := slices.IndexFunc(list, func(s said) bool { return s.Kind == "common rows" && s.To == 3 })
			list[i].data[0] ^= 1
			return list
		}},
		"doubled points that are fewer": {says: "624 bytes, want 640", change: func(_ uint32, list []said) []said {
			i := at(list, "doubled", 0)
			list[i].data = list[i].data[16:]
			return list
		}},
		"the order before it is said that there are enough": {says: "was next", change: func(_ uint32, list []said) []said {
			i, j := at(list, "order", 0), at(list, "enough", 0)
			order := list[i]
			return slices.Insert(slices.Delete(list, i, i+1), j, order)
		}},
		"rows open, and a party that counts had found too few": {leak: true,
			says: "how many rows are common, and a party that counts had said that they are too few",
			change: func(_ uint32, list []said) []said {
				list[at(list, "enough", 0)].data = []byte{0}
				return list
			}},
		"rows open below min_rows": {says: "min_rows is 10", leak: true, change: func(_ uint32, list []said) []said {
			for i := range list {
				if list[i].Counts() {
					list[i].data[7] = 9
				}
			}
			return list
		}},
		"honest, in buckets":                      {buckets: 3},
		"honest, in more buckets than rows":       {buckets: 2 * alignedRows},
		"a session that is resumed in the middle": {broken: 1, buckets: 3},
		"a session that is resumed with another piece": {broken: 1, buckets: 3, says: "other bytes than the same message",
			change: func(session uint32, list []said) []said {
				list[piece(list, "points", 0, 2)].data[0] ^= byte(session)
				return list
			}},
		"a bucket is missing": {buckets: 3, says: "was next", change: func(_ uint32, list []said) []said {
			return slices.Delete(list, piece(list, "store", 2, 1), piece(list, "store", 2, 1)+1)
		}},
		"a bucket of another size": {buckets: 3, says: "bytes, want", change: func(_ uint32, list []said) []said {
			i := piece(list, "store", 2, 1)
			list[i].data = list[i].data[:len(list[i].data)-11*16]
			return list
		}},
		"a bucket more": {buckets: 3, says: "was next", change: func(_ uint32, list []said) []said {
			i := piece(list, "store", 2, 2)
			return slices.Insert(list, i+1, list[i])
		}},
		"a longer piece before a shorter one": {buckets: 3, says: "bytes, want", change: func(_ uint32, list []said) []said {
			i, j := piece(list, "doubled", 0, 0), piece(list, "doubled", 0, 2)
			list[i].data, list[j].data = list[j].data, list[i].data
			return list
		}},
		"more common rows than a party has": {says: "tells no number", change: func(_ uint32, list []said) []said {
			list[at(list, "common size", 0)].data[7] = alignedRows + 1
			return list
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConspiracy(t, 4, test.buckets)
			c.change, c.broken = test.change, test.broken
			if errs := c.align(); test.broken == 1 {
				for _, err := range errs {
					if !errors.Is(err, errLeft) {
						t.Fatal(err)
					}
				}
				errs = c.align()
				must(t, errs)
			} else {
				must(t, errs)
			}
			found, leak := "", false
			for _, check := range c.audit(nil).Checks {
				switch {
				case check.Name == finding.CheckAlignment && check.Verdict != finding.Passed:
					found, leak = found+check.Detail, leak || check.Verdict == finding.Leak
				case test.says == "" && check.Verdict != finding.Passed:
					t.Errorf("%s of %s: %s: %s", check.Name, check.Party, check.Verdict, check.Detail)
				}
			}
			if (test.says == "") != (found == "") || !strings.Contains(found, test.says) || leak != test.leak {
				t.Errorf("found %q, leak %t, want %q and %t", found, leak, test.says, test.leak)
			}
		})
	}
}

// TestAuditFindsIDsThatAreNotProtected plants a federation of two whose points are under no scalar: every row of both
// is found in both views.
func TestAuditFindsIDsThatAreNotProtected(t *testing.T) {
	c := newConspiracy(t, 2, 0)
	c.keep()
	lists := make([][]psi.ID, 2)
	for i := range lists {
		for n := range alignedRows {
			lists[i] = append(lists[i], keys.HashOf("person", []byte{byte(n + alignedCommon*i)}))
		}
	}
	c.change = func(_ uint32, list []said) []said {
		for i, own := range lists {
			var wide [][64]byte
			for n := range own {
				wide = append(wide, [64]byte(psi.Element(sha512.New(), c.contract.Hash(), 0, &own[n], new([16]byte), nil)))
			}
			mustDo(t, point.Hash(list[at(list, "points", i)].data, wide, 1))
		}
		return list
	}
	must(t, c.align())
	r := c.audit([]*evidence.IDs{{Lists: [][]psi.ID{lists[0]}}, nil})
	if r.Verdict != finding.Leak || len(r.Attacks) != 2 {
		t.Fatalf("%s, %d attacks: %s", r.Verdict, len(r.Attacks), r.Summary)
	}
	for _, a := range r.Attacks {
		// Each sees its own points, too.
		if a.Verdict != finding.Leak || a.Rows != alignedRows || *a.RecoveredShare != 1 {
			t.Errorf("%s on %s: %s: %s", a.Name, a.Party, a.Verdict, a.Detail)
		}
	}
}
