// Package okvs is an oblivious key-value store: a table from which every key decodes to a value, its own if it is one
// of the keys that were encoded, and otherwise a random one. A table of random values is uniformly random, and so tells
// nothing of the keys.
//
// Source: Bienstock, Patel, Seo and Yeo, "Near-Optimal Oblivious Key-Value Stores for Efficient PSI, PSU and
// Volume-Hiding Multi-Maps", USENIX Security 2023 (RB-OKVS). A key's value is the sum of the slots that its band takes:
// 256 random bits from a random start on. The first bit need not be set. Encode solves these equations for the slots.
//
// # Failures
//
// Some systems have no solution. With a tenth more starts than keys and bands of w bits, we counted the expected
// failures a key, -ln(1 - failed/tried) / n. As powers of two, with 11 to 11,753 failures behind each:
//
//	     w     24     32     40     48     56     64
//	n
//	2^10    -10.8  -13.8  -17.3  -20.9
//	2^11    -10.5  -13.4  -16.1  -18.8
//	2^12    -10.4  -13.1  -15.6  -18.1
//	2^13    -10.5  -12.9  -15.3  -18.0
//	2^15           -12.9  -15.1  -17.4  -19.6
//	2^17                         -17.3  -19.5  -22.0
//	2^20                                       -21.4
//
// At 2^10 keys each column is worth 0.42 bits, with more keys less. From 2^15 keys and 40 columns on, the best line is
// 2^-(4.1 + 0.277 w), its slope between 0.271 and 0.285. The lower end is what theory says: rows that wait for a free
// column are a queue with 1/1.1 arrivals for each departure, which outgrows w with a probability that falls by t/ln 2 =
// 0.2708 bits a column, where exp(t) - 1 = 1.1 t. With that slope the counts give 2^-(4.3 + 0.2708 w) for a key.
//
// At the width of 256 that is 2^-73.6 for a key: a table of 10^6 keys fails once in 2^54, one of 10^7 once in 2^50.
// This is extrapolated: nobody can count it.
package okvs

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// slotSize is the length of a slot and of a value in bytes.
const slotSize = 16

// width is how many slots in a row the value of a key may depend on.
const width = 256

// ErrFull says that these keys have no table under this seed. Take another seed.
var ErrFull = errors.New("okvs: the keys have no table under this seed: take another seed")

// Length is the number of slots of a table of n keys.
func Length(n int) int { return length(n, width) }

// length is Length for bands of another width: n + n/10 + 1 slots that a band may start at, and those behind the last.
func length(n, width int) int { return n + n/10 + width }

// Encode makes a table of 16*Length(len(keys)) bytes from which keys[i] decodes to values[i] under the seed. It reads
// as many bytes from fill, which must be secret and uniformly random: they stay in the slots that no key determines.
// The same arguments give the same table.
//
// The error is ErrFull if there is no such table. Of equal keys with different values there is none under any seed:
// then the error is another, unless the keys have no table without them either. Encode's time depends on the keys.
// Beside the table it takes about 76 bytes a key.
func Encode(seed [32]byte, keys [][32]byte, values [][16]byte, fill io.Reader) ([]byte, error) {
	return encode(seed, keys, values, fill, width)
}

// encode is Encode with bands of another width, at most 256 bits.
func encode(seed [32]byte, keys [][32]byte, values [][16]byte, fill io.Reader, width int) ([]byte, error) {
	n, slots := len(keys), length(len(keys), width)
	if len(values) != n {
		return nil, fmt.Errorf("okvs: %d values for %d keys: give each key one", len(values), n)
	}
	if slots > math.MaxInt32 {
		return nil, fmt.Errorf("okvs: %d keys need more than 2^31 - 1 slots: split them", n)
	}
	bands, err := newBands(seed, slots, width)
	if err != nil {
		return nil, err
	}
	table := make([]byte, slotSize*slots, slotSize*(slots+256)) // so that every slot has a window
	if _, err := io.ReadFull(fill, table); err != nil {
		return nil, fmt.Errorf("okvs: no random bytes for free slots: %w", err)
	}

	// Rows are sorted by where their bands start: counted, then put in place.
	type row struct{ tag, value [16]byte }
	var s scratch
	rows, starts, ends := make([]row, n), make([]uint32, n), make([]uint32, bands.starts+1)
	for i := range keys {
		start := bands.start(bands.tag(&keys[i], &s), &s)
		starts[i] = uint32(start)
		ends[start+1]++
	}
	for start := range bands.starts {
		ends[start+1] += ends[start]
	}
	for i := range keys {
		at := &ends[starts[i]]
		rows[*at] = row{*bands.tag(&keys[i], &s), values[i]}
		*at++
	}

	// To each row those before it are added until its first bit is in a column where no other row has its first: its
	// lead. Rows before it end no later than it does, so that width bits from the lead on hold it. Its value waits in the
	// table, in the slot that it will determine.
	leads := make([][4]uint64, slots) // by column, the lead's own bit lowest; zero where a slot is free
	start := 0
	for i := range rows {
		for ends[start] <= uint32(i) {
			start++
		}
		column, band := start, bands.band(&rows[i].tag, &s)
		lo, hi := binary.LittleEndian.Uint64(rows[i].value[:]), binary.LittleEndian.Uint64(rows[i].value[8:])
		for {
			for skipped := 0; band[0] == 0 && skipped < len(band); skipped++ {
				band, column = [4]uint64{band[1], band[2], band[3], 0}, column+64
			}
			if band[0] == 0 {
				break
			}
			zeros := bits.TrailingZeros64(band[0])
			band[0] = band[0]>>zeros | band[1]<<(64-zeros)
			band[1] = band[1]>>zeros | band[2]<<(64-zeros)
			band[2] = band[2]>>zeros | band[3]<<(64-zeros)
			band[3] >>= zeros
			column += zeros

			lead, slot := &leads[column], table[slotSize*column:slotSize*(column+1)]
			if lead[0] == 0 {
				*lead = band
				binary.LittleEndian.PutUint64(slot, lo)
				binary.LittleEndian.PutUint64(slot[8:], hi)
				break
			}
			for w := range band {
				band[w] ^= lead[w]
			}
			lo ^= binary.LittleEndian.Uint64(slot)
			hi ^= binary.LittleEndian.Uint64(slot[8:])
		}
		if band[0] == 0 && lo|hi != 0 {
			for j := range i {
				if rows[j].tag == rows[i].tag {
					return nil, errors.New("okvs: two of the keys are equal and have different values: give each key once")
				}
			}
			return nil, ErrFull
		}
	}

	// From the last slot back: a row's value and the slots behind its lead add up to the slot at its lead.
	for column := slots - 1; column >= 0; column-- {
		if leads[column][0] != 0 {
			slot := (*window)(table[slotSize*column : slotSize*(column+256)])
			lo, hi := sum(slot, &leads[column])
			binary.LittleEndian.PutUint64(slot[:], lo)
			binary.LittleEndian.PutUint64(slot[8:], hi)
		}
	}
	return slices.Clip(table), nil
}

