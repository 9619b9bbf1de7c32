package online

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// parkLabel is what a park foretells: its output as a share of what it can give, from 0 to 1.
const parkLabel = "output"

// parkColumns are the inputs of a park's row. Season and hour are points on a circle, the others shares of
// their usual range, so that none outweighs the rest.
func parkColumns() []string {
	return []string{"season_sin", "season_cos", "hour_sin", "hour_cos", "temperature", "humidity", "pressure", "wind",
		"gust", "cloud", "rain"}
}

// Time at all parks, in hours.
const (
	hoursPerRow = 3
	firstHour   = 60 * 24 // early in March, when the year begins for the streams
)

// park is a site with its climate and its weather of the moment.
type park struct {
	draw   generator
	sun    float64 // the part of sun in what the park can give; the rest is wind
	windy  float64 // how much wind there is on average
	cloudy float64 // the same of clouds
	warm   float64 // mean temperature, as a share of its range
	swing  float64 // how far temperature follows season and hour
	noise  float64 // standard deviation of the measured output
	hours  float64 // since the start of the year

	front, breeze, heat float64 // weather that lasts: pressure and clouds, wind, temperature
}

// newPark draws a site.
func newPark(draw generator) *park {
	return &park{
		draw: draw, sun: draw.between(0.45, 0.55), windy: draw.between(-0.4, 0.4), cloudy: draw.between(-0.6, 0.6),
		warm:  draw.between(-0.2, 0.2),
		swing: draw.between(0.2, 0.45), noise: draw.between(0.08, 0.16), hours: firstHour,
		front: draw.NormFloat64(), breeze: draw.NormFloat64(), heat: draw.NormFloat64(),
	}
}

// next returns the next row.
func (p *park) next() (x []float64, output float64) {
	p.hours += hoursPerRow
	p.front, p.breeze, p.heat = p.draw.lasting(p.front, 0.94), p.draw.lasting(p.breeze, 0.85), p.draw.lasting(p.heat, 0.9)
	seasonSin, seasonCos := math.Sincos(2 * math.Pi * p.hours / (365 * 24))
	hourSin, hourCos := math.Sincos(2 * math.Pi * p.hours / 24)
	cloud := logistic(p.cloudy + 1.4*p.front + 0.3*p.draw.NormFloat64())
	wind := logistic(p.windy - 0.6 + 0.9*p.breeze + 0.5*p.front)
	gust := min(1, wind*(1.15+0.2*p.draw.Float64()))
	rain := max(0, cloud-0.7) * 2 * p.draw.Float64()
	temperature := clamp(p.warm-p.swing*seasonCos-0.4*p.swing*hourCos+0.15*p.heat-0.1*cloud, -1, 1)
	humidity := clamp(0.5+0.3*cloud-0.3*temperature+0.05*p.draw.NormFloat64(), 0, 1)
	pressure := clamp(-0.35*p.front+0.05*p.draw.NormFloat64(), -1, 1)

	light := max(0, -hourCos*(0.75-0.25*seasonCos)-0.2*seasonCos) * (1 - 0.75*cloud*cloud) * (1 - 0.2*temperature)
	turning := wind * wind * wind / (wind*wind*wind + 0.08)
	output = clamp(p.sun*light+(1-p.sun)*turning+p.noise*p.draw.NormFloat64(), 0, 1)
	return []float64{seasonSin, seasonCos, hourSin, hourCos, temperature, humidity, pressure, wind, gust, cloud, rain},
		output
}

// Sizes of a job over parks that says nothing else.
const (
	parkRounds   = 300
	parkFeatures = 10
	parkChosen   = 10  // of the paper's 51 kernels
	parkStep     = 0.3 // larger than theory's, for rows as few as these
)

// Parks is a trial of POF-MKL.
type Parks struct {
	*Federation
	params pofmkl.Params
	seed   uint64
}

// NewParks makes a trial with one server.
func NewParks(o Options) (*Parks, error) {
	if o.Rounds == 0 {
		o.Rounds = parkRounds
	}
	if o.Features == 0 {
		o.Features = parkFeatures
	}
	p := pofmkl.Params{
		Label: parkLabel, Seed: fmt.Sprint(o.Seed), Features: o.Features, Rounds: o.Rounds, Chosen: parkChosen,
		Step: parkStep, WeightStep: parkStep,
		InputNorm: math.Sqrt(float64(len(parkColumns()))),
	}
	if o.Common { // a kernel rests for rounds and then moves by the importance's multiple of the step
		p.CommonBin = true
		p.Step = p.WithDefaults().StepBound(o.Clients) / 2
	}
	t := &Parks{seed: o.Seed}
	t.Federation = newParkStreams(o)
	p.Server = t.Servers[0]
	t.params = p.WithDefaults()
	return t, t.params.Validate(t.Parties())
}

// Rounds returns how many rounds the job has.
func (t *Parks) Rounds() int { return t.params.Rounds }

// Parameters returns what the job says to the algorithm beside who takes part.
func (t *Parks) Parameters() map[string]any {
	p := t.params
	parameters := map[string]any{
		"label": p.Label, "seed": p.Seed, "features": p.Features, "rounds": p.Rounds, "chosen": p.Chosen,
		"step": p.Step, "weight_step": p.WeightStep, "input_norm": p.InputNorm,
	}
	if p.CommonBin {
		parameters["common_bin"] = true
	}
	return parameters
}

// PaperBytes returns what the paper counts for a client and a round, in bytes: all parameters down, those
// of the chosen kernels up.
func (t *Parks) PaperBytes() (down, up float64) {
	return 8 * float64(t.params.Words()), 8 * 2 * float64(t.params.Chosen*t.params.Features)
}

// Together runs the job in one process, in the open. Its draws of kernels are its own, so that it comes
// close to a job of the same streams but not to the same numbers, unless the job's seed draws them for all.
func (t *Parks) Together() (*Outcome, error) { return t.learn(t.params, t.AllClients()) }

// Alone runs every client by itself. Nothing has to be sent, so that it learns all kernels from every row, by
// steps as large as bins of its own allow.
func (t *Parks) Alone() (*Outcome, error) {
	p, all := t.params, newOutcome()
	p.Chosen, p.CommonBin, p.Step = p.Kernels(), false, parkStep
	for _, name := range t.AllClients() {
		o, err := t.learn(p, []string{name})
		if err != nil {
			return nil, err
		}
		all.Predictions[name], all.Regret[name] = o.Predictions[name], o.Regret[name]
	}
	return all, nil
}

// learn runs a federation of the named clients.
func (t *Parks) learn(p pofmkl.Params, names []string) (*Outcome, error) {
	d, err := pofmkl.NewDictionary(p, numbered(len(parkColumns())))
	if err != nil {
		return nil, err
	}
	f, err := pofmkl.NewFederation(d, len(names), sha256.Sum256(binary.BigEndian.AppendUint64([]byte(names[0]), t.seed)))
	if err != nil {
		return nil, err
	}
	o, err := runRounds(t.Federation, p.Rounds, names, f.Round)
	if err != nil {
		return nil, err
	}
	for k, name := range names {
		o.Regret[name] = f.Regret(k)
	}
	return o, nil
}

// numbered names inputs as a job over clients does.
func numbered(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("x%d", i+1))
	}
	return names
}
