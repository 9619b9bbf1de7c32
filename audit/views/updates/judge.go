package updates

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// needsStreams says what it takes to score an attack on clients.
const needsStreams = "not tried: the clients' streams are needed to score it; give them with --data CLIENT=FILE"

// updatesView names what the clients send, by what protects it.
func (v *victims) updatesView() string {
	switch v.class {
	case contract.ClassMasked:
		return ViewMasked
	case contract.ClassHE:
		return ViewCiphers
	}
	return ViewUpdates
}

// start begins an attack, and says whether it goes on.
func (v *victims) start(name, view string) (finding.Attack, bool) {
	a := finding.Attack{Name: name, Party: v.Name(), View: view, Verdict: finding.Skipped}
	if err := v.blindness(); err != nil {
		a.Detail = "not tried: " + err.Error()
		return a, false
	}
	return a, true
}

// score fills in what rows were rebuilt, and reports whether there was anything to score.
func (v *victims) score(a *finding.Attack, trials []attack.Trial) *attack.RowScore {
	if !v.ranged {
		return nil
	}
	r := attack.ScoreRows(trials, v.ranges, 1)
	if r == nil {
		return nil
	}
	a.Whose, a.Rows, a.UnknownColumns = "the clients", r.Vectors, len(v.ranges.Low)
	a.RecoveredShare, a.RMS, a.ControlRMS, a.GuessShare = &r.Share, &r.RMS, &r.ControlRMS, &r.ControlShare
	if r.Labelled > 0 {
		a.Labels = &r.LabelShare
	}
	if len(r.Sample) > 0 {
		a.Plot = &finding.Plot{Kind: "scatter", Title: fmt.Sprintf("values rebuilt by %s from %s", a.Party, a.View),
			X: "true value, as a share of its column's range", Y: "rebuilt value", Points: r.Sample}
	}
	return r
}

// luckier reports whether rows or labels were rebuilt beyond chance.
func luckier(r *attack.RowScore) bool {
	above := func(share, control float64, n int) bool {
		if n == 0 || share <= control+attack.GainShare {
			return false
		}
		hits, chance := math.Round(share*float64(n)), min(control+1/float64(n), 1)
		return chance < 1 && mathext.RegIncBeta(hits, float64(n)-hits+1, chance) < beyondLuck
	}
	return above(r.Share, r.ControlShare, r.Vectors) || above(r.LabelShare, r.LabelControl, r.Labelled)
}

// beyondLuck is the chance below which as many rows do not come out by luck: by the binomial distribution, with the
// share of a guess and one row more.
const beyondLuck = 1e-6

// figures says how well rows and labels were rebuilt.
func figures(r *attack.RowScore) string {
	text := fmt.Sprintf("%.1f %% of %d rows, with an error of %.1g of the columns' ranges where a guess has %.2g and "+
		"rebuilds %.1f %%",
		100*r.Share, r.Vectors, r.RMS, r.ControlRMS, 100*r.ControlShare)
	if r.Labelled > 0 {
		text += fmt.Sprintf(", and %.1f %% of %d labels, a guess %.1f %%", 100*r.LabelShare, r.Labelled, 100*r.LabelControl)
	}
	return text
}

// fromUpdates judges what rows single clients' vectors told.
func (v *victims) fromUpdates(context.Context) []finding.Attack {
	a, ok := v.start(RowsAttack, v.updatesView())
	if !ok {
		return []finding.Attack{a}
	}
	if v.tried == 0 {
		a.Verdict, a.Detail = finding.NotApplicable, "there is none to try: no client's vector came"
		return []finding.Attack{a}
	}
	r := v.score(&a, v.vectors)
	switch {
	case v.proved > 0 && (r == nil || !luckier(r)):
		a.Verdict, a.Rows = finding.Leak, v.tried
		a.Detail = fmt.Sprintf("%s rebuilt single clients' rows from %s: the row in %d of %d vectors explains its vector "+
			"to the last digits, the first of %s",
			a.Party, a.View, v.proved, v.tried, v.first)
	case r == nil:
		a.Detail = needsStreams
	case luckier(r):
		a.Verdict = finding.Leak
		a.Detail = fmt.Sprintf("%s rebuilt single clients' rows from %s: %s", a.Party, a.View, figures(r))
		if r.Proved > 0 {
			a.Detail += fmt.Sprintf("; of %.1f %% of them it knows that they are right", 100*r.Proved)
		}
		a.Detail += "; a row counts when every column is within 1 % of its range"
	case !evidence.Protected(v.class):
		a.Verdict = finding.Clean
		a.Detail = "no row was rebuilt though nothing protects the updates, which this attack does not know how to take " +
			"apart: " + figures(r)
	default:
		v.judgeProtected(&a, r, v.plain)
	}
	return []finding.Attack{a}
}

