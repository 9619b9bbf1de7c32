package clients

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// The kinds of messages that end a session over clients, beside the algorithm's own.
const (
	kindFinished = "finished" // the job is done
	kindPaused   = "paused"   // the session ends and another will follow
)

// roundSize is the length of a round's number in front of values, in bytes.
const roundSize = 4

// encodeRound writes what a server tells in a round.
func encodeRound(round int, values []float64) []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, roundSize+8*len(values)), uint32(round))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// decodeRound reads what encodeRound wrote; values that are not finite are refused.
func decodeRound(b []byte) (round int, values []float64, err error) {
	if len(b) < roundSize || (len(b)-roundSize)%8 != 0 {
		return 0, nil, fmt.Errorf("%d bytes are no round's number and values", len(b))
	}
	round, b = int(binary.BigEndian.Uint32(b)), b[roundSize:]
	for i := range len(b) / 8 {
		v := math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, nil, fmt.Errorf("value %d is %v, want a finite number", i, v)
		}
		values = append(values, v)
	}
	return round, values, nil
}

// sumWords says how a sum of reals becomes one of words.
func sumWords(s federated.Sum, addends int) (cohort.Vector, secagg.Fixed, error) {
	f := secagg.Fixed{Bits: s.Bits, Bound: s.Bound}
	return cohort.Vector{Kind: s.Kind, Words: s.N, Bits: 64}, f, f.Check(s.Kind, addends)
}

// serverNetwork is a session as the server's part of an algorithm sees it.
type serverNetwork struct {
	links   *protocol.Links
	mesh    protocol.Mesh
	peers   []keys.ID // who were there when the session began
	server  *cohort.Server
	classOf func(kind string) contract.Class
	clients []int // the parties that are this server's clients, ascending
	least   int   // the fewest of them in a sum
	opened  func(kind string, count int64)
	lost    func(number int, losses []cohort.Loss) // hears whom a sum or question lost
	job     *contract.Job
	others  map[int]*neighbour // of them, by their place
	mixing  *mixing            // the algorithm has asked for it
	pausing atomic.Bool        // somebody has come back: no round is begun any more
	begun   int                // the round that was begun last, from 1; 0: none
}

// proceed refuses to begin a round in a session that is to end, since another will follow. A round that has begun is
// ended first: a message cut short would leave its receiver without the rest, and a round cut short is lost to all.
func (n *serverNetwork) proceed(round int) error {
	if n.pausing.Load() && n.begun != round+1 {
		return federated.ErrPaused
	}
	n.begun = round + 1
	return nil
}

// Clients implements federated.Server.
func (n *serverNetwork) Clients() int { return len(n.clients) }

// Present implements federated.Server.
func (n *serverNetwork) Present() []int {
	var there []int
	for _, party := range n.server.Present() {
		if i := slices.Index(n.clients, party); i >= 0 {
			there = append(there, i)
		}
	}
	return there
}

// SendValues implements federated.Server.
func (n *serverNetwork) SendValues(ctx context.Context, client int, kind string, round int, values []float64) error {
	if err := n.proceed(round); err != nil {
		return err
	}
	return n.server.Notify(ctx, n.clients[client], kind, n.classOf(kind), encodeRound(round, values))
}

// Sum implements federated.Server.
func (n *serverNetwork) Sum(ctx context.Context, s federated.Sum, clients []int) (*federated.Total, error) {
	if n.pausing.Load() && n.begun == 0 {
		return nil, federated.ErrPaused
	}
	v, fixed, err := sumWords(s, len(n.clients))
	if err != nil {
		return nil, err
	}
	var parties []int
	for _, i := range clients {
		parties = append(parties, n.clients[i])
	}
	total, err := n.server.Sum(ctx, v, parties)
	var few *cohort.TooFewError
	if errors.As(err, &few) {
		n.lost(int(few.Sum), few.Lost)
		if len(n.server.Present()) < n.least {
			return nil, federated.ErrScarce
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n.lost(int(total.Sum), total.Lost)
	n.opened(s.Kind, int64(s.N))
	t := &federated.Total{Values: make([]float64, s.N)}
	fixed.Decode(t.Values, total.Words)
	for _, party := range total.Survivors {
		t.Clients = append(t.Clients, slices.Index(n.clients, party))
	}
	return t, nil
}

// end tells the clients that are there how the session ends, and ends it with them.
func (n *serverNetwork) end(ctx context.Context, kind string) error {
	for _, party := range n.server.Present() {
		if err := n.server.Notify(ctx, party, kind, contract.ClassControl, nil); err != nil {
			return err
		}
	}
	_, err := n.server.Finish(ctx)
	return err
}

// clientNetwork is a session as a client's part of an algorithm sees it.
type clientNetwork struct {
	links   *protocol.Links
	client  *cohort.Client
	classOf func(kind string) contract.Class
	server  int
	addends int // clients of the server in the job
	opened  func(kind string, count int64)
}

// ReceiveValues implements federated.Client. The awaited kind is what a person is told; what came is for the
// algorithm to judge by its values.
func (n *clientNetwork) ReceiveValues(ctx context.Context, kind string, limit int) (int, []float64, error) {
	h, err := n.client.ReceiveNotice(ctx, kind, roundSize+8*limit)
	if err != nil {
		return 0, nil, err
	}
	switch h.Kind {
	case kindFinished:
		return 0, nil, io.EOF
	case kindPaused:
		return 0, nil, federated.ErrPaused
	}
	round, values, err := decodeRound(h.Payload)
	if err != nil {
		return 0, nil, n.links.Deviation(protocol.Message{From: n.server, Kind: h.Kind}, "%v", err)
	}
	n.opened(h.Kind, int64(len(values)))
	return round, values, nil
}

// Sum implements federated.Client.
func (n *clientNetwork) Sum(ctx context.Context, s federated.Sum, v []float64) (bool, error) {
	vector, fixed, err := sumWords(s, n.addends)
	if err != nil {
		return false, err
	}
	words := make([]uint64, len(v))
	if err := fixed.Encode(s.Kind, words, v); err != nil {
		return false, err
	}
	err = n.client.Sum(ctx, vector, words)
	if errors.Is(err, cohort.ErrLeftOut) {
		return false, nil
	}
	return err == nil, err
}
