package transcript

import (
	"encoding/binary"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// ShardSession is what all parties know of the session of a shard that is done.
type ShardSession struct {
	Shard      contract.Shard
	Generation uint32
	Contract   keys.Hash // the shard's
	Head       keys.Hash // of one party's transcript; zero where it is not known
}

// ShardStatement is what a party says of its shards in the job's session: the digest of all sessions, which is the
// same at all parties, and the root of its own transcripts of them.
func ShardStatement(job keys.Hash, list []ShardSession) []byte {
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
	all, root := keys.HashOf("hanse shards v1", job[:], said), Root(heads)
	return append(all[:], root[:]...)
}
