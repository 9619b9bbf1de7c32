package sealed

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// checker tosses the coins of a training, checks its steps by them, and draws the rows that choose a regulariser.
type checker struct {
	*setting
	coin          keys.Hash // that draws samples of the rows; of bins
	heldOut       []bool    // the rows that choose among the candidates; nil before, and where sums are made elsewhere
	coins, checks *series   // of the check of the steps
}

// The kinds of the messages of the two coins: that of the rows that are kept out, and that of the check.
const (
	kindRowCommitment = "row coin commitment" // to a party's part of the coin
	kindRowCoin       = "row coin"            // that part
	kindCommitment    = "coin commitment"
	kindCoin          = "coin"
)

// A coin is the hash of three parties' random parts, each of which was committed to before any was told.
const (
	partSize  = 32                         // of a party's part, and of a commitment to it, in bytes
	keptSize  = (1 + rss.Roles) * partSize // a party's part, and all commitments
	coinWords = keptSize / 8
)

// coin is what one coin's messages are called, and what its hashes are for.
type coin struct{ commitment, part, domain string }

// ofRows draws the rows that are kept out, and ofSteps checks the steps.
func ofRows() coin  { return coin{kindRowCommitment, kindRowCoin, "hanse row coin"} }
func ofSteps() coin { return coin{kindCommitment, kindCoin, "hanse step coin"} }

// commitmentTo hides a part of 32 random bytes and binds the party to it.
func (c coin) commitmentTo(r rss.Role, part []byte) keys.Hash {
	return keys.HashOf(c.domain+" part v1", []byte{byte(r)}, part)
}

// randomPart draws this party's part of a coin, zeros outside the three.
func (t *checker) randomPart() ([]byte, error) {
	part := make([]byte, partSize)
	if t.role == rss.Outside {
		return part, nil
	}
	source := t.Random
	if source == nil {
		source = crand.Reader
	}
	if _, err := io.ReadFull(source, part); err != nil {
		return nil, fmt.Errorf("a part of the coin: %w", err)
	}
	return part, nil
}

// commit tells a commitment to this party's part of a coin, and returns all three.
func (t *checker) commit(ctx context.Context, c coin, part []byte) ([]byte, error) {
	var all []byte
	var sizes [rss.Roles]int
	for r, i := range t.parties {
		var own []byte
		if t.role == rss.Role(r) {
			hash := c.commitmentTo(t.role, part)
			own = hash[:]
		}
		theirs, err := t.Network.Broadcast(ctx, c.commitment, i, own, partSize)
		if err != nil {
			return nil, err
		}
		all = append(all, theirs...)
		sizes[r] = len(theirs)
	}
	if err := t.Network.Confirm(ctx); err != nil {
		return nil, err
	}
	for r, i := range t.parties {
		if sizes[r] != partSize {
			reason := fmt.Sprintf("%d bytes, want %d", sizes[r], partSize)
			return nil, &rss.DeviationError{Parties: []string{t.Names[i]}, Kind: c.commitment, Reason: reason}
		}
	}
	return all, nil
}

// reveal tells this party's part of a coin, and returns the coin once all have told what they committed to.
func (t *checker) reveal(ctx context.Context, c coin, part, commitments []byte) (keys.Hash, error) {
	var parts [rss.Roles][]byte
	for r, i := range t.parties {
		var err error
		if parts[r], err = t.Network.Broadcast(ctx, c.part, i, part, partSize); err != nil {
			return keys.Hash{}, err
		}
	}
	if err := t.Network.Confirm(ctx); err != nil { // before anybody is blamed for a part
		return keys.Hash{}, err
	}
	for r, i := range t.parties {
		hash := c.commitmentTo(rss.Role(r), parts[r])
		if t.role != rss.Outside && !bytes.Equal(hash[:], commitments[r*partSize:(r+1)*partSize]) {
			return keys.Hash{}, &rss.DeviationError{Parties: []string{t.Names[i]}, Kind: c.part,
				Reason: "it tells another part of the coin than the one that it committed to"}
		}
	}
	return keys.HashOf(c.domain+" v1", parts[0], parts[1], parts[2]), nil
}

