package forecast

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Forecast is what a node expects of one session of a job that nothing disturbs.
type Forecast struct {
	// Seconds from all connected to the end; 0: Unknown says why there are none.
	Seconds float64 `json:"seconds,omitempty"`
	Unknown string  `json:"unknown,omitempty"`
	Facts   float64 `json:"facts,omitempty"` // of Seconds, those for reading tables and ids
	// of a solver whose steps nobody can count beforehand: seconds of one, beside Seconds, and how many there may be
	StepSeconds float64 `json:"step_seconds,omitempty"`
	Steps       int64   `json:"steps,omitempty"`
	// of a sealed solver that ends once it has converged: the most outer steps, of which Seconds and bytes are
	MostSteps int `json:"most_steps,omitempty"`

	Sent     Bytes `json:"sent"`     // by this party
	Received Bytes `json:"received"` // by this party
	Total    Bytes `json:"total"`    // that all parties send together
	Line     int64 `json:"line"`     // about what Sent is under TLS, at most
	Rounds   int64 `json:"rounds"`   // operations, one after the other

	// What Seconds are of.
	Together bool    `json:"together"`             // all parties share this machine
	Trip     float64 `json:"round_trip,omitempty"` // in seconds; 0: not known, and not in Seconds
	Rate     float64 `json:"line_rate,omitempty"`  // bytes a second; 0: not known, and not in Seconds
	Cores    int     `json:"cores,omitempty"`      // of this machine
	Workers  int     `json:"workers,omitempty"`    // of each party, of a job in shards; each has one core
}

