package psi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"

	"golang.org/x/crypto/chacha20"

	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi/okvs"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// pass is the comparison of all parties' rows by one key.
type pass struct {
	*Party
	number int
	coin   keys.Hash
	all    *Result

	ids  []ID  // of the rows that have one; those found before are replaced by noise
	rows []int // whose they are; nil: all rows in their order
	// of asker and keeper: what the other parties' rows make of each ID, by place
	zero [][wordSize]byte

	size   int // common rows
	common []Common
}

// list takes the rows' IDs of the pass. Rows that were found before are noise that meets nothing: so many IDs as the
// contract says are sent in any case.
func (w *pass) list(taken []bool) error {
	if !w.holds(w.Self) {
		return nil
	}
	noise, err := stream(w.secret("noise", w.number))
	if err != nil {
		return err
	}
	n := w.Counts[w.Self][w.number]
	if n == len(taken) && !slices.Contains(taken, true) {
		w.ids = w.Lists[w.number]
		return nil
	}
	w.ids, w.rows = make([]ID, 0, n), make([]int, 0, n)
	for row, id := range w.Lists[w.number] {
		if id == (ID{}) {
			continue
		}
		if taken[row] {
			id = ID{}
			noise.XORKeyStream(id[:], id[:])
		}
		w.ids, w.rows = append(w.ids, id), append(w.rows, row)
	}
	return nil
}

// row is the row of the ID at a place.
func (w *pass) row(place int) int {
	if w.rows == nil {
		return place
	}
	return w.rows[place]
}

// run is a party's part of a pass.
func (w *pass) run(ctx context.Context) error {
	if err := w.share(ctx); err != nil {
		return err
	}
	var open func(context.Context) ([]int, error) // places of the own common IDs, at asker and keeper
	var err error
	if w.Helper == None {
		open, err = w.countPoints(ctx)
	} else {
		open, err = w.countTags(ctx)
	}
	if err != nil {
		return err
	}
	if err := w.agree(ctx); err != nil {
		return err
	}
	places, err := open(ctx)
	if err != nil {
		return err
	}
	return w.announce(ctx, places)
}

// share gives asker and keeper what the other parties' rows make of their own: of a row of all parties both have the
// same, of others nobody knows what the other has.
func (w *pass) share(ctx context.Context) error {
	two := w.Self == w.Asker || w.Self == w.Keeper
	if two {
		w.zero = make([][wordSize]byte, len(w.ids))
	}
	var buckets *sorted // of the own IDs, where stores are made or read
	if len(w.outside()) > 0 && (w.Self == w.Asker || w.outsider(w.Self)) {
		buckets = w.sort()
	}
	for _, i := range w.outside() {
		secret := w.secret("seed", w.number)
		seed := [seedSize]byte(secret[:])
		received, err := w.send(ctx, w.message(stepSeed, w.number, i, w.Keeper, seedSize), seed[:])
		if err != nil {
			return err
		}
		if w.Self == w.Keeper {
			block := blockOf([seedSize]byte(received))
			w.add(len(w.ids), inOrder, func(id *ID, out []byte) { block.Encrypt(out, id[:wordSize]) })
		}
		var made [][]byte // stores of the next buckets, one for each worker
		for bucket := range w.pieces() {
			m := w.message(stepStore, w.number, i, w.Asker, w.storeSize(i, w.number))
			m.Piece = bucket
			var store []byte
			if w.Self == i {
				if len(made) == 0 {
					if made, err = w.encode(seed, buckets, bucket); err != nil {
						return err
					}
				}
				store, made = made[0], made[1:]
			}
			if received, err = w.send(ctx, m, store); err != nil {
				return err
			}
			if w.Self == w.Asker {
				if received[0] >= storeSeeds {
					return &Deviation{i, m.Kind, fmt.Sprintf("seed %d of %d", received[0], storeSeeds)}
				}
				table, err := okvs.Open(w.storeSeed(i, bucket, received[0]), received[1:])
				if err != nil {
					return &Deviation{i, m.Kind, err.Error()}
				}
				places := buckets.of(bucket)
				w.add(len(places), func(at int) int { return int(places[at]) },
					func(id *ID, out []byte) { value := table.Get(*id); copy(out, value[:]) })
			}
			w.step("zero shares", bucket+1, w.pieces())
		}
	}
	return nil
}

