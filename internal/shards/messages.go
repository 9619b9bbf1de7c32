package shards

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Version is that of the messages between a worker and its node.
const Version = 1

// Limits of messages between a worker and its node, in bytes.
const (
	maxMessage = 1 << 20 // without its data
	dataFrame  = 1 << 20 // of data in one frame
	maxText    = 2000
)

// Frames carries frames both ways between a worker and its node, each at most protocol.MaxFrame long. One goroutine may
// send while another receives.
type Frames interface {
	Send(ctx context.Context, parts ...[]byte) error
	Receive(ctx context.Context, buf []byte) ([]byte, error)
	Close() error
}

// Hello is the first message of every stream that a worker opens: one of the two.
type Hello struct {
	Version uint8  `cbor:"1,keyasint"`
	Ready   *Ready `cbor:"2,keyasint,omitempty"`
	Relay   *Relay `cbor:"3,keyasint,omitempty"`
}

// Ready says that a worker can begin a session of its shard. It says so before every session.
type Ready struct {
	Job   string  `cbor:"1,keyasint"` // the first digits of its contract's hash
	Shard int     `cbor:"2,keyasint"`
	Of    int     `cbor:"3,keyasint"`
	Key   keys.ID `cbor:"4,keyasint"` // drawn for this session
}

// Relay says which party of which session the frames of a stream go to and come from.
type Relay struct {
	Session protocol.SessionID `cbor:"1,keyasint"`
	Party   int                `cbor:"2,keyasint"`
}

// The kinds of an Order.
const (
	OrderWork    = "work"    // a session begins; Data is the Task
	OrderAgain   = "again"   // the session did not begin: the worker says that it is ready anew
	OrderDone    = "done"    // the shard is done at all parties
	OrderRefused = "refused" // Text says why: the worker cannot be of use
	OrderBusy    = "busy"    // another worker has this shard, as far as the node knows
)

// Order is what a node tells a worker.
type Order struct {
	Kind string `cbor:"1,keyasint"`
	Text string `cbor:"2,keyasint,omitempty"`
	Size int64  `cbor:"3,keyasint,omitempty"` // bytes of data that follow
	// Usage says of a refusal that the worker was started with the wrong arguments.
	Usage bool `cbor:"4,keyasint,omitempty"`
}

// Task is what a worker needs for a session.
type Task struct {
	Contract []byte             `cbor:"1,keyasint"` // the job's, with all signatures
	Shard    []byte             `cbor:"2,keyasint"` // the shard's contract
	Session  protocol.SessionID `cbor:"3,keyasint"`
	Self     int                `cbor:"4,keyasint"` // index of the party
	Work     []byte             `cbor:"5,keyasint"` // what the algorithm has for the worker; see Work.Task
	Consent  keys.Hash          `cbor:"6,keyasint"` // for the transcript; see transcript.Config
	Part     keys.Hash          `cbor:"7,keyasint"` // digest of the rows that the worker needs; zero: it needs none
	Payloads int64              `cbor:"8,keyasint"` // most bytes of payloads that the transcript keeps, if any
}

// The kinds of what a worker says of its session.
const (
	SaidProgress = "progress"
	SaidFile     = "file"   // a file of the session: contract, transcript, payloads; Data follows
	SaidResult   = "result" // Data follows; the session is over, and well
	SaidFailed   = "failed" // the session is over; Text says why
)

// Said is what a worker tells its node.
type Said struct {
	Kind  string `cbor:"1,keyasint"`
	Text  string `cbor:"2,keyasint,omitempty"`
	Name  string `cbor:"3,keyasint,omitempty"` // of a file
	Size  int64  `cbor:"4,keyasint,omitempty"` // bytes of data that follow
	Step  string `cbor:"5,keyasint,omitempty"`
	Done  int    `cbor:"6,keyasint,omitempty"`
	Total int    `cbor:"7,keyasint,omitempty"`
	// of a result: what passed in the session
	Traffic Traffic `cbor:"8,keyasint,omitzero"`
}

// Traffic is what a worker says of how much passed in its session. Nothing rests on it but what people are told.
type Traffic struct {
	Sent     int64  `cbor:"1,keyasint"` // bytes of frames, with their headers and lengths
	Received int64  `cbor:"2,keyasint"`
	Flows    []Flow `cbor:"3,keyasint,omitempty"`
}

// Flow is what passed between a worker and that of another party in messages of one kind.
type Flow struct {
	Party  int    `cbor:"1,keyasint"`
	Kind   string `cbor:"2,keyasint"`
	Frames int64  `cbor:"3,keyasint"` // sent
	Sent   int64  `cbor:"4,keyasint"` // bytes of payload
	Read   int64  `cbor:"5,keyasint"`
}

// SendMessage sends a message.
func SendMessage(ctx context.Context, f Frames, message any) error {
	data, err := cbor.Marshal(message)
	if err != nil {
		return err
	}
	return f.Send(ctx, data)
}

// ReceiveMessage receives a message, strictly.
func ReceiveMessage(ctx context.Context, f Frames, message any) error {
	data, err := f.Receive(ctx, nil)
	if err != nil {
		return err
	}
	if len(data) > maxMessage {
		return fmt.Errorf("a message of %d bytes, at most %d are allowed", len(data), maxMessage)
	}
	return control.Decode(data, message)
}

// SendData sends so many bytes of a reader, which a message before has announced.
func SendData(ctx context.Context, f Frames, from io.Reader, size int64) error {
	buf := make([]byte, min(size, dataFrame))
	for size > 0 {
		n := min(size, dataFrame)
		if _, err := io.ReadFull(from, buf[:n]); err != nil {
			return err
		}
		if err := f.Send(ctx, buf[:n]); err != nil {
			return err
		}
		size -= n
	}
	return nil
}

// ReceiveData writes the bytes that a message has announced. That they are not too many is for the caller to check
// before.
func ReceiveData(ctx context.Context, f Frames, to io.Writer, size int64) error {
	var buf []byte
	for size > 0 {
		frame, err := f.Receive(ctx, buf)
		if err != nil {
			return err
		}
		if len(frame) == 0 || int64(len(frame)) > size {
			return fmt.Errorf("a frame of %d bytes of data, %d were to come", len(frame), size)
		}
		if _, err := to.Write(frame); err != nil {
			return err
		}
		size, buf = size-int64(len(frame)), frame
	}
	return nil
}

// receiveBytes is ReceiveData into memory, of at most so many bytes.
func receiveBytes(ctx context.Context, f Frames, size, most int64) ([]byte, error) {
	if size < 0 || size > most {
		return nil, fmt.Errorf("%d bytes of data, at most %d are allowed", size, most)
	}
	var b bytes.Buffer
	b.Grow(int(size))
	err := ReceiveData(ctx, f, &b, size)
	return b.Bytes(), err
}

// receiveFile receives a file that is not there yet.
func receiveFile(ctx context.Context, f Frames, path string, size int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = ReceiveData(ctx, f, file, size)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
