package updates

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/views/payload"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// gathered is a sum over clients as its server's transcript shows it, from the beginning of the one to that of the
// next.
type gathered struct {
	session uint32
	number  uint64
	members []int          // parties whose vectors are in the total, ascending
	vectors map[int][]byte // by party: its words as they came, masked or not
	total   []byte         // words; nil: it did not open
	form    federated.LensForm
}

// newLens returns the lens of a job for a server and its clients.
func newLens(in *evidence.Input, server int) (federated.Lens, error) {
	if a := in.Algorithms.OverClients(in.Contract.Job); a.Lens != nil {
		return a.Lens(in.Contract, server)
	}
	return nil, fmt.Errorf("attacks on clients' vectors do not know %q", in.Contract.Job.Algorithm)
}

// decode returns the numbers of a vector or total; nil when its words are too few.
func decode(f *federated.LensForm, words []byte) []float64 {
	n := f.Sum.N
	if n == 0 || len(words) < 8*n {
		return nil
	}
	list, values := make([]uint64, n), make([]float64, n)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(words[8*i:])
	}
	secagg.Fixed{Bits: f.Sum.Bits, Bound: f.Sum.Bound}.Decode(values, list)
	if f.Whole != nil {
		return f.Whole(values)
	}
	return values
}

// gathering reads a transcript of a job over clients with its payloads and puts messages and sums together.
type gathering struct {
	*payload.Reader
	server  int   // whose clients these are: the party itself, or its server
	clients []int // ascending
	front   int   // bytes before a vector's words
	kinds   map[string]bool
	class   contract.Class
	lens    federated.Lens
	blindTo error // why what was read means nothing

	parts map[sumPart][]byte
	same  struct { // the payload of the latest message, which the server tells many
		sum  [32]byte
		body []byte
	}
	sum  *gathered
	told map[int]bool
	done func(ctx context.Context, s *gathered) error // a sum that has ended
}

// sumPart is a message under way.
type sumPart struct {
	event transcript.Type
	peer  int
	kind  string
	sum   uint64
}

// newGathering prepares for a party's transcript.
func newGathering(in *evidence.Input, s *evidence.Source, party int) *gathering {
	c := in.Contract
	server := c.Job.ServerOf(party)
	g := &gathering{
		Reader: payload.NewReader(in, s, party),
		server: server, clients: c.Job.ClientsOf(server), front: evidence.SetSize(len(c.Parties)),
		kinds: make(map[string]bool),
		parts: make(map[sumPart][]byte),
	}
	for i := range c.Operations {
		o := &c.Operations[i]
		if o.Collective == contract.CollectiveUpload && !cohort.IsKind(o.Kind) && o.Class != contract.ClassControl.String() &&
			o.Class != contract.ClassOpening.String() {
			g.kinds[o.Kind] = true
			g.class = c.ClassOf(o.Kind)
		}
	}
	g.lens, g.blindTo = newLens(in, server)
	return g
}

func (g *gathering) read(ctx context.Context) error {
	file, err := g.Source.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := transcript.NewReader(file)
	if err != nil {
		return err
	}
	var rec transcript.Record
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := r.Next(&rec)
		if err == io.EOF || errors.Is(err, transcript.ErrCut) {
			return g.end(ctx)
		}
		if err != nil {
			return err
		}
		if err := g.Without(&rec, g.take(ctx, &rec)); err != nil {
			return err
		}
	}
}