// storeSeeds is how many seeds a party may try for its store. One of a million ids fails about once in 2^54 times, one
// of ten million about once in 2^50: see package okvs.
const storeSeeds = 4

// storeSeed is the seed of a party's store, which nobody chose.
func (w *pass) storeSeed(party, bucket int, attempt byte) [32]byte {
	parts := [][]byte{w.coin[:], number(w.number), number(party), {attempt}}
	if w.pieces() > 1 {
		parts = append(parts, number(bucket))
	}
	return keys.HashOf("hanse psi store v1", parts...)
}

// encode makes the own stores of as many buckets as there are workers, from one on.
func (w *pass) encode(seed [seedSize]byte, buckets *sorted, from int) ([][]byte, error) {
	stores := make([][]byte, min(max(1, w.Workers), w.pieces()-from))
	return stores, parallel.Each(w.Workers, len(stores), func(_, i int) (err error) {
		stores[i], err = w.store(seed, buckets.of(from+i), from+i)
		return err
	})
}

// store is the own store of a bucket: of each ID its ciphertext under the seed that the keeper gets. IDs and values
// that are noise, and meet nothing, bring it to the size of all buckets.
func (w *pass) store(seed [seedSize]byte, places []uint32, bucket int) ([]byte, error) {
	label, ids := "", w.ids
	if w.pieces() > 1 {
		label, ids = fmt.Sprintf(" of bucket %d", bucket), make([]ID, Capacity(len(w.ids), w.pieces()))
		for i, at := range places {
			ids[i] = w.ids[at]
		}
	}
	values := make([][wordSize]byte, len(ids))
	block := blockOf(seed)
	blocks(w.Workers, len(places), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			block.Encrypt(values[i][:], ids[i][:wordSize])
		}
	})
	if len(places) < len(ids) {
		noise, err := stream(w.secret("padding"+label, w.number))
		if err != nil {
			return nil, err
		}
		for i := len(places); i < len(ids); i++ {
			noise.XORKeyStream(ids[i][:], ids[i][:])
			noise.XORKeyStream(values[i][:], values[i][:])
		}
	}
	var store []byte
	var err error
	for attempt := range byte(storeSeeds) {
		fill, failed := stream(w.secret(fmt.Sprintf("store %d%s", attempt, label), w.number))
		if failed != nil {
			return nil, failed
		}
		store, err = okvs.Encode(w.storeSeed(w.Self, bucket, attempt), ids, values, reader{fill})
		if err == nil {
			return append([]byte{attempt}, store...), nil
		}
		if !errors.Is(err, okvs.ErrFull) {
			break
		}
	}
	return nil, err
}

// blockOf is what a party's seed makes of the first half of an ID.
func blockOf(seed [seedSize]byte) cipher.Block {
	block, err := aes.NewCipher(seed[:])
	if err != nil {
		panic(err) // of a key of another length
	}
	return block
}

// add adds a word to what each of n of the own IDs has, by place.
func (w *pass) add(n int, place func(i int) int, word func(id *ID, out []byte)) {
	blocks(w.Workers, n, func(lo, hi int) {
		var out [wordSize]byte
		for i := lo; i < hi; i++ {
			at := place(i)
			word(&w.ids[at], out[:])
			subtle.XORBytes(w.zero[at][:], w.zero[at][:], out[:])
		}
	})
}

// inOrder is the place of the i-th of all own IDs.
func inOrder(i int) int { return i }

