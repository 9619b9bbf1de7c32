package enrol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// callTime is how long another member's node may take to answer.
const callTime = 30 * time.Second

// dispatcher tells and asks the nodes of other members.
type dispatcher struct {
	*versions
	members map[keys.ID]*member // what the others have been told
	work    sync.WaitGroup
}

// member is what this node knows of another member's node.
type member struct {
	busy  bool      // it is being told or asked something
	asked time.Time // for a newer version
}

// dispatch starts what tells and asks the nodes of other members, where there is something to.
func (d *dispatcher) dispatch(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for _, m := range d.charter.Members {
		if m.ID == d.self || d.config.Near != nil && !slices.Contains(d.config.Near, m.ID) {
			continue // this node does not call it
		}
		state := d.members[m.ID]
		if state == nil {
			state = new(member)
			d.members[m.ID] = state
		}
		if state.busy || d.nextDelivery(m.ID) == nil && time.Since(state.asked) < askEvery {
			continue
		}
		state.busy = true
		d.work.Go(func() { d.deliver(ctx, m.ID, state) })
	}
}

// delivery is a message about a proposal to a member's node.
type delivery struct {
	p       *proposal
	signers []keys.ID // whose signatures the message brings
	method  string
	message any
}

// nextDelivery returns what is next to tell a member's node, nil if it knows everything. d.mu is held.
func (d *dispatcher) nextDelivery(to keys.ID) *delivery {
	for _, p := range d.proposals {
		if x := p.deliveryTo(to); x != nil {
			return x
		}
	}
	if d.settled != nil {
		return d.settled.deliveryTo(to)
	}
	return nil
}

// deliveryTo returns what a member's node is to be told of a proposal: the text first, then signatures
// as they come.
func (p *proposal) deliveryTo(to keys.ID) *delivery {
	if _, ok := p.charter.Member(to); !ok {
		return nil // who leaves the charter learns it when it is in force
	}
	if when, ok := p.refused[to]; ok && time.Since(when) < retryAfter {
		return nil
	}
	news := p.untold(to)
	if len(news) == 0 {
		return nil
	}
	if p.told[to] == nil {
		return &delivery{p, news, methodPropose, textMessage{string(p.charter.Text())}}
	}
	r := signaturesRequest{Proposal: p.charter.Digest().String()}
	for _, id := range news {
		r.Signatures = append(r.Signatures, signature{id.String(), p.charter.Signatures[id]})
	}
	return &delivery{p, news, methodSignature, r}
}

// deliver tells and asks one member's node.
func (d *dispatcher) deliver(ctx context.Context, to keys.ID, state *member) {
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		state.busy = false
	}()
	for {
		d.mu.Lock()
		x := d.nextDelivery(to)
		due := time.Since(state.asked) >= askEvery
		d.mu.Unlock()
		switch {
		case x != nil:
			if !d.send(ctx, to, x) {
				return
			}
		case due:
			if !d.ask(ctx, to, state) {
				return
			}
		default:
			return
		}
	}
}

// send makes one delivery and says whether the member's node could be reached.
func (d *dispatcher) send(ctx context.Context, to keys.ID, x *delivery) bool {
	var reply knownReply
	err := d.call(ctx, to, x.method, x.message, &reply)
	d.mu.Lock()
	defer d.mu.Unlock()
	if remote := answered(err); remote != nil {
		x.p.refused[to] = time.Now()
		d.config.Log.Info(fmt.Sprintf("%s does not take charter version %d: %s",
			d.name(to), x.p.charter.Version, remote.Fault))
		return true
	}
	if err != nil {
		return false
	}
	if x.method == methodSignature && !reply.Known {
		delete(x.p.told, to) // its node has lost the text, or never had it
		return true
	}
	x.p.noteSent(to, x.signers)
	return true
}

// ask fetches the next version if it is in force at another member's node and this one has missed
// it. It says whether the member's node could be reached.
func (d *dispatcher) ask(ctx context.Context, to keys.ID, state *member) bool {
	d.mu.Lock()
	next := d.charter.Version + 1
	d.mu.Unlock()
	var reply textMessage
	err := d.call(ctx, to, methodFetch, versionRequest{next}, &reply)
	if err != nil && answered(err) == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	state.asked = time.Now()
	if reply.Text == "" {
		return true
	}
	c, err := keys.ParseCharter([]byte(reply.Text))
	if err == nil && d.charter.Version < next {
		err = d.install(c)
	}
	if err != nil {
		d.config.Log.Warn(fmt.Sprintf("%s has charter version %d in force, which cannot be taken over: %v", d.name(to), next,
			err))
	}
	return true
}

// answered returns the error that a member's node gave for an answer, nil if it gave none. One that
// is only just starting has said nothing yet about what it was told.
func answered(err error) *protocol.RemoteError {
	remote := (*protocol.RemoteError)(nil)
	if !errors.As(err, &remote) || remote.Fault.Code == fault.CodeBusy {
		return nil
	}
	return remote
}

// call makes one call to a member's node.
func (d *dispatcher) call(ctx context.Context, to keys.ID, method string, request, response any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	data, err := cbor.Marshal(request)
	if err != nil {
		return err
	}
	if data, err = d.config.Call(ctx, to, method, data); err != nil {
		return err
	}
	return control.Decode(data, response)
}
