package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/hanse-project/hanse/internal/disk"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
)

// secret is a number of rows: it must not be found in what is served.
const secret = 7654321

// busy is the status of a node of which all can be said.
func busy() node.Status {
	now := time.Unix(1790000000, 0)
	return node.Status{
		Time: now, Started: now.Add(-time.Hour), Member: "bank", Version: "v1.2.3", Sessions: 3,
		Charter: node.CharterStatus{Name: "credit", Version: 2},
		Disk:    disk.Space{Total: 100e9, Free: 40e9},
		Members: []node.MemberStatus{{Name: "telco", Connected: true, RTT: time.Millisecond, ClockAhead: time.Second,
			Links: 3, In: 10, Out: 20}, {Name: "insurer"}},
		Jobs: []node.JobStatus{{
			JobInfo: node.JobInfo{Name: "credit", Contract: strings.Repeat("ab", 32), State: job.Running,
				Summary: "7654321 rows", Aligned: &jobs.Aligned{Common: secret, ByKey: []int{secret}},
				Progress: &node.Progress{Step: "rows", Done: secret, Total: secret}},
			Session: now, Sent: []node.EgressStatus{{Peer: "telco", Class: "masked", Bytes: 1, Agreed: 4}},
			Curve: []node.Point{{Done: secret, Metric: secret}}}},
		Traffic: []node.TrafficStatus{{Peer: "telco", Class: "masked", Sent: 5, Read: 6}},
		Waits:   []node.WaitStatus{{Peer: "telco", Count: 2, Seconds: 9}},
		Alerts:  []node.Alert{{Code: node.CodeAway, Level: node.AlertWarning, About: "insurer", Text: "7654321 rows"}},
	}
}

// allowed are all metrics of ours, each with its labels. What is not here is not served: think of what a new one tells
// of other members' data before it is added. No label has values without bound.
var allowed = map[string][]string{
	"hanse_info":                       {"version"},
	"hanse_started_timestamp_seconds":  nil,
	"hanse_charter_version":            nil,
	"hanse_jobs":                       {"state"},
	"hanse_sessions_total":             nil,
	"hanse_sessions_running":           nil,
	"hanse_job_bytes_total":            {"class", "direction", "member"},
	"hanse_job_budget_used_ratio":      {"class", "contract", "member"},
	"hanse_waits_total":                {"member"},
	"hanse_wait_seconds_total":         {"member"},
	"hanse_member_connected":           {"member"},
	"hanse_member_round_trip_seconds":  {"member"},
	"hanse_member_clock_ahead_seconds": {"member"},
	"hanse_member_reconnects_total":    {"member"},
	"hanse_member_bytes_total":         {"direction", "member"},
	"hanse_alerts":                     {"code", "level"},
	"hanse_disk_free_bytes":            nil,
	"hanse_disk_size_bytes":            nil,
}

// get asks a node that is served.
func get(t *testing.T, s Source, path string) (int, string) {
	t.Helper()
	h, err := Handler(s)
	must(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	must(t, err)
	return w.Code, string(body)
}

// TestRebindingReadsNothing: a page of another site lets its name lead to the loopback address, and asks.
func TestRebindingReadsNothing(t *testing.T) {
	h, err := Handler(Source{Ready: func() []Readiness { return nil }})
	must(t, err)
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9464}
	for _, c := range []struct {
		at   net.Addr
		host string
		want int
	}{
		{loopback, "rebound.example:9464", http.StatusForbidden},
		{loopback, "localhost.rebound.example", http.StatusForbidden},
		{loopback, "", http.StatusForbidden},
		{loopback, "127.0.0.1:9464", http.StatusOK},
		{loopback, "localhost:9464", http.StatusOK},
		{loopback, "[::1]:9464", http.StatusOK},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 5)}, "metrics.bank.example:9464", http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodGet, "/readyz", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.at)))
		if w.Code != c.want {
			t.Errorf("%q at %v: status %d, want %d", c.host, c.at, w.Code, c.want)
		}
	}
}

