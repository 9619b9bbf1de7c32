package fdskl

// The ways an operation's data travel, as contracts name them.
const (
	sum       = "sum"
	broadcast = "broadcast"
	exchange  = "exchange"
)

// kindShared is the kind of the exchanges in which all compare what was told, and sharedSize the bytes of each message.
const (
	kindShared = "shared"
	sharedSize = 32
)

// The classes and encodings of operations, as contracts name them.
const (
	classMasked    = "masked"
	classPublished = "published"
	classControl   = "control"
	classOpening   = "opening"

	asBytes   = "bytes"
	asTurns16 = "turns16"
	asFixed64 = "fixed64"
	asFloat64 = "float64"
)

// Anyone stands for the root of broadcasts that several parties do in turn.
const Anyone = "*"

// Operation is a kind of sum or broadcast, with its budget in one session.
type Operation struct {
	Kind       string
	Stage      int64    // operations of a later stage come after all of an earlier one
	Collective string   // "sum", "broadcast", "exchange" or "direct"
	Root       string   // a party, or Anyone; of direct messages the sender
	To         string   // of direct messages the receiver
	Tree       int64    // 1 or 2 for the sums of Algorithm 3, else 0
	Excluded   string   // the party l' of such a sum
	Among      []string // none: it is for jobs over clients
	Class      string
	Encoding   string
	Shape      []int64 // what all its vectors make up together, such as rows and features
	Count      int64   // how many there are, at most
	Bytes      int64   // of all its vectors together, at most
}
