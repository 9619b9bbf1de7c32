package psi

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/hanse-project/hanse/keys"
)

// MaxBuckets is the most buckets of an intersection.
const MaxBuckets = 1024

// BucketIDs is about how many IDs a bucket has at most where nobody says how many buckets there are.
const BucketIDs = 250_000

// BucketsFor is how many buckets a list of n IDs has where nobody says.
func BucketsFor(n int) int { return min(MaxBuckets, max(1, (n+BucketIDs-1)/BucketIDs)) }

// Capacity is how many IDs of a list of n each of so many buckets has space for. It follows from the two alone, so
// that a bucket tells nothing of its list. Of random IDs more than that fall into one of the buckets less than once in
// 2^40 lists: by Bernstein's inequality, a bucket has s more than n/buckets with a probability of at most
// exp(-s^2 / (2 (n/buckets + s/3))), and s is the least number that takes this below 2^-40/buckets.
func Capacity(n, buckets int) int {
	if buckets <= 1 {
		return n
	}
	mean := int64(n+buckets-1) / int64(buckets)
	t := (int64(40+bits.Len(uint(buckets)))*7 + 9) / 10 // 0.7 is above ln 2
	lo, hi := int64(0), int64(n)
	for lo < hi { // 3 s^2 >= t (6 mean + 2 s) is wanted, and holds for all s above the first that it holds for
		if s := (lo + hi) / 2; 3*s*s >= t*(6*mean+2*s) {
			hi = s
		} else {
			lo = s + 1
		}
	}
	return int(min(int64(n), mean+lo))
}

// OverflowError says that more of a party's IDs fall into a bucket than it has space for. Nothing was sent.
type OverflowError struct {
	Bucket, Buckets int // the bucket's number, from 1 on, and how many there are
	IDs, Capacity   int
}

// Error implements error.
func (e *OverflowError) Error() string {
	return fmt.Sprintf("%d ids fall into bucket %d of %d, which has space for %d, so that nothing was sent: propose the "+
		"alignment anew, since another contract deals the ids out anew, or with fewer buckets", e.IDs, e.Bucket,
		e.Buckets, e.Capacity)
}

// bucketsOf returns the bucket of each of the own IDs of a pass, by row. The contract is in the hash, and the
// commitments of all parties to their lists are in the contract: nobody can choose IDs that meet in a bucket.
func (p *Party) bucketsOf(pass int) []uint16 {
	list := p.Lists[pass]
	all := make([]uint16, len(list))
	head := append([]byte("\x13hanse psi bucket v1"), p.Contract[:]...)
	head = append(head, number(pass)...)
	blocks(p.Workers, len(list), func(lo, hi int) {
		buffer := append(make([]byte, 0, len(head)+len(ID{})), head...)
		for i := lo; i < hi; i++ {
			h := sha256.Sum256(append(buffer, list[i][:]...))
			bucket, _ := bits.Mul64(binary.BigEndian.Uint64(h[:]), uint64(p.pieces()))
			all[i] = uint16(bucket)
		}
	})
	return all
}

// checkBuckets refuses the own lists where one of their buckets would have more IDs than there is space for.
func (p *Party) checkBuckets() error {
	if p.pieces() == 1 || !p.outsider(p.Self) {
		return nil
	}
	for pass, list := range p.Lists {
		counts := make([]int, p.pieces())
		for row, bucket := range p.bucketsOf(pass) {
			if list[row] != (ID{}) {
				counts[bucket]++
			}
		}
		for bucket, n := range counts {
			if space := Capacity(p.Counts[p.Self][pass], p.pieces()); n > space {
				return &OverflowError{bucket + 1, p.pieces(), n, space}
			}
		}
	}
	return nil
}

// sorted are places of a pass's IDs, bucket by bucket.
type sorted struct {
	places []uint32
	ends   []int // by bucket
}

// of returns a bucket's places.
func (s *sorted) of(bucket int) []uint32 {
	if bucket == 0 {
		return s.places[:s.ends[0]]
	}
	return s.places[s.ends[bucket-1]:s.ends[bucket]]
}

// sort sorts the pass's IDs into buckets. A row that was found before stays in the bucket of its own ID: so buckets are
// no fuller in any pass than checkBuckets has seen them.
func (w *pass) sort() *sorted {
	s := &sorted{places: make([]uint32, len(w.ids)), ends: make([]int, w.pieces())}
	if w.pieces() == 1 {
		for i := range s.places {
			s.places[i] = uint32(i)
		}
		s.ends[0] = len(s.places)
		return s
	}
	buckets := w.bucketsOf(w.number)
	starts := make([]int, w.pieces()+1)
	for i := range w.ids {
		starts[buckets[w.row(i)]+1]++
	}
	for b := range s.ends {
		starts[b+1] += starts[b]
		s.ends[b] = starts[b]
	}
	for i := range w.ids {
		at := &s.ends[buckets[w.row(i)]]
		s.places[*at] = uint32(i)
		*at++
	}
	return s
}

// doubledHash commits to doubled points, given piece by piece: of several pieces to the digest of each.
type doubledHash struct {
	pieces int
	parts  [][]byte
}

// add takes in the next piece, which must not change where it is the only one.
func (d *doubledHash) add(piece []byte) {
	if d.pieces > 1 {
		h := keys.HashOf("hanse psi doubled piece v1", piece)
		piece = h[:]
	}
	d.parts = append(d.parts, piece)
}

// sum is the commitment in a pass of a contract.
func (d *doubledHash) sum(contract keys.Hash, pass int) keys.Hash {
	return keys.HashOf("hanse psi doubled v1", append([][]byte{contract[:], number(pass)}, d.parts...)...)
}
