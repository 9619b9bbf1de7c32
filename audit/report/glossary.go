package report

// term is a word with what it means here.
type term struct {
	Word    string
	Meaning string
}

// glossary explains fifteen words, in the order of the alphabet, to readers who know nothing of the method.
func glossary() []term {
	return []term{
		{"angle", "A number that mixes all columns of one row. A party that receives enough angles of a row can compute the columns back."},
		{"attack", "What a dishonest party could do with what it received. The audit really carries it out."},
		{"charter", "The text by which the members name each other, with their keys and their rules. All members sign it."},
		{"contract", "The text that says what is computed, what may leave each machine and what each party learns. All parties sign it before anything is sent."},
		{"control", "The same attack where the answer is known beforehand. An attack that fails its control proves nothing, and counts as not tried."},
		{"countersignature", "A signature by the party at the other end of a line on what went over it. It keeps a party from rewriting its own record afterwards."},
		{"egress", "What leaves a party's machine. The contract sets a budget for each kind of message."},
		{"fingerprint", "A short number computed from a text or file. Whoever changes the text changes the fingerprint."},
		{"keeper, helper", "The two parties that, with the label holder, compute on shares: none of the three sees anything, and any two of them together could see everything."},
		{"label", "What the model is to foretell. The label holder is the party that knows it for the rows that are learned from."},
		{"mask", "Random numbers added to a message so that it looks like noise to whoever lacks one of them. A mask is used once."},
		{"opening", "A value that a party learns because the contract says so, such as a total or a score."},
		{"score", "What the model says of one row."},
		{"session", "One run of the job, or one resumption after an interruption, with fresh keys."},
		{"transcript", "A party's signed record of everything it sent and received, in which nothing can be changed, removed or inserted unnoticed."},
	}
}
