package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
)

// The CBOR of control messages. Its limits are the lowest that the decoder takes, and hold before anything is
// allocated.
var (
	encMode = must(cbor.CoreDetEncOptions().EncMode())
	decMode = must(cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsForbidden, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxArrayElements: 16, MaxMapPairs: 16, MaxNestedLevels: 4}.DecMode())
)

// must is for what fails in no run or in each.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// encode writes a message. Its texts are cut to their limits, of which a character is never halved.
func encode[M any](m M) []byte {
	for _, t := range texts(&m) {
		*t.at = clip(*t.at, t.limit)
	}
	return must(encMode.Marshal(m)) // no message has a field that cannot be encoded
}

// errShort says that a message ends before its last field. It is not the end of a stream.
var errShort = errors.New("the message is cut short")

// decode reads a message, and refuses all bytes but those that encode writes of it.
func decode[M any](body []byte) (m M, err error) {
	switch err := decMode.Unmarshal(body, &m); {
	case ended(err):
		return m, errShort
	case err != nil:
		return m, errors.New(clip(plain(err.Error()), maxReason))
	}
	for _, t := range texts(&m) {
		if err := checkText(t.what, *t.at, t.limit); err != nil {
			return m, err
		}
	}
	if !bytes.Equal(encode(m), body) {
		return m, errors.New("the message is written in another way than its one encoding")
	}
	return m, nil
}

// text is a field that is shown to people.
type text struct {
	what  string
	at    *string
	limit int // in bytes
}

// texts lists the texts of a message.
func texts(message any) []text {
	switch m := message.(type) {
	case *hello:
		list := append(texts(&m.Charter), text{"name", &m.Name, maxName})
		for i := range m.Addresses {
			list = append(list, text{"address", &m.Addresses[i], maxAddress})
		}
		return list
	case *stance:
		return []text{{"charter's name", &m.Name, maxName}}
	case *answer:
		return []text{{"reason", &m.Fault, maxReason}}
	case *bye:
		return []text{{"reason", &m.Fault, maxReason}}
	case *seen:
		return []text{{"address", &m.Address, maxAddress}}
	}
	return nil
}

// appendText appends a text behind its length in two bytes.
func appendText(p []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(p, uint16(len(s))), s...)
}

// checkText refuses a text that is too long, and one with anything but printable characters: it is shown to people and
// goes into logs, so it has no line breaks and no terminal escapes.
func checkText(what, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("the %s has %d bytes, the limit is %d", what, len(s), limit)
	case plain(s) != s:
		return fmt.Errorf("the %s holds unprintable characters", what)
	}
	return nil
}

// plain makes s fit for a text field: what is not printable becomes a question mark.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// clip shortens s to at most limit bytes of whole characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