// Of makes the forecast of a contract at the named party. speeds nil means that nobody measured this machine: then
// there are no seconds.
func Of(c *contract.Contract, party string, known Known, speeds *Speeds, at Place) (*Forecast, error) {
	notes := known.notes(c)
	t, err := trafficOf(c, c.Operations, notes)
	if err != nil {
		return nil, err
	}
	inShards, err := trafficOf(c, c.Sharded, notes)
	if err != nil {
		return nil, err
	}
	self := c.Job.Index(party)
	if self < 0 {
		return nil, fmt.Errorf("job %q has no party %q", c.Job.Name, wording.Clip(party))
	}
	f := &Forecast{Rounds: t.rounds + inShards.rounds, Together: at.Together, Workers: c.Job.Shards}
	for _, all := range []*traffic{t, inShards} {
		f.Sent.add(all.sent[self])
		f.Received.add(all.received[self])
		for _, b := range all.sent {
			f.Total.add(b)
		}
	}
	f.Line = onLine(t.frames[self]+inShards.frames[self], f.Sent.Most)
	if speeds == nil {
		f.Unknown = "this machine was not measured"
		return f, nil
	}
	w, err := workOf(c, known)
	if why := unknown(""); errors.As(err, &why) {
		f.Unknown = string(why)
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	f.Seconds, f.Cores = seconds(w, t, inShards, c, self, speeds, at), speeds.Cores
	if f.Facts = known.Facts.Seconds(); at.Together && speeds.Cores < len(c.Parties) { // each party reads one like this
		f.Facts *= float64(len(c.Parties)) / float64(speeds.Cores)
	}
	f.Seconds += f.Facts
	if !at.Together {
		f.Trip, f.Rate = at.Trip, at.Rate
	}
	f.MostSteps = w.outer
	if w.turn != nil {
		f.StepSeconds, f.Steps = w.turn.seconds(speeds, at, len(c.Parties)), w.turns
	}
	return f, nil
}

// Longest is how many seconds a session may take that nothing disturbs, all steps of its solver with it, and its bytes
// over a line that nobody has measured; 0: nobody knows.
func (f *Forecast) Longest() float64 {
	if f.Seconds == 0 {
		return 0
	}
	longest := f.Seconds + float64(f.Steps)*f.StepSeconds
	if !f.Together && f.Rate == 0 {
		longest += f.lineSeconds()
	}
	return longest
}

// leastForecast is the shortest time that is forecast, in seconds: below it what is done once for a job counts most,
// and how far a forecast was off says nothing.
const leastForecast = 1

// about says how long a job takes.
func about(seconds float64) string {
	if seconds < leastForecast {
		return "less than a second"
	}
	return "about " + Seconds(seconds)
}

// referenceRate is the line that bytes are set against where nobody has measured the own one: 100 Mbit/s.
const referenceRate = 100e6 / 8

// String says it in a sentence or two, for whoever is to consent.
func (f *Forecast) String() string {
	var said []string
	switch {
	case f.Unknown != "":
		said = append(said, fmt.Sprintf("no seconds, since %s", f.Unknown))
	case f.Together && f.Workers > 0:
		said = append(said, fmt.Sprintf("%s on this machine, which all parties and their workers share", about(f.Seconds)))
	case f.Together:
		said = append(said, about(f.Seconds)+" on this machine, which all parties share")
	case f.Workers > 0:
		said = append(said, fmt.Sprintf("%s with %s of one core each at each party, on machines like this one",
			about(f.Seconds), wording.Count(f.Workers, "worker")))
	default:
		said = append(said, about(f.Seconds)+" on machines like this one")
	}
	if f.Steps > 0 {
		said = append(said, fmt.Sprintf("and %s for each of up to %d steps of the solver, %s for all of them",
			Seconds(f.StepSeconds), f.Steps, about(f.StepSeconds*float64(f.Steps))))
	}
	if f.MostSteps > 1 {
		said = append(said, fmt.Sprintf("less where fewer than %d steps do", f.MostSteps))
	}
	text := strings.Join(said, ", ") + "; you send " + f.Sent.String() + ", receive " + f.Received.String()
	if f.Unknown != "" || f.Together {
		return text
	}
	switch {
	case f.Trip > 0 && f.Rate > 0:
		text += fmt.Sprintf(". The line's %s and %s/s are in it", milliseconds(f.Trip), wording.Size(int64(f.Rate)))
	case f.Trip > 0:
		text += fmt.Sprintf(". The line's round trip of %s is in it, its speed is not, which hanse doctor measures: "+
			"on 100 Mbit/s the bytes take %s more", milliseconds(f.Trip), Seconds(f.lineSeconds()))
	default:
		text += fmt.Sprintf(". The line is not in it, which nobody has measured (hanse doctor does): on 100 Mbit/s the "+
			"bytes take %s more", Seconds(f.lineSeconds()))
	}
	return text
}

// lineSeconds is how long the bytes take on a line of referenceRate.
func (f *Forecast) lineSeconds() float64 {
	return float64(max(f.Sent.Most, f.Received.Most)) / referenceRate
}

// String says how many bytes, and what is not known of them.
func (b Bytes) String() string {
	if b.Exact() {
		return wording.Size(b.Most)
	}
	return fmt.Sprintf("%s to %s", wording.Size(b.Fixed), wording.Size(b.Most))
}

// Seconds writes a time with two digits that count: "0.4 s", "12 s", "3.4 min", "2.1 h".
func Seconds(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case s < 0.095:
		return fmt.Sprintf("%.2f s", s)
	case s < 9.5:
		return fmt.Sprintf("%.1f s", s)
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", s)
	case d < 2*time.Hour:
		return fmt.Sprintf("%.1f min", d.Minutes())
	default:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
}

// milliseconds writes a round trip.
func milliseconds(s float64) string { return fmt.Sprintf("%.1f ms", 1e3*s) }

// Outcome is a forecast beside what came of it.
type Outcome struct {
	Forecast Forecast `json:"forecast"`
	// What was forecast, for as many common rows as were found.
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
	// Off are what came over what was forecast, less 1; nil where that cannot be held against each other.
	SecondsOff  *float64 `json:"seconds_off,omitempty"`
	SentOff     *float64 `json:"sent_off,omitempty"`
	ReceivedOff *float64 `json:"received_off,omitempty"`
	Slow        *Slow    `json:"slow,omitempty"` // nil: it was not, or not for one party
}

// Slow is a session that takes much longer than was forecast, since it waits for one party, which may itself wait for
// another.
type Slow struct {
	Party string  `json:"party"`
	Times float64 `json:"times"` // what it takes over what was forecast
	Share float64 `json:"share"` // of the time, waited for Party
}

// From when on a session is slow: it takes so many times what was forecast, and so many seconds, and waits for one
// party so much of that.
const (
	slowTimes   = 3
	slowSeconds = 5
	slowShare   = .5
)

// Slow says that a session is slow that has taken so many seconds, with those that it waited by party; nil where it is
// not, or nobody knows.
func (f *Forecast) Slow(took float64, waited map[string]float64) *Slow {
	if f == nil || f.Longest() == 0 || took < slowSeconds {
		return nil
	}
	s := &Slow{Times: took / max(f.Longest(), leastForecast)}
	for _, party := range slices.Sorted(maps.Keys(waited)) {
		if share := min(1, waited[party]/took); share > s.Share {
			s.Party, s.Share = party, share
		}
	}
	if s.Times < slowTimes || s.Share < slowShare {
		return nil
	}
	return s
}

// String says how slow, and for whom.
func (s *Slow) String() string {
	return fmt.Sprintf("%.1f times the forecast, %.0f %% of the time waiting for %s", s.Times, 100*s.Share, s.Party)
}

// Came is what a job took at a party.
type Came struct {
	Seconds        float64
	Sent, Received int64 // frames with their headers
	Common         int   // of an alignment: rows that all have
	Sessions       uint32
	Waited         map[string]float64 // seconds, by party
}

// Against holds a forecast against what came. What several sessions took is no measure of one.
func (f *Forecast) Against(came Came) *Outcome {
	o := &Outcome{Forecast: *f, Sent: f.Sent.At(came.Common), Received: f.Received.At(came.Common)}
	if came.Sessions > 1 {
		return o
	}
	off := func(got, want float64) *float64 {
		if !(want > 0) {
			return nil
		}
		x := got/want - 1
		return &x
	}
	o.Slow = f.Slow(came.Seconds, came.Waited)
	if f.MostSteps > 1 { // nobody had said how many it takes
		return o
	}
	if f.Steps == 0 && f.Seconds >= leastForecast {
		o.SecondsOff = off(came.Seconds, f.Seconds)
	}
	if f.Sent.known() {
		o.SentOff = off(float64(came.Sent), float64(o.Sent))
	}
	if f.Received.known() {
		o.ReceivedOff = off(float64(came.Received), float64(o.Received))
	}
	return o
}

// Beside says behind a report's seconds and bytes what the forecast of each was, and how far it was off, as in
// " (forecast 12 s, -7.0 %)"; nothing where there was none.
func (o *Outcome) Beside() (seconds, sent, received string) {
	if o == nil {
		return "", "", ""
	}
	say := func(text string, off *float64) string {
		if off == nil {
			return ""
		}
		return fmt.Sprintf(" (forecast %s, %s)", text, Percent(*off))
	}
	seconds = say(Seconds(o.Forecast.Seconds), o.SecondsOff)
	if o.Slow != nil {
		seconds = fmt.Sprintf(" (%s)", o.Slow)
	}
	return seconds, say(wording.Size(o.Sent), o.SentOff),
		say(wording.Size(o.Received), o.ReceivedOff)
}

// known reports whether how many rows are common is all that b depends on.
func (b Bytes) known() bool { return b.Exact() || b.PerRow > 0 }

// Percent writes how far something was off.
func Percent(off float64) string {
	if p := 100 * off; math.Abs(p) < 9.95 {
		return fmt.Sprintf("%+.1f %%", p)
	}
	return fmt.Sprintf("%+.0f %%", 100*off)
}
