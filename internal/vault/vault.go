// Package vault keeps what must survive a killed process: small states saved atomically and long
// logs of records appended one by one, all in one folder that only its owner can read.
//
// Save writes a temporary file, syncs it, renames it over the old one and syncs the folder
// (Pillai et al., OSDI 2014: all four are needed). Append writes a record behind its length and
// checksum; a record cut short by a crash is not there when the log is read again.
package vault

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxRecord is the longest record that is read back, in bytes.
const maxRecord = 64 << 20

// recordHead is the length of a record's head: its length and its checksum.
const recordHead = 8

// castagnoli is the polynomial of the records' checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Vault is a folder of states and logs. Its methods are not safe for concurrent use on one name.
type Vault struct {
	dir  string
	logs map[string]*os.File
}

// Open makes the folder if it is missing and returns the vault in it.
func Open(dir string) (*Vault, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	return &Vault{dir: dir, logs: make(map[string]*os.File)}, nil
}

// Path returns where a name is kept.
func (v *Vault) Path(name string) string { return filepath.Join(v.dir, name) }

// Load returns a saved state, nil when there is none.
func (v *Vault) Load(name string) ([]byte, error) {
	data, err := os.ReadFile(v.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Save replaces a state. When it returns without error the new state is on the disk; with an
// error the old one is untouched.
func (v *Vault) Save(name string, data []byte) (err error) {
	f, err := os.CreateTemp(v.dir, name+".*.tmp")
	if err != nil {
		return checkpointError(err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = checkpointError(err)
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err = os.Rename(f.Name(), v.Path(name)); err != nil {
		return err
	}
	return syncDir(v.dir)
}

// Append adds a record to a log. The record is safe against the death of the process when it
// returns, and against a power cut after the next Sync.
func (v *Vault) Append(name string, record []byte) error {
	if len(record) == 0 || len(record) > maxRecord {
		return fmt.Errorf("a record of %d bytes in %s, want 1 to %d", len(record), name, maxRecord)
	}
	f, err := v.log(name)
	if err != nil {
		return checkpointError(err)
	}
	var head [recordHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(record)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(record, castagnoli))
	_, err = f.Write(head[:])
	if err == nil {
		_, err = f.Write(record)
	}
	if err != nil { // the next Append opens the file anew; Records cuts a half record off
		delete(v.logs, name)
		return checkpointError(errors.Join(err, f.Close()))
	}
	return nil
}

// log returns the open file of a log.
func (v *Vault) log(name string) (*os.File, error) {
	if f, ok := v.logs[name]; ok {
		return f, nil
	}
	f, err := os.OpenFile(v.Path(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		v.logs[name] = f
	}
	return f, err
}

// Sync makes everything appended to a log safe against a power cut.
func (v *Vault) Sync(name string) error {
	if f, ok := v.logs[name]; ok {
		return checkpointError(f.Sync())
	}
	return nil
}

// Records calls each with up to most records of a log, in order; a negative most means all. The
// slice is valid during the call. What stands behind the last record read is cut off, so that
// the next Append continues there. It returns how many records there were.
func (v *Vault) Records(name string, most int, each func(record []byte) error) (n int, err error) {
	f, err := os.OpenFile(v.Path(name), os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReaderSize(f, 1<<20)
	var good int64
	var buf []byte
	for n != most {
		record, ok := readRecord(r, &buf)
		if !ok {
			break
		}
		if err := each(record); err != nil {
			return n, err
		}
		n++
		good += recordHead + int64(len(record))
	}
	return n, cutOff(f, good)
}

// cutOff drops what stands behind the first size bytes of a log, if anything does.
func cutOff(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() <= size {
		return err
	}
	return checkpointError(f.Truncate(size))
}

// readRecord reads the next whole record, reporting false at the first that is not.
func readRecord(r io.Reader, buf *[]byte) ([]byte, bool) {
	var head [recordHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, false
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size == 0 || size > maxRecord { // zeros are what a power cut leaves at the end of a file
		return nil, false
	}
	if cap(*buf) < int(size) {
		*buf = make([]byte, size)
	}
	record := (*buf)[:size]
	if _, err := io.ReadFull(r, record); err != nil {
		return nil, false
	}
	return record, crc32.Checksum(record, castagnoli) == binary.LittleEndian.Uint32(head[4:])
}

// Remove deletes a state or a log; one that is not there is no error.
func (v *Vault) Remove(name string) error {
	if f, ok := v.logs[name]; ok {
		f.Close()
		delete(v.logs, name)
	}
	if err := os.Remove(v.Path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close closes the logs.
func (v *Vault) Close() error {
	var err error
	for name, f := range v.logs {
		err = errors.Join(err, f.Close())
		delete(v.logs, name)
	}
	return err
}

// WriteError says that a state or record could not be written. What was there before is intact.
type WriteError struct{ Err error }

// Error says what a failed write means to the person who can mend it.
func (e *WriteError) Error() string {
	return fmt.Sprintf("checkpoint not written, the last one is intact: %v; free some space and the job goes on from there", e.Err)
}

// Unwrap returns the system's error.
func (e *WriteError) Unwrap() error { return e.Err }

// checkpointError wraps an error as a WriteError.
func checkpointError(err error) error {
	if err == nil {
		return nil
	}
	return &WriteError{err}
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
