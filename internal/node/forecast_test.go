package node

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi"
)

// forecastHolds fails unless every party's bytes came within a hundredth of what it expected, and what was expected is
// what its owner was shown before consent. A message that the forecast leaves out, or counts twice, is more than that
// in jobs as small as these.
func (l *testNetwork) forecastHolds(t *testing.T, h keys.Hash) []*jobs.Report {
	t.Helper()
	var reports []*jobs.Report
	for i, n := range l.nodes {
		s, ok := n.job(h)
		if !ok {
			t.Fatalf("%s has no job %s", l.names[i], h.Short())
		}
		<-s.Final()
		r, err := s.loadReport()
		if err != nil || r == nil || r.Forecast == nil {
			t.Fatalf("%s: report %+v, error %v: there is no forecast in it", l.names[i], r, err)
		}
		reports = append(reports, r)
		if text := n.summaryOf(s.Contract()).text; !strings.Contains(strings.Join(strings.Fields(text), " "),
			"Forecast: "+r.Forecast.Forecast.String()) {
			t.Errorf("%s was shown\n%s\nwant the forecast in it: %s", l.names[i], text, &r.Forecast.Forecast)
		}
		for _, way := range []struct {
			what string
			came int64
			off  *float64
		}{{"sent", r.BytesOut, r.Forecast.SentOff}, {"received", r.BytesIn, r.Forecast.ReceivedOff}} {
			if way.off == nil || math.Abs(*way.off) > 0.01 {
				t.Errorf("%s %s %d bytes, forecast %v: want them within 1 %%", l.names[i], way.what, way.came, &r.Forecast.Forecast)
				for _, e := range r.Egress {
					t.Logf("%s to %s: %d of %d bytes", e.Kind, e.To, e.Bytes, e.MaxBytes)
				}
			}
		}
	}
	return reports
}

// TestForecastsOfBytes: in every mode a training and a prediction pass the bytes that were forecast, at each party.
func TestForecastsOfBytes(t *testing.T) {
	for _, c := range []struct{ name, head, parameters string }{
		{"masked", "", "loss = \"square\""},
		{"masked along a ring, logistic", "topology = \"ring\"", ""},
		{"published", "privacy = \"published\"", ""},
		{"encrypted", "aggregation = \"he\"", "loss = \"square\"\nlambda = 1e-4\nsigma = 1.0"},
		{"sealed", "privacy = \"sealed\"\nrecord = \"full\"", "iterations = 20"},
		{"sealed, ring 48, a bound that nothing opens for", "privacy = \"sealed\"",
			"iterations = 20\nring = 48\nlambda = 1e-2\nbound = \"public\""},
		{"sealed, logistic", "privacy = \"sealed\"", "iterations = 24\nloss = \"logistic\"\nouter = 24\nlambda = 1e-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, 4, 300)
			l.startAll()
			_, h, err := l.propose(l.job("train", c.head, activeBank+"features = 64\n"+c.parameters))
			must(t, err)
			l.forecastHolds(t, h)
			head := c.head + "\ntable = \"test\"\nmodel = \"" + h.String() + "\"\nopen_to = \"bank\""
			_, h, err = l.propose(l.job("predict", head, ""))
			must(t, err)
			l.forecastHolds(t, h)
		})
	}
}

// TestForecastsOfAlignments: how many rows are common is not known beforehand, and the forecast is for each of them.
func TestForecastsOfAlignments(t *testing.T) {
	for name, mode := range map[string]string{"dh": psi.ModeDH, "helper": psi.ModeHelper, "dh in buckets": psi.ModeDH,
		"helper in buckets": psi.ModeHelper} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, 4, 1)
			people := customers{300, 4}
			people.write(l, same)
			parameters := "mode = \"" + mode + "\""
			if strings.HasSuffix(name, "buckets") {
				parameters += "\nbuckets = 3"
			}
			if mode == psi.ModeHelper {
				l.idle, people.parties = 3, 3
				parameters += "\nhelper = \"retailer\""
			}
			l.startAll()
			_, h, err := l.propose(l.align("customers", "train", parameters))
			must(t, err)
			want := 0
			for person := range people.people {
				if people.common(person) {
					want++
				}
			}
			reports := l.forecastHolds(t, h)
			if got := reports[0].Aligned.Common; got != want || want == 300 {
				t.Errorf("%d rows are common, want %d of fewer than 300", got, want)
			}
			if f := reports[2].Forecast.Forecast; mode == psi.ModeDH && f.Received.PerRow != 16 {
				t.Errorf("telco receives %d bytes for each common row, want 16", f.Received.PerRow)
			}
		})
	}
}