// agree ends the pass where those who count have found fewer common rows than may open. They tell the others that, and
// how many there are only where there are enough: whoever hides a guess in a list of noise would read it from 0 or 1.
func (w *pass) agree(ctx context.Context) error {
	few := w.Learns(w.Self) && w.total() < w.MinRows
	own := []byte{1}
	if few {
		own[0] = 0
	}
	for _, from := range w.counters() {
		for to := range w.Counts {
			if to == from {
				continue
			}
			m := w.message(stepEnough, w.number, from, to, stepEnough.told())
			received, err := w.send(ctx, m, own)
			if err != nil {
				return err
			}
			if to != w.Self {
				continue
			}
			if received[0] > 1 {
				return &Deviation{from, m.Kind, "it is neither yes nor no"}
			}
			few = few || received[0] == 0
		}
	}
	if few {
		return TooFewError{}
	}
	if err := w.spread(ctx); err != nil {
		return err
	}
	w.all.Sizes = append(w.all.Sizes, w.size)
	w.told(OpensSize, 1)
	return nil
}

// total is how many rows this pass and those before have found.
func (w *pass) total() int {
	total := w.size
	for _, n := range w.all.Sizes {
		total += n
	}
	return total
}

// spread tells all how many rows are common. All who count must have found the same, and enough.
func (w *pass) spread(ctx context.Context) error {
	first := true
	for _, from := range w.counters() {
		for to := range w.Counts {
			if to == from {
				continue
			}
			m := w.message(stepSize, w.number, from, to, stepSize.told())
			received, err := w.send(ctx, m, binary.BigEndian.AppendUint64(nil, uint64(w.size)))
			if err != nil {
				return err
			}
			if to != w.Self {
				continue
			}
			said := binary.BigEndian.Uint64(received)
			switch known := !first || w.Learns(w.Self); {
			case said > uint64(w.Most(w.number)):
				return &Deviation{from, m.Kind, "more rows than a party has"}
			case known && said != uint64(w.size):
				return &Deviation{from, m.Kind, "another number than was found before"}
			}
			w.size, first = int(said), false
			if w.total() < w.MinRows {
				return &Deviation{from, m.Kind, "fewer than may open, and it had said that there are enough"}
			}
		}
	}
	return nil
}

// announce tells the other parties the common rows. Asker and keeper first compare the list, so that nobody can add a
// guess and see who lacks it. places are those of the own common IDs, at the two.
func (w *pass) announce(ctx context.Context, places []int) error {
	two := w.Self == w.Asker || w.Self == w.Keeper
	if two && len(places) != w.size {
		return fmt.Errorf("%d common rows, and %d were counted", len(places), w.size)
	}
	var list []byte
	var digest [32]byte
	if two {
		list, digest = w.listed(places)
	}
	if err := w.compare(ctx, digest); err != nil {
		return err
	}
	for _, i := range w.outside() {
		own := w.listDigest(list)
		said, err := w.send(ctx, w.message(stepListDigest, w.number, w.Keeper, i, hashSize), own[:])
		if err != nil {
			return err
		}
		received, err := w.send(ctx, w.message(stepList, w.number, w.Asker, i, w.size*wordSize), list)
		if err != nil {
			return err
		}
		if w.Self == i {
			if err := w.accept(received, said); err != nil {
				return err
			}
		}
	}
	return nil
}

// tagsOf returns the tags in this job of n of the own IDs, by place: under a key that all drew together.
func (w *pass) tagsOf(n int, place func(i int) int) []byte {
	key := keys.HashOf("hanse psi list v1", w.coin[:])
	list := make([]byte, n*wordSize)
	blocks(w.Workers, n, func(lo, hi int) {
		mac, sum := hmac.New(sha256.New, key[:]), make([]byte, 0, sha256.Size)
		for i := lo; i < hi; i++ {
			mac.Reset()
			mac.Write(w.ids[place(i)][:])
			copy(list[wordSize*i:], mac.Sum(sum)[:wordSize])
		}
	})
	return list
}

