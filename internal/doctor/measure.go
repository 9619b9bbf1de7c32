package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/time/rate"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Prefix begins the methods of this package's calls.
const Prefix = "doctor/"

const (
	methodEcho  = Prefix + "echo"  // bytes -> so many bytes
	methodReach = Prefix + "reach" // nothing -> which of the caller's addresses in the charter cannot be dialled
)

// echoRequest brings bytes and asks for some. Evolution: fields are added, none changes its meaning.
type echoRequest struct {
	Bytes []byte `cbor:"1,keyasint,omitempty"`
	Want  uint32 `cbor:"2,keyasint,omitempty"`
}

// echoResponse has the bytes that were asked for, and what the callee's system says of its end of the connection.
type echoResponse struct {
	Bytes []byte `cbor:"1,keyasint,omitempty"`
	Sent  int64  `cbor:"2,keyasint,omitempty"` // segments since the link began; 0: it does not say
	Again int64  `cbor:"3,keyasint,omitempty"` // of these, sent again
}

// reachResponse lists the caller's addresses that cannot be dialled, with the cause.
type reachResponse struct {
	Closed []closedAddress `cbor:"1,keyasint,omitempty"`
}

type closedAddress struct {
	Address string `cbor:"1,keyasint"`
	Cause   string `cbor:"2,keyasint"` // one of peer's Cause constants
}

// Limits of what a member may ask for, whose doctor measures twice both ways and then is done.
const (
	maxEcho    = 4 << 20  // bytes of one call, each way
	echoEvery  = 1 << 20  // bytes a second that one member may have echoed, both ways together, over time
	echoAtOnce = 40 << 20 // and at once: some measurements in a row
	reachCost  = 1 << 20  // a question for a dial costs as many bytes
	reachTime  = 5 * time.Second
)

// Answerer answers the doctors of other members. It is a protocol.Handler by its method Handle.
type Answerer struct {
	host *peer.Host

	mu     sync.Mutex
	limits map[keys.ID]*rate.Limiter
}

// NewAnswerer prepares to answer on a host.
func NewAnswerer(host *peer.Host) *Answerer {
	return &Answerer{host: host, limits: make(map[keys.ID]*rate.Limiter)}
}

// Handle answers a call.
func (a *Answerer) Handle(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
	var answer []byte
	var err error
	switch method {
	case methodEcho:
		answer, err = control.Answer(request, func(r echoRequest) (echoResponse, error) { return a.echo(from, r) })
	case methodReach:
		answer, err = control.Answer(request, func(struct{}) (reachResponse, error) { return a.reach(ctx, from) })
	default:
		return nil, &fault.Fault{Code: fault.CodeMethod}
	}
	switch {
	case errors.Is(err, errTooMuch):
		return nil, &fault.Fault{Code: fault.CodeBusy}
	case err != nil:
		return nil, &fault.Fault{Code: fault.CodeRequest}
	}
	return answer, nil
}

// errTooMuch refuses a member that asks for more than a doctor does.
var errTooMuch = errors.New("more than may be measured for one member")

// spend takes bytes from what a member may ask for. Members are few: those of the charter.
func (a *Answerer) spend(from keys.ID, bytes int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.limits[from]
	if l == nil {
		l = rate.NewLimiter(echoEvery, echoAtOnce)
		a.limits[from] = l
	}
	if !l.AllowN(time.Now(), bytes) {
		return errTooMuch
	}
	return nil
}

func (a *Answerer) echo(from keys.ID, r echoRequest) (answer echoResponse, err error) {
	if r.Want > maxEcho || len(r.Bytes) > maxEcho {
		return answer, errors.New("more bytes than are echoed")
	}
	if err := a.spend(from, len(r.Bytes)+int(r.Want)); err != nil {
		return answer, err
	}
	answer.Bytes = make([]byte, r.Want)
	if s, ok := a.host.Segments(from); ok {
		answer.Sent, answer.Again = s.Sent, s.Again
	}
	return answer, nil
}

