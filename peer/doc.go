// Package peer connects a member's node to the other members' nodes over libp2p. A Host implements
// protocol.Transport: jobs see sessions, frames and calls, and errors that name who is gone and
// why. Nothing but this package and peer/discovery imports libp2p.
//
// # Shape
//
//	jobs, control           sessions, frames, calls: protocol.Transport
//	 │
//	peer                    Host: libp2p put together; who gets in; links and their heartbeats; calls;
//	 │                      what people see of members, strangers and clocks
//	 ├─ peer/discovery      where members may be: the address book, mDNS, the DHT
//	 └─ peer/session        who meets whom in a session, and its streams of frames; knows no libp2p
//
// The two below do not know the Host, nor each other. Discovery writes addresses into a book, which
// the Host reads when it dials. Sessions see links by the few things that they need of them.
//
// A Host has no state of its own. Each piece of it has one owner, which has one lock or none, and calls no other owner
// while it holds it; an owner knows those below it alone:
//
//	dialler     dials the members that a link is kept with, each in a goroutine of its own
//	reception   says hello, and answers hellos
//	calls       what answers the calls of others
//	tending     what a link goes through from when it is let in until it ends
//	clocks      what was said of this node's own clock
//	relays      whether this host relays; places at other relays
//	puncher     direct connections that are waited for or were tried in vain
//	bearings    signed whereabouts, and who is to be sent them
//	table       the DHT
//	announcer   what is said to whom of addresses
//	workers     the workers that are let in
//	admissions  connections whose streams wait for the verdict on the hello
//	strangers   who was refused of late
//	members     the charter in force; of each member the link and its level, or why there is none
//	lifetime    how far the host has come, and what runs that must end before it has ended
//
// A Host listens and keeps one link to every other member that can be reached, or, where a server
// has many clients, to its Config.Neighbours and those who are named or come. A link is a
// connection on which both sides have accepted each other's hello. Its control stream carries
// the hello and then heartbeats; every session has a stream of its own, and every call too.
//
//	bank                                                    telco
//	 │  TCP, TLS 1.3 with both keys, yamux   (or QUIC)        │
//	 ├────────────────────────────────────────────────────────┤
//	 │  /hanse/hello/1    one: hello, heartbeats, goodbye     │  lives as long as the link
//	 │  /hanse/session/1  one for each open session: frames   │  opened by the lower id
//	 │  /hanse/call/1     one for each call                   │  opened by the caller
//	 │  /hanse/worker/1   to its own node, by a worker alone  │  opened by the worker
//	 │  /libp2p/circuit/…  places and circuits, at members that relay
//	 │  /hanse/…/kad/1.0.0  searches in the DHT, if it is on  │
//	 └────────────────────────────────────────────────────────┘
//
// The lower id dials first; the higher one waits a second before it dials too. Should both
// connect at once, the dial of the lower id stays. A lost link is dialled again at once, then
// after pauses of 0.2 s that double up to 5 s, give or take a quarter, forever.
//
// # Who gets in
//
//  1. TLS proves the caller's key. Nothing but TLS 1.3 is offered: no Noise, no plaintext.
//
//  2. A key that is neither a member's, nor a revoked member's, nor invited, nor a worker's is cut at once. The
//     caller, who cannot be told why, reports the cut as what it most likely means.
//
//  3. The hello compares wire versions and charters. Both sides judge; a refusal has a reason,
//     which both sides show in their log and Status.
//
//  4. The level that comes of it bounds what the link carries.
//
// The levels are:
//
//	same charter and version     everything
//	same charter, other version  calls of "charter/…" methods, until the versions agree
//	invited newcomer             calls of "join/…" methods
//	worker of this node          worker streams, which no other level carries
//
// Streams that are opened before the verdict wait for it, and end with a refusal.
//
// # Wire formats
//
// Integers are big endian. A text is UTF-8 of printable characters, outside CBOR behind a 16-bit length; the most bytes
// that it has stand in parentheses. A stream starts with multistream-select, which names its protocol; its opener sends
// the first bytes of the protocol along with it.
//
// Control stream. The dialler opens it. Every message is a 32-bit length of what follows (1 to
// 4096), a kind in one byte, and a body; unknown kinds are skipped.
//
//	dialler → acceptor   hello
//	acceptor → dialler   hello, verdict
//	dialler → acceptor   verdict            the link stands if both accept
//	both ways            program            in place of what follows, where the hellos are of two wire versions
//	both ways            ping, pong, charter, program, seen, where, left; bye at the end
//
// A body is a map of CBOR (RFC 8949) whose keys are the numbers below, in its deterministic encoding (section 4.2.1).
// No field is left out, but for a hello's addresses where there are none. A body in any other encoding is refused.
//
//	1 hello    u16 wire version (4), before the map
//	           1 role: 0 member, 1 invitee, 2 worker
//	           2 whether it serves the DHT
//	           3 instance, 64 bits, drawn when the host starts
//	           4 the sender's time of day, milliseconds since 1970
//	           5 charter, as in message 5; zero of who stands under none
//	           6 text own name (64)
//	           7 up to 8 addresses, each a text (256): multiaddrs it listens on
//	2 verdict  1 code: 0 accepted, 1 refused, 2 connected already; 2 text fault (512)
//	3 ping     1 nanoseconds since the link began
//	4 pong     1 that of the ping, 2 the sender's time of day as in the hello
//	5 charter  1 digest (32 bytes), 2 version (32 bits), 3 text name (64): a new version is in force here
//	6 left     1 session id (32 bytes): the sender has closed its end of this session
//	7 bye      1 text fault (512): the sender ends the link; the receiver closes the connection
//	8 program  no CBOR, but a text, in every wire version: that of the sender's program (64), said to members when the
//	           link begins, or is refused for the wire version, and shown alone
//	9 seen     1 text (256): the multiaddr at which the sender, who was dialled, sees the receiver, which tells it
//	           whereabouts after that; a dialler's is not of interest
//	10 where   no CBOR: a member's addresses of one reach, signed by it, in libp2p's envelope of a peer record
//
// A ping goes out every second. When no byte has come on any stream for 4 s the peer counts as
// gone and the connection is closed, so that whoever waits for it hears at once. What a new connection of its key says
// to come in does not count: it may be the peer's next process.
//
// Session stream. The lower id opens it and asks again until it is let in.
//
//	opener → acceptor    32 bytes session id
//	acceptor → opener    u8: 1 in, 2 this session was used before, 3 too many of yours wait here,
//	                     4 the charters differ
//	opener → acceptor    u8 1, which shows that the answer has arrived
//	both ways            frames: u32 length (0 to protocol.MaxFrame), bytes
//
// A stream whose session is not open on the acceptor's side yet waits there, for 30 s and with at
// most 15 others of the same peer. The end of the stream is the end of the session; "left"
// on the control stream tells a peer that only sends.
//
// Call stream.
//
//	caller → callee      text method (64), u32 milliseconds the caller waits (0: no limit),
//	                     u32 length (0 to protocol.MaxCall), request
//	callee → caller      u8 status: 0 done, 1 failed; u32 length, response or error text (4096)
//
// The callee stops when the caller resets the stream. It serves 32 calls of a peer at a time.
//
// Worker stream. A worker is a process of this node's own party, with a key of its own that is no member's and that
// the node lists (Config.Worker). It opens streams to its node, which opens none. Workers came without a new wire
// version: a worker and its node run one program, and a node that knows of no workers refuses the role.
//
//	worker → node        nothing but the protocol's name
//	node → worker        u8 1: the stream is served
//	both ways            what the two speak; on session.Frames frames as on a session stream
//
// A stream that is not served is reset. A key that is not listed any more loses its connection within a heartbeat. A
// worker has one connection; a new one replaces it, unless another process holds the key and lives. Config.Workers are
// let in at once, and all of them have two connections each at most. A worker has twice as many streams as the charter
// has members and two more, 64 at least, whose first windows find their memory beside the members'.
//
// # Clocks
//
// A link is good for everything whatever the clocks of its ends say, and TLS certificates are
// valid at all times. Each side compares the time of day in the hello, and in each pong, with
// its own, less half of the round trip. A difference above two minutes is named at both ends, in
// the log and in Status, with what it breaks and which of the clocks is likely wrong. Nothing else
// hangs on it: it is the other side's own claim. What a host waits for is measured by the monotonic
// clock.
//
// # Finding members
//
// What may be a member's address comes, in this order, from the charter, from earlier runs
// (peers.toml in Config.StateDir), from the member's own hello, from what it has signed and others
// pass on (whereabouts.go), and from mDNS and a DHT that only members serve. All are hints: TLS
// shows whether the member is there. An address is told and dialled only in the network in which
// it means the member (discovery.Reach). The mDNS service and
// the DHT's protocol are named by a hash of the charter's name, so that members on different
// versions of the charter find each other, and outsiders learn only that a group exists.
//
// # Relays
//
// Two members that cannot dial each other meet through a member that relays by the charter. The
// circuit is a stream of each of them with the relay; on it stand TLS, yamux and the hello, as on
// TCP. Before the hello the two try to reach each other directly (punch.go). See docs/network.md.
//
// # Times
//
// TCP has 10 s, which is time for three lost packets; TLS has handshakeTime where it is answered; where it is asked for
// it has session.AnswerTime, as the hello and every other step of a handshake have on both sides.
//
// # Limits
//
// Every length is checked before anything is allocated for it. Connections, streams and the
// memory for unread data are bounded per member and for the host, sized by the charter's number
// of members and, on top of that, by the number of workers; see limits.go. Who has not shown to
// be a member has less, and takes no place of what this host dials. Who has not shown a key at all has a place on the
// porch, which has always one for the next: see porch.go.
package peer
