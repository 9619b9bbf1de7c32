package columns

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Beside a model part lie, at a party that has labels and scores of the same rows:
const (
	// DecisionFile is how the party reads scores: figures.Decision.
	DecisionFile = "decision"
	// AloneFile is what the label holder learned from its own columns: vertical.Alone.
	AloneFile = "alone"
)

// fitAlone keeps, at the label holder, what it learns from its own columns, which needs nobody.
func fitAlone(r *session, own *vertical.Prepared, part joint.Part, workers int) (*vertical.Alone, error) {
	a, err := vertical.FitAlone(own, fdskl.Like(part), workers)
	if err != nil {
		return nil, err
	}
	data, err := a.Encode()
	if err == nil {
		err = r.Vault.Save(AloneFile, data)
	}
	return a, err
}

// trainingFigures puts into a report the figures of the training rows at the label holder, which has their scores: no
// bit opens for them. It keeps its threshold and its probabilities, and what it can do alone. scores are as the solver
// sees them; without them there is but what the label holder's own columns say.
func trainingFigures(r *session, report *jobs.Report, own *vertical.Prepared, part joint.Part, scores []float64,
	workers int) error {
	m := part.Model()
	a, err := fitAlone(r, own, part, workers)
	if err != nil {
		return err
	}
	if scores == nil {
		report.Notice, err = aloneNotice(a, own, m, workers)
		return err
	}
	j := &judged{model: m, of: figures.TrainingRows, fittedTo: figures.TrainingRows, alone: a, vault: r.Vault,
		labels: own.Labels.Values, rows: own.Table, scores: scores, workers: workers, refit: true}
	report.Figures, err = j.report()
	return err
}

// aloneNotice says that the label holder's own columns tell the label, where they do almost without fault. A sealed
// training shows nobody more than that.
func aloneNotice(a *vertical.Alone, own *vertical.Prepared, m *joint.Model, workers int) (string, error) {
	var rows []int
	for i, y := range own.Labels.Values {
		if !math.IsNaN(y) && len(rows) < noticedRows {
			rows = append(rows, i)
		}
	}
	kernels, linear, err := a.Score(own.Table, rows, m, workers)
	if err != nil {
		return "", err
	}
	labels := make([]float64, len(rows))
	for k, i := range rows {
		labels[k] = own.Labels.Values[i]
	}
	for _, f := range []struct {
		scores   []float64
		features int
	}{{linear, len(m.Columns)}, {kernels, a.Params.Features}} {
		if f.scores == nil || len(rows) < figures.ByHeart*f.features {
			continue
		}
		numbers := m.Goal.Target == joint.Regression
		if found := figures.Perfect(labels, f.scores, m.Goal.Scores(), numbers); found != "" {
			return fmt.Sprintf("%s's own columns alone come to %s on %d training rows: as if one of them were the label "+
				"itself, or known only after the label; leave out columns that say the outcome", m.Goal.Active[0], found,
				len(rows)), nil
		}
	}
	return "", nil
}

// noticedRows is by how many rows the label holder's own columns are looked at.
const noticedRows = 20_000

// judged is rows with labels and scores, on their way to figures.
type judged struct {
	model    *joint.Model
	of       string          // figures.TrainingRows or figures.ScoredRows
	fittedTo string          // what a decision that is fitted here is called after
	alone    *vertical.Alone // nil but at the label holder
	vault    *vault.Vault    // the training's folder
	labels   []float64       // -1 and +1, of several classes their places, or numbers; NaN: none
	rows     *dataset.Table  // the party's own columns of the rows
	scores   []float64       // row-major [rows][model's scores]
	workers  int
	refit    bool                 // whether a decision is fitted even if there is one
	beside   map[string][]float64 // scores of the same rows by other models, by what these are called
}

