// Package workerkeys keeps a node's register of the keys by which workers are let in at it. Each is of one shard of one
// job, and good until a time. A key follows from the node's worker.key and a line of the register; worker.key itself
// lets nobody in, and leaves the node as little as the organisation's key does.
package workerkeys

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/keys"
)

// The two files of a register, in the node's folder.
const (
	MasterFile   = "worker.key"
	registerFile = "worker-keys.json"
)

// Limits of a register.
const (
	// LongestTime is for how long a key may be made.
	LongestTime = 31 * 24 * time.Hour
	leastTime   = time.Minute
	// keptTime is how long a key whose time has ended is told from one that the node never made.
	keptTime    = 7 * 24 * time.Hour
	maxKeys     = 1 << 16 // in the register
	maxGrants   = 1024
	maxRegister = 32 << 20 // bytes
)

// What separates these keys from all other derived ones.
const (
	domainKey = "hanse worker v2"
	domainOf  = "hanse worker key of a job v1"
)

// Standing is what a key is worth.
type Standing int

// The standings of a key.
const (
	Unknown Standing = iota // no key of this node's workers
	Good
	Expired
	Revoked
)

// Place is what a key is for.
type Place struct {
	Contract keys.Hash // of the job
	Shard    int
}

// Range is a run of shards, First to Last.
type Range struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// String says it as a command line does: 0-15, or 3.
func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// has reports whether a shard is one of them.
func (r Range) has(shard int) bool { return r.First <= shard && shard <= r.Last }

// Request asks for keys.
type Request struct {
	Contract keys.Hash
	Job      string // its name
	Party    string // whose workers they are for
	Of       int    // how many shards the job has
	Shards   Range
	For      time.Duration
}

// grant is a line of the register: keys that were made together.
type grant struct {
	Contract keys.Hash `json:"contract"`
	Job      string    `json:"job"`
	Range
	Made    time.Time    `json:"made"`
	Expires time.Time    `json:"expires"`
	Salt    keys.Hash    `json:"salt"` // drawn for this line: what is revoked never comes again
	Revoked []Range      `json:"revoked,omitempty"`
	Used    map[int]*use `json:"used,omitempty"` // by shard
}

// use is the first one of a key.
type use struct {
	At      time.Time `json:"at"`
	Address string    `json:"address"`
}

// size is how many keys a grant has.
func (g *grant) size() int { return g.Last - g.First + 1 }

// revoked reports whether the key of a shard was taken back.
func (g *grant) revoked(shard int) bool {
	return slices.ContainsFunc(g.Revoked, func(r Range) bool { return r.has(shard) })
}

// entry is a key of the register.
type entry struct {
	grant *grant
	shard int
}

// Register is a node's. Its methods may be called concurrently.
type Register struct {
	path   string
	master *keys.PrivateKey // nil where there is a fault
	fault  error
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	grants  []*grant
	known   map[keys.ID]entry
	derived int // so many grants are in known
}

// Open reads the register in a node's folder. worker.key is drawn when it is not there. One that cannot be used keeps
// nothing but workers out: Fault says why.
func Open(dir string, now func() time.Time, log *slog.Logger) *Register {
	r := &Register{path: filepath.Join(dir, registerFile), now: now, log: log, known: make(map[keys.ID]entry)}
	master, err := readMaster(filepath.Join(dir, MasterFile))
	if err != nil {
		r.fault = fmt.Errorf("no worker is let in, and jobs in shards wait: %w; put the file back from a copy, or move it "+
			"away and start the node again, which draws another, and make the keys of workers anew with hanse worker key",
			err)
		log.Error("the key from which those of workers follow cannot be used", "error", r.fault)
		return r
	}
	r.master = master
	if r.grants, err = readGrants(r.path); err != nil {
		log.Error("which keys of workers were made is not known any more, and none of them is accepted: make them anew "+
			"with hanse worker key", "file", r.path, "error", err)
	}
	return r
}

// readMaster reads worker.key.
func readMaster(path string) (*keys.PrivateKey, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		key, err := keys.GenerateKey()
		if err != nil {
			return nil, err
		}
		if err := keys.CreateKeyFile(path, "workers", key, nil); err != nil {
			return nil, err
		}
	}
	file, err := keys.LoadKeyFile(path, nil)
	if err != nil {
		return nil, err
	}
	return file.Key, nil
}

