package payload

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/he"
)

// Limits of the tests of masked words.
const (
	sampleWords = 512     // of each payload, to look for masks used twice
	mostSamples = 1 << 14 // payloads that are looked at for that
	periodWords = 1 << 14 // of a payload that is compared with itself
	mostPeriods = 4       // payloads of one kind on one link that are
	mostKinds   = 1 << 12 // kinds of words, over all links, that are tested together
	unlikely    = 1e-9    // corrected p-value that no honest run comes to
)

// wordTests collects masked words, or words of ciphertexts, for the tests that they must pass.
type wordTests struct {
	uniform  map[wordKind]*attack.Uniformity
	single   attack.UniformityResult // of the payload that by itself is the least uniform
	singleID string
	payloads int
	samples  []attack.Sample
	left     int // payloads that were too many to be compared
	periods  []attack.Sample
	compared map[wordKind]int // payloads taken for periods
	seen     polynomials
}

// wordKind is words that belong together.
type wordKind struct {
	event  transcript.Type
	peer   int
	kind   string
	word   int
	stride int
}

func newWordTests() *wordTests {
	return &wordTests{uniform: make(map[wordKind]*attack.Uniformity),
		compared: make(map[wordKind]int), seen: newPolynomials()}
}

// Add takes in the words of a frame; stride is how many of them lie between the same feature of two
// rows. Frames without masks, or ciphertexts, are left alone.
func (w *wordTests) Add(rec *transcript.Record, payload []byte, stride int) error {
	word := tested(rec.Encoding)
	if rec.Encoding.IsPacked() && len(payload) > 0 { // the last byte may be filled up
		payload = payload[:(len(payload)-1)&^1]
	}
	if !evidence.Protected(rec.Class) || !rec.Type.Frame() || word < 2 || len(payload)%word != 0 {
		return nil
	}
	if rec.Class == contract.ClassHE {
		w.seen.add(rec, payload)
		payload, word = leading(payload), leadingSize
	}
	k := wordKind{rec.Type, rec.Peer, rec.Kind, word, stride}
	w.sample(k, rec, payload)
	one, err := attack.NewUniformity(word, stride)
	if err != nil {
		return err
	}
	if err := one.Add(payload); err != nil {
		return err
	}
	w.payloads++
	if r := one.Result(); w.payloads == 1 || r.P < w.single.P { // one without masks must not get lost among many
		w.single, w.singleID = r, nameOf(rec)
	}
	all, ok := w.uniform[k]
	switch {
	case ok:
		return all.Merge(one)
	case len(w.uniform) < mostKinds:
		w.uniform[k] = one
	}
	return nil
}

// tested returns the bytes of the words that the tests take a payload for: words of 48 bits are three of
// 16, and packed ones are bits one after the other, which are uniform if they are.
func tested(e contract.Encoding) int {
	if e == contract.Ring48 || e.IsPacked() {
		return 2
	}
	return e.WordSize()
}

// nameOf says which payload a record has.
func nameOf(rec *transcript.Record) string {
	return fmt.Sprintf("session %d, operation %d, chunk %d, %s", rec.Session, rec.Operation, rec.Chunk, rec.Type)
}

// sample keeps the beginnings of payloads.
func (w *wordTests) sample(k wordKind, rec *transcript.Record, payload []byte) {
	s := attack.Sample{Word: k.word, ID: nameOf(rec)}
	if len(w.samples) == mostSamples {
		w.left++
	} else {
		s.Data = slices.Clone(payload[:min(len(payload), sampleWords*k.word)])
		w.samples = append(w.samples, s)
	}
	if k.stride = 0; w.compared[k] < mostPeriods && len(w.periods) < mostKinds {
		w.compared[k]++
		s.Data = slices.Clone(payload[:min(len(payload), periodWords*k.word)])
		w.periods = append(w.periods, s)
	}
}