// TestMetricsHaveNoRows: Prometheus' own parser reads what is served; every metric and label of ours is on the list
// above, and the other way round; and a spy who reads them all finds no number of rows.
func TestMetricsHaveNoRows(t *testing.T) {
	code, body := get(t, Source{Status: busy}, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	must(t, err)
	unseen := maps.Clone(allowed)
	for name, family := range families {
		if !strings.HasPrefix(name, "hanse_") {
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				t.Errorf("%s is served", name)
			}
			continue
		}
		labels, ok := allowed[name]
		delete(unseen, name)
		if !ok || family.GetHelp() == "" {
			t.Errorf("%s is served, is on no list, or has no help", name)
		}
		for _, m := range family.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetName())
			}
			if slices.Sort(got); !slices.Equal(got, labels) {
				t.Errorf("%s has the labels %v, want %v", name, got, labels)
			}
			if v := m.GetGauge().GetValue() + m.GetCounter().GetValue(); v == secret {
				t.Errorf("%s is a number of rows", name)
			}
		}
	}
	for name := range unseen {
		t.Errorf("%s is on the list and not served", name)
	}
	if strings.Contains(body, "7654321") || strings.Contains(body, "7.654321e+06") {
		t.Error("a number of rows is served")
	}
	for _, line := range []string{`hanse_jobs{state="running"} 1`, `hanse_jobs{state="failed"} 0`,
		`hanse_member_connected{member="insurer"} 0`, `hanse_member_reconnects_total{member="telco"} 2`,
		`hanse_job_budget_used_ratio{class="masked",contract="abababab",member="telco"} 0.25`,
		`hanse_job_bytes_total{class="masked",direction="read",member="telco"} 6`} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
}

// TestHealth: alive is whoever answers; ready is a node with all it needs.
func TestHealth(t *testing.T) {
	disk := errors.New("12 B are free")
	source := Source{Status: busy, Ready: func() []Readiness { return []Readiness{{"key", nil}, {"disk", disk}} }}
	if code, body := get(t, source, "/healthz"); code != http.StatusOK || body != "alive\n" {
		t.Errorf("healthz: %d %q", code, body)
	}
	if code, body := get(t, source, "/readyz"); code != http.StatusServiceUnavailable ||
		body != "key: ready\ndisk: 12 B are free\n" {
		t.Errorf("readyz: %d %q", code, body)
	}
	disk = nil
	if code, _ := get(t, source, "/readyz"); code != http.StatusOK {
		t.Errorf("readyz of a ready node: %d", code)
	}
	if code, _ := get(t, source, "/jobs"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}

// metricName finds names of metrics in a query.
var metricName = regexp.MustCompile(`\b(hanse|go|process)_[a-z0-9_]+\b`)

// TestDashboardNamesWhatIsServed: every query of the Grafana dashboard names metrics that are served, and every metric
// of ours but those about nothing that changes is on it.
func TestDashboardNamesWhatIsServed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", "hanse-node.json"))
	must(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must(t, json.Unmarshal(text, &dashboard))
	_, body := get(t, Source{Status: busy}, "/metrics")
	named := make(map[string]bool)
	queries := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries++
			names := metricName.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("panel %q asks for no metric: %s", p.Title, target.Expr)
			}
			for _, name := range names {
				named[name] = true
				if !strings.Contains(body, "\n# TYPE "+name+" ") {
					t.Errorf("panel %q asks for %s, which is not served", p.Title, name)
				}
			}
		}
	}
	for name := range allowed {
		if !named[name] {
			t.Errorf("%s is on no panel of %d queries", name, queries)
		}
	}
}

// rule is a line of the rules in docs/operations.md that compares what one scrape says.
var rule = regexp.MustCompile(`(?m)^(hanse_[a-z_]+)(?:\{([a-z]+)="([a-z]+)"\})? (>|==) 0(?: .*)?$`)

// TestRulesFire: of the rules that docs/operations.md begins with, those that look at one scrape fire when what they
// are for has happened, and none of them does where nothing has.
func TestRulesFire(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	must(t, err)
	calm := func() node.Status {
		s := busy()
		s.Alerts, s.Members = nil, s.Members[:1]
		return s
	}
	cases := map[string]func() node.Status{
		"slow": func() node.Status {
			s := calm()
			s.Alerts = []node.Alert{{Code: node.CodeSlow, Level: node.AlertWarning, About: "credit"}}
			return s
		},
		"critical": func() node.Status {
			s := calm()
			s.Alerts = []node.Alert{{Code: node.CodeDisk, Level: node.AlertCritical}}
			return s
		},
		"": busy, // insurer is not connected
	}
	fires := func(r []string, s func() node.Status) bool {
		_, body := get(t, Source{Status: s}, "/metrics")
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(body))
		must(t, err)
		for _, m := range families[r[1]].GetMetric() {
			matches := r[2] == ""
			for _, l := range m.GetLabel() {
				matches = matches || l.GetName() == r[2] && l.GetValue() == r[3]
			}
			if v := m.GetGauge().GetValue(); matches && (r[4] == ">" && v > 0 || r[4] == "==" && v == 0) {
				return true
			}
		}
		return false
	}
	rules := rule.FindAllStringSubmatch(string(text), -1)
	if len(rules) != len(cases) {
		t.Fatalf("%d rules look at one scrape, want %d", len(rules), len(cases))
	}
	for _, r := range rules {
		if !fires(r, cases[r[3]]) {
			t.Errorf("%q does not fire when it should", r[0])
		}
		if fires(r, calm) {
			t.Errorf("%q fires where nothing has happened", r[0])
		}
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
