// Package updates attacks what a server of a job over clients saw: the vectors of its clients, their totals, and the
// models. The lens in an algorithm's entry says what such a vector is made of.
package updates

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views/payload"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The attacks on jobs over clients.
const (
	RowsAttack       = "rows from updates"
	ChoicesAttack    = "choices"
	TotalsAttack     = "successive totals"
	attackMembership = "membership"
)

// The views of a server on what its clients send it.
const (
	ViewUpdates  = "clients' updates"
	ViewMasked   = "clients' masked updates"
	ViewCiphers  = "clients' encrypted updates"
	ViewTotals   = "totals"
	viewModels   = "models"
	ViewAnswered = "clients' choices"
)

// Limits of the attacks on jobs over clients.
const (
	totalsLag   = 8       // totals that one is compared with
	mostPairs   = 256     // differences of totals that are kept
	mostNumbers = 1 << 25 // in them
	mostPresent = 2048    // rows of each kind whose membership is asked
	learnedFew  = 8       // rows that the control of membership learns by heart
	leastPairs  = 8       // of totals, so that what they tell is no chance
	leastTold   = 20      // rows of each kind, for membership
	stillShare  = 1e-3    // how far, relative to itself, a total moves that stands still
)

// Attack runs the attacks on one transcript of a job over clients, as far as its payloads were kept; models says
// that what follows from the models is to be tried too.
func Attack(
	ctx context.Context, in *evidence.Input, s *evidence.Source, party int, kept, models bool,
) ([]finding.Attack, error) {
	g := newGathering(in, s, party)
	v := newVictims(g)
	g.done = v.take
	if err := g.read(ctx); err != nil {
		return nil, err
	}
	if g.Kept+g.Lost == 0 && (g.Missed > 0 || !kept) {
		reason := payload.ErrNotKept.Error()
		if kept {
			reason = payload.AbsentPayloads(g.Name()).Detail
		}
		return []finding.Attack{{Name: RowsAttack, Party: g.Name(), View: "all views", Verdict: finding.Skipped,
			Detail: "not tried, nor any other: " + reason}}, nil
	}
	var list []finding.Attack
	if g.Party == g.server {
		list = append(list, v.fromUpdates(ctx)...)
		list = append(list, v.fromTotals(ctx)...)
		list = append(list, v.choices()...)
		list = append(list, v.successive()...)
	}
	if models {
		list = append(list, v.membership())
	}
	if u, ok := g.Uniformity(); ok {
		reuse := g.Reuse
		if in.Contract.Job.Aggregation == contract.AggregateHE {
			reuse = g.RepeatedPolynomials
		}
		r, err := reuse(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, u, r)
	}
	if g.Missed+g.Lost > 0 {
		list = append(list, finding.Attack{Name: RowsAttack, Party: g.Name(), View: "all views", Verdict: finding.Skipped,
			Detail: "not tried on all that was seen: " + g.Unfollowed(nil)})
	}
	return list, ctx.Err()
}

// victims collects what the attacks on a server's clients have found.
type victims struct {
	*gathering
	chooser federated.ChoiceLens // nil where clients choose nothing
	models  int                  // that they choose among
	ranges  attack.Ranges
	ranged  bool
	most    int            // vectors that are attacked
	vectors []attack.Trial // of single clients
	totals  []attack.Trial // by total and client: the rows of whoever is in it
	opened  int            // totals that were attacked
	alone   int            // rows that a total has told, proved
	proved  int            // vectors whose row proves itself
	first   string         // the first of them
	tried   int            // vectors
	plain   []attack.Trial // the control: the same rows without masks
	single  []attack.Trial // the same, as totals of one client

	seen  map[int][]float64 // by client: how often each model was taken or moved
	suits map[int][]float64 // by client: less the losses of each
	known map[int][]float64 // the same by the rows that were rebuilt

	last  []keptTotal
	pairs []attack.TotalPair
	still []float64 // how far totals of the same members moved, relative to themselves
	apart int       // pairs that differ by one client
}

// keptTotal is a total with what was known when it opened.
type keptTotal struct {
	form    federated.LensForm
	moved   []float64
	members []int
	updates map[int][]float64 // by member, where its rows are known
}