// report makes the figures; nil where no row has a label. Where there is no decision yet it is fitted to these rows,
// and kept.
func (j *judged) report() (*figures.Report, error) {
	r := &figures.Report{Of: j.of}
	for _, y := range j.labels {
		if math.IsNaN(y) {
			r.Unlabelled++
		}
	}
	if r.Unlabelled > 0 {
		r.Warnings = append(r.Warnings, wording.Count(r.Unlabelled, "row")+" without a label do not count")
	}
	n, each := len(j.labels)-r.Unlabelled, j.model.Goal.Scores()
	if n == 0 {
		return nil, nil
	}
	labelled, labels, scores := make([]int, 0, n), make([]float64, 0, n), make([]float64, 0, n*each)
	ids := make([]string, 0, n)
	for i, y := range j.labels {
		if math.IsNaN(y) {
			continue
		}
		labelled, labels, ids = append(labelled, i), append(labels, y), append(ids, j.rows.IDs[i])
		for _, s := range j.scores[i*each : (i+1)*each] {
			if j.model.Goal.Target == joint.Regression {
				s = j.model.Unit(s)
			}
			scores = append(scores, s)
		}
	}
	trained, err := loadFitted(j.vault, TrainedRowsFile)
	if err != nil {
		return nil, err
	}
	fit := figures.Fit{Rows: trained.among(ids), Features: j.model.Features}
	if fit.Rows > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the model was fitted to %s: it does worse on others",
			theseRows(fit.Rows, n)))
	}
	against, err := j.rivals(labelled)
	if err != nil {
		return nil, err
	}
	if j.model.Goal.Target == joint.Regression {
		if r.Numbers, err = figures.OfNumbers(labels, scores); err != nil {
			return nil, err
		}
		for _, rival := range against {
			if err := r.CompareNumbers(rival.name, labels, scores, rival.scores); err != nil {
				return nil, err
			}
		}
		r.Look(fit)
		return r, nil
	}
	if each > 1 {
		classes := make([]int, len(labels))
		for i, y := range labels {
			classes[i] = int(y)
		}
		if r.Several, err = figures.OfSeveral(j.model.Classes, classes, scores); err != nil {
			return nil, err
		}
		said := figures.Said(scores, each)
		for _, rival := range against {
			r.CompareSaid(rival.name, classes, said, figures.Said(rival.scores, each))
		}
		r.Look(fit)
		return r, nil
	}
	for _, values := range [][]float64{labels, scores} { // what follows is about the event
		j.model.Turn(values)
	}
	for _, rival := range against {
		j.model.Turn(rival.scores)
	}
	d, err := loadDecision(j.vault)
	if err != nil {
		return nil, err
	}
	if d == nil || j.refit {
		if d, err = j.decide(d, ids, labels, scores); err != nil {
			return nil, err
		}
	}
	rule, err := figures.ParseRule(d.Rule)
	if err != nil {
		return nil, err
	}
	flattered, err := j.flattered(d, rule, ids)
	if err != nil {
		return nil, err
	}
	r.Warnings = append(r.Warnings, flattered...)
	s := figures.Scored{
		Labels: labels, Scores: scores, Classes: j.model.Sides(), Threshold: d.Threshold, Rule: rule,
		FittedTo: d.Of,
	}
	switch {
	case j.model.Probable:
		for _, score := range scores {
			s.Probabilities = append(s.Probabilities, kernel.Sigmoid(score))
		}
	case d.Platt != nil:
		s.Probabilities = d.Platt.Probabilities(scores)
	}
	if r.Binary, err = figures.OfClasses(s); err != nil {
		return nil, err
	}
	for _, rival := range against {
		if err := r.CompareClasses(rival.name, s, rival.scores); err != nil {
			return nil, err
		}
	}
	r.Look(fit)
	return r, nil
}

// flattered says what of a decision comes from the very rows that it is to be judged by.
func (j *judged) flattered(d *figures.Decision, rule figures.Rule, ids []string) ([]string, error) {
	rows, err := loadFitted(j.vault, DecisionRowsFile)
	if err != nil {
		return nil, err
	}
	from, which, same := d.Of, " if these are among them", 0
	if rows != nil {
		same = rows.among(ids)
		from, which = theseRows(same, len(ids)), ""
	}
	var words []string
	own := j.model.Probable
	if d.Platt == nil && !own {
		words = append(words, "there are no probabilities: one class has too few rows")
	}
	if rows != nil && same == 0 {
		return words, nil
	}
	if d.Platt != nil && !own {
		words = append(words, fmt.Sprintf("the probabilities were fitted to %s, which flatters log loss, Brier and "+
			"calibration%s", from, which))
	}
	if rule.Chosen() {
		words = append(words, fmt.Sprintf("the threshold %s (%s) was chosen by %s, which flatters error, recall and "+
			"precision%s", figures.Number(d.Threshold), rule, from, which))
	}
	return words, nil
}

// decide fits a decision to labels and scores of rows and keeps it, with the rule of the one before it, if there was
// one.
func (j *judged) decide(before *figures.Decision, ids []string, labels, scores []float64) (*figures.Decision, error) {
	d, err := figures.NewDecision(j.fittedTo, labels, scores)
	if err != nil {
		return nil, err
	}
	if before != nil {
		rule, err := figures.ParseRule(before.Rule)
		if err != nil {
			return nil, err
		}
		d.Choose(rule)
	}
	if err := saveFitted(j.vault, DecisionRowsFile, ids); err != nil {
		return nil, err
	}
	return d, saveDecision(j.vault, d)
}

