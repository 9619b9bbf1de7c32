package peer

import (
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// program is what one side of a connection runs.
type program struct {
	who     string // what the charter calls the member
	wire    uint16
	version string // by its own word; empty: it has not said
}

// String names the program and the wire that it speaks.
func (p program) String() string {
	if p.version == "" {
		return fmt.Sprintf("%s speaks wire version %d", p.who, p.wire)
	}
	return fmt.Sprintf("%s runs hanse %s and speaks wire version %d", p.who, p.version, p.wire)
}

// apart says that two programs speak different wires, and which is to be updated. Both sides say it in the same words,
// whoever dialled.
func apart(one, other program) string {
	if one.wire > other.wire {
		one, other = other, one
	}
	return fmt.Sprintf("%s, %s: hanse at %s must be updated", one, other, one.who)
}

// maxUnread is how many control messages receiveProgram passes over.
const maxUnread = 4

// receiveProgram reads which version the program of the other side is, once the hellos have shown that the two speak
// different wires: of all that comes then, the name of the program alone is understood. Empty: it does not say.
func receiveProgram(s network.Stream) string {
	s.SetReadDeadline(time.Now().Add(partTimeout))
	for range maxUnread {
		kind, body, err := readControl(s)
		if err != nil {
			return ""
		}
		if kind == kindProgram {
			version, _ := decodeProgram(body) // empty after an error
			return version
		}
	}
	return ""
}

// sayProgram tells the other side which version this program is, once the hellos have shown that the two speak
// different wires. The stream stays open, since the other side may close the connection at its end; awaitEnd ends it
// once receiveProgram has returned. With nothing to say the other side need not wait.
func sayProgram(s network.Stream, version string) {
	if version == "" {
		s.CloseWrite()
		return
	}
	s.SetWriteDeadline(time.Now().Add(partTimeout))
	writeControl(s, kindProgram, encodeProgram(version))
}