// listed makes the list of the own common rows. It returns it as it is sent, and the digest by which asker and keeper
// compare it: with what the other parties' rows make of each ID, which is the same at both if all have the row.
func (w *pass) listed(places []int) (list []byte, digest [32]byte) {
	w.common = make([]Common, 0, len(places))
	for lo := 0; lo < len(places); lo += portion {
		tags := w.tagsOf(min(portion, len(places)-lo), func(i int) int { return places[lo+i] })
		for i := range len(tags) / wordSize {
			w.common = append(w.common, Common{[wordSize]byte(tags[wordSize*i:]), places[lo+i], w.number})
		}
	}
	slices.SortFunc(w.common, byTag)
	h := sha256.New()
	list = make([]byte, 0, len(places)*wordSize)
	for i := range w.common {
		c := &w.common[i]
		list = append(list, c.Tag[:]...)
		h.Write(c.Tag[:])
		h.Write(w.zero[c.Row][:])
		c.Row = w.row(c.Row) // a place until now
	}
	return list, keys.HashOf("hanse psi pairs v1", w.coin[:], number(w.number), h.Sum(nil))
}

// byTag orders common rows by their tags.
func byTag(a, b Common) int {
	if first := cmp.Compare(binary.BigEndian.Uint64(a.Tag[:]), binary.BigEndian.Uint64(b.Tag[:])); first != 0 {
		return first
	}
	return bytes.Compare(a.Tag[:], b.Tag[:])
}

// listDigest names a pass's list.
func (w *pass) listDigest(list []byte) [32]byte {
	return keys.HashOf("hanse psi common v1", w.coin[:], number(w.number), list)
}

// compare has asker and keeper find out whether their digests are the same, and nothing else: neither sees the other's,
// which of a list with one row that it lacks would let it try guesses at leisure. It is a key exchange by a common
// password, the digest, with both confirming the key (SPEKE: Jablon, "Strong Password-Only Authenticated Key Exchange",
// 1996). Whoever lies tests one guess at a whole list, and is found out where it is wrong.
func (w *pass) compare(ctx context.Context, digest [32]byte) error {
	scalar := point.NewScalar(w.secret("list", w.number))
	var own, theirs [point.Size]byte
	points := make([][]byte, 2) // asker's, keeper's
	two := w.Self == w.Asker || w.Self == w.Keeper
	if two {
		if err := point.Hash(own[:], [][sha512.Size]byte{sha512.Sum512(digest[:])}, 1); err != nil {
			return err
		}
		if err := scalar.Mul(own[:], own[:], 1); err != nil {
			return err
		}
	}
	for n, from := range []int{w.Asker, w.Keeper} {
		m := w.message(stepListPoint, w.number, from, w.Asker+w.Keeper-from, point.Size)
		received, err := w.send(ctx, m, own[:])
		if err != nil {
			return err
		}
		if points[n] = own[:]; w.Self == m.To {
			if err := point.Check(received); err != nil {
				return &Deviation{from, m.Kind, err.Error()}
			}
			points[n] = received
			if err := scalar.Mul(theirs[:], received, 1); err != nil {
				return &Deviation{from, m.Kind, err.Error()}
			}
		}
	}
	for _, from := range []int{w.Asker, w.Keeper} {
		proof := keys.HashOf("hanse psi list proof v1", w.coin[:], number(w.number), number(from), points[0], points[1],
			theirs[:])
		m := w.message(stepListProof, w.number, from, w.Asker+w.Keeper-from, hashSize)
		received, err := w.send(ctx, m, proof[:])
		if err != nil {
			return err
		}
		if w.Self == m.To && !hmac.Equal(received, proof[:]) {
			return &Deviation{from, m.Kind, "the two lists of common rows are not the same: nothing of them was told"}
		}
	}
	return nil
}