// tossCheck draws the coin of the check, or tells it again. All three keep the solution, their part and the commitments
// before a part leaves: it is drawn once, for that solution, and no later session has another.
func (t *checker) tossCheck(ctx context.Context) (keys.Hash, error) {
	words, err := t.openings.fix(ctx, t.coins, 1, coinWords, func() ([]uint64, error) {
		part, err := t.randomPart()
		if err != nil {
			return nil, err
		}
		all, err := t.commit(ctx, ofSteps(), part)
		return wordsOf(append(part, all...)), err
	})
	if err != nil {
		return keys.Hash{}, err
	}
	kept := bytesOf(words)
	return t.reveal(ctx, ofSteps(), kept[:partSize], kept[partSize:])
}

// rowsFile is where each of the three keeps its part of the coin of the rows, before it commits to it, and then all
// commitments, before it tells it.
const rowsFile = joint.FilePrefix + "rows"

// tossRows draws the coin of the rows that choose the regulariser of a job with lambda = "auto", or tells it again.
// Nobody can choose it: who leaves a session once it knows the coin has no second one in that job. begun says that this
// party has sums of rows already: then the coin was drawn.
func (t *checker) tossRows(ctx context.Context, begun bool) (keys.Hash, error) {
	kept, err := t.keptPart()
	if err != nil {
		return keys.Hash{}, err
	}
	part, before := kept[:partSize], kept[partSize:]
	if begun && t.role != rss.Outside && len(before) == 0 {
		return keys.Hash{}, errors.New("sums of rows are there, and the coin that drew their rows is gone: propose the job " +
			"anew")
	}
	all, err := t.commit(ctx, ofRows(), part)
	if err != nil {
		return keys.Hash{}, err
	}
	for r, i := range t.parties {
		at := r * partSize
		if len(before) > 0 && !bytes.Equal(before[at:at+partSize], all[at:at+partSize]) {
			return keys.Hash{}, &rss.DeviationError{Parties: []string{t.Names[i]}, Kind: kindRowCommitment,
				Reason: "it commits to another part of the coin than in an earlier session, unless its own state was lost: one " +
					"coin is drawn for all sessions"}
		}
	}
	if t.role != rss.Outside && len(before) == 0 {
		if err := t.Vault.Save(rowsFile, append(part, all...)); err != nil {
			return keys.Hash{}, err
		}
	}
	return t.reveal(ctx, ofRows(), part, all)
}

// keptPart returns what this party keeps of the coin of the rows, a new part of it in the first session.
func (t *checker) keptPart() ([]byte, error) {
	if t.role == rss.Outside {
		return t.randomPart()
	}
	kept, err := t.Vault.Load(rowsFile)
	if err != nil || len(kept) == partSize || len(kept) == keptSize {
		return kept, err
	}
	if kept != nil {
		return nil, fmt.Errorf("%s has %d bytes, want %d or %d", rowsFile, len(kept), partSize, keptSize)
	}
	part, err := t.randomPart()
	if err != nil {
		return nil, err
	}
	return part, t.Vault.Save(rowsFile, part)
}

// heldOutOf tells which of rows [lo, hi) of a job a coin keeps out: one of every HeldOutShare, the last of which have
// those beside that are left. So any run of rows has about as many, whatever the coin; see parted.
func heldOutOf(rows, lo, hi int, coin keys.Hash) []bool {
	out := make([]bool, hi-lo)
	draw := rand.NewChaCha8(coin)
	for at := 0; at+fdskl.HeldOutShare <= rows && at < hi; at += fdskl.HeldOutShare {
		n := fdskl.HeldOutShare
		if rows-at < 2*n {
			n = rows - at
		}
		one, _ := bits.Mul64(draw.Uint64(), uint64(n))
		if row := at + int(one); lo <= row && row < hi {
			out[row-lo] = true
		}
		if n > fdskl.HeldOutShare {
			break
		}
	}
	return out
}

// heldOutRows is how many rows are kept out.
func (t *checker) heldOutRows() int {
	if t.candidates == nil {
		return 0
	}
	return t.Rows / fdskl.HeldOutShare
}

// parted is the most rows of a part, of those kept out or of the others, that a run of n rows has, whatever the coin:
// windows of sums end where a contract can say it before there is one.
func (t *checker) parted(part, n int) int {
	const share = fdskl.HeldOutShare
	switch {
	case t.candidates == nil:
		return n
	case part == 1:
		return (n + 2*(share-1)) / share // runs of HeldOutShare rows that it may touch
	}
	return n - max(0, n-3*(share-1))/share // less those that it has whole: it ends in up to 8 of the last 9 rows
}