// reach dials nobody but the caller, at the addresses that all members have signed.
func (a *Answerer) reach(ctx context.Context, from keys.ID) (answer reachResponse, err error) {
	if err := a.spend(from, reachCost); err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	tried, err := a.host.Reaches(ctx, from)
	for _, t := range tried {
		if t.Cause != "" {
			answer.Closed = append(answer.Closed, closedAddress{t.Address, string(t.Cause)})
		}
	}
	return answer, err
}

// maxClosed is how many addresses of an answer are read, as many as a member has.
const maxClosed = 8

// askReach asks a member which of this node's addresses in the charter it cannot dial.
func askReach(ctx context.Context, host *peer.Host, id keys.ID) ([]peer.Attempt, error) {
	request, err := cbor.Marshal(struct{}{})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*reachTime)
	defer cancel()
	answer, err := host.Call(ctx, id, methodReach, request)
	if err != nil {
		return nil, err
	}
	var r reachResponse
	if err := control.Decode(answer, &r); err != nil {
		return nil, err
	}
	var closed []peer.Attempt
	for _, c := range r.Closed[:min(len(r.Closed), maxClosed)] {
		closed = append(closed, peer.Attempt{Address: wording.Line(c.Address, 256),
			Cause: peer.Cause(wording.Line(c.Cause, 40))})
	}
	return closed, nil
}

const (
	pings     = 5
	pingPause = 200 * time.Millisecond
	pingTime  = 20 * time.Second
	// slowTrip is from when on the slowest round trip is a warning: no line on Earth takes so long by itself.
	slowTrip = 800 * time.Millisecond
	// relinkTime is how long a new link may take where the one that was measured is over.
	relinkTime = 10 * time.Second
	firstEcho  = 256 << 10
	echoTime   = 30 * time.Second
	// quick is how long the first measurement may take for a second one of maxEcho to follow.
	quick = time.Second
)

