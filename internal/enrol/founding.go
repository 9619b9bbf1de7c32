package enrol

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// foundingTime is how long the invitation to a first version is good, from when it is asked for.
const foundingTime = time.Hour

// Founding carries the first version of a charter round: there is none in force yet under which nodes could meet. The
// members that it names call its maker as newcomers do, read it, sign it, and wait for the others. Its methods may be
// called concurrently.
type Founding struct {
	key       *keys.PrivateKey
	self      keys.Member
	addresses []string
	keep      func(*keys.SignedCharter) error // stores signatures as they come
	log       *slog.Logger

	mu      sync.Mutex
	charter *keys.SignedCharter
	kept    map[keys.ID]bool // who said that it has the charter with all signatures
	done    chan struct{}    // closed when all have
}

// NewFounding begins to carry a first version that its maker, the owner of key, has signed. keep stores it with the
// signatures so far; it is called by one goroutine at a time.
func NewFounding(key *keys.PrivateKey, c *keys.SignedCharter, keep func(*keys.SignedCharter) error,
	log *slog.Logger) (*Founding, error) {
	self, ok := c.Member(key.ID())
	switch {
	case c.Version != 1:
		return nil, fmt.Errorf("charter %q: version %d is carried by the members' nodes; only version 1 has none yet", c.Name,
			c.Version)
	case !ok:
		return nil, fmt.Errorf("charter %q: the key %s is not that of a member", c.Name, key.ID().Short())
	case !c.SignedBy(self.ID):
		return nil, fmt.Errorf("charter %q: %s, who proposes it, has not signed it", c.Name, self.Name)
	case len(self.Addresses) == 0:
		return nil, fmt.Errorf("charter %q gives no address of %s: the member that proposes it must be one that others can "+
			"dial", c.Name, self.Name)
	case len(c.Members) < 2:
		return nil, fmt.Errorf("charter %q has no other member", c.Name)
	}
	return &Founding{key: key, self: self, addresses: self.Addresses, keep: keep, log: log, charter: snapshot(c),
		kept: map[keys.ID]bool{self.ID: true}, done: make(chan struct{})}, nil
}

// Alone is a charter of the maker alone, for the host on which the others call: it lets nobody in but by Invited, and
// nobody is ever shown it.
func (f *Founding) Alone() (*keys.SignedCharter, error) {
	c, err := keys.NewCharter(keys.Charter{Name: f.charter.Name, Version: 1, Created: f.charter.Created,
		Members: []keys.Member{f.self}})
	if err != nil {
		return nil, err
	}
	return c, c.Sign(f.key)
}

// Invited reports whether a key is that of another member of the charter.
func (f *Founding) Invited(id keys.ID) bool {
	_, ok := f.charter.Member(id) // members never change
	return ok && id != f.self.ID
}

// Done is closed when every member has the charter with all signatures.
func (f *Founding) Done() <-chan struct{} { return f.done }

// Missing lists who has yet to sign, in the order of the charter.
func (f *Founding) Missing() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return missingNames(f.charter)
}

// Without lists who has yet to fetch the charter with all signatures, in the order of the charter.
func (f *Founding) Without() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, m := range f.charter.Members {
		if !f.kept[m.ID] {
			names = append(names, m.Name)
		}
	}
	return names
}

// Handle answers the other members; it is a protocol.Handler. Others than members hear that they are not invited.
func (f *Founding) Handle(_ context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	response, err := f.answer(from, method, request)
	if err == nil {
		return response, nil
	}
	f.log.Warn("a request about the charter was refused", "from", from.Short(), "method", method, "error", err)
	told := &fault.Fault{Code: fault.CodeRequest}
	if refused, ok := err.(*refusal); ok {
		told.Code = refused.code
	}
	return nil, told
}

// answer answers one request. f.mu is held.
func (f *Founding) answer(from keys.ID, method string, request []byte) ([]byte, error) {
	m, ok := f.charter.Member(from)
	if !ok || from == f.self.ID {
		return nil, refusef(fault.CodeInvitation, "the key is no other member's of charter %q", f.charter.Name)
	}
	switch method {
	case methodJoinFetch:
		return control.Answer(request, func(nothing) (offerReply, error) { return f.offer(m) })
	case methodJoinSign:
		return control.Answer(request, func(r signRequest) (nothing, error) { return nothing{}, f.sign(m, r) })
	case methodJoinCharter:
		return control.Answer(request, func(r charterRequest) (charterReply, error) {
			return charterReply{string(f.charter.Text())}, f.isThis(r.Proposal)
		})
	case methodJoinKept:
		return control.Answer(request, func(nothing) (nothing, error) { return nothing{}, f.has(m) })
	}
	return nil, refusef(fault.CodeMethod, "there is no method %q while a charter is founded", method)
}

// isThis refuses a request about another charter.
func (f *Founding) isThis(hash string) error {
	if hash != f.charter.Digest().String() {
		return refusef(fault.CodeOutdated, "the request is about another charter than the one proposed, with the hash %s",
			f.charter.Digest().Short())
	}
	return nil
}

// offer hands a member the charter and an invitation to it.
func (f *Founding) offer(m keys.Member) (offerReply, error) {
	i := keys.Invitation{Charter: f.charter.Name, Inviter: f.self.ID, Card: keys.Card(m), Proposal: f.charter.Digest(),
		Expires: time.Now().Add(foundingTime).UTC().Truncate(time.Second), Address: f.addresses}
	doc, err := i.Sign(f.key)
	if err != nil {
		return offerReply{}, err
	}
	return offerReply{Invitation: string(doc.Text()), Proposal: string(f.charter.Text())}, nil
}

// sign takes a member's signature, of its own alone, and stores it before the member hears that it has come.
func (f *Founding) sign(m keys.Member, r signRequest) error {
	if err := f.isThis(r.Proposal); err != nil || f.charter.SignedBy(m.ID) {
		return err
	}
	before := maps.Clone(f.charter.Signatures)
	err := refuse(fault.CodeSignature, f.charter.AddSignature(m.ID, r.Signature))
	if err == nil {
		err = f.keep(snapshot(f.charter))
	}
	if err != nil {
		f.charter.Signatures = before
		return err
	}
	f.log.Info("charter signed", "by", m.Name, "missing", missingNames(f.charter))
	return nil
}

// has notes that a member keeps the charter with all signatures.
func (f *Founding) has(m keys.Member) error {
	if missing := missingNames(f.charter); len(missing) > 0 {
		return refusef(fault.CodeOutdated, "%s has yet to be signed by %v", f.charter.Name, missing)
	}
	f.kept[m.ID] = true
	if !slices.ContainsFunc(f.charter.Members, func(m keys.Member) bool { return !f.kept[m.ID] }) {
		select {
		case <-f.done:
		default:
			close(f.done)
		}
	}
	return nil
}
