package ofmsft

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/keys"
)

// recall keeps those of the drawn networks that are in memory or in the cache as the server has them now, drops
// all others, and notes what is wanted. In a broadcast a client wants what is not in its cache, drawn or not.
func (a *ClientPart) recall() {
	q, old := a.question, a.held
	a.held = make(map[keys.Hash]*Runner)
	for k, h := range q.hashes {
		drawn := a.client.position(k) >= 0
		if !drawn && !a.Params.Broadcast {
			continue
		}
		r := old[h]
		if r == nil {
			r = a.cached(k, h)
		}
		q.wanted[k] = r == nil
		if drawn && r != nil {
			a.held[h] = r
		}
	}
}

// cached returns a network from the cache, nil when it is not there as it should be.
func (a *ClientPart) cached(k int, h keys.Hash) *Runner {
	if a.Cache == nil {
		return nil
	}
	data, ok := a.Cache.Get(h)
	if !ok {
		return nil
	}
	r, err := a.load(k, h, data)
	if err != nil { // cut short by a crash, or changed by somebody
		return nil
	}
	return r
}

// load reads a network and checks that it is the one named.
func (a *ClientPart) load(k int, h keys.Hash, data []byte) (*Runner, error) {
	m := &a.Params.Models[k]
	n, err := nn.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", m.Name, err)
	}
	if err := a.Params.checkShape(k, n); err != nil {
		return nil, err
	}
	if got := n.Hash(); got != h {
		return nil, fmt.Errorf("model %q has hash %s, the server announced %s", m.Name, got.Short(), h.Short())
	}
	return NewRunner(n), nil
}

// keep takes a network that was wanted.
func (a *ClientPart) keep(payload []byte) error {
	q := a.question
	k, data, err := indexIn(payload, len(q.wanted))
	if err != nil {
		return err
	}
	if !q.wanted[k] {
		return fmt.Errorf("model %q was not wanted, or came before", a.Params.Models[k].Name)
	}
	r, err := a.load(k, q.hashes[k], data)
	if err != nil {
		return err
	}
	q.wanted[k] = false
	if a.client.position(k) >= 0 {
		a.held[q.hashes[k]] = r
	}
	if a.Cache != nil && q.steady[k] { // one that every round changes is soon of no use
		a.Cache.Put(q.hashes[k], data)
	}
	return nil
}
