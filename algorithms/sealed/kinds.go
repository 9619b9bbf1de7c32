package sealed

import "github.com/hanse-project/hanse/algorithms/fdskl"

// The kinds of messages that an audit looks into.
const (
	ZScores       = kindZScores       // sums: a word for each bin that a party learns the z-score of
	Angles        = kindAngles        // sums: a word for each angle of each row
	Held          = kindHeld          // broadcasts: which openings each of the three holds, when a session begins
	Bound         = kindBound         // sums: the order of magnitude of the Gram matrix's norm
	RowCommitment = kindRowCommitment // broadcasts: to what each of the three adds to the coin of the rows kept out
	RowCoin       = kindRowCoin       // broadcasts: what each of the three adds to it
	Coin          = kindCoin          // broadcasts: what each of the three adds to the coin that checks the steps
	Check         = kindCheck         // direct: a component of the numbers that check the steps
	Resume        = kindResume        // broadcasts: where each of the three can go on, nothing when a job begins
	Ready         = kindReady         // broadcasts: that one of the three holds the words of the opening that is next
	Factors       = kindFactors       // direct: the cosines of all, then the sines of all
	Features      = kindReshare       // direct: a word for each feature of each row
)

// FeatureBits is how many bits behind the point a shared feature has.
func FeatureBits(p fdskl.Params) int {
	switch p.Ring {
	case ringCompact:
		return 14
	case ringSmall:
		return smallBits
	}
	return 20
}

// OpeningBits is how many bits of one value of a kind open that has a width in sealed jobs, and no more; 0 for other
// kinds. training tells whether the job trains.
func OpeningBits(p fdskl.Params, kind string, training bool) int {
	switch {
	case kind == kindBound, kind == kindReach:
		return orderBits
	case kind == kindScores && !training:
		return scoreWidth(p, p.ScoreBits)
	case kind == kindProgress, kind == kindPace:
		return progressBits
	case kind == kindCheck:
		return checkWidth
	case kind == kindPoints:
		return pointsWidth
	case kind == kindZScores:
		return zWidth
	case kind == kindValidation, kind == kindChoice:
		return choiceBits
	case kind == "distances":
		return fdskl.SealedWidth
	}
	return 0
}
