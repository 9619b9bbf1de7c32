package shards

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Names inside a job's folder.
const (
	// Folder has a folder for each shard, and in it one for each generation.
	Folder = "shards"
	// ContractFile is a shard's contract.
	ContractFile = "contract"
	// TranscriptFile is this party's transcript of a shard's session.
	TranscriptFile = transcript.File
	// PayloadFolder has what a full transcript keeps of payloads.
	PayloadFolder = transcript.PayloadFolder

	recordPrefix = "shard-"
)

// Path names the folder of a generation of a shard, inside the job's folder.
func Path(shard int, generation uint32) string {
	return filepath.Join(Folder, fmt.Sprintf("%05d", shard), fmt.Sprintf("%05d", generation))
}

// record is what a node keeps of a shard.
type record struct {
	Latest   uint32    `cbor:"1,keyasint"` // the last generation that this node has delegated
	Done     uint32    `cbor:"2,keyasint"` // the generation whose result is kept; 0: none
	Digest   keys.Hash `cbor:"3,keyasint"` // of what the result was made from; see Work.Digest
	Contract keys.Hash `cbor:"4,keyasint"` // of the session that is done
	Head     keys.Hash `cbor:"5,keyasint"` // of this party's transcript of it
	Traffic  Traffic   `cbor:"6,keyasint,omitzero"`
	Result   keys.Hash `cbor:"7,keyasint"` // see resultHash: a file of another generation is not the result
}

// disk keeps a job's files by name. A vault.Vault is one.
type disk interface {
	Load(name string) ([]byte, error)
	Save(name string, data []byte) error
	Path(name string) string
}

// resultHash is the hash of what a shard came to.
func resultHash(data []byte) keys.Hash { return keys.HashOf("hanse shard result v1", data) }

// recordFile names the record of a shard.
func recordFile(shard int) string { return fmt.Sprintf("%s%05d", recordPrefix, shard) }

// IsRecord reports whether a file of a job's folder is the record of a shard.
func IsRecord(name string) bool { return strings.HasPrefix(name, recordPrefix) }

// loadRecord reads the record of a shard; of one that no session was of it is zero.
func loadRecord(d disk, shard int) (r record, err error) {
	data, err := d.Load(recordFile(shard))
	if err != nil || data == nil {
		return r, err
	}
	if err := control.Decode(data, &r); err != nil {
		return r, &vault.DamagedError{Path: d.Path(recordFile(shard)), Why: err.Error()}
	}
	return r, nil
}

// saveRecord writes the record of a shard.
func saveRecord(d disk, shard int, r record) error {
	data, err := cbor.Marshal(r)
	if err != nil {
		return err
	}
	return d.Save(recordFile(shard), data)
}

// Session is what all parties know of the session of a shard that is done.
type Session = transcript.ShardSession

// Kept is what a job's folder has of one generation of a shard.
type Kept struct {
	Shard      int
	Generation uint32
	Contract   string // its contract's file
	Transcript string // its transcript's file
}

// KeptIn lists what a job's folder has of its shards, ascending. Folders of other names are none of a node's.
func KeptIn(folder string) ([]Kept, error) {
	paths, err := filepath.Glob(filepath.Join(folder, Folder, "[0-9][0-9][0-9][0-9][0-9]", "[0-9][0-9][0-9][0-9][0-9]*"))
	if err != nil {
		return nil, err
	}
	var list []Kept
	for _, path := range paths {
		shard, err := strconv.ParseUint(filepath.Base(filepath.Dir(path)), 10, 31)
		if err != nil {
			continue
		}
		generation, err := strconv.ParseUint(filepath.Base(path), 10, 32)
		if err != nil || Path(int(shard), uint32(generation)) != filepath.Join(Folder, filepath.Base(filepath.Dir(path)),
			filepath.Base(path)) {
			continue
		}
		list = append(list, Kept{Shard: int(shard), Generation: uint32(generation),
			Contract: filepath.Join(path, ContractFile), Transcript: filepath.Join(path, TranscriptFile)})
	}
	slices.SortFunc(list, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Generation, b.Generation))
	})
	return list, nil
}

// Generations reads from the record of a shard in a job's folder which generation the node has delegated last, and
// which is done, 0 for none. The error is fs.ErrNotExist where there is no record.
func Generations(folder string, job keys.Hash, shard int) (latest, done uint32, err error) {
	path := filepath.Join(folder, recordFile(shard))
	data, err := vault.ReadFile(path, job)
	if err != nil {
		return 0, 0, err
	}
	var r record
	if err := control.Decode(data, &r); err != nil {
		return 0, 0, &vault.DamagedError{Path: path, Why: err.Error()}
	}
	return r.Latest, r.Done, nil
}
