package shamir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Words is the number of field elements in a secret: 305 bits.
const Words = 5

// Size is the length of an element on the wire, in bytes.
const Size = 8 * Words

// draws bounds how often Random draws again; a good source needs a second draw once in 2^58.
const draws = 8

// Element is a secret, a share or a public point: Words integers modulo P. It is canonical, each
// word less than P, as all functions of this package return it and want it.
type Element [Words]uint64

// Random draws an element uniformly. A draw with a word outside the field, of which there is one
// value, is thrown away. The error is that of random, or says that it yields nothing else.
func Random(random io.Reader) (Element, error) {
	var b [Size]byte
	for range draws {
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return Element{}, fmt.Errorf("draw a secret: %w", err)
		}
		if e := lowBits(b[:]); e.canonical() {
			return e, nil
		}
	}
	return Element{}, errors.New("draw a secret: the source of randomness repeats the one value outside the field")
}

// FromKey makes an element of Size uniform bytes, such as an output of HKDF: the low 61 bits of
// each little-endian word. P itself becomes 0, so that 0 is twice as likely as any other word, a
// bias of 2^-61. Other lengths are refused.
func FromKey(key []byte) (Element, error) {
	if len(key) != Size {
		return Element{}, fmt.Errorf("make a share of a key: %d bytes, want %d", len(key), Size)
	}
	e := lowBits(key)
	for i := range e {
		e[i] = reduce(0, e[i])
	}
	return e, nil
}

// Append appends the Size bytes of e, words in order and little endian, to b.
func (e *Element) Append(b []byte) []byte {
	for _, w := range e {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// Parse reads what Append wrote. It refuses other lengths and words of P or more, so that an
// element has one encoding.
func Parse(b []byte) (Element, error) {
	if len(b) != Size {
		return Element{}, fmt.Errorf("parse a field element: %d bytes, want %d", len(b), Size)
	}
	var e Element
	for i := range e {
		if e[i] = binary.LittleEndian.Uint64(b[8*i:]); e[i] >= P {
			return Element{}, fmt.Errorf("parse a field element: word %d is not below 2^61 - 1", i)
		}
	}
	return e, nil
}

// lowBits returns the low 61 bits of each word of b; a word may be P.
func lowBits(b []byte) Element {
	var e Element
	for i := range e {
		e[i] = binary.LittleEndian.Uint64(b[8*i:]) & P
	}
	return e
}

func (e *Element) canonical() bool {
	for _, w := range e {
		if w >= P {
			return false
		}
	}
	return true
}

// equal compares in constant time.
func (e *Element) equal(f *Element) bool {
	different := uint64(0)
	for i, w := range e {
		different |= w ^ f[i]
	}
	return different == 0
}
