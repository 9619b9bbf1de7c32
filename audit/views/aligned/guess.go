package aligned

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// The attack, and the view that it uses.
const (
	guessedIDs = "guessed ids"
	view       = "alignment"
)

// short are the bytes of words that are no points.
const short = 16

// guess tries ids on every word of a view: those of the tables that the auditor has, and others near them. A word that
// is what anybody can compute of an id shows whether the party that sent it has the row.
func guess(ctx context.Context, in *evidence.Input, list []*vector, party int) (finding.Attack, error) {
	a := finding.Attack{Name: guessedIDs, Party: in.Contract.Parties[party].Name, View: view, Verdict: finding.Skipped}
	ids := make([][]psi.ID, 0, psi.MaxPasses) // by pass
	for _, s := range in.IDs {
		if s == nil {
			continue
		}
		for pass := range s.Lists {
			if pass == len(ids) {
				ids = append(ids, nil)
			}
			var some []psi.ID
			for _, row := range evidence.SampleRows(len(s.Lists[pass]), in.Rows) {
				some = append(some, s.Lists[pass][row])
			}
			if pass < len(s.Guesses) {
				some = append(some, s.Guesses[pass]...)
			}
			for _, id := range some {
				if id != (psi.ID{}) {
					ids[pass] = append(ids[pass], id)
				}
			}
		}
	}
	tried := 0
	for pass, known := range ids {
		slices.SortFunc(known, func(a, b psi.ID) int { return bytes.Compare(a[:], b[:]) })
		ids[pass] = slices.Compact(known) // a row of both tables is one
		tried += len(ids[pass])
	}
	if tried == 0 {
		a.Detail = "not tried: it takes the ids of a table of the job (--data PARTY=FILE)"
		return a, nil
	}
	hits, where := 0, ""
	for pass, known := range ids {
		codes, err := newCodes(in.Contract.Hash(), pass, known, in.Workers)
		if err != nil {
			return a, err
		}
		if missed := codes.control(); missed > 0 { // words that protect nothing must all be found
			a.Detail = fmt.Sprintf("its control failed: %d of %d ids without protection were not found", missed, len(known))
			return a, nil
		}
		found := make(map[psi.ID]bool)
		for _, v := range list {
			if ctx.Err() != nil {
				return a, ctx.Err()
			}
			if n := len(found); v.pass == pass {
				if codes.find(v, found); n == 0 && len(found) > 0 && where == "" {
					where = v.name(in.Contract)
				}
			}
		}
		hits += len(found)
	}
	share, all := float64(hits)/float64(tried), 1.0
	a.Rows, a.RecoveredShare, a.ControlShare = tried, &share, &all
	a.Verdict = finding.Clean
	a.Detail = fmt.Sprintf("%s that anybody can make of an id, with no secret or one that is no secret, were looked for "+
		"among the words of this party's view: none is there; of words without protection all were found",
		wording.Count(codesOfID*tried, "code"))
	if hits > 0 {
		a.Verdict = finding.Leak
		a.Detail = fmt.Sprintf("%s stand unprotected in what this party saw, first in %s: whoever guesses an id sees "+
			"whether its sender has the row", wording.Count(hits, "id"), where)
	}
	return a, nil
}

// codesOfID is how many codes are tried for an id.
const codesOfID = 2*4 + 6

// codes are what anybody can compute of ids, as points and as words of 16 bytes. Those that stand for a point have its
// first 16 bytes.
type codes struct {
	ids   []psi.ID
	words map[[short]byte]int // place of the id
	plain [][]byte            // of the ways of making codes, all words: for the control
}

// newCodes makes the codes of ids.
func newCodes(contract keys.Hash, pass int, ids []psi.ID, workers int) (*codes, error) {
	c := &codes{ids: ids, words: make(map[[short]byte]int, codesOfID*len(ids))}
	var none [short]byte
	// As points: the element of an id of two parties, or its plain hash; as they are, and under scalars that are none.
	for way := range 2 {
		wide := make([][sha512.Size]byte, len(ids))
		h := sha512.New()
		for i := range ids {
			if way == 0 {
				psi.Element(h, contract, pass, &ids[i], &none, wide[i][:0])
			} else {
				wide[i] = sha512.Sum512(ids[i][:])
			}
		}
		points := make([]byte, point.Size*len(ids))
		if err := point.Hash(points, wide, max(workers, 1)); err != nil {
			return nil, err
		}
		c.add(points, point.Size)
		for _, secret := range [][32]byte{{}, {1}, contract} {
			multiplied := make([]byte, len(points))
			if err := point.NewScalar(secret).Mul(multiplied, points, max(workers, 1)); err != nil {
				return nil, err
			}
			c.add(multiplied, point.Size)
		}
	}
	// As words: the id itself, its plain hashes, and its tag under keys that are none.
	tags := [][]byte{contract[:], make([]byte, len(contract))}
	half := make([]byte, sha256.Size)
	made := keys.HashOf("hanse psi tags v1", contract[:], []byte{0, 0, 0, byte(pass)}, half, half)
	tags = append(tags, made[:])
	for way := range 3 + len(tags) {
		var words []byte
		for i := range ids {
			switch way {
			case 0:
				words = append(words, ids[i][:short]...)
			case 1:
				sum := sha256.Sum256(ids[i][:])
				words = append(words, sum[:short]...)
			case 2:
				sum := sha512.Sum512(ids[i][:])
				words = append(words, sum[:short]...)
			default:
				tag := psi.Tag(hmac.New(sha256.New, tags[way-3]), &ids[i], &none)
				words = append(words, tag[:]...)
			}
		}
		c.add(words, short)
	}
	return c, nil
}

// add takes in the words that one way makes of all ids.
func (c *codes) add(words []byte, size int) {
	for at := 0; at < len(words); at += size {
		c.words[[short]byte(words[at:])] = at / size
	}
	c.plain = append(c.plain, words)
}

// find notes the ids that stand in a vector as a code.
func (c *codes) find(v *vector, found map[psi.ID]bool) {
	for at := 0; at+v.word <= len(v.data); at += v.word {
		if id, ok := c.words[[short]byte(v.data[at:])]; ok {
			found[c.ids[id]] = true
		}
	}
}

// control counts the ids that are not found where all stand unprotected, in the worst of the ways to do so.
func (c *codes) control() int {
	missed := 0
	for _, words := range c.plain {
		found := make(map[psi.ID]bool)
		c.find(&vector{word: len(words) / max(len(c.ids), 1), data: words}, found)
		missed = max(missed, len(c.ids)-len(found))
	}
	return missed
}
