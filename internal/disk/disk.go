// Package disk says how much room a file system has.
package disk

// Space is the room of a file system, in bytes.
type Space struct {
	Total int64 `json:"total"`
	Free  int64 `json:"free"` // to this program's user
}

// Level is how much room there is, in a word.
type Level int

// The levels of room. A job's step may write hundreds of megabytes before it ends.
const (
	Ample Level = iota
	Low         // below lowFree: somebody should make room
	Full        // below fullFree: jobs are about to stop, or have
)

const (
	lowFree  = 1 << 30
	fullFree = 64 << 20
)

// Level judges the room. Where a file system is small, a tenth of it free is not low.
func (s Space) Level() Level {
	switch {
	case s.Total == 0: // not known
		return Ample
	case s.Free < min(fullFree, s.Total/50):
		return Full
	case s.Free < min(lowFree, s.Total/10):
		return Low
	}
	return Ample
}
