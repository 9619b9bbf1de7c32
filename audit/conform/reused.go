package conform

import (
	"context"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Part is one of several transcripts of a party of one job: that of the job's own sessions, or of a shard's.
type Part struct {
	*Examination
	Name string // such as "shard 3", in a report
}

// Reused looks for masked payloads and session keys that are the same in two transcripts of a party. What comes twice
// in one of them is for Examine to find.
func Reused(ctx context.Context, in *evidence.Input, party string, parts []Part) ([]finding.Check, error) {
	records := int64(0)
	for _, p := range parts {
		records += int64(p.Verified)
	}
	fresh := newFreshness(records)
	each := func(f func(at int, r *transcript.Record, h keys.Hash)) error {
		for at, p := range parts {
			s := secrets{payload: p.Source.Payload}
			err := s.each(ctx, p.Source, p.Verified, func(r *transcript.Record, h keys.Hash) { f(at, r, h) })
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(func(_ int, _ *transcript.Record, h keys.Hash) { fresh.take(h) }); err != nil {
		return nil, err
	}
	found := finding.NewSet()
	found.Party = party
	if len(fresh.candidates) > 0 {
		err := each(func(at int, r *transcript.Record, h keys.Hash) {
			switch before, met := fresh.again(h, at, r.Number); {
			case !met || before.part == at:
			case r.Kind == contract.KindSessionKey:
				found.Fail(finding.CheckSessions, "%s, record %d: the session key %s is that of %s, record %d: keys must be "+
					"fresh in every session and at every party", parts[at].Name, r.Number,
					rules.Happened(r.Type, in.Contract.Parties[r.Peer].Name), parts[before.part].Name, before.record)
			default:
				found.Leak(finding.CheckMasks, "mask reused: %s, record %d (operation %d, %s, %s), has the payload of %s, "+
					"record %d: whoever has both subtracts them and the masks cancel", parts[at].Name, r.Number, r.Operation, r.Kind,
					rules.Happened(r.Type, in.Contract.Parties[r.Peer].Name), parts[before.part].Name, before.record)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if fresh.dropped > 0 {
		found.Skip(finding.CheckMasks, "%s could not be compared with all others: there are too many in all transcripts",
			wording.Count(fresh.dropped, "payload"))
	}
	checks := []finding.Check{found.Check(finding.CheckMasks, "no two of "+wording.Count(fresh.checked, "masked payload")+
		" and session keys in "+wording.Count(len(parts), "transcript")+" of the job and its shards are equal")}
	if found.Has(finding.CheckSessions) {
		checks = append(checks, found.Check(finding.CheckSessions, ""))
	}
	return checks, nil
}
