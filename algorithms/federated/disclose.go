package federated

import (
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Published is the privacy mode, as jobs name it, in which servers see every client's vectors, as in
// the papers. In all others they learn totals alone.
const Published = keys.PrivacyPublished

// ValueBytes is the size of a number that is told or exchanged.
const ValueBytes = 8

// Summed is a kind of vector that the clients of a server add for it.
type Summed struct {
	Server  string
	Clients int   // of the job, of which so many or fewer take part
	Sum     Sum   // of the longest of these vectors
	Times   int64 // sums, at most
	Words   int64 // of one client in all, at most
}

// Told is a kind of message from a server to its clients.
type Told struct {
	Server string
	Kind   string
	Times  int64 // to one client, at most
	Bytes  int64 // of values to one client in all, at most
}

// Exchanged is a kind of vector that pairs of servers send each other, both ways.
type Exchanged struct {
	Kind  string
	Pairs [][2]string
	Times int64 // of one pair and direction
	Bytes int64 // of one pair and direction in all
}

// Mixed is a kind of vector that some servers add for another one.
type Mixed struct {
	Server string   // that learns the totals
	From   []string // the others, in the job's order
	Sum    Sum
	Times  int64
	Told   string // the kind of what it tells the others before each sum: the round and who takes part
}

// Answered is a kind of message from single clients to their server.
type Answered struct {
	Server string
	Kind   string
	Times  int64 // of one client, at most
	Bytes  int64 // of one client in all, at most
}

// Disclosure is what a job opens to whom and what its parties send, from public numbers alone.
type Disclosure struct {
	Openings []contract.Opening
	Sums     []Summed
	Told     []Told
	Answers  []Answered
	Between  []Exchanged
	Mixed    []Mixed
}
