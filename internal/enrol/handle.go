package enrol

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Limits of what the other members can make a node keep.
const (
	maxBrought   = 4  // open proposals from one member's node
	maxProposals = 64 // in all
	maxProof     = 64 // versions that show that one is in force: each revokes a member
)

// Handle answers the other members' nodes and newcomers; it is a protocol.Handler. What is wrong goes back as a code:
// the full text stays in this node's book of faults.
func (e *Enrolment) Handle(_ context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
	response, err := e.answer(from, method, request)
	if err == nil {
		return response, nil
	}
	told := &fault.Fault{Code: fault.CodeRequest}
	var refused *refusal
	if errors.As(err, &refused) {
		told.Code, told.Numbers = refused.code, refused.numbers
	}
	e.mu.Lock()
	name := e.name(from)
	e.mu.Unlock()
	told.Ref = e.config.References.Add(reference.Entry{At: time.Now(), To: name, On: method, Code: string(told.Code),
		Text: err.Error()})
	if told.Ref == "" { // one of too many
		return nil, told
	}
	e.config.Log.Info("a request about the charter was refused", "from", name, "method", method, "ref", told.Ref,
		"error", err)
	return nil, told
}

// refusal is an error with the code that the caller is told.
type refusal struct {
	code    fault.Code
	numbers []int64
	err     error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// refuse gives an error its code, unless it has one.
func refuse(code fault.Code, err error) error {
	var refused *refusal
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return &refusal{code: code, err: err}
}

// refusef makes an error with its code.
func refusef(code fault.Code, format string, args ...any) error {
	return &refusal{code: code, err: fmt.Errorf(format, args...)}
}

// answer answers one request.
func (e *Enrolment) answer(from keys.ID, method string, request []byte) ([]byte, error) {
	switch method {
	case methodJoinFetch:
		return control.Answer(request, func(nothing) (offerReply, error) { return e.serveOffer(from) })
	case methodJoinSign:
		return control.Answer(request, func(r signRequest) (nothing, error) { return nothing{}, e.serveSign(from, r) })
	case methodJoinCharter:
		return control.Answer(request, func(r charterRequest) (charterReply, error) { return e.serveCharter(from, r) })
	case methodJoinKept: // of a first version, by who asks again when it is long in force
		return control.Answer(request, func(nothing) (nothing, error) { return nothing{}, nil })
	case methodPropose:
		return control.Answer(request, func(r textMessage) (nothing, error) { return nothing{}, e.servePropose(from, r) })
	case methodSignature:
		return control.Answer(request, func(r signaturesRequest) (knownReply, error) { return e.serveSignatures(from, r) })
	case methodFetch:
		return control.Answer(request, func(r versionRequest) (textMessage, error) { return e.serveVersion(from, r) })
	}
	return nil, refusef(fault.CodeMethod, "this node has no method %q", method)
}

// serveOffer hands an invitee what it is invited to. To somebody who has become a member it hands
// the charter.
func (e *Enrolment) serveOffer(from keys.ID) (offerReply, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.charter.Member(from); ok {
		return offerReply{Proposal: string(e.charter.Text())}, nil
	}
	i, text, err := e.invitation(from)
	if err != nil {
		return offerReply{}, err
	}
	p, err := e.invitedTo(i)
	if err != nil {
		return offerReply{}, err
	}
	reply := offerReply{Invitation: string(text), Proposal: string(p.charter.Text()), Parent: string(e.charter.Text())}
	for c := e.charter.Before(); c != nil && len(reply.Proof) < maxProof; c = c.Before() {
		reply.Proof = append(reply.Proof, string(c.Text()))
	}
	return reply, nil
}

// invitedTo returns the open proposal of an invitation, which the owner may have made just now.
// e.mu is held.
func (e *Enrolment) invitedTo(i keys.Invitation) (*proposal, error) {
	if e.proposals[i.Proposal] == nil {
		e.files.readProposals()
	}
	if p := e.proposals[i.Proposal]; p != nil {
		return p, nil
	}
	return nil, refusef(fault.CodeOutdated, "the charter that %s is invited to, with the hash %s, is no longer "+
		"proposed: ask %s for a new invitation",
		i.Card.Name, i.Proposal.Short(), e.name(e.self))
}

// serveSign takes an invitee's signature.
func (e *Enrolment) serveSign(from keys.ID, r signRequest) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.charter.Member(from); ok {
		return nil // the signature came before, and all the others since
	}
	i, _, err := e.invitation(from)
	if err != nil {
		return err
	}
	p, err := e.invitedTo(i)
	if err != nil {
		return err
	}
	if r.Proposal != i.Proposal.String() {
		return refusef(fault.CodeOutdated, "the signature is for another charter than the one that %s is invited to, "+
			"with the hash %s",
			i.Card.Name, i.Proposal.Short())
	}
	return e.files.merge(p, map[keys.ID][]byte{from: r.Signature})
}