// Uniformity judges the words of each kind on each link, and each payload by itself, and returns the worst.
func (f *Reader) Uniformity() (finding.Attack, bool) {
	var worst attack.UniformityResult
	var name wordKind
	var words int64
	kinds, v := f.Words.kinds(), f.vocabulary()
	for _, k := range kinds {
		r := f.Words.uniform[k].Result()
		words += r.Words
		if worst.Words == 0 || r.P < worst.P {
			worst, name = r, k
		}
	}
	p := min(1, worst.P*float64(len(kinds)))
	a := finding.Attack{
		Name: "uniformity", Party: f.Name(), View: v.view, Statistic: &p, Verdict: finding.Clean,
		Detail: fmt.Sprintf("%d %s that %s sent and received, %s look like uniform noise", words, v.words,
			f.Name(), v.differences),
		Plot: plotWords(worst, v, f.Name(), name.kind),
	}
	const result = "the words of %s that should be %s are not uniform: the test %q gives p = %.1g; %s"
	one := min(1, f.Words.single.P*float64(f.Words.payloads))
	switch {
	case p < unlikely:
		a.Verdict = finding.Leak
		a.Detail = fmt.Sprintf(result, fmt.Sprintf("%s, %s %s,", name.kind, name.direction(),
			f.In.Contract.Parties[name.peer].Name), v.should, worst.Test, p, v.fault)
	case one < unlikely:
		a.Verdict, a.Statistic = finding.Leak, &one
		a.Detail = fmt.Sprintf(result, "one payload ("+f.Words.singleID+")", v.should, f.Words.single.Test, one, v.fault)
	}
	return a, words > 0
}

// vocabulary is how the reports call words by what protects them.
type vocabulary struct{ view, words, differences, should, fault string }

// vocabulary returns the words for the job's sums.
func (f *Reader) vocabulary() vocabulary {
	if f.In.Contract.Job.Aggregation == contract.AggregateHE {
		return vocabulary{
			view: "ciphertexts", words: "words of ciphertexts and decryption shares", differences: "and their differences",
			should: "encrypted", fault: "some of them are not encrypted, or the randomness repeats",
		}
	}
	return vocabulary{
		view: "masked words", words: "masked words", differences: f.differences(),
		should: "masked", fault: "some of them are not masked, or masks repeat",
	}
}

// differences names the differences of masked words that are tested.
func (f *Reader) differences() string {
	if len(f.In.Contract.Job.Servers) > 0 {
		return "and their differences"
	}
	return "their differences from row to row and from feature to feature"
}

// direction says which way words went.
func (k wordKind) direction() string {
	if k.event == transcript.TypeSent {
		return "sent to"
	}
	return "received from"
}

// kinds lists the kinds of words seen, in a fixed order.
func (w *wordTests) kinds() []wordKind {
	var kinds []wordKind
	for k := range w.uniform {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b wordKind) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.peer, b.peer), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.word, b.word), cmp.Compare(a.stride, b.stride))
	})
	return kinds
}

// plotWords draws the distribution of words.
func plotWords(r attack.UniformityResult, v vocabulary, party, kind string) *finding.Plot {
	return &finding.Plot{
		Kind: "histogram", Title: fmt.Sprintf("the %s of the message %q that %s sent and received", v.words, kind, party),
		X: "first six bits of the word", Y: "words",
		Counts: r.Histogram[:], Lo: 0, Hi: float64(len(r.Histogram)), Expect: float64(r.Words) / float64(len(r.Histogram)),
	}
}

// Reuse looks for masks that were used twice, within one payload or in two.
func (f *Reader) Reuse(ctx context.Context) (finding.Attack, error) {
	a := finding.Attack{Name: "mask reuse", Party: f.Name(), View: "masked words", Verdict: finding.Clean}
	if found, err := f.repeats(ctx, &a); found || err != nil {
		return a, err // what repeats within payloads looks alike across them too
	}
	r, err := attack.Reuse(ctx, f.Words.samples, attack.ReuseOptions{Workers: f.In.Workers})
	if err != nil {
		return a, err
	}
	if len(r.Pairs) > 0 {
		worst := r.Pairs[0]
		a.Verdict, a.Statistic = finding.Leak, &worst.P
		a.Detail = fmt.Sprintf("mask reused: payloads (%s) and (%s) cancel their masks (%s, p = %.1g); "+
			"%s in all, as if masks had about %.0f bits",
			worst.A, worst.B, worst.Relation, worst.P, wording.Count(r.Found, "pair"), r.EntropyBits)
		return a, nil
	}
	a.Detail = "no mask was used twice: no payload less itself moved on shows anything but noise; " +
		"there are no two payloads to compare"
	if r.Compared > 0 {
		a.Detail = fmt.Sprintf("no mask was used twice: the differences and sums of %s of payloads look "+
			"like uniform noise, and so does every payload less itself moved on; the masks have at least %.0f bits",
			wording.Count(r.Compared, "pair"), r.EntropyBits)
		if r.LeastShare <= 1 {
			a.Detail += fmt.Sprintf("; two with one mask under %.0f %% of their first %s would have been found in 999 of "+
				"1,000 cases", math.Ceil(100*r.LeastShare), wording.Count(r.Words, "word"))
		}
	}
	if f.Words.left > 0 {
		a.Verdict = finding.Skipped
		a.Detail += fmt.Sprintf("; %d later payloads were not compared", f.Words.left)
	}
	return a, nil
}