func (g *gathering) take(ctx context.Context, rec *transcript.Record) error {
	if rec.Type == transcript.TypeSession {
		clear(g.parts)
		return g.end(ctx)
	}
	if !rec.Type.Payload() || rec.Type.Frame() && !g.matters(rec) {
		return nil
	}
	body, whole, err := g.assemble(rec)
	if err != nil || !whole {
		return err
	}
	switch {
	case rec.Type == transcript.TypeOpened:
		if g.sum == nil {
			return nil
		}
		g.sum.total = body
		return g.end(ctx)
	case g.kinds[rec.Kind] && rec.Type == transcript.TypeReceived && g.Party == g.server:
		if len(body) < g.front {
			return nil
		}
		g.test(rec, body[g.front:])
		if g.sum != nil && slices.Contains(g.clients, rec.Peer) {
			g.sum.vectors[rec.Peer] = body[g.front:]
		}
	case g.kinds[rec.Kind]:
		if len(body) >= g.front && rec.Type == transcript.TypeSent {
			g.test(rec, body[g.front:])
		}
	case rec.Kind == cohort.KindOpening:
		g.test(rec, body)
	case rec.Kind == cohort.KindBegin:
		if g.sum == nil {
			g.begin(rec)
		}
	case rec.Kind == cohort.KindSurvivors:
		g.told[rec.Peer] = true
	default:
		m := federated.LensMessage{Client: rec.Peer, Kind: rec.Kind, Body: body,
			Down: (rec.Type == transcript.TypeSent) == (g.Party == g.server)}
		if g.Party != g.server {
			m.Client = g.Party
		}
		if g.lens == nil || !slices.Contains(g.clients, m.Client) {
			return nil
		}
		if m.Down {
			if err := g.end(ctx); err != nil || len(body) < evidence.RoundHead {
				return err
			}
			m.Round, m.Body = int(binary.BigEndian.Uint32(body)), body[evidence.RoundHead:]
		}
		if err := g.lens.Heard(&m); err != nil {
			g.blindTo = errors.Join(g.blindTo, err)
		}
	}
	return nil
}

// matters reports whether a frame is of those that the attacks look at. What a server tells comes to its clients, of
// whom this may be one.
func (g *gathering) matters(rec *transcript.Record) bool {
	sent, server := rec.Type == transcript.TypeSent, g.Party == g.server
	switch {
	case g.kinds[rec.Kind] || rec.Kind == cohort.KindOpening:
		return server != sent
	case rec.Kind == cohort.KindBegin || rec.Kind == cohort.KindSurvivors:
		return server && sent
	case cohort.IsKind(rec.Kind) || rec.Class != contract.ClassOpening:
		return false
	}
	return slices.Contains(g.clients, rec.Peer) || rec.Peer == g.server
}

// assemble puts a message together from its chunks, and reports whether it is whole.
func (g *gathering) assemble(rec *transcript.Record) (body []byte, whole bool, err error) {
	if rec.Kept && rec.Bytes == rec.Size && rec.Sum() == g.same.sum && rec.Bytes > 0 {
		g.Kept++
		return g.same.body, true, nil
	}
	payload, err := g.Payload(rec)
	if err != nil {
		return nil, false, err
	}
	at := sumPart{rec.Type, rec.Peer, rec.Kind, rec.Operation}
	if rec.Chunk == 0 {
		delete(g.parts, at)
	}
	if uint64(len(payload)) == rec.Size {
		g.same.sum, g.same.body = rec.Sum(), payload
		return payload, true, nil
	}
	g.parts[at] = append(g.parts[at], payload...)
	if body = g.parts[at]; uint64(len(body)) < rec.Size {
		return nil, false, nil
	}
	delete(g.parts, at)
	return body, true, nil
}

// test passes protected words on to their tests.
func (g *gathering) test(rec *transcript.Record, words []byte) {
	if !evidence.Protected(rec.Class) {
		return
	}
	r := *rec
	if r.Encoding = contract.Fixed64; r.Class == contract.ClassHE {
		r.Encoding = contract.RLWE
	}
	_ = g.Words.Add(&r, words, 1) // fails for word sizes that these are not
}

// blindness says why an attack on vectors means nothing, if it does.
func (g *gathering) blindness() error {
	switch {
	case g.blindTo != nil:
		return g.blindTo
	case g.lens == nil:
		return errors.New("the job's parameters are not known")
	}
	return nil
}

func (g *gathering) begin(rec *transcript.Record) {
	g.sum, g.told = &gathered{session: rec.Session, number: rec.Operation, vectors: make(map[int][]byte)},
		make(map[int]bool)
}

// end ends the sum under way.
func (g *gathering) end(ctx context.Context) error {
	s := g.sum
	if s == nil {
		return nil
	}
	g.sum = nil
	for _, c := range g.clients {
		if g.told[c] || len(g.told) == 0 && s.vectors[c] != nil {
			s.members = append(s.members, c)
		}
	}
	if g.done == nil {
		return nil
	}
	if g.lens != nil {
		s.form = g.lens.Form()
	}
	if g.blindness() != nil {
		s.form = federated.LensForm{Sum: federated.Sum{N: len(s.total) / 8}, Model: s.form.Model}
	}
	return g.done(ctx, s)
}