// judgeProtected says that nothing was rebuilt, and shows that of single clients' vectors without protection it would
// have been.
func (v *victims) judgeProtected(a *finding.Attack, r *attack.RowScore, plain []attack.Trial) {
	control := attack.ScoreRows(plain, v.ranges, 1)
	if control == nil {
		a.Detail = "proves nothing: there are too few rows for a control"
		return
	}
	share, alone := control.Share, func(t attack.Trial) bool { return t.Rebuilt == nil && t.Guessed != nil }
	if slices.ContainsFunc(plain, alone) { // labels are, without their rows
		share = control.LabelShare
	}
	a.ControlShare = &share
	a.Verdict = finding.Clean
	a.Detail = fmt.Sprintf("nothing was rebuilt of single clients' rows: %s; the same attack on the same rows, each "+
		"alone and without protection, rebuilds %.1f %%", figures(r), 100*share)
	if share < attack.ControlShare {
		a.Verdict = finding.Skipped
		a.Detail = fmt.Sprintf("proves nothing: not even of rows alone and without protection would it rebuild more than "+
			"%.1f %%", 100*share)
	}
}

// fromTotals judges what rows the totals of protected sums told.
func (v *victims) fromTotals(context.Context) []finding.Attack {
	if !evidence.Protected(v.class) {
		return nil
	}
	a, ok := v.start(RowsAttack, ViewTotals)
	if !ok {
		return []finding.Attack{a}
	}
	if len(v.totals) == 0 && v.alone == 0 {
		a.Detail = needsStreams
		if len(v.last) == 0 {
			a.Verdict, a.Detail = finding.NotApplicable, "there is none to try: no total opened"
		}
		return []finding.Attack{a}
	}
	r := v.score(&a, v.totals)
	announced := finding.Leak
	if v.In.Algorithms.OverClients(v.In.Contract.Job).Alone {
		announced = finding.Disclosed
	}
	switch {
	case r == nil && v.alone > 0:
		a.Verdict = announced
		a.Detail = fmt.Sprintf("%s rebuilt %s from totals, of parts that one client alone had moved", a.Party,
			wording.Count(v.alone, "row"))
	case r == nil:
		a.Detail = needsStreams
	case luckier(r) || v.alone > 0:
		a.Verdict = announced
		a.Detail = fmt.Sprintf("%s rebuilt rows from totals, without the names of their clients: %s", a.Party, figures(r))
		if v.alone > 0 {
			a.Detail += fmt.Sprintf("; %s explain their part of a total to the last digits", wording.Count(v.alone, "row"))
		}
		a.Detail += "; a part of a total that one client alone has moved is that client's update"
	default:
		v.judgeProtected(&a, r, v.single)
	}
	return []finding.Attack{a}
}