// repeats looks for masks that were used twice within a payload.
func (f *Reader) repeats(ctx context.Context, a *finding.Attack) (bool, error) {
	at, periods, err := attack.FirstPeriods(ctx, f.Words.periods, f.In.Workers)
	if err != nil || len(periods) == 0 {
		return false, err
	}
	a.Verdict, a.Statistic = finding.Leak, &periods[0].P
	a.Detail = fmt.Sprintf("mask reused: the payload (%s) repeats its masks after %d words (p = %.1g)",
		f.Words.periods[at].ID, periods[0].Lag, periods[0].P)
	return true, nil
}

// maxPolynomials is how many polynomials of a transcript are compared with each other.
const maxPolynomials = 1 << 22

// leadingSize is how many bytes the tests of words look at of a word of a ciphertext.
const leadingSize = 4

// leading returns the first 32 bits of every word of ciphertexts. Words are below primes that are smaller than
// 2^60 by less than 2^20, so that the first bits of uniform ones are uniform.
func leading(payload []byte) []byte {
	words := make([]byte, 0, len(payload)/2)
	for ; len(payload) >= 8; payload = payload[8:] {
		words = binary.LittleEndian.AppendUint32(words, uint32(binary.LittleEndian.Uint64(payload)>>28))
	}
	return words
}

// polynomials finds a polynomial of a ciphertext, or of a decryption share, that comes twice.
type polynomials struct {
	seed  maphash.Seed
	first map[uint64]place
	again string // where one came that had come before; empty: none did
	left  int    // that were too many to be compared
}

// place is where a polynomial came first.
type place struct {
	record     uint64
	polynomial int
}

func newPolynomials() polynomials {
	return polynomials{seed: maphash.MakeSeed(), first: make(map[uint64]place)}
}

// add takes in the polynomials of a payload.
func (p *polynomials) add(rec *transcript.Record, payload []byte) {
	for i := 0; len(payload) > 0; i++ {
		n := min(len(payload), he.PolySize)
		p.compare(rec, i, payload[:n])
		payload = payload[n:]
	}
}

// compare looks whether a polynomial has come before.
func (p *polynomials) compare(rec *transcript.Record, i int, poly []byte) {
	h := maphash.Bytes(p.seed, poly)
	before, ok := p.first[h]
	switch {
	case !ok && len(p.first) < maxPolynomials:
		p.first[h] = place{rec.Number, i}
	case !ok:
		p.left++
	case p.again == "":
		p.again = fmt.Sprintf("polynomial %d of record %d (%s, %s) is polynomial %d of record %d", i+1, rec.Number,
			rec.Kind, nameOf(rec), before.polynomial+1, before.record)
	}
}

// RepeatedPolynomials looks for ciphertexts and shares, or halves of them, that came twice.
func (f *Reader) RepeatedPolynomials(context.Context) (finding.Attack, error) {
	p := &f.Words.seen
	a := finding.Attack{Name: "ciphertext reuse", Party: f.Name(), View: f.vocabulary().view, Verdict: finding.Clean}
	if p.again != "" {
		a.Verdict = finding.Leak
		a.Detail = "ciphertext reused: " + p.again + ": what is encrypted or decrypted anew never looks " +
			"the same, and the difference of two ciphertexts with the same randomness is that of what they hide"
		return a, nil
	}
	a.Detail = fmt.Sprintf("no two of %s of ciphertexts and decryption shares are equal",
		wording.Count(len(p.first), "polynomial"))
	if p.left > 0 {
		a.Verdict = finding.Skipped
		a.Detail += fmt.Sprintf("; %d later ones were not compared", p.left)
	}
	return a, nil
}
