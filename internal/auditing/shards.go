package auditing

import (
	"path/filepath"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/internal/auditing/shardfiles"
)

// shardsOf reads what is beside the transcripts of a job of its shards; nil where nothing is.
func shardsOf(in *audit.Input) (*evidence.Shards, error) {
	f, err := in.Contract.InForce()
	if in.Contract.Job.Shards == 0 || err != nil { // the audit says who has not signed
		return nil, nil
	}
	out := &evidence.Shards{Records: make([][]evidence.ShardRecord, len(in.Contract.Parties))}
	for _, s := range in.Sources {
		header, err := readHeader(s.Path)
		if err != nil {
			continue // the audit says so
		}
		party := headerParty(in.Contract, header)
		if party < 0 || out.Records[party] != nil {
			continue
		}
		if err := shardfiles.Read(out, party, filepath.Dir(s.Path), f, SourceOf); err != nil {
			return nil, err
		}
	}
	return out, nil
}