// choices judges what a server can tell of which models suit whom.
func (v *victims) choices() []finding.Attack {
	a, ok := v.start(ChoicesAttack, ViewAnswered)
	if !ok {
		return []finding.Attack{a}
	}
	var c attack.Choices
	by := "clients' choices, as far as they are seen,"
	seen := v.seen
	if len(v.known) > 1 && 2*len(v.known) > len(v.suits) {
		seen, by = v.known, "the rows that it rebuilt"
	}
	for _, client := range v.clients {
		if seen[client] != nil && v.suits[client] != nil {
			c.Seen, c.Suits = append(c.Seen, seen[client]), append(c.Suits, v.suits[client])
		}
	}
	switch {
	case v.models < 2:
		a.Verdict, a.Detail = finding.NotApplicable, "there is none to try: the job has clients choose nothing"
		return []finding.Attack{a}
	case v.In.Streams == nil:
		a.Detail = needsStreams
		return []finding.Attack{a}
	case len(c.Seen) < 2:
		a.Detail = "not tried: of fewer than two clients both choices and what suits them are known"
		return []finding.Attack{a}
	}
	r, err := c.Infer()
	if err != nil {
		a.Detail = "not tried: " + err.Error()
		return []finding.Attack{a}
	}
	a.Rows, a.Statistic = r.Clients, &r.Rank
	text := fmt.Sprintf("the model that comes first is the best one of %.0f %% of %d clients, by what is seen of the "+
		"others of %.0f %%; the order of all goes with the true one by a rank correlation of %.2f, of the others' %.2f",
		100*r.Best, r.Clients, 100*r.Guess, r.Rank, r.Likely)
	a.Verdict, a.Detail = finding.Clean,
		fmt.Sprintf("%s tell nothing of single clients, beyond what is the same for all, of "+
			"which of %d models suits whom: %s", by, v.models, text)
	if len(v.known) > 0 {
		a.View = v.updatesView()
	}
	if min(r.P, r.RankP) < choiceChance && (r.Best > r.Guess || r.Rank > r.Likely) {
		a.Verdict = v.announcedChoices()
		a.Detail = fmt.Sprintf("which models suit whom follows at %s from %s: %s", a.Party, by, text)
	}
	return []finding.Attack{a}
}

// choiceChance is the chance that no choice that says nothing comes to: the least that a thousand shuffles show, but
// for one.
const choiceChance = 0.003

// announcedChoices judges that choices tell something: the contract opens them, or not.
func (v *victims) announcedChoices() finding.Verdict {
	c := v.In.Contract
	opens := func(o contract.Opening) bool { return o.To == v.Name() && o.Kind == "choice" }
	if c.Job.Privacy != keys.PrivacyPublished && slices.ContainsFunc(c.Openings, opens) {
		return finding.Disclosed
	}
	return finding.Leak
}

// successive judges what totals tell whose members differ by one client.
func (v *victims) successive() []finding.Attack {
	a, ok := v.start(TotalsAttack, ViewTotals)
	a.Rows = v.apart
	still := slices.Clone(v.still)
	slices.Sort(still)
	if len(still) > 0 && still[len(still)/2] < stillShare {
		a.Verdict = finding.Leak
		a.Detail = fmt.Sprintf("totals of the same clients do not move from one sum to the next, so that the difference "+
			"of two that differ by one client is that client's vector: %s have opened", wording.Count(v.apart, "such pair"))
		if v.apart == 0 {
			a.Verdict, a.Detail = finding.Clean,
				"totals of the same clients do not move from one sum to the next, but no two differ by one client"
		}
		return []finding.Attack{a}
	}
	if !ok {
		return []finding.Attack{a}
	}
	r, err := attack.Differences(v.pairs, 1)
	switch {
	case err != nil:
		a.Detail = "not tried: " + err.Error()
	case v.apart == 0:
		a.Verdict, a.Detail = finding.NotApplicable, "there is none to try: no two totals differ by one client"
	case r == nil && v.In.Streams == nil:
		a.Detail = needsStreams
	case r == nil:
		a.Verdict, a.Detail = finding.NotApplicable,
			"there is none to try: of no two pairs of totals that differ by one client "+
				"is its update, of one row, known"
	case r.Pairs < leastPairs:
		a.Verdict, a.Detail = finding.NotApplicable,
			fmt.Sprintf("there is none to try: %s of totals that differ by one client, "+
				"whose update is known, are too few to tell it from chance", wording.Count(r.Pairs, "pair"))
	default:
		a.Statistic, a.Rows = &r.R2, r.Pairs
		text := fmt.Sprintf("the client's own update explains %.2f of it, and %.2f of the total that it is in; another's "+
			"%.2f; where vectors do not move from sum to sum its own explains %.2f", r.R2, r.Total, r.Guess, r.Still)
		a.Verdict = finding.Clean
		a.Detail = fmt.Sprintf("the difference of two totals that differ by one client is mostly how the others moved, in "+
			"%s: %s", wording.Count(r.Pairs, "pair"), text)
		if r.Gains(attack.KnownGain) {
			a.Verdict = finding.Leak
			a.Detail = fmt.Sprintf("the difference of two totals that differ by one client tells that client's update, in "+
				"%s: %s; %d are that update but for a tenth", wording.Count(r.Pairs, "pair"), text, r.Exposed)
		}
	}
	return []finding.Attack{a}
}