// rival is another way to answer: its scores of rows as the model's own, of numbers in the label's units.
type rival struct {
	name   string
	scores []float64
}

// rivals answer for some of the rows: guessing, what the label holder knows alone, and other models.
func (j *judged) rivals(rows []int) (against []rival, err error) {
	if j.alone != nil {
		guess := rival{figures.Guessing, slices.Repeat(j.alone.Guess(), len(rows))}
		kernels, linear, err := j.alone.Score(j.rows, rows, j.model, j.workers)
		if err != nil {
			return nil, err
		}
		alone := j.model.Goal.Active[0] + figures.Alone
		against = append(against, guess)
		if kernels != nil {
			against = append(against, rival{alone, kernels})
		}
		if linear != nil {
			against = append(against, rival{alone + ", linear", linear})
		}
	}
	each := j.model.Goal.Scores()
	for _, name := range slices.Sorted(maps.Keys(j.beside)) {
		r := rival{name: name}
		for _, row := range rows {
			for _, s := range j.beside[name][row*each : (row+1)*each] {
				if j.model.Goal.Target == joint.Regression {
					s = j.model.Unit(s)
				}
				r.scores = append(r.scores, s)
			}
		}
		against = append(against, r)
	}
	return against, nil
}

// loadDecision reads the decision beside a model part, nil where there is none.
func loadDecision(v *vault.Vault) (*figures.Decision, error) {
	data, err := v.Load(DecisionFile)
	if err != nil || data == nil {
		return nil, err
	}
	return figures.DecodeDecision(data)
}

// saveDecision keeps a decision beside a model part.
func saveDecision(v *vault.Vault, d *figures.Decision) error {
	data, err := d.Encode()
	if err != nil {
		return err
	}
	return v.Save(DecisionFile, data)
}

// Decision returns how this node reads the scores of a training's model, nil where it reads them as the model does.
func (j *Jobs) Decision(contract keys.Hash) (*figures.Decision, error) {
	v, ok := j.Folder(contract)
	if !ok {
		return nil, nil
	}
	return loadDecision(v)
}

// SetRule has a rule choose the threshold of a training's model from now on.
func (j *Jobs) SetRule(training keys.Hash, rule figures.Rule) (*figures.Decision, error) {
	v, ok := j.Folder(training)
	if !ok {
		return nil, fmt.Errorf("this node has no finished training with contract %s", training.Short())
	}
	d, err := loadDecision(v)
	if err != nil {
		return nil, err
	}
	part, err := j.Model(training.String())
	if err != nil {
		return nil, err
	}
	if m := part.Model(); m.Goal.Target == joint.Regression || m.Goal.Scores() > 1 {
		return nil, fmt.Errorf("training %s has no threshold: it is of numbers, or of three or more classes, of which a row "+
			"has the one with the largest score", training.Short())
	}
	if d == nil {
		return nil, fmt.Errorf("this node has no scores with labels of training %s to choose a threshold by: it has them "+
			"after hanse predict of a table that has the label column, and a label holder after a masked training",
			training.Short())
	}
	d.Choose(rule)
	return d, saveDecision(v, d)
}

// scoredFigures are the figures of scored rows, whose labels are in a table of theirs, at the receiver; nil where there
// are no labels. called says which rows these are; rows has this party's columns of them, in the order of the scores.
func (j *Jobs) scoredFigures(m *joint.Model, called string, labels, rows *dataset.Table, scores []float64,
	beside map[string][]float64) (*figures.Report, error) {
	if labels == nil {
		return nil, nil
	}
	v, ok := j.Folder(m.Contract)
	if !ok {
		return nil, nil
	}
	of := &judged{
		model: m, of: figures.ScoredRows, fittedTo: called, vault: v, rows: rows, scores: scores,
		workers: j.Workers, beside: beside,
	}
	var err error
	if of.labels, err = labelValues(labels, m); err != nil {
		return nil, err
	}
	data, err := v.Load(AloneFile)
	if err != nil {
		return nil, err
	}
	if data != nil {
		if of.alone, err = vertical.DecodeAlone(data); err != nil {
			return nil, err
		}
	}
	return of.report()
}

