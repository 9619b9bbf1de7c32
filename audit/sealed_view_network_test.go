package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

type viewedNetwork struct {
	*viewed
	self int
}

// sum adds words at the root.
func (n *viewedNetwork) sum(root int, words []uint64) {
	if n.self != root {
		n.queues[n.self][root] <- slices.Clone(words)
		return
	}
	for i := range viewedAll {
		if i == root {
			continue
		}
		for j, w := range <-n.queues[i][root] {
			words[j] += w
		}
	}
}

// begunAndEnded ends what was over when it began.
func begunAndEnded(context.Context) error { return nil }

// BeginPadded implements joint.SealedNetwork. The keeper's addend has r in it, which is taken off for own.
func (n *viewedNetwork) BeginPadded(
	_ context.Context, _ string, root int, turns []uint16,
) (func(context.Context) error, error) {
	words := make([]uint64, len(turns))
	n.mu.Lock()
	for i, turn := range turns {
		words[i] = uint64(turn)
		if n.self == viewedKeeper {
			turn -= n.rotation[len(n.own[n.self])]
		}
		n.own[n.self] = append(n.own[n.self], turn)
	}
	n.mu.Unlock()
	n.sum(root, words)
	for i, w := range words {
		turns[i] = uint16(w)
	}
	if n.self == root {
		n.angles = append(n.angles, turns...)
	}
	return begunAndEnded, nil
}

// Ask implements joint.SealedNetwork.
func (n *viewedNetwork) Ask(context.Context, int, string, int, int) error { return nil }

// SumPacked implements joint.SealedNetwork.
func (n *viewedNetwork) SumPacked(_ context.Context, _ string, root, _ int, words []uint64) error {
	n.sum(root, words)
	return nil
}

// Broadcast implements joint.SealedNetwork.
func (n *viewedNetwork) Broadcast(_ context.Context, _ string, root int, data []byte, _ int) ([]byte, error) {
	if n.self == root {
		for i := range viewedAll {
			if i != root {
				words := make([]uint64, len(data))
				for j, b := range data {
					words[j] = uint64(b)
				}
				n.queues[root][i] <- words
			}
		}
		return data, nil
	}
	var got []byte
	for _, w := range <-n.queues[root][n.self] {
		got = append(got, byte(w))
	}
	return got, nil
}

// Confirm implements joint.SealedNetwork: nobody changes a broadcast.
func (n *viewedNetwork) Confirm(context.Context) error { return nil }

// Three implements joint.SealedNetwork.
func (n *viewedNetwork) Three(parties [rss.Roles]int) (*rss.Party, error) {
	if n.self == viewedOutside {
		return rss.New(rss.Outside, n, nil, 1), nil
	}
	var with [rss.Roles]rss.Derive
	for peer := range with {
		with[peer] = viewedSecret(fmt.Sprint(min(peer, n.self), max(peer, n.self))).derive
	}
	pads := rss.NewPads(rss.Role(n.self), with, func() keys.Hash { return keys.Hash{} })
	return rss.New(rss.Role(n.self), n, &viewedPads{pads, n}, 1), nil
}

// BeginPass implements rss.Wire: it ends at once.
func (n *viewedNetwork) BeginPass(
	ctx context.Context, kind string, from, to rss.Role, bits, count int, words []uint64,
) (func(context.Context) error, error) {
	return begunAndEnded, n.Show(ctx, kind, from, to, bits, count, words)
}

// Show implements rss.Wire.
func (n *viewedNetwork) Show(_ context.Context, kind string, from, to rss.Role, _, _ int, words []uint64) error {
	switch rss.Role(n.self) {
	case from:
		n.queues[from][to] <- slices.Clone(words)
	case to:
		copy(words, <-n.queues[from][to])
		n.mu.Lock()
		defer n.mu.Unlock()
		switch kind {
		case "features":
			n.features[to] = append(n.features[to], words...)
		case "labels":
			n.targets = append(n.targets, words...)
		}
	}
	return nil
}

// Vouch implements rss.Wire.
func (n *viewedNetwork) Vouch(ctx context.Context, kind string, from, to rss.Role, digest *keys.Hash) error {
	words := make([]uint64, len(digest))
	for i, b := range digest {
		words[i] = uint64(b)
	}
	err := n.Show(ctx, kind, from, to, 8, len(words), words)
	for i, w := range words {
		digest[i] = byte(w)
	}
	return err
}

// Keys implements rss.Wire: these jobs have angles.
func (n *viewedNetwork) Keys(context.Context, string, int) (rss.Source, error) {
	return nil, errors.ErrUnsupported
}

// Give implements rss.Wire: these jobs have angles.
func (n *viewedNetwork) Give(context.Context, string, int, rss.Role, int, int, []uint64) error {
	return errors.ErrUnsupported
}

// viewedPads notes the pads that a coalition has.
type viewedPads struct {
	*rss.Pads
	*viewedNetwork
}

// Pad implements rss.Source.
func (p *viewedPads) Pad(unknown rss.Role, at rss.Place, use rss.Use) (rss.Pad, error) {
	pad, err := p.Pads.Pad(unknown, at, use)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.self == viewedKeeper && use == rss.FirstFree+77:
		words := make([]uint64, p.rows*p.params.Angles()/4) // one block
		pad.Words(words, 0)
		for _, w := range words {
			p.rotation = append(p.rotation, uint16(w), uint16(w>>16), uint16(w>>32), uint16(w>>48))
		}
	case p.self == viewedHelper && unknown == rss.Keeper && p.cover == nil:
		p.cover = make([]uint64, p.rows) // the first step is that of the labels
		if p.params.Ring == 32 {
			rss.Narrow(pad, p.cover, 0)
		} else {
			pad.Words(p.cover, 0)
		}
	}
	return pad, nil
}

// viewedSecret is a secret of two parties for tests.
type viewedSecret string

// derive is an rss.Derive.
func (s viewedSecret) derive(label string, n int) ([]byte, error) {
	key := keys.HashOf(label, []byte(s))
	return key[:n], nil
}
