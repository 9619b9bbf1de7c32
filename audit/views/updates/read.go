package updates

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

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
	decode  func(words []byte) []float64
}

// lens knows the vectors and messages of one algorithm over clients: what a server could do with them. Parties are
// named by their index in the contract.
type lens interface {
	// told takes what the server told a client in a round.
	told(client int, kind string, round int, body []byte) error
	// said takes what a client answered.
	said(client int, kind string, body []byte) error
	// words says how the vectors of the sum that follows are encoded.
	words() (secagg.Fixed, int)
	// rebuild works out rows that a vector of a client, or a total, is of; client is -1 for a total.
	rebuild(ctx context.Context, s *gathered, client int, v []float64) ([]rebuiltRow, error)
	// learned returns the numbers of the client's rows that its vector in the sum under way is of, from 0.
	learned(client int) (from, to int)
	// taken returns how many rows a client has learned so far.
	taken(client int) int
	// update returns what the vector of a row is made of in the sum under way, by blocks of so many numbers, each up
	// to a factor of its own; nil when it is not known.
	update(x []float64, y float64) (v []float64, block int)
	// moves returns how many of these blocks one vector has.
	moves() int
	// moved returns a total less what the server knows to be in it.
	moved(s *gathered, total []float64) []float64
	// models returns what there is to choose from, and their names in words; 0: there is no choice.
	models() int
	// seen returns which models a client took or moved in a sum or round, as its server sees it; nil: it was no choice.
	seen(client int, v []float64) []int
	// suits adds to the losses of the models at a row; false when the models are not known.
	suits(losses []float64, x []float64, y float64) bool
	// first and last are the model before any row and as it is now: its loss at a row, and for the control what it is
	// linear in and misses.
	loss(last bool, x []float64, y float64) (float64, bool)
	tangent(x []float64, y float64) (features []float64, miss float64)
}

// rebuiltRow is a row, in the units of its stream, and its label, NaN when that does not follow.
type rebuiltRow struct {
	x      []float64
	y      float64
	proved bool
}

// gathering reads a transcript of a job over clients with its payloads and puts messages and sums together.
type gathering struct {
	*payload.Reader
	server  int   // whose clients these are: the party itself, or its server
	clients []int // ascending
	front   int   // bytes before a vector's words
	kinds   map[string]bool
	class   contract.Class
	lens    lens
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
		// Takes what a server told, or a client answered.
		down := (rec.Type == transcript.TypeSent) == (g.Party == g.server)
		client := rec.Peer
		if g.Party != g.server {
			client = g.Party
		}
		if g.lens == nil || !slices.Contains(g.clients, client) {
			return nil
		}
		if !down {
			g.blindTo = errors.Join(g.blindTo, g.lens.said(client, rec.Kind, body))
			return nil
		}
		if err := g.end(ctx); err != nil {
			return err
		}
		if len(body) < evidence.RoundHead {
			return nil
		}
		if err := g.lens.told(client, rec.Kind, int(binary.BigEndian.Uint32(body)), body[evidence.RoundHead:]); err != nil {
			g.blindTo = errors.Join(g.blindTo, err)
		}
		return nil
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
	var fixed secagg.Fixed
	n := len(s.total) / 8
	if g.blindness() == nil {
		fixed, n = g.lens.words()
	}
	s.decode = func(words []byte) []float64 {
		if n == 0 || len(words) < 8*n {
			return nil
		}
		list, values := make([]uint64, n), make([]float64, n)
		for i := range list {
			list[i] = binary.LittleEndian.Uint64(words[8*i:])
		}
		fixed.Decode(values, list)
		return values
	}
	return g.done(ctx, s)
}
