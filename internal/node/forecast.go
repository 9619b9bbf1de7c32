package node

import (
	"encoding/json"
	"strings"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol/contract"
)

// forecastFile is where a job's folder has what was expected of it when it came: what people consent to stays beside
// what came of it.
const forecastFile = "forecast"

// forecast says what this node expects of a contract. Nothing hangs on it: a node that cannot say has none, and its log
// has why.
func (n *Node) forecast(c *contract.Contract) *forecast.Forecast {
	var known forecast.Known
	kind, err := n.kindOf(c.Job)
	if err == nil {
		known = kind.Known(c.Job)
	}
	var speeds *forecast.Speeds
	if n.config.Speeds != nil && err == nil {
		speeds, err = n.config.Speeds()
	}
	var f *forecast.Forecast
	if err == nil {
		f, err = forecast.Of(c, n.nameIn(c), known, speeds, n.place(c))
	}
	if err != nil {
		n.config.Log.Warn("there is no forecast", "job", c.Hash().Short(), "error", err)
	}
	return f
}

// place says where the parties of a contract are, as far as this node knows: by the links that it has.
func (n *Node) place(c *contract.Contract) (at forecast.Place) {
	if n.config.Network == nil {
		return at
	}
	members := make(map[string]MemberStatus)
	for _, m := range n.config.Network().Members {
		members[m.ID] = m
	}
	at.Together = true
	var others []string
	for _, p := range n.othersOf(c) {
		others = append(others, p.Name)
		m := members[p.ID.String()]
		here := strings.HasPrefix(m.Address, "/ip4/127.") || strings.HasPrefix(m.Address, "/ip6/::1/")
		at.Together = at.Together && m.Connected && here
		at.Trip = max(at.Trip, m.RTT.Seconds())
	}
	if n.config.Lines != nil {
		at.Rate = n.config.Lines.Slowest(others)
	}
	return at
}

// keepForecast stores what is expected of the job.
func keepForecast(v *vault.Vault, f *forecast.Forecast) error {
	if f == nil {
		return nil
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return v.Save(forecastFile, data)
}

// loadForecast reads what keepForecast stored. One that is damaged is gone: nothing hangs on it.
func (s *jobState) loadForecast() error {
	data, err := s.vault.Load(forecastFile)
	if err == nil && data != nil {
		f := new(forecast.Forecast)
		if json.Unmarshal(data, f) == nil { // nor on one of another version of the program
			s.forecast = f
		}
	}
	if faults.IsDamage(err) {
		return s.vault.SetAside(forecastFile, err)
	}
	return err
}

// compare says in a report how far the forecast was off, where there was one and the whole of the job was seen.
func (s *jobState) compare(r *jobs.Report) {
	if s.forecast == nil || r.Missed != "" {
		return
	}
	came := forecast.Came{Seconds: r.Seconds, Sent: r.BytesOut, Received: r.BytesIn, Sessions: r.Sessions,
		Waited: r.Waited}
	if r.Aligned != nil {
		came.Common = r.Aligned.Common
	}
	r.Forecast = s.forecast.Against(came)
}