// readGrants reads the lines of a register; there need be none.
func readGrants(path string) (list []*grant, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRegister+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRegister {
		return nil, fmt.Errorf("more than %d bytes", maxRegister)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	all := 0
	for _, g := range list {
		if g == nil || g.First < 0 || g.Last < g.First || g.Last >= maxKeys || g.Contract.IsZero() || g.Salt.IsZero() {
			return nil, errors.New("a line is none of a register")
		}
		all += g.size()
	}
	if len(list) > maxGrants || all > maxKeys {
		return nil, fmt.Errorf("%d lines with %d keys, at most %d with %d are read", len(list), all, maxGrants, maxKeys)
	}
	return list, nil
}

// Fault is why no key can be made or accepted, nil where nothing is wrong.
func (r *Register) Fault() error { return r.fault }

// derive makes the key of a grant's shard.
func (r *Register) derive(g *grant, shard int) (*keys.PrivateKey, error) {
	var number, expires [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(shard))
	binary.BigEndian.PutUint64(expires[:], uint64(g.Expires.Unix()))
	of := keys.HashOf(domainOf, g.Contract[:], number[:], expires[:], g.Salt[:])
	return r.master.Derive(domainKey, of[:])
}

// save writes the register. r.mu is held.
func (r *Register) save() error {
	data, err := json.Marshal(r.grants)
	if err != nil {
		return err
	}
	return durable.WriteFile(r.path, data, []byte("\n"))
}

// Issue makes keys, and notes in the register that they were made before it returns them.
func (r *Register) Issue(q Request) (*keys.ShardKeys, error) {
	switch {
	case r.fault != nil:
		return nil, r.fault
	case q.Shards.First < 0 || q.Shards.Last < q.Shards.First || q.Shards.Last >= q.Of:
		return nil, fmt.Errorf("shards %s of job %s: it has shards 0 to %d", q.Shards, q.Job, q.Of-1)
	case q.For < leastTime || q.For > LongestTime:
		return nil, fmt.Errorf("keys for %v: want %v to %v", q.For, leastTime, LongestTime)
	}
	g := &grant{Contract: q.Contract, Job: q.Job, Range: q.Shards, Made: r.now().UTC().Truncate(time.Second)}
	g.Expires = g.Made.Add(q.For).Truncate(time.Second)
	if _, err := rand.Read(g.Salt[:]); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	all := g.size()
	for _, old := range r.grants {
		all += old.size()
	}
	if len(r.grants) >= maxGrants || all > maxKeys {
		return nil, fmt.Errorf("the register has %d lines, and would have %d keys of workers, at most %d and %d are kept: "+
			"keys whose time has ended go after %d days", len(r.grants), all, maxGrants, maxKeys, int(keptTime/(24*time.Hour)))
	}
	made := &keys.ShardKeys{Contract: g.Contract, Expires: g.Expires, Keys: make(map[int]*keys.PrivateKey),
		Note: fmt.Sprintf("of shards %s of job %s, of %s: good while the job runs, until it expires", q.Shards, q.Job,
			q.Party)}
	for shard := g.First; shard <= g.Last; shard++ {
		key, err := r.derive(g, shard)
		if err != nil {
			return nil, err
		}
		made.Keys[shard] = key
	}
	r.grants = append(r.grants, g)
	if err := r.save(); err != nil {
		r.grants = r.grants[:len(r.grants)-1]
		return nil, err
	}
	r.log.Info("keys of workers were made", "job", g.Job, "shards", g.Range.String(), "expires", g.Expires)
	return made, nil
}

// forget leaves out keys whose time ended long ago. r.mu is held.
func (r *Register) forget() {
	kept := slices.DeleteFunc(slices.Clone(r.grants), func(g *grant) bool { return r.now().Sub(g.Expires) > keptTime })
	if len(kept) < len(r.grants) {
		r.grants, r.known, r.derived = kept, make(map[keys.ID]entry), 0
	}
}

// Revoke takes back all keys of a job's shards, of whatever line, and returns how many of them were good.
func (r *Register) Revoke(contract keys.Hash, shards Range) (count int, err error) {
	if r.fault != nil {
		return 0, r.fault
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := make(map[*grant][]Range)
	for _, g := range r.grants {
		at := Range{max(g.First, shards.First), min(g.Last, shards.Last)}
		if g.Contract != contract || at.First > at.Last || r.now().After(g.Expires) {
			continue
		}
		good := 0
		for shard := at.First; shard <= at.Last; shard++ {
			if !g.revoked(shard) {
				good++
			}
		}
		if good > 0 {
			before[g] = g.Revoked
			g.Revoked = append(slices.Clone(g.Revoked), at)
			count += good
		}
	}
	if count == 0 {
		return 0, nil
	}
	if err := r.save(); err != nil {
		for g, old := range before {
			g.Revoked = old
		}
		return 0, err
	}
	r.log.Info("keys of workers were revoked", "contract", contract.Short(), "shards", shards.String(), "keys", count)
	return count, nil
}

// Find tells what a key is for, and what it is worth. Whether its job runs is for the caller to know.
func (r *Register) Find(id keys.ID) (Place, Standing) {
	if r.fault != nil {
		return Place{}, Unknown
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.find(id)
	p := Place{}
	switch {
	case !ok:
		return p, Unknown
	case e.grant.revoked(e.shard):
		return Place{e.grant.Contract, e.shard}, Revoked
	case !r.now().Before(e.grant.Expires):
		return Place{e.grant.Contract, e.shard}, Expired
	}
	return Place{e.grant.Contract, e.shard}, Good
}

// find looks a key up, and derives what was not looked for before. r.mu is held.
func (r *Register) find(id keys.ID) (entry, bool) {
	for ; r.derived < len(r.grants); r.derived++ {
		g := r.grants[r.derived]
		for shard := g.First; shard <= g.Last; shard++ {
			key, err := r.derive(g, shard)
			if err != nil {
				r.log.Error("a key of a worker cannot be derived", "job", g.Job, "shard", shard, "error", err)
				continue
			}
			r.known[key.ID()] = entry{g, shard}
		}
	}
	e, ok := r.known[id]
	return e, ok
}

// Came notes that a worker was let in by a key, from an address. The first time it is logged, and kept.
func (r *Register) Came(id keys.ID, address string) {
	if r.fault != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.find(id)
	if !ok || e.grant.Used[e.shard] != nil {
		return
	}
	if e.grant.Used == nil {
		e.grant.Used = make(map[int]*use)
	}
	e.grant.Used[e.shard] = &use{r.now().UTC().Truncate(time.Second), address}
	r.log.Info("a worker's key is used for the first time", "job", e.grant.Job, "shard", e.shard, "address", address)
	if err := r.save(); err != nil {
		r.log.Warn("the first use of a worker's key could not be kept", "error", err)
	}
}
