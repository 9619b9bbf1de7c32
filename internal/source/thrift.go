package source

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	thriftDepth    = 16      // of structs and lists in one another
	thriftElements = 1 << 20 // of all lists together
)

// errShort says that a struct is not over where its bytes are.
var errShort = errors.New("it breaks off")

// thrift walks through a struct in Thrift's compact protocol, as the metadata of Parquet files is written, and counts
// what it claims, before a decoder takes memory for that.
type thrift struct {
	data     []byte
	at       int
	elements uint64
}

// checkThrift returns the length of the struct that data begins with. It refuses texts and lists longer than what is
// left, and more elements of lists than a table's metadata has.
func checkThrift(data []byte) (n int, err error) {
	t := &thrift{data: data}
	err = t.structure(0)
	return t.at, err
}

// structure walks through a struct.
func (t *thrift) structure(depth int) error {
	if depth > thriftDepth {
		return fmt.Errorf("it nests deeper than %d", thriftDepth)
	}
	for {
		head, err := t.byte()
		kind := head & 0xf
		if err != nil || kind == 0 { // the end
			return err
		}
		if head>>4 == 0 { // the field's number stands by itself
			if _, err := t.number(); err != nil {
				return err
			}
		}
		if kind > 2 { // truth values are in the head
			if err := t.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

// value walks through a value of a kind that follows its head.
func (t *thrift) value(kind byte, depth int) error {
	switch kind {
	case 1, 2, 3: // truth values of a list, bytes
		return t.skip(1)
	case 4, 5, 6: // whole numbers
		_, err := t.number()
		return err
	case 7: // a floating point number
		return t.skip(8)
	case 8: // bytes or text
		n, err := t.number()
		if err != nil {
			return err
		}
		return t.skip(n)
	case 9, 10: // a list or set
		head, err := t.byte()
		if err != nil {
			return err
		}
		n := uint64(head >> 4)
		if n == 15 {
			if n, err = t.number(); err != nil {
				return err
			}
		}
		return t.repeat(n, depth, head&0xf)
	case 11: // a map
		n, err := t.number()
		if err != nil || n == 0 {
			return err
		}
		kinds, err := t.byte()
		if err != nil {
			return err
		}
		return t.repeat(n, depth, kinds>>4, kinds&0xf)
	case 12:
		return t.structure(depth + 1)
	}
	return fmt.Errorf("it has a value of the unknown kind %d", kind)
}

// repeat walks through n elements, each of one value of every kind.
func (t *thrift) repeat(n uint64, depth int, kinds ...byte) error {
	// Each takes a byte at least.
	if n > uint64(len(t.data)-t.at) {
		return errShort
	}
	if t.elements += n; t.elements > thriftElements {
		return fmt.Errorf("it has more than %d elements", thriftElements)
	}
	for range n {
		for _, kind := range kinds {
			if depth >= thriftDepth {
				return fmt.Errorf("it nests deeper than %d", thriftDepth)
			}
			if err := t.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// byte takes one byte.
func (t *thrift) byte() (byte, error) {
	if t.at == len(t.data) {
		return 0, errShort
	}
	t.at++
	return t.data[t.at-1], nil
}

// number takes a number of variable length.
func (t *thrift) number() (uint64, error) {
	v, n := binary.Uvarint(t.data[t.at:])
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errors.New("it has a number of more than 64 bits")
	}
	t.at += n
	return v, nil
}

// skip passes over n bytes.
func (t *thrift) skip(n uint64) error {
	if n > uint64(len(t.data)-t.at) {
		return errShort
	}
	t.at += int(n)
	return nil
}
