package vault

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/keys"
)

// logMagic begins every log; its number is the format's version.
const logMagic = "hanse-log-v1\n"

// maxRecord is the longest record that is read back, in bytes.
const maxRecord = 64 << 20

// A record's head is its length (4 bytes, little endian), a checksum of that (4), and the record's (32). The length has
// one of its own, so that a record that a crash cut short is told from one whose length was changed.
const (
	lengthHead = 4 + 4
	recordHead = lengthHead + len(keys.Hash{})
)

// lengthSum is the checksum of a record's length.
func (v *Vault) lengthSum(name string, place int, length []byte) []byte {
	h := keys.HashOf("hanse log length v1", v.options.Owner[:], []byte(name),
		binary.BigEndian.AppendUint64(nil, uint64(place)), length)
	return h[:lengthHead-4]
}

// recordSum is the checksum of a record: it binds the log's owner, its name and the record's place in it.
func (v *Vault) recordSum(name string, place int, record []byte) keys.Hash {
	return keys.HashOf("hanse log record v1", v.options.Owner[:], []byte(name),
		binary.BigEndian.AppendUint64(nil, uint64(place)), record)
}

// openLog is a log that is appended to.
type openLog struct {
	file  *os.File
	place int // of the next record
}

// Append adds a record to a log. The record is safe against the death of the process when it
// returns, and against a power cut after the next Sync.
func (v *Vault) Append(name string, record []byte) error {
	if len(record) == 0 || len(record) > maxRecord {
		return fmt.Errorf("a record of %d bytes in %s, want 1 to %d", len(record), name, maxRecord)
	}
	l, err := v.log(name)
	if err != nil {
		return writeError(err)
	}
	sum := v.recordSum(name, l.place, record)
	head := binary.LittleEndian.AppendUint32(make([]byte, 0, recordHead), uint32(len(record)))
	head = append(head, v.lengthSum(name, l.place, head)...)
	head = append(head, sum[:]...)
	err = v.write(v.Path(name), func() error {
		_, err := l.file.Write(head)
		if err == nil {
			_, err = l.file.Write(record)
		}
		return err
	})
	if err != nil { // the next Append reads the log anew, and cuts a half record off
		v.mu.Lock()
		delete(v.logs, name)
		v.mu.Unlock()
		return errors.Join(err, l.file.Close())
	}
	l.place++
	return nil
}

// log returns an open log, whose records were counted and whose end is whole.
func (v *Vault) log(name string) (*openLog, error) {
	v.mu.Lock()
	l, ok := v.logs[name]
	v.mu.Unlock()
	if ok {
		return l, nil
	}
	n, err := v.Records(name, -1, func([]byte) error { return nil })
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(v.Path(name)); err != nil || info.Size() == 0 {
		if err := durable.WriteFile(v.Path(name), []byte(logMagic)); err != nil {
			return nil, err
		}
	}
	if err := v.list(name, true); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(v.Path(name), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	l = &openLog{f, n}
	v.mu.Lock()
	v.logs[name] = l
	v.mu.Unlock()
	return l, nil
}

// Sync makes everything appended to a log safe against a power cut.
func (v *Vault) Sync(name string) error {
	v.mu.Lock()
	l, ok := v.logs[name]
	v.mu.Unlock()
	if !ok {
		return nil
	}
	return writeError(l.file.Sync())
}

// Records calls each with up to most records of a log, in order; a negative most means all. The
// slice is valid during the call. What stands behind the last record read is cut off, so that
// the next Append continues there. It returns how many records there were.
//
// A record that is cut short, and zeros to the end of the file, end the log, as a crash may leave it. All else is
// damage: the log ends there too where it is rebuildable, and is a *DamagedError elsewhere, with nothing cut off. A log
// of another version of the program is a *VersionError, and stays as it is.
func (v *Vault) Records(name string, most int, each func(record []byte) error) (n int, err error) {
	v.mu.Lock()
	if l, ok := v.logs[name]; ok { // it goes on behind what is read now
		l.file.Close()
		delete(v.logs, name)
	}
	v.mu.Unlock()
	f, err := os.OpenFile(v.Path(name), os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, v.missing(name)
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReaderSize(f, 1<<20)
	head, err := r.ReadSlice('\n')
	if err == nil && isOther(head, logMagic) {
		if err := v.other(name, string(head), r); err != nil {
			return 0, err
		}
	}
	if err != nil || string(head) != logMagic {
		return 0, v.ended(name, "it does not begin as what this program writes", f, 0)
	}
	good := int64(len(logMagic))
	var buf []byte
	for n != most {
		record, why := v.readRecord(r, name, n, &buf)
		if why != "" {
			return n, v.ended(name, why, f, good)
		}
		if record == nil {
			break
		}
		if err := each(record); err != nil {
			return n, err
		}
		n++
		good += int64(recordHead + len(record))
	}
	return n, cutOff(f, good)
}

// other is the error of a log of another version of the program, whose first line was read; nil of one of this version
// whose number is damaged: its first record is right, or it has none.
func (v *Vault) other(name, first string, r *bufio.Reader) error {
	if _, err := r.Peek(1); err != nil {
		return nil
	}
	var buf []byte
	if record, why := v.readRecord(r, name, 0, &buf); record != nil && why == "" {
		return nil
	}
	return &VersionError{Path: v.Path(name), Why: format([]byte(first), logMagic)}
}

// missing is what a log that is not there means.
func (v *Vault) missing(name string) error {
	if !v.Has(name) {
		return nil
	}
	damaged := &DamagedError{v.Path(name), "it was written there and is gone"}
	if v.rebuildable(name) {
		return v.SetAside(name, damaged)
	}
	return damaged
}

// ended ends a damaged log before the damage where it can be rebuilt.
func (v *Vault) ended(name, why string, f *os.File, good int64) error {
	damaged := &DamagedError{v.Path(name), why}
	if !v.rebuildable(name) {
		return damaged
	}
	if v.options.Damaged != nil {
		v.options.Damaged(fmt.Sprintf("%v; what was before that is kept, and the rest is made anew", damaged))
	}
	return cutOff(f, good)
}

// cutOff drops what stands behind the first size bytes of a log, if anything does.
func cutOff(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() <= size {
		return err
	}
	return writeError(f.Truncate(size))
}

// readRecord reads the next record, nil at the end of what a crash left whole; why is the damage.
func (v *Vault) readRecord(r io.Reader, name string, place int, buf *[]byte) (record []byte, why string) {
	var head [recordHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, ""
	}
	if head == [recordHead]byte{} && onlyZeros(r) {
		return nil, ""
	}
	size := binary.LittleEndian.Uint32(head[:])
	if string(v.lengthSum(name, place, head[:4])) != string(head[4:lengthHead]) || size == 0 || size > maxRecord {
		return nil, fmt.Sprintf("the head of record %d is not one that was written there", place+1)
	}
	if cap(*buf) < int(size) {
		*buf = make([]byte, size)
	}
	record = (*buf)[:size]
	if _, err := io.ReadFull(r, record); err != nil {
		return nil, ""
	}
	if v.recordSum(name, place, record) != keys.Hash(head[lengthHead:]) {
		return nil, fmt.Sprintf("the bytes of record %d are not those that its SHA-256 was made of", place+1)
	}
	return record, ""
}

// onlyZeros reports whether nothing but zeros follows: what a power cut leaves at the end of a file.
func onlyZeros(r io.Reader) bool {
	var b [4096]byte
	for {
		n, err := r.Read(b[:])
		for _, c := range b[:n] {
			if c != 0 {
				return false
			}
		}
		if err != nil {
			return err == io.EOF
		}
	}
}