// window is the slots that a band may take.
type window [slotSize * 256]byte

// sum adds up the slots of a window whose bits are set, the lowest bit the first slot.
func sum(slots *window, band *[4]uint64) (lo, hi uint64) {
	for w, word := range band {
		part := (*[slotSize * 64]byte)(slots[slotSize*64*w:])
		for ; word != 0; word &= word - 1 {
			slot := part[slotSize*(bits.TrailingZeros64(word)&63):] // & 63 only spares a check
			lo ^= binary.LittleEndian.Uint64(slot)
			hi ^= binary.LittleEndian.Uint64(slot[8:])
		}
	}
	return lo, hi
}

// Table decodes keys. It is safe for concurrent use.
type Table struct {
	slots []byte
	bands *bands
}

// Open takes a table that somebody encoded under the seed, and keeps it: it must not change. A table of a length that
// no number of keys has is refused; any other bytes are a table.
func Open(seed [32]byte, table []byte) (*Table, error) {
	slots := len(table) / slotSize
	// n + n/10 leaves out every eleventh number.
	if len(table)%slotSize != 0 || slots < width || (slots-width)%11 == 10 || slots > math.MaxInt32 {
		return nil, fmt.Errorf("okvs: a table of %d bytes is of no number of keys: it was cut, or is none", len(table))
	}
	bands, err := newBands(seed, slots, width)
	if err != nil {
		return nil, err
	}
	return &Table{table, bands}, nil
}

// Get returns the value of a key, or a random one if the key was not encoded.
func (t *Table) Get(key [32]byte) [16]byte {
	s := scratch{key: key}
	tag := t.bands.tag(&s.key, &s)
	start, band := t.bands.start(tag, &s), t.bands.band(tag, &s)
	lo, hi := sum((*window)(t.slots[slotSize*start:]), &band)
	var value [16]byte
	binary.LittleEndian.PutUint64(value[:], lo)
	binary.LittleEndian.PutUint64(value[8:], hi)
	return value
}

// bands says of every key which slots its value is the sum of: width bits from a start on.
type bands struct {
	mac, expand cipher.Block
	starts      int
	mask        [4]uint64 // the lowest width bits
}

// scratch is memory for one caller of bands.
type scratch struct {
	key        [32]byte
	tag, block [16]byte
}

func newBands(seed [32]byte, slots, width int) (*bands, error) {
	both := keys.HashOf("hanse okvs bands v1", seed[:])
	mac, err := aes.NewCipher(both[:16])
	if err != nil {
		return nil, fmt.Errorf("okvs: %w", err)
	}
	expand, err := aes.NewCipher(both[16:])
	if err != nil {
		return nil, fmt.Errorf("okvs: %w", err)
	}
	b := &bands{mac: mac, expand: expand, starts: slots - width + 1}
	for i := range width {
		b.mask[i/64] |= 1 << (i % 64)
	}
	return b, nil
}

// tag is the CBC-MAC of a key, sound since all keys have the same length. It stands in s.
func (b *bands) tag(key *[32]byte, s *scratch) *[16]byte {
	b.mac.Encrypt(s.tag[:], key[:16])
	subtle.XORBytes(s.tag[:], s.tag[:], key[16:])
	b.mac.Encrypt(s.tag[:], s.tag[:])
	return &s.tag
}

// start is where the band of a tag starts. Its distance from uniform is below 2^-32.
func (b *bands) start(tag *[16]byte, s *scratch) int {
	b.block(tag, 0, s)
	start, _ := bits.Mul64(binary.LittleEndian.Uint64(s.block[:]), uint64(b.starts))
	return int(start)
}

// band is the bits of the band of a tag, the first slot's lowest. The first need not be set.
func (b *bands) band(tag *[16]byte, s *scratch) [4]uint64 {
	var band [4]uint64
	for i := range 2 {
		b.block(tag, byte(1+i), s)
		band[2*i] = binary.LittleEndian.Uint64(s.block[:]) & b.mask[2*i]
		band[2*i+1] = binary.LittleEndian.Uint64(s.block[8:]) & b.mask[2*i+1]
	}
	return band
}

// block leaves a block of the expansion of a tag in s: the tag with a counter added to its last byte, encrypted.
func (b *bands) block(tag *[16]byte, counter byte, s *scratch) {
	s.block = *tag
	s.block[15] ^= counter
	b.expand.Encrypt(s.block[:], s.block[:])
}
