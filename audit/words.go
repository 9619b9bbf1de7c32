package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Limits of the tests of masked words.
const (
	sampleWords = 512     // of each payload, to look for masks used twice
	mostSamples = 1 << 14 // payloads that are looked at for that
	periodWords = 1 << 14 // of a payload that is compared with itself
	mostPeriods = 4       // payloads of one kind that are
	unlikely    = 1e-9    // corrected p-value that no honest run comes to
)

// wordTests collects masked words for the tests that they must pass.
type wordTests struct {
	uniform  map[wordKind]*attack.Uniformity
	samples  []attack.Sample
	left     int // payloads that were too many to be compared
	periods  []attack.Sample
	compared map[wordKind]int // payloads taken for periods
}

// wordKind is words that belong together.
type wordKind struct {
	kind   string
	word   int
	stride int
}

// newWordTests has seen nothing yet.
func newWordTests() *wordTests {
	return &wordTests{uniform: make(map[wordKind]*attack.Uniformity), compared: make(map[wordKind]int)}
}

// add takes in the words of a frame; stride is how many of them lie between the same feature of two
// rows. Frames without masks are left alone.
func (w *wordTests) add(rec *transcript.Record, payload []byte, stride int) error {
	word := rec.Encoding.WordSize()
	if rec.Class != protocol.ClassMasked || !rec.Type.Frame() || word < 2 || len(payload)%word != 0 {
		return nil
	}
	k := wordKind{rec.Kind, word, stride}
	u, ok := w.uniform[k]
	if !ok {
		var err error
		if u, err = attack.NewUniformity(word, stride); err != nil {
			return err
		}
		w.uniform[k] = u
	}
	w.sample(k, rec, payload)
	return u.Add(payload)
}

// sample keeps the beginnings of payloads.
func (w *wordTests) sample(k wordKind, rec *transcript.Record, payload []byte) {
	s := attack.Sample{Word: k.word, ID: fmt.Sprintf("session %d, operation %d, chunk %d, %s", rec.Session, rec.Operation, rec.Chunk, rec.Type)}
	if len(w.samples) == mostSamples {
		w.left++
	} else {
		s.Data = slices.Clone(payload[:min(len(payload), sampleWords*k.word)])
		w.samples = append(w.samples, s)
	}
	if w.compared[k] < mostPeriods {
		w.compared[k]++
		s.Data = slices.Clone(payload[:min(len(payload), periodWords*k.word)])
		w.periods = append(w.periods, s)
	}
}

// uniformity judges the words of each kind and returns the worst.
func (f *follower) uniformity() (Attack, bool) {
	var worst attack.UniformityResult
	var name wordKind
	var words int64
	kinds := f.words.kinds()
	for _, k := range kinds {
		r := f.words.uniform[k].Result()
		words += r.Words
		if worst.Words == 0 || r.P < worst.P {
			worst, name = r, k
		}
	}
	p := min(1, worst.P*float64(len(kinds)))
	a := Attack{
		Name: "uniformity", Party: f.name(), View: "masked words", Statistic: &p, Verdict: Clean,
		Detail: fmt.Sprintf("%d masked words that %s sent and received, their differences from row to row and from feature to feature look like uniform noise", words, f.name()),
		Plot:   plotWords(worst, f.name(), name.kind),
	}
	if p < unlikely {
		a.Verdict = Leak
		a.Detail = fmt.Sprintf("the words of %s that should be masked are not uniform: the test %q gives p = %.1g; some of them are not masked, or masks repeat", name.kind, worst.Test, p)
	}
	return a, words > 0
}

// kinds lists the kinds of words seen, in a fixed order.
func (w *wordTests) kinds() []wordKind {
	var kinds []wordKind
	for k := range w.uniform {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b wordKind) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.word, b.word), cmp.Compare(a.stride, b.stride))
	})
	return kinds
}

// plotWords draws the distribution of words.
func plotWords(r attack.UniformityResult, party, kind string) *Plot {
	return &Plot{
		Kind: "histogram", Title: fmt.Sprintf("the masked words of %s that %s sent and received", kind, party), X: "first six bits of the word", Y: "words",
		Counts: r.Histogram[:], Lo: 0, Hi: float64(len(r.Histogram)), Expect: float64(r.Words) / float64(len(r.Histogram)),
	}
}

// reuse looks for masks that were used twice, in two payloads or within one.
func (f *follower) reuse(ctx context.Context) (Attack, error) {
	a := Attack{Name: "mask reuse", Party: f.name(), View: "masked words", Verdict: Clean}
	r, err := attack.Reuse(ctx, f.words.samples, attack.ReuseOptions{Workers: f.in.Workers})
	if err != nil {
		return a, err
	}
	a.Detail = fmt.Sprintf("no mask was used twice: the differences and sums of %d pairs of payloads look like uniform noise, and so does every payload less itself moved on; the masks have at least %.0f bits", r.Compared, r.EntropyBits)
	if f.words.left > 0 {
		a.Detail += fmt.Sprintf("; %d later payloads were not compared", f.words.left)
	}
	if len(r.Pairs) > 0 {
		worst := r.Pairs[0]
		a.Verdict, a.Statistic = Leak, &worst.P
		a.Detail = fmt.Sprintf("mask reused: payloads (%s) and (%s) cancel their masks (%s, p = %.1g); %d pairs in all, as if masks had about %.0f bits",
			worst.A, worst.B, worst.Relation, worst.P, r.Found, r.EntropyBits)
		return a, nil
	}
	for _, s := range f.words.periods {
		periods, err := attack.Periods(ctx, s, 0)
		if err != nil {
			return a, err
		}
		if len(periods) > 0 {
			a.Verdict, a.Statistic = Leak, &periods[0].P
			a.Detail = fmt.Sprintf("mask reused: the payload (%s) repeats its masks after %d words (p = %.1g)", s.ID, periods[0].Lag, periods[0].P)
			return a, nil
		}
	}
	return a, nil
}

// name returns the name of the party whose transcript is read.
func (f *follower) name() string { return f.in.Contract.Parties[f.party].Name }
