// Package payload reads the payloads that were kept beside a transcript, and tests the words in them that must look
// like noise: that they are uniform, and that no mask and no ciphertext was used twice.
package payload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// ErrNotKept says that a transcript has digests only.
var ErrNotKept = errors.New("payloads were not kept: run the job with record = \"full\" to try this attack")

// Reader reads the payloads of one party's transcript, and has the words in them tested.
type Reader struct {
	In     *evidence.Input
	Source *evidence.Source
	Party  int

	Kept      int // payloads that were there
	Missed    int // payloads that were not kept
	Lost      int // payloads that were kept and cannot be had
	firstLost error
	Asked     uint64 // payloads that were asked for
	Words     *wordTests
}

// NewReader prepares to read the payloads of a party's transcript.
func NewReader(in *evidence.Input, s *evidence.Source, party int) *Reader {
	return &Reader{In: in, Source: s, Party: party, Words: newWordTests()}
}

// lostError says that a payload was kept and cannot be had any more.
type lostError struct{ err error }

// Error implements error.
func (e *lostError) Error() string { return e.err.Error() }

// Payload returns the payload of a record; errNotKept or a *lostError when there is none.
func (f *Reader) Payload(rec *transcript.Record) ([]byte, error) {
	if f.Source.Payload == nil || !rec.Kept {
		return nil, ErrNotKept
	}
	f.Asked++
	if rec.Bytes == 0 {
		f.Kept++
		return nil, nil
	}
	payload, err := f.Source.Payload(rec.Sum())
	if err == nil && uint64(len(payload)) != rec.Bytes {
		err = fmt.Errorf("payload %s has %d bytes, the transcript says %d", rec.Sum().Short(), len(payload), rec.Bytes)
	}
	if err != nil {
		return nil, &lostError{fmt.Errorf("record %d: %w", rec.Number, err)}
	}
	f.Kept++
	return payload, nil
}

// Without counts a record whose payload is not there, and returns any other error.
func (f *Reader) Without(rec *transcript.Record, err error) error {
	var lost *lostError
	switch {
	case errors.Is(err, ErrNotKept):
		f.Missed++
	case errors.As(err, &lost):
		if f.Lost++; f.Lost == 1 {
			f.firstLost = lost
		}
	case err != nil:
		return fmt.Errorf("record %d: %w", rec.Number, err)
	}
	return nil
}

// Check checks that what the transcript says was kept was there.
func (f *Reader) Check() finding.Check {
	c := finding.Check{Name: finding.CheckPayloads, Party: f.Name(), Verdict: finding.Passed}
	c.Detail = wording.Count(f.Kept, "payload") +
		" are there that the transcript says were kept, each with the hash that it has"
	if f.Lost > 0 {
		c.Verdict = finding.Failed
		c.Detail = fmt.Sprintf("%d of %s that the transcript says were kept are missing or were changed, the first: %v",
			f.Lost, wording.Count(f.Kept+f.Lost, "payload"), f.firstLost)
	}
	return c
}

// Unfollowed says why some of what the party saw was not attacked; nothing when all was.
func (f *Reader) Unfollowed(blind error) string {
	var reasons []string
	if f.Missed > 0 {
		reasons = append(reasons, wording.Count(f.Missed, "payload")+" that the attacks need were not kept, "+
			"because the node's limit was reached")
	}
	if f.Lost > 0 {
		reasons = append(reasons, wording.Count(f.Lost, "payload")+" that the attacks need are missing or were changed")
	}
	if blind != nil {
		reasons = append(reasons, blind.Error())
	}
	return strings.Join(reasons, "; ")
}

// Present asks for the payloads of so many records.
func (f *Reader) Present(ctx context.Context, records uint64) error {
	again, err := f.Source.Reread()
	if err != nil {
		return err
	}
	defer again.Close()
	var rec transcript.Record
	for range records {
		if err := again.Next(ctx, &rec); err != nil {
			return err
		}
		if !rec.Kept {
			continue
		}
		_, err := f.Payload(&rec)
		if err := f.Without(&rec, err); err != nil {
			return err
		}
	}
	return nil
}

// Name returns the name of the party whose transcript is read.
func (f *Reader) Name() string { return f.In.Contract.Parties[f.Party].Name }

// AbsentPayloads says that none of the payloads are there that a party's transcript says were kept.
func AbsentPayloads(party string) finding.Check {
	return finding.Check{Name: finding.CheckPayloads, Party: party, Verdict: finding.Skipped,
		Detail: "the payloads that the transcript says were kept are not beside it"}
}
