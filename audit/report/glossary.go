package report

// term is a word with what it means here.
type term struct {
	Word    string
	Meaning string
}

// glossary explains ten words in the order of the alphabet.
func glossary() []term {
	return []term{
		{"angle", "A number on a circle that mixes all columns of one row, one for each random feature. The party that holds the labels computes the model from angles; from enough of them the columns can be computed back."},
		{"contract", "The text that says what is computed, what may leave each machine and what each party learns. All parties sign it before anything is sent, and every message carries its fingerprint."},
		{"control", "The same attack run where the answer is known: once where everything can be found, once where there is nothing. An attack that fails its controls proves nothing."},
		{"countersignature", "A signature by the party at the other end of a line on what went over it. It keeps a party from rewriting its own record afterwards."},
		{"egress", "The bytes that leave a party's machine. The contract sets a budget for each kind of message."},
		{"mask", "Random numbers added to a message that cancel only in the total. Whoever lacks one of them sees noise. A mask is used once."},
		{"opening", "A value that a party learns because the contract says so, such as a total or a score."},
		{"session", "One run of the job, or one resumption after an interruption, with fresh keys."},
		{"sum", "An addition of numbers from several parties in which only the total is opened, and only to one party."},
		{"transcript", "A party's record of everything it sent and received. Every entry contains the fingerprint of the one before, so that none can be changed, removed or inserted unnoticed."},
	}
}