// accept takes the list at a party that is neither asker nor keeper: it is sorted, of rows that the party has, and the
// keeper's as well.
func (w *pass) accept(list, digest []byte) error {
	deviation := func(why string) error { return &Deviation{w.Asker, stepList.of(w.number), why} }
	if own := w.listDigest(list); !hmac.Equal(own[:], digest) {
		return &Deviation{w.Keeper, stepListDigest.of(w.number), "it is of another list than the asker's"}
	}
	for at := wordSize; at < len(list); at += wordSize {
		if bytes.Compare(list[at-wordSize:at], list[at:at+wordSize]) >= 0 {
			return deviation("it is not sorted")
		}
	}
	known, _ := point.NewIndex(list, wordSize)
	found := make([]bool, len(list)/wordSize)
	w.common = make([]Common, len(found))
	missing := len(found)
	for lo := 0; lo < len(w.ids); lo += portion {
		tags := w.tagsOf(min(portion, len(w.ids)-lo), func(i int) int { return lo + i })
		for at := 0; at < len(tags); at += wordSize {
			tag := [wordSize]byte(tags[at:])
			place := known.Find(tag[:])
			switch {
			case place < 0:
				continue
			case found[place]:
				return errors.New("two rows of the own list have the same tag: they have the same ID")
			}
			found[place], w.common[place] = true, Common{tag, w.row(lo + at/wordSize), w.number}
			missing--
		}
	}
	if missing > 0 {
		return deviation("it has a row that this party does not have")
	}
	return nil
}

// Element is what two parties compare in a pass: an ID with what the other parties' rows make of it, hashed with h, a
// SHA-512, and appended to out.
func Element(h hash.Hash, contract keys.Hash, pass int, id *ID, zero *[wordSize]byte, out []byte) []byte {
	h.Reset()
	h.Write([]byte("\x14hanse psi element v1"))
	h.Write(contract[:])
	h.Write(number(pass))
	h.Write(id[:])
	h.Write(zero[:])
	return h.Sum(out)
}

// wide are the elements of the own IDs at some places.
func (w *pass) wide(order []uint32) [][sha512.Size]byte {
	all := make([][sha512.Size]byte, len(order))
	blocks(w.Workers, len(order), func(lo, hi int) {
		h := sha512.New()
		for i := lo; i < hi; i++ {
			at := order[i]
			Element(h, w.Contract, w.number, &w.ids[at], &w.zero[at], all[i][:0])
		}
	})
	return all
}

// stream is a stream of random bytes that follows from a secret, which is used for nothing else.
func stream(secret [32]byte) (*chacha20.Cipher, error) {
	return chacha20.NewUnauthenticatedCipher(secret[:], make([]byte, chacha20.NonceSize))
}

// reader reads a stream.
type reader struct{ *chacha20.Cipher }

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) {
	clear(p)
	r.XORKeyStream(p, p)
	return len(p), nil
}

// permutation is a permutation of n places that follows from a secret: with the same odds any of them.
func permutation(secret [32]byte, n int) ([]uint32, error) {
	random, err := stream(secret)
	if err != nil {
		return nil, err
	}
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	var buffer [4096]byte
	left := buffer[:0]
	next := func() uint64 {
		if len(left) == 0 {
			clear(buffer[:])
			random.XORKeyStream(buffer[:], buffer[:])
			left = buffer[:]
		}
		v := binary.LittleEndian.Uint64(left)
		left = left[8:]
		return v
	}
	for i := n - 1; i > 0; i-- {
		m := uint64(i + 1)
		v := next()
		for limit := -m % m; v < limit; { // the lowest 2^64 mod m would make some places likelier
			v = next()
		}
		j := v % m
		order[i], order[j] = order[j], order[i]
	}
	return order, nil
}

// sortByWord sorts places of a list of words by the words there.
func sortByWord(list []byte, places []uint32) {
	type entry struct {
		high  uint64 // the word's first half
		place uint32
	}
	entries := make([]entry, len(places))
	for i, at := range places {
		entries[i] = entry{binary.BigEndian.Uint64(list[wordSize*int(at):]), at}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.high != b.high {
			return cmp.Compare(a.high, b.high)
		}
		return bytes.Compare(list[wordSize*int(a.place):][:wordSize], list[wordSize*int(b.place):][:wordSize])
	})
	for i := range entries {
		places[i] = entries[i].place
	}
}
