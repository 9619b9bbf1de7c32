package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errShort says that a message ends before its last field.
var errShort = errors.New("the message is cut short")

// packer appends fields to a message: integers big endian, texts behind their length.
type packer []byte

func (p *packer) u8(v uint8)   { *p = append(*p, v) }
func (p *packer) u16(v uint16) { *p = binary.BigEndian.AppendUint16(*p, v) }
func (p *packer) u32(v uint32) { *p = binary.BigEndian.AppendUint32(*p, v) }
func (p *packer) u64(v uint64) { *p = binary.BigEndian.AppendUint64(*p, v) }
func (p *packer) raw(b []byte) { *p = append(*p, b...) }

// text writes at most limit bytes of s behind a 16-bit length; a character is never halved.
func (p *packer) text(s string, limit int) {
	s = clip(s, limit)
	p.u16(uint16(len(s)))
	*p = append(*p, s...)
}

// unpacker takes fields off a message. The first error stays, and later fields read as zero.
type unpacker struct {
	rest []byte
	err  error
}

// take returns the next n bytes, or nil once the message has run out.
func (u *unpacker) take(n int) []byte {
	if u.err == nil && len(u.rest) < n {
		u.err = errShort
	}
	if u.err != nil {
		return nil
	}
	b := u.rest[:n]
	u.rest = u.rest[n:]
	return b
}

func (u *unpacker) u8() uint8 {
	if b := u.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (u *unpacker) u16() uint16 {
	if b := u.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (u *unpacker) u32() uint32 {
	if b := u.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (u *unpacker) u64() uint64 {
	if b := u.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// text reads a text of at most limit bytes. It is shown to people and goes into logs, so
// anything but printable characters is refused: no line breaks, no terminal escapes.
func (u *unpacker) text(what string, limit int) string {
	n := int(u.u16())
	if u.err == nil && n > limit {
		u.err = fmt.Errorf("the %s has %d bytes, the limit is %d", what, n, limit)
	}
	s := string(u.take(n))
	if plain(s) != s {
		u.err = fmt.Errorf("the %s holds unprintable characters", what)
		return ""
	}
	return s
}

// end returns the first error, or one if bytes are left over.
func (u *unpacker) end() error {
	if u.err == nil && len(u.rest) > 0 {
		return fmt.Errorf("%d bytes follow the end of the message", len(u.rest))
	}
	return u.err
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

// readBlock reads a block of n bytes, which the caller has checked against a limit. The buffer
// grows as the bytes come in: who announces a lot and sends little costs little.
func readBlock(r io.Reader, n int) ([]byte, error) {
	const step = 64 << 10
	block := make([]byte, 0, min(n, step))
	for len(block) < n {
		if len(block) == cap(block) {
			grown := make([]byte, len(block), min(n, 4*cap(block)))
			copy(grown, block)
			block = grown
		}
		got, err := io.ReadFull(r, block[len(block):cap(block)])
		block = block[:len(block)+got]
		if err != nil {
			return nil, err
		}
	}
	return block, nil
}