func newVictims(g *gathering) *victims {
	v := &victims{gathering: g, most: g.In.Rows, seen: make(map[int][]float64), suits: make(map[int][]float64),
		known: make(map[int][]float64)}
	if v.most <= 0 {
		v.most = evidence.DefaultRows
	}
	if c, ok := g.lens.(federated.ChoiceLens); ok {
		v.chooser, v.models = c, c.Models()
	}
	for _, s := range g.In.Streams {
		if s != nil {
			r := &v.ranges
			for j, x := range s.Inputs {
				if !v.ranged {
					v.ranged = true
					r.Low, r.High, r.LabelLow, r.LabelHigh = slices.Clone(x), slices.Clone(x), s.Labels[j], s.Labels[j]
				}
				for i, w := range x {
					r.Low[i], r.High[i] = min(r.Low[i], w), max(r.High[i], w)
				}
				r.LabelLow, r.LabelHigh = min(r.LabelLow, s.Labels[j]), max(r.LabelHigh, s.Labels[j])
			}
		}
	}
	return v
}

// rowsOf returns the rows and labels that a client's vector in the sum under way is of; none where they are not known.
func (v *victims) rowsOf(client int) (x [][]float64, y []float64) {
	if v.In.Streams == nil || v.In.Streams[client] == nil {
		return nil, nil
	}
	s := v.In.Streams[client]
	from, to := v.lens.Learned(client)
	from, to = min(max(from, 0), len(s.Inputs)), min(to, len(s.Inputs))
	return s.Inputs[from:to], s.Labels[from:to]
}

// take attacks a sum that has ended.
func (v *victims) take(ctx context.Context, s *gathered) error {
	if v.blindness() != nil {
		if total := decode(&s.form, s.total); total != nil {
			v.compare(s, total)
		}
		return nil
	}
	for _, c := range v.clients {
		if words := s.vectors[c]; words != nil {
			if err := v.attackVector(ctx, s, c, words); err != nil {
				return err
			}
		}
		if s.vectors[c] != nil || slices.Contains(s.members, c) {
			x, y := v.rowsOf(c)
			v.suit(v.suits, c, x, y)
		}
	}
	if s.total == nil || len(s.members) == 0 {
		return nil
	}
	total := decode(&s.form, s.total)
	if total == nil {
		return nil
	}
	if evidence.Protected(v.class) && len(v.totals) < v.most {
		// Looks for rows in a total: those of clients that alone move a part of it.
		rows, err := v.lens.Rebuild(ctx, &federated.LensVector{Values: total, Clients: s.members, Total: true})
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Proved {
				v.alone++
			}
		}
		v.opened++
		for _, c := range s.members {
			x, y := v.rowsOf(c)
			for j := range x {
				t := trialOf(rows, x[j:j+1], y[j:j+1])
				t.Group = v.opened
				v.totals = append(v.totals, t)
			}
		}
	}
	v.compare(s, total)
	return nil
}

