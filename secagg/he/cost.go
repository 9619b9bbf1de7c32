package he

import "github.com/hanse-project/hanse/protocol/contract"

// Line is what the parties of a session send of one kind, as a contract lists it.
type Line struct {
	Kind       string
	Collective string // protocol.CollectiveSum, protocol.CollectiveBroadcast or protocol.CollectiveExchange
	Class      contract.Class
	Encoding   contract.Encoding
	Count      int64 // operations
	Bytes      int64 // payload that one party sends to another in all of them
}

// confirms is the line of so many comparisons of what was broadcast.
func confirms(n int64) Line {
	o := contract.Confirms(n)
	return Line{o.Kind, o.Collective, contract.ClassControl, contract.Bytes, o.Count, o.Bytes}
}

// KeyCost lists what making a session's key costs: a sum and a broadcast, both with party 0 as the root, and a
// comparison of what was broadcast.
func KeyCost() []Line {
	return []Line{
		{KindKeyShare, contract.CollectiveSum, contract.ClassHE, contract.RLWE, 1, PolySize},
		{KindKey, contract.CollectiveBroadcast, contract.ClassControl, contract.Bytes, 1, PolySize},
		confirms(1),
	}
}

// Cost lists what `sums` sums of n words each cost under a kind.
func (p *Packing) Cost(kind string, n, sums int) []Line { return cost(kind, n, sums, p.Residues()) }

// cost follows Sums.sum.
func cost(kind string, n, sums, residues int) []Line {
	var batches, ciphertexts, broadcasts int64
	for size := batchSize(batchCiphertexts, residues); n > 0; n -= size {
		c := int64((min(n, size) + Degree - 1) / Degree * residues)
		batches, ciphertexts, broadcasts = batches+1, ciphertexts+c, broadcasts+(c+broadcastPolys-1)/broadcastPolys
	}
	batches, ciphertexts, broadcasts = batches*int64(sums), ciphertexts*int64(sums), broadcasts*int64(sums)
	return []Line{
		{kind, contract.CollectiveSum, contract.ClassHE, contract.RLWE, batches, ciphertexts * CiphertextSize},
		{kind + SuffixC1, contract.CollectiveBroadcast, contract.ClassControl, contract.Bytes,
			broadcasts, ciphertexts * PolySize},
		{kind + SuffixShare, contract.CollectiveSum, contract.ClassHE, contract.RLWE, batches, ciphertexts * PolySize},
		confirms(batches),
	}
}
