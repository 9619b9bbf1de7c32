// Package metrics lets programs watch a node over HTTP: Prometheus scrapes /metrics, and whoever starts and stops
// processes asks /healthz and /readyz. What is served are numbers about the node and names of members; nothing tells
// how many rows anybody has, nor how many two have in common.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
)

// metric is one that is made of a node's status.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	from func(s *node.Status, add func(value float64, labels ...string))
}

// metrics lists them all. Names and labels keep their meaning: dashboards and alerts of others hang on them.
func metrics() []metric {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("hanse_"+name, help, labels, nil)
	}
	type adder = func(value float64, labels ...string)
	members := func(value func(m *node.MemberStatus) (float64, bool)) func(*node.Status, adder) {
		return func(s *node.Status, add adder) {
			for i := range s.Members {
				if v, ok := value(&s.Members[i]); ok {
					add(v, s.Members[i].Name)
				}
			}
		}
	}
	return []metric{
		{desc("info", "1; the version of the program.", "version"), gauge,
			func(s *node.Status, add adder) { add(1, s.Version) }},
		{desc("started_timestamp_seconds", "When the node started."), gauge,
			func(s *node.Status, add adder) { add(float64(s.Started.UnixMilli()) / 1000) }},
		{desc("charter_version", "The version of the charter in force."), gauge,
			func(s *node.Status, add adder) { add(float64(s.Charter.Version)) }},
		{desc("jobs", "Jobs in the node's folder, by state.", "state"), gauge, func(s *node.Status, add adder) {
			count := make(map[job.State]int)
			for _, j := range s.Jobs {
				count[j.State]++
			}
			for _, state := range job.States() {
				add(float64(count[state]), string(state))
			}
		}},
		{desc("sessions_total", "Sessions begun since the node started."), counter,
			func(s *node.Status, add adder) { add(float64(s.Sessions)) }},
		{desc("sessions_running", "Sessions that are on."), gauge, func(s *node.Status, add adder) {
			on := 0
			for _, j := range s.Jobs {
				if !j.Session.IsZero() {
					on++
				}
			}
			add(float64(on))
		}},
		{desc("job_bytes_total", "Bytes of payload in jobs since the node started, by member, class of message and "+
			"direction (sent, read).", "member", "class", "direction"), counter, func(s *node.Status, add adder) {
			for _, t := range s.Traffic {
				add(float64(t.Sent), t.Peer, t.Class, "sent")
				add(float64(t.Read), t.Peer, t.Class, "read")
			}
		}},
		{desc("job_budget_used_ratio", "Of what a running session's contract lets this node send a member in a class, the "+
			"part that was sent.", "contract", "member", "class"), gauge, func(s *node.Status, add adder) {
			for _, j := range s.Jobs {
				for _, e := range j.Sent {
					if !j.Session.IsZero() && e.Agreed > 0 {
						add(float64(e.Bytes)/float64(e.Agreed), fmt.Sprintf("%.8s", j.Contract), e.Peer, e.Class)
					}
				}
			}
		}},
		{desc("waits_total", "Waits of jobs over columns for a member, of two seconds and more.", "member"), counter,
			func(s *node.Status, add adder) {
				for _, w := range s.Waits {
					add(float64(w.Count), w.Peer)
				}
			}},
		{desc("wait_seconds_total", "How long these and all shorter waits lasted.", "member"), counter,
			func(s *node.Status, add adder) {
				for _, w := range s.Waits {
					add(w.Seconds, w.Peer)
				}
			}},
		{desc("member_connected", "1 while there is a link to the member.", "member"), gauge,
			members(func(m *node.MemberStatus) (float64, bool) { return number(m.Connected), true })},
		{desc("member_round_trip_seconds", "The latest heartbeat's.", "member"), gauge,
			members(func(m *node.MemberStatus) (float64, bool) { return m.RTT.Seconds(), m.Connected && m.RTT > 0 })},
		{desc("member_clock_ahead_seconds", "By how much the member's clock is ahead of this one's.", "member"), gauge,
			members(func(m *node.MemberStatus) (float64, bool) { return m.ClockAhead.Seconds(), m.Connected })},
		{desc("member_reconnects_total", "Links made with the member after the first.", "member"), counter,
			members(func(m *node.MemberStatus) (float64, bool) { return float64(max(0, m.Links-1)), true })},
		{desc("member_bytes_total", "Bytes of all streams since the node started, by direction (sent, read).", "member",
			"direction"), counter, func(s *node.Status, add adder) {
			for _, m := range s.Members {
				add(float64(m.Out), m.Name, "sent")
				add(float64(m.In), m.Name, "read")
			}
		}},
		{desc("alerts", "Alerts of hanse status, by code and level.", "code", "level"), gauge,
			func(s *node.Status, add adder) {
				count := make(map[[2]string]int)
				for _, a := range s.Alerts {
					count[[2]string{a.Code, a.Level}]++
				}
				for k, n := range count {
					add(float64(n), k[0], k[1])
				}
			}},
		{desc("disk_free_bytes", "Free to the node on the file system of its folder."), gauge,
			func(s *node.Status, add adder) {
				if s.Disk.Total > 0 {
					add(float64(s.Disk.Free))
				}
			}},
		{desc("disk_size_bytes", "The size of that file system."), gauge, func(s *node.Status, add adder) {
			if s.Disk.Total > 0 {
				add(float64(s.Disk.Total))
			}
		}},
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collector makes metrics of one status at each scrape. It implements prometheus.Collector.
type collector struct {
	metrics []metric
	status  func() node.Status
}

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := c.status()
	for _, m := range c.metrics {
		m.from(&s, func(value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
		})
	}
}

// Readiness is one thing that a node needs in order to take part in jobs.
type Readiness struct {
	Name string
	Err  error // nil: it has it
}

// Source is what is served: a node, as it says itself.
type Source struct {
	Status func() node.Status
	Ready  func() []Readiness
}

// Handler serves /metrics, /healthz and /readyz.
func Handler(s Source) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{collector{metrics(), s.Status}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { serve(w, registry) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		var text string
		status := http.StatusOK
		for _, r := range s.Ready() {
			word := "ready"
			if r.Err != nil {
				word, status = r.Err.Error(), http.StatusServiceUnavailable
			}
			text += r.Name + ": " + word + "\n"
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !named(r) {
			http.Error(w, "ask by the address of this machine, 127.0.0.1, or as localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// named reports whether a request to a loopback address has a loopback name in its head. A page of another site that a
// browser on this machine shows can let its own name lead here, and would read what is served.
func named(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serve writes all metrics in Prometheus' text format. Package promhttp would also compress it, for a megabyte of
// program.
func serve(w http.ResponseWriter, from prometheus.Gatherer) {
	families, err := from.Gather()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(w, format)
	for _, f := range families {
		if encoder.Encode(f) != nil {
			return // whoever asked has left
		}
	}
}

// headTime is how long the head of a request is waited for, and writeTime how long an answer may take to be read.
const (
	headTime  = 10 * time.Second
	writeTime = time.Minute
)

// Listen opens the address, which is a host and a port: 127.0.0.1:9464.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err // the address is named already
	}
	if err != nil {
		return nil, fmt.Errorf("--metrics %s cannot be listened on: %w: give a free port, as 127.0.0.1:9464", address, err)
	}
	return l, nil
}

// Serve answers on a listener until ctx ends, and closes it.
func Serve(ctx context.Context, l net.Listener, s Source) error {
	handler, err := Handler(s)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headTime, WriteTimeout: writeTime}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the metrics: %w", err)
	}
	return nil
}
