package peer

import (
	"io"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/protocol"
)

// benchFrame is the frame of the throughput benchmarks.
const benchFrame = 1 << 20

// BenchmarkMesh sends frames of 1 MiB from one host to another over loopback.
func BenchmarkMesh(b *testing.B) {
	hosts := federation(b, 2)
	meshes := openAll(b, protocol.SessionID{1}, hosts...)
	ctx := b.Context()
	frame := make([]byte, benchFrame)
	b.SetBytes(benchFrame)
	b.ResetTimer()
	done := make(chan error, 1)
	go func() {
		var buf []byte
		for range b.N {
			got, err := meshes[1].Receive(ctx, hosts[0].Self(), buf)
			if err != nil {
				done <- err
				return
			}
			buf = got
		}
		done <- nil
	}()
	for range b.N {
		mustDo(b, meshes[0].Send(ctx, hosts[1].Self(), frame))
	}
	mustDo(b, <-done)
}

// BenchmarkBareStream is what BenchmarkMesh is measured against: the same bytes over a libp2p
// stream of the same connection, without frames and contexts.
func BenchmarkBareStream(b *testing.B) {
	hosts := federation(b, 2)
	const proto = "/hanse/bench/1"
	streams := make(chan network.Stream, 1)
	hosts[1].node.host.SetStreamHandler(proto, func(s network.Stream) { streams <- s })
	meetAll(b, hosts...)
	l, err := hosts[0].members.awaitLink(b.Context(), hosts[0].life, hosts[1].Self(), levelFull)
	mustDo(b, err)
	out, err := openStream(b.Context(), l.conn, proto, nil)
	mustDo(b, err)
	in := <-streams
	frame := make([]byte, benchFrame)
	b.SetBytes(benchFrame)
	b.ResetTimer()
	done := make(chan error, 1)
	go func() {
		buf := make([]byte, benchFrame)
		for range b.N {
			if _, err := io.ReadFull(in, buf); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range b.N {
		if _, err := out.Write(frame); err != nil {
			b.Fatal(err)
		}
	}
	mustDo(b, <-done)
}

// BenchmarkRoundTrip sends a small frame there and back.
func BenchmarkRoundTrip(b *testing.B) {
	hosts := federation(b, 2)
	meshes := openAll(b, protocol.SessionID{1}, hosts...)
	ctx := b.Context()
	frame := make([]byte, 64)
	go func() {
		var buf []byte
		for {
			got, err := meshes[1].Receive(ctx, hosts[0].Self(), buf)
			if err != nil || meshes[1].Send(ctx, hosts[0].Self(), got) != nil {
				return
			}
			buf = got
		}
	}()
	var buf []byte
	for b.Loop() {
		mustDo(b, meshes[0].Send(ctx, hosts[1].Self(), frame))
		got, err := meshes[0].Receive(ctx, hosts[1].Self(), buf)
		mustDo(b, err)
		buf = got
	}
	meshes[0].Close()
}

// BenchmarkCall makes one small call after the other.
func BenchmarkCall(b *testing.B) {
	hosts := federation(b, 2)
	hosts[1].Handle(answerHello)
	meetAll(b, hosts...)
	for b.Loop() {
		if _, err := hosts[0].Call(b.Context(), hosts[1].Self(), "hello", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConnect dials, shakes hands and says hello anew each time.
func BenchmarkConnect(b *testing.B) {
	ks := newKeys(b, 2)
	c := signed(b, draft(ks), ks)
	high := start(b, config(ks[1], c))
	low, err := New(config(ks[0], c)) // not run: it would dial by itself
	mustDo(b, err)
	defer low.Close()
	m := low.members.by[high.Self()]
	low.node.host.Peerstore().AddAddrs(m.peer, high.node.host.Addrs(), time.Hour)
	var dialling, greeted time.Duration
	for b.Loop() {
		begin := time.Now()
		conn, err := low.node.swarm.DialPeer(b.Context(), m.peer)
		mustDo(b, err)
		dialled := time.Now()
		l, err := greeting{
			target: target{name: m.info.Name, id: high.Self()},
			mine:   low.reception.hello(low.members.inForce(), conn),
			weigh:  func(hello) verdict { return verdict{level: levelFull} },
			heard:  low.meter.of(m.peer),
			now:    time.Now,
		}.exchange(b.Context(), conn)
		mustDo(b, err)
		dialling += dialled.Sub(begin)
		greeted += time.Since(dialled)
		l.end("benchmark")
	}
	b.ReportMetric(float64(dialling.Microseconds())/float64(b.N)/1000, "ms/dial")
	b.ReportMetric(float64(greeted.Microseconds())/float64(b.N)/1000, "ms/hello")
}
