package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/protocol/transcript"
)

// checkPayloads is the name of the check that what a transcript says was kept is there, unchanged.
const checkPayloads = "payloads"

// errNotKept says that a transcript has digests only.
var errNotKept = errors.New("payloads were not kept: run the job with record = \"full\" to try this attack")

// lostError says that a payload was kept and cannot be had any more.
type lostError struct{ err error }

// Error implements error.
func (e *lostError) Error() string { return e.err.Error() }

// payload returns the payload of a record; errNotKept or a *lostError when there is none.
func (f *follower) payload(rec *transcript.Record) ([]byte, error) {
	if f.source.Payload == nil || !rec.Kept {
		return nil, errNotKept
	}
	f.asked++
	if rec.Bytes == 0 {
		f.kept++
		return nil, nil
	}
	payload, err := f.source.Payload(rec.Sum())
	if err == nil && uint64(len(payload)) != rec.Bytes {
		err = fmt.Errorf("payload %s has %d bytes, the transcript says %d", rec.Sum().Short(), len(payload), rec.Bytes)
	}
	if err != nil {
		return nil, &lostError{fmt.Errorf("record %d: %w", rec.Number, err)}
	}
	f.kept++
	return payload, nil
}

// without counts a record whose payload is not there, and returns any other error.
func (f *follower) without(rec *transcript.Record, err error) error {
	var lost *lostError
	switch {
	case errors.Is(err, errNotKept):
		f.missed++
	case errors.As(err, &lost):
		if f.lost++; f.lost == 1 {
			f.firstLost = lost
		}
	case err != nil:
		return fmt.Errorf("record %d: %w", rec.Number, err)
	}
	return nil
}

// payloads checks that what the transcript says was kept was there.
func (f *follower) payloads() Check {
	c := Check{Name: checkPayloads, Party: f.name(), Verdict: Passed}
	c.Detail = counted(uint64(f.kept), "payload") +
		" are there that the transcript says were kept, each with the hash that it has"
	if f.lost > 0 {
		c.Verdict = Failed
		c.Detail = fmt.Sprintf("%d of %s that the transcript says were kept are missing or were changed, the first: %v", f.lost, counted(uint64(f.kept+f.lost), "payload"), f.firstLost)
	}
	return c
}

// unfollowed says why some of what the party saw was not attacked; nothing when all was.
func (f *follower) unfollowed() string {
	var reasons []string
	if f.missed > 0 {
		reasons = append(reasons, counted(uint64(f.missed), "payload")+" that the attacks need were not kept, because the node's limit was reached")
	}
	if f.lost > 0 {
		reasons = append(reasons, counted(uint64(f.lost), "payload")+" that the attacks need are missing or were changed")
	}
	if f.strange != nil {
		reasons = append(reasons, f.strange.Error())
	} else if f.blind != nil {
		reasons = append(reasons, f.blind.Error())
	}
	return strings.Join(reasons, "; ")
}

// absentPayloads says that none of the payloads are there that a party's transcript says were kept.
func absentPayloads(party string) Check {
	return Check{Name: checkPayloads, Party: party, Verdict: Skipped,
		Detail: "the payloads that the transcript says were kept are not beside it"}
}

// presences looks, in a job on whose payloads no attack is tried, whether those are there that the transcripts say were
// kept.
func (a *auditor) presences(ctx context.Context) error {
	for _, e := range a.exams {
		if e.self < 0 || e.stopped || !e.transcript.Kept {
			continue
		}
		if e.source.Payload == nil {
			a.report.Checks = append(a.report.Checks, absentPayloads(e.transcript.Party))
			continue
		}
		f := &follower{in: &a.in, source: e.source, party: e.self}
		if err := f.present(ctx, e.verified); err != nil {
			return err
		}
		a.report.Checks = append(a.report.Checks, f.payloads())
	}
	return nil
}

// present asks for the payloads of so many records.
func (f *follower) present(ctx context.Context, records uint64) error {
	again, err := f.source.reread()
	if err != nil {
		return err
	}
	defer again.Close()
	var rec transcript.Record
	for range records {
		if err := again.next(ctx, &rec); err != nil {
			return err
		}
		if !rec.Kept {
			continue
		}
		_, err := f.payload(&rec)
		if err := f.without(&rec, err); err != nil {
			return err
		}
	}
	return nil
}
