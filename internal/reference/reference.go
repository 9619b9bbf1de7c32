// Package reference keeps the full text of faults that other members were told a code of. A reference, six
// hexadecimal digits, goes along with the code; by it the owner finds the text.
package reference

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/wording"
)

// The two files of a book: when the first is full it takes the place of the second.
const (
	fileName = "faults.log"
	fullName = "faults.old.log"
)

// Limits of a book.
const (
	maxFile = 4 << 20 // bytes of a file
	maxText = 4 << 10 // bytes of one fault's text
	maxLine = 8 * maxText

	addEvery = 2 * time.Second // faults of one member that are kept
	addBurst = 100
	maxTold  = 1024 // members whose faults are counted apart
)

// Entry is a fault that somebody was told a code of.
type Entry struct {
	Ref  string    `json:"ref"`
	At   time.Time `json:"at"`
	To   string    `json:"to"`   // who was told
	On   string    `json:"on"`   // what was asked, or in which job it happened
	Code string    `json:"code"` // what they were told
	Text string    `json:"text"` // what happened
}

// Log keeps the faults of a node in its folder. Its methods may be called concurrently.
type Log struct {
	dir string

	mu   sync.Mutex
	file *os.File // nil until the first entry, and while it cannot be written
	size int64
	last []byte // what could not be written, the latest first lines of it
	told map[string]*rate.Limiter
}

// Open prepares the book in a folder, which must exist. Nothing is written before the first entry.
func Open(dir string) *Log { return &Log{dir: dir, told: make(map[string]*rate.Limiter)} }

// Add keeps a fault and returns its reference. It never fails: what the disk does not take stays in memory. Of who is
// told too many nothing is kept, and the reference is empty: no member fills the book.
func (b *Log) Add(e Entry) (ref string) {
	if !b.mayAdd(e.To) {
		return ""
	}
	var drawn [3]byte
	rand.Read(drawn[:])
	e.Ref = hex.EncodeToString(drawn[:])
	e.At = e.At.UTC().Truncate(time.Second)
	if len(e.Text) > maxText {
		e.Text = strings.ToValidUTF8(e.Text[:maxText], "") + "…"
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings and a time
	}
	line = append(line, '\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.write(line) != nil {
		b.last = append(b.last, line...)
		if excess := len(b.last) - maxFile/16; excess > 0 {
			b.last = b.last[excess+bytes.IndexByte(b.last[excess:], '\n')+1:]
		}
	}
	return e.Ref
}

// mayAdd reports whether another fault of whoever is told is kept.
func (b *Log) mayAdd(to string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told[to] == nil && len(b.told) >= maxTold {
		to = ""
	}
	if b.told[to] == nil {
		b.told[to] = rate.NewLimiter(rate.Every(addEvery), addBurst)
	}
	return b.told[to].Allow()
}

// write appends a line to the file. b.mu is held.
func (b *Log) write(line []byte) error {
	if b.file != nil && b.size+int64(len(line)) > maxFile {
		full := b.file
		b.file = nil
		if err := errors.Join(full.Close(), os.Rename(b.path(fileName), b.path(fullName)),
			durable.SyncDir(b.dir)); err != nil {
			return err
		}
	}
	if b.file == nil {
		f, err := os.OpenFile(b.path(fileName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		at, err := f.Seek(0, 2)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		b.file, b.size = f, at
		if at > 0 {
			line = append([]byte{'\n'}, line...) // a crash may have cut the last one short
		}
	}
	n, err := b.file.Write(line)
	b.size += int64(n)
	return err
}

// path is that of a file of the book.
func (b *Log) path(name string) string { return filepath.Join(b.dir, name) }

// Find returns what is kept under a reference, the oldest first. Of millions of faults two may have the same.
func (b *Log) Find(ref string) ([]Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []Entry
	for _, name := range []string{fullName, fileName} {
		data, err := os.ReadFile(b.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, entriesOf(data, ref)...)
	}
	return append(found, entriesOf(b.last, ref)...), nil
}

// entriesOf reads the entries of a reference; a line that a crash cut short is passed over.
func entriesOf(data []byte, ref string) (found []Entry) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e Entry
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Ref == ref {
			found = append(found, e)
		}
	}
	return found
}

// Close ends the book's use of its file.
func (b *Log) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return nil
	}
	err := b.file.Close()
	b.file = nil
	return err
}

// String renders an entry for its owner. Texts may hold what others sent: what does not print is shown as its code.
func (e Entry) String() string {
	clean := func(text string) string { return wording.Line(text, maxLine) }
	return fmt.Sprintf("%s: %s was told %q about %s:\n%s", wording.Time(e.At), clean(e.To), e.Code,
		clean(e.On), clean(e.Text))
}
