package shards

import (
	"encoding/binary"
	"fmt"
	"path/filepath"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Names inside a job's folder.
const (
	// Folder has a folder for each shard, and in it one for each generation.
	Folder = "shards"
	// ContractFile is a shard's contract.
	ContractFile = "contract"
	// TranscriptFile is this party's transcript of a shard's session.
	TranscriptFile = "transcript"
	// PayloadFolder has what a full transcript keeps of payloads.
	PayloadFolder = "payloads"

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
}

// recordFile names the record of a shard.
func recordFile(shard int) string { return fmt.Sprintf("%s%05d", recordPrefix, shard) }

// loadRecord reads the record of a shard; of one that no session was of it is zero.
func loadRecord(v *vault.Vault, shard int) (r record, err error) {
	data, err := v.Load(recordFile(shard))
	if err != nil || data == nil {
		return r, err
	}
	if err := control.Decode(data, &r); err != nil {
		return r, &vault.DamagedError{Path: v.Path(recordFile(shard)), Why: err.Error()}
	}
	return r, nil
}

// saveRecord writes the record of a shard.
func saveRecord(v *vault.Vault, shard int, r record) error {
	data, err := cbor.Marshal(r)
	if err != nil {
		return err
	}
	return v.Save(recordFile(shard), data)
}

// Session is what all parties know of the session of a shard that is done.
type Session struct {
	Shard      contract.Shard
	Generation uint32
	Contract   keys.Hash // the shard's
	Head       keys.Hash // of one party's transcript; zero where it is not known
}

// Statement is what a party says of its shards in the job's session: the digest of all sessions, which is the same at
// all parties, and the root of its own transcripts of them.
func Statement(job keys.Hash, list []Session) []byte {
	var said []byte
	var heads []keys.Hash
	for _, s := range list {
		said = binary.BigEndian.AppendUint32(said, uint32(s.Shard.Index))
		said = binary.BigEndian.AppendUint32(said, uint32(s.Shard.Of))
		said = binary.BigEndian.AppendUint64(said, uint64(s.Shard.First))
		said = binary.BigEndian.AppendUint64(said, uint64(s.Shard.Rows))
		said = binary.BigEndian.AppendUint32(said, s.Generation)
		said = append(said, s.Contract[:]...)
		heads = append(heads, s.Head)
	}
	all, root := keys.HashOf("hanse shards v1", job[:], said), transcript.Root(heads)
	return append(all[:], root[:]...)
}
