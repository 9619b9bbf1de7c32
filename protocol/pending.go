package protocol

import (
	"context"
	"slices"
)

// pending is an operation that has begun, and of which this party has not taken all that it receives.
type pending struct {
	peers []int // from whom
	take  func(ctx context.Context) error
	err   error // of take
}

// arriving is frames of one peer that are read while the session does other things, so that a sender does not wait for
// it: whoever is about to send has the room for what others send meanwhile.
type arriving struct {
	frames chan []byte // with room for all that are due; closed when there are no more
	left   int         // that the session has not taken
	err    error       // why it was closed
	over   chan struct{}
}

// buffersKept is how many buffers of frames are kept for the next ones.
const buffersKept = 16

// pendings are the operations that are pending. They know nothing of frames: each brings what takes its own.
type pendings struct {
	list   []*pending // in the order in which they began
	taking bool       // one of them is being ended
}

// ended ends an operation that is over.
func ended(context.Context) error { return nil }

// BeginReduce is Reduce at all but the root. There it returns when the sum has its number, and end takes the total:
// what Load reads and Store writes is the sum's until then. Operations that begin later may run before. What has begun
// ends by itself before anything else is received from a party that is to send to it, and before a countersignature,
// so that frames are taken in the order in which they were sent.
func (s *Session) BeginReduce(ctx context.Context, r Reduction) (end func(context.Context) error, err error) {
	operation, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	take := func(ctx context.Context) error { return s.reduce(ctx, &r, operation) }
	if r.Plan.Root != s.self {
		return ended, take(ctx)
	}
	return s.begin(ctx, r.Plan.Children[s.self], r.Kind, r.Size, r.Encoding.Chunk(s.config.Chunk), take), nil
}

// BeginPass is Pass at all but the receiver, where end takes the vector; see BeginReduce.
func (s *Session) BeginPass(ctx context.Context, d Direct) (end func(context.Context) error, err error) {
	if err := s.checkDirect(&d); err != nil {
		return nil, err
	}
	operation, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	take := func(ctx context.Context) error { return s.pass(ctx, &d, operation) }
	if d.To != s.self {
		return ended, take(ctx)
	}
	return s.begin(ctx, []int{d.From}, d.Kind, d.Size, d.Encoding.Chunk(s.config.Chunk), take), nil
}

// begin notes an operation in which a vector of size bytes comes from each of some parties, starts to read its chunks,
// and returns what takes them.
func (s *Session) begin(
	ctx context.Context, peers []int, kind string, size, chunk int, take func(context.Context) error,
) (end func(context.Context) error) {
	if size > 0 {
		for _, i := range peers {
			s.read(ctx, i, (size+chunk-1)/chunk, HeaderSize(kind)+min(size, chunk))
		}
	}
	p := &pending{peers: peers, take: take}
	s.pending.list = append(s.pending.list, p)
	return func(ctx context.Context) error {
		if err := s.pending.endFirst(ctx, slices.Index(s.pending.list, p)+1); err != nil {
			return err
		}
		return p.err
	}
}

// endFirst ends the first n operations that are pending, in their order.
func (q *pendings) endFirst(ctx context.Context, n int) error {
	for range n {
		p := q.list[0]
		q.list = q.list[1:]
		q.taking = true
		p.err = p.take(ctx)
		q.taking = false
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// end ends all operations that are pending.
func (q *pendings) end(ctx context.Context) error { return q.endFirst(ctx, len(q.list)) }

// settle ends the pending operations up to the last one that takes frames from one of some parties. It comes before
// anything else that receives from them: an operation that is ended uses the session's room for chunks.
func (q *pendings) settle(ctx context.Context, from ...int) error {
	if q.taking {
		return nil
	}
	n := 0
	for i, p := range q.list {
		if slices.ContainsFunc(from, func(party int) bool { return slices.Contains(p.peers, party) }) {
			n = i + 1
		}
	}
	return q.endFirst(ctx, n)
}

// read starts to read frames of a peer of at most so many bytes, behind those that are being read. It ends with them,
// with the link, or with ctx, and with one that is longer, so that a peer cannot have more held than has begun: the
// session fails when that one is taken.
func (w *wire) read(ctx context.Context, from, frames, most int) {
	var before *arriving
	if queue := w.arriving[from]; len(queue) > 0 {
		before = queue[len(queue)-1]
	}
	a := &arriving{frames: make(chan []byte, frames), left: frames, over: make(chan struct{})}
	w.arriving[from] = append(w.arriving[from], a)
	go func() {
		defer close(a.over)
		defer close(a.frames)
		if before != nil {
			<-before.over
			if a.err = before.err; a.err != nil {
				return
			}
		}
		for range frames {
			var buffer []byte
			select {
			case buffer = <-w.buffers:
			default:
			}
			frame, err := w.mesh.Receive(ctx, w.config.Parties[from].ID, buffer)
			if err != nil {
				a.err = err
				return
			}
			a.frames <- frame
			if len(frame) > most {
				a.err = deviation("frame of %d bytes, at most %d are due", len(frame), most)
				return
			}
		}
	}()
}

// frame returns the next frame of a peer, which may have come already; see Mesh.Receive for buf.
func (w *wire) frame(ctx context.Context, from int, buf []byte) ([]byte, error) {
	queue := w.arriving[from]
	if len(queue) == 0 {
		return w.mesh.Receive(ctx, w.config.Parties[from].ID, buf)
	}
	a := queue[0]
	select {
	case frame, ok := <-a.frames:
		if !ok {
			return nil, a.err
		}
		if a.left--; a.left == 0 {
			w.arriving[from] = queue[1:]
		}
		if buf != nil {
			select {
			case w.buffers <- buf[:0]:
			default:
			}
		}
		return frame, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// due is how many frames of a peer are read that the session has not taken.
func (w *wire) due(from int) int {
	n := 0
	for _, a := range w.arriving[from] {
		n += a.left
	}
	return n
}
