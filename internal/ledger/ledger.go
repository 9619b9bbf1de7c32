package ledger

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Folder is where a node's folder has its ledger.
const Folder = "ledger"

// Names inside the folder.
const (
	keyFile     = "key"
	entriesFile = "entries"
	rowsPrefix  = "rows-" // the digest of the set follows
)

// entryVersion is the first byte of a record; the entry follows. Evolution: a changed meaning is a new version.
const entryVersion = 1

// Ledger is a node's ledger. Its methods may be called concurrently.
type Ledger struct {
	vault *vault.Vault
	key   keys.Hash

	mu      sync.Mutex
	entries []Entry // the latest of each contract, in the order in which they were booked first
	place   map[keys.Hash]int
	changes int

	counting sync.Mutex // held by who adds up, so that all share one count
	lines    []Line     // nil: not counted yet
	counted  int        // changes, when they were counted
}

// Options are those of the vault in dir, but for which names can be made anew: entries are had from the folders of
// jobs, by Enter, and count for every row then.
func Options(o vault.Options) vault.Options {
	o.Owner = keys.HashOf("hanse ledger v1")
	o.Rebuildable = func(string) bool { return true }
	return o
}

// Open makes the ledger in a folder if there is none, and reads it.
func Open(dir string, o vault.Options) (*Ledger, error) {
	v, err := vault.Open(dir, Options(o))
	if err != nil {
		return nil, err
	}
	l := &Ledger{vault: v, place: make(map[keys.Hash]int)}
	key, err := v.Load(keyFile)
	if err != nil {
		return nil, err
	}
	if len(key) != len(l.key) {
		key = make([]byte, len(l.key))
		rand.Read(key)
		if err := v.Save(keyFile, key); err != nil {
			return nil, err
		}
	}
	copy(l.key[:], key)
	_, err = v.Records(entriesFile, -1, func(record []byte) error {
		var e Entry
		if len(record) < 1 || record[0] != entryVersion {
			return &vault.VersionError{Path: v.Path(entriesFile), Why: fmt.Sprintf("a record begins with %x, this program "+
				"reads version %d", record[:min(1, len(record))], entryVersion)}
		}
		if err := cbor.Unmarshal(record[1:], &e); err != nil {
			return &vault.DamagedError{Path: v.Path(entriesFile), Why: err.Error()}
		}
		if e.Key != l.keyName() { // its rows cannot be told from others any more
			e.Rows = keys.Hash{}
		}
		l.take(e)
		return nil
	})
	return l, err
}

// Close closes the ledger's files.
func (l *Ledger) Close() error { return l.vault.Close() }

// Key is the secret under which this node hashes ids of rows.
func (l *Ledger) Key() keys.Hash { return l.key }

// keyName names the key, and tells nothing of it.
func (l *Ledger) keyName() uint64 {
	h := keys.HashOf("hanse ledger key v1", l.key[:])
	return binary.BigEndian.Uint64(h[:])
}

// Changes grows with every entry that is booked or struck.
func (l *Ledger) Changes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

// take puts an entry in, in place of an earlier one of the same contract.
func (l *Ledger) take(e Entry) {
	l.changes++
	if at, ok := l.place[e.Contract]; ok {
		l.entries[at] = e
		return
	}
	l.place[e.Contract] = len(l.entries)
	l.entries = append(l.entries, e)
}

// append puts an entry on the disk, and then in. l.mu is held.
func (l *Ledger) append(e Entry) error {
	record, err := cbor.Marshal(e)
	if err != nil {
		return err
	}
	if err := l.vault.Append(entriesFile, append([]byte{entryVersion}, record...)); err != nil {
		return err
	}
	if err := l.vault.Sync(entriesFile); err != nil {
		return err
	}
	l.take(e)
	return nil
}

// Holding is what a node brings to a job: its rows, and about how many bits its own columns have of one.
type Holding struct {
	Rows    Rows
	Entropy float64
	Unknown bool // nobody knows any more which rows they were
}

// Enter counts a job that the party of that name consents to; it is on the disk when Enter returns. A job that is
// entered already stays as it is, unless it was struck.
func (l *Ledger) Enter(c *contract.Contract, self string, h Holding, at time.Time) error {
	e := entryOf(c, self, at)
	e.Entropy, e.Key = h.Entropy, l.keyName()
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.place[e.Contract]; ok && !l.entries[at].Struck {
		return nil
	}
	if len(h.Rows) == 0 && !h.Unknown {
		e.Idle = true
		for i := range e.Told { // what opens of rows is of others'
			e.Told[i].RowBits = 0
		}
	}
	if len(h.Rows) > 0 {
		e.Rows, e.Count = h.Rows.Digest(), len(h.Rows)
		if name := rowsPrefix + e.Rows.String(); !l.vault.Has(name) {
			if err := l.vault.Save(name, h.Rows.encode()); err != nil {
				return err
			}
		}
	}
	return l.append(e)
}

// Strike takes a job out that ended before its first session: nothing of it opened.
func (l *Ledger) Strike(contract keys.Hash) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.place[contract]
	if !ok || l.entries[at].Struck {
		return nil
	}
	e := l.entries[at]
	e.Struck = true
	return l.append(e)
}

// Has reports whether a job is booked.
func (l *Ledger) Has(contract keys.Hash) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.place[contract]
	return ok && !l.entries[at].Struck
}

// Entries lists all jobs that count, in the order in which they were booked.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.entries), func(e Entry) bool { return e.Struck })
}

// rows returns the set of an entry; known is false where it cannot be had, and the entry counts for every row.
func (l *Ledger) rows(e *Entry) (rows Rows, known bool, err error) {
	if e.Rows.IsZero() {
		return nil, false, nil
	}
	data, err := l.vault.Load(rowsPrefix + e.Rows.String())
	if err != nil || data == nil {
		return nil, false, err
	}
	if rows, err = decodeRows(data); err == nil && rows.Digest() != e.Rows {
		err = errors.New("they are others than its name says")
	}
	if err != nil {
		return nil, false, l.vault.SetAside(rowsPrefix+e.Rows.String(), err)
	}
	return rows, true, nil
}
