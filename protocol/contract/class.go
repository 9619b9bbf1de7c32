package contract

import "fmt"

// MaxKind is the longest message kind, in bytes.
const MaxKind = 24

// Class says how a frame's payload is protected, and so what its receiver can learn from it.
type Class uint8

// The classes of a frame. The numbers are on the wire and never change.
const (
	ClassControl   Class = 1 // keys, row numbers, resume points: nothing about anybody's data
	ClassMasked    Class = 2 // words under one-time masks: uniform to whoever lacks a mask
	ClassPublished Class = 3 // values in the clear, for the published protocol only
	ClassOpening   Class = 4 // a value its receiver learns by design
	ClassHE        Class = 5 // ciphertexts, or shares of a decryption: uniform to whoever lacks a share of the key
)

// String returns the class's name as contracts and transcripts write it.
func (c Class) String() string {
	switch c {
	case ClassControl:
		return "control"
	case ClassMasked:
		return "masked"
	case ClassPublished:
		return "published"
	case ClassOpening:
		return "opening"
	case ClassHE:
		return "he"
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// Known reports whether frames and transcripts may have the class.
func (c Class) Known() bool { return ClassControl <= c && c <= ClassHE }

// ParseClass reads a class's name.
func ParseClass(s string) (Class, error) {
	for c := ClassControl; c <= ClassHE; c++ {
		if s == c.String() {
			return c, nil
		}
	}
	return 0, fmt.Errorf("class is %q, want \"control\", \"masked\", \"published\", \"opening\" or \"he\"", s)
}

// CheckKind refuses what cannot be a message kind. Kinds stand in errors and reports, so nothing
// in them ever needs quoting.
func CheckKind(kind string) error {
	ok := 1 <= len(kind) && len(kind) <= MaxKind
	for _, r := range kind {
		ok = ok && ('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == ' ')
	}
	if !ok {
		return fmt.Errorf("kind is %q, want 1 to %d characters of a-z, 0-9, \"-\" and space",
			kind[:min(len(kind), 2*MaxKind)], MaxKind)
	}
	return nil
}