// labelValues reads labels as the model knows them: -1 and +1, of several classes their places, or numbers; NaN where
// there is none.
func labelValues(t *dataset.Table, m *joint.Model) ([]float64, error) {
	if m.Goal.Target == joint.Regression {
		c, err := t.Column(m.Goal.Label)
		if err != nil {
			return nil, err
		}
		if c.Kind == dataset.Categorical {
			return nil, fmt.Errorf("%s: label column %q holds texts, and the model predicts numbers", t.Path, m.Goal.Label)
		}
		return c.Values, nil
	}
	classes, err := t.Classed(m.Goal.Label, m.Classes)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(classes))
	for i, k := range classes {
		switch {
		case k < 0:
			values[i] = math.NaN()
		case m.Goal.Scores() > 1:
			values[i] = float64(k)
		default:
			values[i] = float64(2*k - 1)
		}
	}
	return values, nil
}

// FiguresOf makes the figures of scores that this node has, as a scores file has them, with the labels of a table, or
// of a file beside it where one is named. The order of rows does not matter: they are matched by id. others are scores
// of the same rows by other models of the same label, by what these are called: the figures are against them, too.
func (j *Jobs) FiguresOf(training keys.Hash, table, file string, scored []byte,
	others map[string][]byte) (*figures.Report, error) {
	part, err := j.Model(training.String())
	if err != nil {
		return nil, err
	}
	m := part.Model()
	labels, err := j.Tables.LoadLabels(table, m, nil)
	if file != "" {
		labels, err = j.Tables.LabelsIn(file, table, m.Goal.Label)
	}
	if err != nil {
		return nil, err
	}
	if labels == nil {
		return nil, fmt.Errorf("table %q has no column %q: name a file with ids and labels with --labels FILE", table,
			m.Goal.Label)
	}
	rows, err := j.Tables.LoadFor(table, m, nil)
	if err != nil {
		return nil, err
	}
	mine, err := readScores(scored, m)
	if err != nil {
		return nil, err
	}
	theirs := make(map[string]map[string][]float64)
	for name, data := range others {
		if theirs[name], err = readScores(data, m); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	rowAt := placesOf(rows.IDs)
	var labelled, own []int
	var scores []float64
	beside := make(map[string][]float64)
	for l, id := range labels.IDs {
		f, ok := mine[id]
		r, there := rowAt[id]
		for _, scores := range theirs {
			ok = ok && scores[id] != nil
		}
		if !ok || !there {
			continue
		}
		labelled, own, scores = append(labelled, l), append(own, r), append(scores, f...)
		for name := range theirs {
			beside[name] = append(beside[name], theirs[name][id]...)
		}
	}
	if len(scores) == 0 {
		return nil, fmt.Errorf("%s: no row scored has a label there: are the ids the same?", labels.Path)
	}
	return j.scoredFigures(m, "rows of table "+table, labels.Select(labelled), rows.Select(own), scores, beside)
}

// readScores reads a scores file of a model: each row's scores as the solver has them, by id.
func readScores(data []byte, m *joint.Model) (map[string][]float64, error) {
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("scores: %w", err)
	}
	first, each := 1, m.Goal.Scores() // where a line has the row's scores
	if each > 1 {
		first = 3
	}
	turned, err := readsTurned(lines, m)
	if err != nil {
		return nil, err
	}
	scores := make(map[string][]float64)
	for _, line := range lines[min(1, len(lines)):] {
		if len(line) < first+each || line[1] == noMatch {
			continue
		}
		for _, cell := range line[first : first+each] {
			s, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, fmt.Errorf("scores: row %q has the score %.40q, which is no number", line[0], cell)
			}
			if m.Goal.Target == joint.Regression {
				s = (s - m.Mean) / m.Scale
			}
			if turned {
				s = 0 - s
			}
			scores[line[0]] = append(scores[line[0]], s)
		}
	}
	return scores, nil
}

// readsTurned reports whether a scores file of two classes is of the first of a model's, by what its header says. One
// that does not say is of the later class in the order.
func readsTurned(lines [][]string, m *joint.Model) (bool, error) {
	if m.Event() == "" || len(lines) == 0 || len(lines[0]) < 2 {
		return false, nil
	}
	class, ok := strings.CutPrefix(lines[0][1], "score ")
	if !ok {
		class = laterClass(m)
	}
	switch class {
	case m.Classes[0]:
		return true, nil
	case m.Classes[1]:
		return false, nil
	}
	return false, fmt.Errorf("scores: they are of the class %.60q, and the model tells %q apart", class, m.Classes)
}

// placesOf says where each id is.
func placesOf(ids []string) map[string]int {
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	return at
}