// attackVector attacks one client's vector as if nothing protected it, and the rows in it without masks, for control.
func (v *victims) attackVector(ctx context.Context, s *gathered, client int, words []byte) error {
	values := decode(&s.form, words)
	if values == nil {
		return nil
	}
	if v.chooser != nil {
		if v.seen[client] == nil {
			v.seen[client] = make([]float64, v.models)
		}
		for _, k := range v.chooser.Seen(client, values) {
			v.seen[client][k]++
		}
	}
	if len(v.vectors) >= v.most {
		return nil
	}
	rows, err := v.lens.Rebuild(ctx, &federated.LensVector{Values: values, Clients: []int{client}})
	if err != nil {
		return err
	}
	x, y := v.rowsOf(client)
	t := trialOf(rows, x, y)
	t.Group = v.tried
	v.tried++
	if t.Proved {
		if v.proved++; v.first == "" {
			v.first = fmt.Sprintf("%s in sum %d of session %d", v.In.Contract.Parties[client].Name, s.number, s.session)
		}
	}
	v.vectors = append(v.vectors, t)
	for _, r := range rows { // who has a row and its label knows what suits it
		if r.Proved && !math.IsNaN(r.Y) {
			y := min(max(r.Y, v.ranges.LabelLow), v.ranges.LabelHigh)
			v.suit(v.known, client, [][]float64{r.X}, []float64{y})
		}
	}
	if !evidence.Protected(v.class) || len(x) == 0 || len(v.plain) >= 256 {
		return nil
	}
	bare := v.lens.Update(x[len(x)-1], y[len(y)-1])
	if bare == nil {
		return nil
	}
	block := cmp.Or(s.form.Block, len(bare))
	blocks := len(bare) / block
	at := len(v.plain) % blocks // a client moves a part of the model
	for i := range bare {
		if bare[i] *= cmp.Or(s.form.Factor, -0.05); (i/block-at+blocks)%blocks >= cmp.Or(s.form.Moves, 1) {
			bare[i] = 0
		}
	}
	if s.form.Known != nil {
		floats.Add(bare, s.form.Known(client))
	}
	for total, to := range map[bool]*[]attack.Trial{false: &v.plain, true: &v.single} {
		rows, err := v.lens.Rebuild(ctx,
			&federated.LensVector{Values: bare, Clients: []int{client}, Total: total, Made: true})
		if err != nil {
			return err
		}
		t := trialOf(rows, x[len(x)-1:], y[len(y)-1:])
		t.Group = len(*to)
		*to = append(*to, t)
	}
	return nil
}

// trialOf puts together what was rebuilt and what is true.
func trialOf(rows []federated.LensRow, x [][]float64, y []float64) attack.Trial {
	t := attack.Trial{Truth: x, Labels: y}
	for _, r := range rows {
		if r.X != nil {
			t.Rebuilt = append(t.Rebuilt, r.X)
		}
		t.Guessed, t.Proved = append(t.Guessed, r.Y), t.Proved || r.Proved
	}
	return t
}

// suit takes the models' losses at rows off what suits a client.
func (v *victims) suit(of map[int][]float64, client int, x [][]float64, y []float64) {
	if v.chooser == nil || len(x) == 0 {
		return
	}
	losses := make([]float64, v.models)
	for j := range x {
		if !v.chooser.Suits(losses, x[j], y[j]) {
			return // not all networks have gone over a link yet
		}
	}
	if of[client] == nil {
		of[client] = make([]float64, v.models)
	}
	floats.Sub(of[client], losses)
}

// compare holds a total against those before it.
func (v *victims) compare(s *gathered, total []float64) {
	now := keptTotal{form: s.form, members: s.members, moved: total, updates: make(map[int][]float64)}
	for _, c := range s.members {
		if v.blindness() != nil {
			break
		}
		if s.form.Known != nil {
			floats.Sub(now.moved, s.form.Known(c))
		}
		if x, y := v.rowsOf(c); len(x) == 1 {
			now.updates[c] = v.lens.Update(x[0], y[0])
		}
	}
	for i := len(v.last) - 1; i >= 0; i-- {
		before := &v.last[i]
		if before.form.Sum.N != now.form.Sum.N || before.form.Model != now.form.Model || len(before.moved) != len(now.moved) {
			continue
		}
		if slices.Equal(before.members, now.members) {
			apart, size := 0.0, 0.0
			for j, w := range now.moved {
				apart, size = apart+(w-before.moved[j])*(w-before.moved[j]), size+w*w
			}
			if size > 0 {
				v.still = append(v.still, math.Sqrt(apart/size))
			}
			continue
		}
		client, second, ok := attack.Members(before.members, now.members)
		if !ok {
			continue
		}
		v.apart++
		if len(v.pairs) >= mostPairs || len(v.pairs)*now.form.Sum.N > mostNumbers {
			continue
		}
		with, without := before, &now
		if second {
			with, without = &now, before
		}
		p := attack.TotalPair{Client: client, Update: with.updates[client], Total: with.moved,
			Difference: slices.Clone(with.moved)}
		p.Block = cmp.Or(with.form.Block, len(p.Update))
		floats.Sub(p.Difference, without.moved)
		v.pairs = append(v.pairs, p)
	}
	v.last = append(v.last, now)
	if len(v.last) > totalsLag {
		v.last = slices.Delete(v.last, 0, 1)
	}
}