// membership judges whether the models that were heard tell which rows were learned.
func (v *victims) membership() finding.Attack {
	a, ok := v.start(attackMembership, viewModels)
	if !ok {
		return a
	}
	if v.In.Streams == nil {
		a.Detail = needsStreams
		return a
	}
	model, ok := v.lens.(federated.ModelLens)
	if !ok {
		a.Detail = "not tried: nothing is known of the algorithm's models"
		return a
	}
	m, unknown := v.asked(model)
	switch members, others := len(m.Members.After), len(m.Others.After); {
	case unknown:
		a.Detail = "not tried: the models did not come, or not as they were at first"
		return a
	case others < leastTold && members >= leastTold:
		a.Verdict, a.Detail = finding.NotApplicable,
			"there is none to try: the streams given have no rows that were not learned"
		return a
	case members < leastTold:
		a.Detail = fmt.Sprintf("not tried: %d learned rows are too few", members)
		return a
	}
	r, err := m.Infer()
	if err != nil {
		a.Detail = "not tried: " + err.Error()
		return a
	}
	a.Rows, a.Statistic = r.Members+r.Others, &r.Loss.Value
	text := fmt.Sprintf("of a learned row and another the loss tells them apart in %.1f %% of cases (%.1f to %.1f, "+
		"chance 50), that of a model that has learned none in %.1f; of a model that has learned %d rows by heart in %.0f",
		100*r.Loss.Value, 100*r.Loss.Low, 100*r.Loss.High, 100*r.Drift.Value, len(m.Members.Features), 100*r.Control.Value)
	switch {
	case r.Control.Value < 0.9:
		a.Detail = "proves nothing: not even a model that was made to fit a few rows is told: " + text
	case r.Loss.Low > 0.5 && r.Loss.Low > r.Drift.High:
		a.Verdict, a.Detail = finding.Disclosed,
			fmt.Sprintf("the models that %s hears tell which rows were learned: %s", a.Party, text)
	default:
		a.Verdict, a.Detail = finding.Clean, "the models do not tell which rows were learned: "+text
	}
	return a
}

// asked collects rows that were learned and such that were not, from the streams given.
func (v *victims) asked(model federated.ModelLens) (m attack.Membership, unknown bool) {
	taken := 0 // where nothing is known of a client it has learned as many rows as the one that is audited
	total := 0
	for _, c := range v.clients {
		_, own := v.lens.Learned(c)
		taken = max(taken, own)
		if s := v.In.Streams[c]; s != nil {
			total += len(s.Inputs)
		}
	}
	every := max(1, int(math.Ceil(float64(total)/float64(2*mostPresent))))
	count := 0
	for _, c := range v.clients {
		s := v.In.Streams[c]
		if s == nil {
			continue
		}
		_, own := v.lens.Learned(c)
		if v.Party != v.server && c != v.Party {
			own = taken
		}
		for j := range s.Inputs {
			if count++; count%every != 0 {
				continue
			}
			before, known := model.Loss(false, s.Inputs[j], s.Labels[j])
			after, _ := model.Loss(true, s.Inputs[j], s.Labels[j])
			if !known {
				return m, true
			}
			l := &m.Others
			if j < own {
				l = &m.Members
			}
			l.Before, l.After = append(l.Before, before), append(l.After, after)
			few := learnedFew
			if l == &m.Others {
				few = 8 * learnedFew
			}
			if len(l.Errors) < few && (len(l.After)%7 == 1 || l == &m.Others) {
				if f, miss := model.Tangent(s.Inputs[j], s.Labels[j]); f != nil {
					l.Features, l.Errors = append(l.Features, f), append(l.Errors, miss)
				}
			}
		}
	}
	return m, false
}
