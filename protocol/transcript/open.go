package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Open makes a transcript, readable by its owner only, or goes on with one. It reads the whole of it, since a session
// begins with what the ones before have left, and drops what a crash left incomplete: a record that is not whole, and
// zeros to the end of the file. A file that is not this job's and this party's, or that was changed, is left alone,
// with an error.
func Open(path string, c Config) (*Log, error) {
	links, err := NewLinks(c.Contract, c.Self, c.IDs)
	if err == nil && (c.Key == nil || c.Key.ID() != c.IDs[c.Self]) {
		err = fmt.Errorf("the key is not that of party %d, %s", c.Self, c.IDs[c.Self].Short())
	}
	if err != nil {
		return nil, named("transcript", path, err)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	l := &Log{config: c, path: path, links: links, trails: make([]trail, len(c.IDs))}
	l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		if err = l.resume(); err != nil {
			l.file.Close()
		}
	}
	if err != nil {
		return nil, named("transcript", path, err)
	}
	return l, nil
}

// resume finds out where the file ends and makes it end there.
func (l *Log) resume() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a file")
	}
	h := Header{Self: l.config.Self, Contract: l.config.Contract, Party: l.config.IDs[l.config.Self],
		Consent: l.config.Consent}
	// Without a whole header the file was never created to the end.
	var block [BlockSize]byte
	if info.Size() < BlockSize {
		return l.create(h, info.Size())
	}
	if _, err := l.file.ReadAt(block[:], 0); err != nil {
		return err
	}
	if info.Size() == BlockSize && zero(block[hashAt:]) {
		return l.create(h, info.Size())
	}

	// The header must be the one that this log would write, but for the consent: a transcript keeps the one that it was
	// begun under.
	got, err := DecodeHeader(&block)
	if err != nil {
		return err
	}
	if got.Contract != h.Contract {
		return fmt.Errorf("it is of contract %s, want %s", got.Contract.Short(), h.Contract.Short())
	}
	h.Consent = got.Consent
	if got != h {
		return fmt.Errorf("it is that of party %d, %s, want party %d, %s",
			got.Self, got.Party.Short(), h.Self, h.Party.Short())
	}
	copy(l.buffer[:], block[hashAt:])

	// Number, chain, time, session and links come from all whole records.
	var last Record
	err = l.scan(l.links, info.Size(), func(r *Record) {
		last = *r
		l.opened++
		if l.links.peer(r.Peer) {
			l.trails[r.Peer].add(r, l.links)
		}
	})
	if err != nil {
		return err
	}
	l.before = l.opened
	if l.opened > 0 {
		l.number, l.time, l.session = last.Number+1, last.Time, last.Session
		copy(l.buffer[:], last.Hash[:])
	}
	whole := int64(l.before+1) * BlockSize
	if whole < l.config.Synced {
		return damaged(fmt.Errorf("its records end after %d bytes, and %d were on the disk before", whole, l.config.Synced))
	}
	if info.Size() > whole {
		return l.file.Truncate(whole)
	}
	return nil
}

// create writes the header into a file that has size bytes of it, or zeros behind fewer, and makes the file durable.
func (l *Log) create(h Header, size int64) error {
	var block, there [BlockSize]byte
	h.Encode(&block)
	if _, err := l.file.ReadAt(there[:size], 0); err != nil {
		return err
	}
	if !bytes.HasPrefix(block[:], bytes.TrimRight(there[:size], "\x00")) {
		return fmt.Errorf("it has %d bytes that do not begin this transcript: move it away", size)
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err := l.file.Write(block[:]); err != nil {
		return err
	}
	copy(l.buffer[:], block[hashAt:])
	return errors.Join(l.file.Sync(), syncDir(filepath.Dir(l.path)))
}

// scan reads the whole records of the first size bytes, adds them to links, and shows each.
func (l *Log) scan(links *Links, size int64, visit func(r *Record)) error {
	reader, err := NewReader(io.NewSectionReader(l.file, 0, size))
	if err != nil {
		return err
	}
	var r Record
	for {
		err := reader.Next(&r)
		if err == io.EOF || err == ErrCut {
			return nil
		}
		if err == nil {
			err = links.Add(&r)
		}
		if err != nil {
			return damaged(err)
		}
		visit(&r)
	}
}

// damaged says that a transcript cannot be gone on with.
func damaged(err error) error {
	return fmt.Errorf("it is damaged: %w; put back a copy of the file", err)
}

// syncDir makes a new file's name durable, where folders can be synced.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
