// Package aligned takes the payloads of an alignment for what a curious party had in its hands: it checks the points,
// tags and lists in them, and tries ids on every word.
package aligned

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views/payload"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// vector is one list of words, each piece of it as it first came or went whole.
type vector struct {
	kind    string
	word    int // bytes of each
	pass    int
	sorted  bool
	session uint32
	event   transcript.Type
	peer    int
	size    uint64
	data    []byte
}

// whole reports whether all of it is there.
func (v *vector) whole() bool { return uint64(len(v.data)) == v.size }

// name says what a vector is, and between whom it goes.
func (v *vector) name(c *contract.Contract) string {
	way := "from"
	if v.event == transcript.TypeSent {
		way = "to"
	}
	return fmt.Sprintf("%q %s %s", v.kind, way, c.Parties[v.peer].Name)
}

// Attack checks the words that a party sent and received, and tries guessed ids on them. Where payloads were not kept
// nothing is tried. It takes memory for all words of the transcript, up to 112 bytes a row and pass.
func Attack(ctx context.Context, in *evidence.Input, s *evidence.Source, party int, kept bool) ([]finding.Attack,
	[]finding.Check, error) {
	f := payload.NewReader(in, s, party)
	instead := func(why string) []finding.Attack {
		return []finding.Attack{{Name: guessedIDs, Party: f.Name(), View: view, Verdict: finding.Skipped,
			Detail: "not tried: " + why}}
	}
	found := finding.NewSet()
	found.Party = f.Name()
	list, err := read(ctx, f, found)
	switch {
	case err != nil:
		return nil, nil, err
	case f.Kept+f.Lost == 0 && kept:
		c := payload.AbsentPayloads(f.Name())
		return instead(c.Detail), []finding.Check{c}, nil
	case f.Kept+f.Lost == 0:
		return instead(payload.ErrNotKept.Error()), nil, nil
	}
	n, err := check(in.Contract, list, found)
	if err != nil {
		return nil, nil, err
	}
	checks := []finding.Check{f.Check(), found.Check(finding.CheckWords, fmt.Sprintf("of %s every point is one of high "+
		"order in its one form, no word of a list comes twice, lists of common rows are sorted, and no key, coin, store or "+
		"order was kept", wording.Count(n, "word")))}
	if blind := f.Unfollowed(nil); blind != "" {
		return instead(blind), checks, nil
	}
	a, err := guess(ctx, in, list, party)
	return []finding.Attack{a}, checks, err
}

// read gathers the words of a transcript, each message as it first came or went whole, and puts the pieces of one list
// together.
func read(ctx context.Context, f *payload.Reader, found *finding.Set) ([]*vector, error) {
	again, err := f.Source.Reread()
	if err != nil {
		return nil, err
	}
	defer again.Close()
	type place struct {
		kind  string
		event transcript.Type
		peer  int
	}
	at := make(map[place][]*vector) // by piece
	var list []place
	var pieces evidence.Pieces
	var rec transcript.Record
	for {
		err := again.Next(ctx, &rec)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, transcript.ErrCut):
			var whole []*vector
			for _, p := range list {
				whole = append(whole, joined(at[p]))
			}
			return whole, nil
		case err != nil:
			return nil, err
		}
		if psi.Secret(rec.Kind) {
			if rec.Kept {
				found.Fail(finding.CheckWords, "record %d: %q was kept, of which nothing but digests may be: with those of asker "+
					"and keeper one could test ids", rec.Number, rec.Kind)
			}
			continue
		}
		size, pass, sorted := psi.Words(rec.Kind)
		if !rec.Kept && size == 0 || !rec.Type.Frame() {
			continue
		}
		p := place{rec.Kind, rec.Type, rec.Peer}
		piece := pieces.Of(&rec)
		data, err := f.Payload(&rec)
		if err != nil {
			if err := f.Without(&rec, err); err != nil {
				return nil, err
			}
			continue
		}
		if size == 0 {
			continue
		}
		if at[p] == nil {
			list = append(list, p)
		}
		for len(at[p]) <= piece {
			at[p] = append(at[p], &vector{kind: rec.Kind, word: size, pass: pass, sorted: sorted, event: rec.Type,
				peer: rec.Peer})
		}
		v := at[p][piece]
		if v.session != rec.Session && !v.whole() || v.session == 0 {
			v.session, v.size, v.data = rec.Session, rec.Size, nil
		}
		if v.session == rec.Session && !v.whole() {
			v.data = append(v.data, data...)
		}
	}
}

// joined is the list that pieces make up: whole where all of them are.
func joined(pieces []*vector) *vector {
	v := pieces[0]
	for _, piece := range pieces[1:] {
		v.size += piece.size
		v.data = append(v.data, piece.data...)
	}
	return v
}

// check holds words against what an honest party sends, and counts them.
func check(c *contract.Contract, list []*vector, found *finding.Set) (words int, err error) {
	fail := func(v *vector, format string, args ...any) {
		found.Fail(finding.CheckWords, "%s: %s", v.name(c), fmt.Sprintf(format, args...))
	}
	// A point of one list that stands in another one, of another pass or party, was not multiplied by a fresh scalar.
	var points []byte
	for _, v := range list {
		if !v.whole() || len(v.data)%v.word != 0 {
			continue // the conformance checks have said so
		}
		words += len(v.data) / v.word
		if v.word == point.Size {
			if err := point.Check(v.data); err != nil {
				fail(v, "%v", err)
				continue
			}
			points = append(points, v.data...)
			continue
		}
		at, distinct, err := point.Distinct(v.data, v.word)
		switch {
		case err != nil:
			return 0, err
		case !distinct:
			fail(v, "word %d stands before in the list", at+1)
		case v.sorted && !sortedWords(v.data, v.word):
			fail(v, "the list is not sorted")
		}
	}
	if _, distinct, err := point.Distinct(points, point.Size); err != nil {
		return 0, err
	} else if !distinct {
		found.Leak(finding.CheckWords, "a point stands in two lists of points: a scalar was used twice, or one party's "+
			"points were sent back as another's own")
	}
	return words, nil
}

// sortedWords reports whether each word is above the one before.
func sortedWords(list []byte, word int) bool {
	for at := word; at < len(list); at += word {
		if bytes.Compare(list[at-word:at], list[at:at+word]) >= 0 {
			return false
		}
	}
	return true
}
