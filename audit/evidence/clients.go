package evidence

import "github.com/hanse-project/hanse/protocol/contract"

// Protected reports whether a class is of words that must look like noise.
func Protected(c contract.Class) bool { return c == contract.ClassMasked || c == contract.ClassHE }

// TotalWord is the length of a word of a total, in bytes.
const TotalWord = 8

// SetSize is the length of the set of clients, a bit for each party, that stands before a vector's words.
func SetSize(parties int) int { return (parties + 7) / 8 }

// KindFinished is the kind of the message by which a server ends the job, and not only the session.
const KindFinished = "finished"

// RoundHead is the length of what stands before the numbers of a message to a client: the round's number, in
// bytes.
const RoundHead = 4