// serveCharter hands out a charter that the caller has signed, with the signatures so far.
func (e *Enrolment) serveCharter(from keys.ID, r charterRequest) (charterReply, error) {
	h, err := parseHash(r.Proposal)
	if err != nil {
		return charterReply{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.charter.Member(from); ok && h == e.charter.Digest() {
		return charterReply{Text: string(e.charter.Text())}, nil
	}
	i, _, err := e.invitation(from)
	if err != nil {
		return charterReply{}, err
	}
	if h != i.Proposal {
		return charterReply{}, refusef(fault.CodeOutdated, "%s is now invited to another charter, with the hash %s",
			i.Card.Name, i.Proposal.Short())
	}
	p, err := e.invitedTo(i)
	if err != nil {
		return charterReply{}, err
	}
	return charterReply{Text: string(p.charter.Text())}, nil
}

// servePropose takes a proposal that a member's node brings, or more signatures on one.
func (e *Enrolment) servePropose(from keys.ID, r textMessage) error {
	c, err := keys.ParseCharter([]byte(r.Text)) // before the lock: it may take a while
	if err != nil {
		return refuse(fault.CodeSignature, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.isMember(from); err != nil {
		return err
	}
	if c.Digest() == e.charter.Digest() {
		return nil
	}
	c.After(e.charter)
	p := e.proposals[c.Digest()]
	if p == nil {
		return e.openFrom(from, c)
	}
	if err := e.files.merge(p, e.counting(p, c)); err != nil {
		return err
	}
	p.noteSent(from, signers(c))
	return nil
}

// openFrom opens a proposal of another member, of whom only so many are kept; without its file it
// is not kept. e.mu is held.
func (e *Enrolment) openFrom(from keys.ID, c *keys.SignedCharter) error {
	if err := e.mayOpen(c); err != nil {
		return refuse(fault.CodeOutdated, err)
	}
	brought := 0
	for _, p := range e.proposals {
		if p.from == from {
			brought++
		}
	}
	if brought >= maxBrought || len(e.proposals) >= maxProposals {
		return &refusal{fault.CodeLimit, []int64{maxBrought},
			fmt.Errorf("no more proposals are taken: %d are open from %s, at most %d, and %d in all, at most %d",
				brought, e.name(from), maxBrought, len(e.proposals), maxProposals)}
	}
	p := e.open(c, filepath.Join(e.config.Dir, proposalsDir, proposalFile(c)), from)
	_, err := e.accept(p, e.counting(p, c))
	if err == nil {
		err = e.files.save(p)
	}
	if err != nil {
		e.drop(c.Digest())
		return err
	}
	p.noteSent(from, signers(c))
	e.announce(p)
	return nil
}

// serveSignatures takes signatures on a proposal.
func (e *Enrolment) serveSignatures(from keys.ID, r signaturesRequest) (knownReply, error) {
	h, err := parseHash(r.Proposal)
	if err != nil {
		return knownReply{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.isMember(from); err != nil {
		return knownReply{}, err
	}
	if h == e.charter.Digest() {
		return knownReply{Known: true}, nil
	}
	p := e.proposals[h]
	if p == nil {
		return knownReply{}, nil
	}
	signatures := make(map[keys.ID][]byte, len(r.Signatures))
	for _, s := range r.Signatures {
		id, err := keys.ParseID(s.ID)
		if err != nil {
			return knownReply{}, err
		}
		signatures[id] = s.Data
	}
	if err := e.files.merge(p, e.holdBack(p, signatures)); err != nil {
		return knownReply{}, err
	}
	for id := range signatures {
		p.noteSent(from, []keys.ID{id})
	}
	return knownReply{Known: true}, nil
}

// serveVersion hands out a version that is or was in force here.
func (e *Enrolment) serveVersion(from keys.ID, r versionRequest) (textMessage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.isMember(from); err != nil {
		return textMessage{}, err
	}
	c := e.files.version(r.Version)
	if c == nil {
		return textMessage{}, nil
	}
	return textMessage{string(c.Text())}, nil
}