// TestForecastsOfClientsJobs: clients come and go, and the forecast has what may pass at most and no seconds.
func TestForecastsOfClientsJobs(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 60)
	l.startAll()
	_, h, err := l.propose(l.servedJob("pofmkl", 1, "privacy = \"masked\"", smallPOFMKL))
	must(t, err)
	for i, n := range l.nodes {
		s, _ := n.job(h)
		<-s.Final()
		r, err := s.loadReport()
		if err != nil || r.Forecast == nil {
			t.Fatalf("%s: report %+v, error %v", l.names[i], r, err)
		}
		f := r.Forecast.Forecast
		if f.Seconds != 0 || f.Unknown == "" || r.Forecast.SecondsOff != nil {
			t.Errorf("%s: %+v has seconds, or does not say why it has none", l.names[i], f)
		}
		if r.BytesOut > f.Sent.Most || 4*r.BytesOut < f.Sent.Most {
			t.Errorf("%s sent %d bytes, at most %d were forecast", l.names[i], r.BytesOut, f.Sent.Most)
		}
	}
}

// TestForecastsOutliveTheirNode: a node that starts again shows what it had expected, and one whose file is damaged
// goes on without.
func TestForecastsOutliveTheirNode(t *testing.T) {
	l := newTestNetwork(t, 3, 60)
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 16"), 1)
	before, _ := l.nodes[1].job(c.Hash())
	l.stops[1]()
	l.start(1)
	after, ok := l.nodes[1].job(c.Hash())
	if !ok || after.forecast == nil || *after.forecast != *before.forecast {
		t.Fatalf("forecast is %+v, was %+v", after.forecast, before.forecast)
	}
	l.stops[1]()
	must(t, flipBit(before.vault.Path(forecastFile), 200))
	l.start(1)
	after, ok = l.nodes[1].job(c.Hash())
	if !ok || after.forecast != nil || after.State().Final() {
		t.Errorf("with a damaged file the job is %v, its forecast %+v", after.State(), after.forecast)
	}
}

// TestForecastsNeedNoSpeeds: without speeds there are bytes alone, and with them seconds.
func TestForecastsNeedNoSpeeds(t *testing.T) {
	l := newTestNetwork(t, 3, 60)
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 16\nloss = \"square\""))
	f := l.nodes[0].forecast(c)
	if f == nil || f.Seconds != 0 || f.Unknown == "" || f.Sent.Most == 0 {
		t.Errorf("without speeds the forecast is %+v", f)
	}
	l.nodes[0].config.Speeds = func() (*forecast.Speeds, error) { return forecast.ReadSpeeds(l.dirs[0]) }
	if f = l.nodes[0].forecast(c); f == nil || f.Seconds <= 0 || f.Unknown != "" {
		t.Errorf("with speeds the forecast is %+v", f)
	}
}

// TestForecastsOfShards: the bytes that were forecast for a job in shards are those of its session and of its workers,
// which its report has together.
func TestForecastsOfShards(t *testing.T) {
	for i, c := range []struct {
		name, privacy, parameters string
		rows, shards              int
	}{
		{"sealed", "sealed", "features = 256\nsigma = 1.5\niterations = 10\nlambda = 1e-4", 4200, 3},
		{"masked", "masked", "features = 256\nsigma = 1.5\nloss = \"square\"", 4200, 2},
	} {
		if !drawn.Today(t, i, 2) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			l := newTestNetwork(t, 4, c.rows)
			l.startAll()
			head := fmt.Sprintf("privacy = %q\nshards = %d\n", c.privacy, c.shards)
			h, w, err := l.proposeInShards(l.job("train", head, activeBank+c.parameters), c.shards, nil)
			must(t, err)
			w.wantDone()
			for _, r := range l.forecastHolds(t, h) {
				if slices.ContainsFunc(r.Egress, func(e jobs.Egress) bool { return e.Kind == "angles" && e.Bytes > 0 }) !=
					(r.Party != "bank") {
					t.Errorf("angles in the report of %s: want those that workers sent to bank's: %+v", r.Party, r.Egress)
				}
			}
			const scored = 2
			head = fmt.Sprintf("privacy = %q\nshards = %d\n", c.privacy, scored)
			head += "table = \"test\"\nopen_to = \"bank\"\nmodel = \"" + h.String() + "\""
			h, w, err = l.proposeInShards(l.job("predict", head, ""), scored, nil)
			must(t, err)
			w.wantDone()
			l.forecastHolds(t, h)
		})
	}
}