// call calls a member, again for relinkTime where the link was over and there is a new one: two nodes that dial each
// other at once have two links, of which one stays. It says how long the call that was answered took.
func call(ctx context.Context, host *peer.Host, to keys.ID, request []byte) ([]byte, time.Duration, error) {
	var enough <-chan time.Time
	for {
		changed, began := host.Watch(), time.Now()
		data, err := host.Call(ctx, to, methodEcho, request)
		if gone := new(protocol.GoneError); !errors.As(err, &gone) {
			return data, max(time.Since(began), time.Microsecond), err
		}
		if enough == nil {
			enough = time.After(relinkTime)
		}
		select {
		case <-changed:
		case <-enough:
			return nil, 0, err
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// measure times words and bytes between this node and a member.
func measure(ctx context.Context, host *peer.Host, m keys.Member) []Check {
	check := func(name string, v Verdict, text string, figures map[string]float64) Check {
		return Check{About: m.Name, Name: name, Verdict: v, Text: text, Figures: figures}
	}
	ask := func(r echoRequest, limit time.Duration) (answer echoResponse, took time.Duration, err error) {
		request, err := cbor.Marshal(r)
		if err != nil {
			return answer, 0, err
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		data, took, err := call(ctx, host, m.ID, request)
		if err == nil {
			err = control.Decode(data, &answer)
		}
		if err == nil && len(answer.Bytes) != int(r.Want) {
			err = fmt.Errorf("it sent %d bytes of %d", len(answer.Bytes), r.Want)
		}
		return answer, took, err
	}
	var trips []time.Duration
	for at := range pings {
		if at > 0 { // a machine that stands still most of the time answers several in a row while it runs
			select {
			case <-ctx.Done():
			case <-time.After(pingPause):
			}
		}
		_, took, err := ask(echoRequest{}, pingTime)
		var remote *protocol.RemoteError
		if errors.As(err, &remote) {
			return []Check{check(CheckRoundTrip, Skipped, "it does not measure with this node now: "+remote.Fault.String(), nil)}
		}
		if err != nil {
			c := check(CheckRoundTrip, Failed, fmt.Sprintf("a word and its answer: %v", err), nil)
			c.Mend = "the link broke while it was measured: look again, and at the line between the two"
			return []Check{c}
		}
		trips = append(trips, took)
	}
	trip, first := roundTrip(m.Name, trips)
	checks := []Check{first}

	before, knows := host.Segments(m.ID)
	theirs, _, _ := ask(echoRequest{}, pingTime)
	var speeds [2]float64 // out, in; bytes a second
	var last echoResponse
	for _, size := range []int{firstEcho, maxEcho} {
		_, out, err := ask(echoRequest{Bytes: make([]byte, size)}, echoTime)
		if err == nil {
			var answer echoResponse
			var in time.Duration
			if answer, in, err = ask(echoRequest{Want: uint32(size)}, echoTime); err == nil {
				last = answer
				speeds = [2]float64{perSecond(size, out, trip), perSecond(size, in, trip)}
				if max(out, in) < quick {
					continue
				}
			}
		}
		if err != nil && speeds[0] == 0 {
			c := check(CheckThroughput, Failed, fmt.Sprintf("%s did not pass: %v", wording.Size(int64(size)), err), nil)
			c.Mend = "the line drops large packets or is very slow: look at its MTU (ping -M do -s 1400) and its load"
			return append(checks, c)
		}
		break
	}
	var loss []string
	worrying := false
	figures := make(map[string]float64)
	if after, ok := host.Segments(m.ID); ok && knows && after.Sent > before.Sent {
		sent, again := after.Sent-before.Sent, after.Again-before.Again
		figures["sent_share"] = min(1, float64(again)/float64(sent))
		worrying = lossy(sent, again)
		loss = append(loss, fmt.Sprintf("%.2f %% of what was sent", 100*figures["sent_share"]))
	}
	if last.Sent > theirs.Sent && theirs.Sent > 0 {
		sent, again := last.Sent-theirs.Sent, last.Again-theirs.Again
		figures["received_share"] = min(1, max(0, float64(again)/float64(sent)))
		worrying = worrying || lossy(sent, again)
		loss = append(loss, fmt.Sprintf("%.2f %% of what came", 100*figures["received_share"]))
	}
	switch {
	case len(loss) == 0:
		checks = append(checks, check(CheckLoss, Skipped, "the systems at both ends do not say", nil))
	case worrying:
		c := check(CheckLoss, Warning, strings.Join(loss, ", ")+" was lost and sent again", figures)
		c.Mend = "jobs go on, slowly: look at the line between the two (mtr shows where it loses)"
		checks = append(checks, c)
	default:
		checks = append(checks, check(CheckLoss, Fine, strings.Join(loss, ", "), figures))
	}
	return append(checks, check(CheckThroughput, Fine, fmt.Sprintf("%s/s out, %s/s in", wording.Size(int64(speeds[0])),
		wording.Size(int64(speeds[1]))), map[string]float64{"sent_bytes_per_second": speeds[0],
		"received_bytes_per_second": speeds[1]}))
}

// roundTrip is the middle of what a member's answers took, and what is said of it: that a machine stands still at times
// shows in the slowest alone.
func roundTrip(member string, trips []time.Duration) (time.Duration, Check) {
	slices.Sort(trips)
	trip, slowest := trips[len(trips)/2], trips[len(trips)-1]
	c := Check{About: member, Name: CheckRoundTrip, Verdict: Fine,
		Text:    fmt.Sprintf("%s, the middle of %d", shortTime(trip), len(trips)),
		Figures: map[string]float64{"seconds": trip.Seconds(), "slowest_seconds": slowest.Seconds()}}
	if slowest >= slowTrip {
		c.Verdict, c.Text = Warning, c.Text+"; the slowest took "+shortTime(slowest)
		c.Mend = "jobs may wait that long for each message: ask what else the machine there does, and look at the line"
	}
	return trip, c
}

// lossy reports whether more than two of a hundred segments were sent again, and not only the few that a system sends
// again where the other end is slow to answer: 256 KiB are some hundred segments, and a busy machine repeats three.
func lossy(sent, again int64) bool { return again >= 8 && 50*again > sent }

// perSecond is a speed, without the round trip that a single byte would have taken too.
func perSecond(size int, took, trip time.Duration) float64 {
	return float64(size) / max(took-trip, took/10).Seconds()
}

// shortTime writes a time of milliseconds.
func shortTime(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
