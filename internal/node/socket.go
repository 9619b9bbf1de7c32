package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/keys"
)

// maxSocketPath is the longest path that a Unix socket may have on every system.
const maxSocketPath = 100

// SocketPath returns where the node that keeps its state in dir listens for its owner's commands:
// node.sock in that folder, or, where that path is too long for a socket, a name in the system's
// temporary folder.
func SocketPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if path := filepath.Join(abs, "node.sock"); len(path) <= maxSocketPath {
		return path, nil
	}
	return filepath.Join(os.TempDir(), "hanse-"+keys.HashOf("hanse socket v1", []byte(abs)).String()[:24]+".sock"), nil
}

// JobInfo is a job as the owner sees it.
type JobInfo struct {
	Contract string   `json:"contract"`
	Name     string   `json:"name"`
	Task     string   `json:"task"`
	Proposer string   `json:"proposer"`
	Parties  []string `json:"parties"`
	Self     string   `json:"self"` // this node's name
	Privacy  string   `json:"privacy"`
	Topology string   `json:"topology"`
	State    State    `json:"state"`
	Reason   string   `json:"reason,omitempty"`
	Sessions uint32   `json:"sessions"`
	Summary  string   `json:"summary"`
}

// Jobs lists the node's jobs by name and contract.
func (n *Node) Jobs() []JobInfo {
	n.mu.Lock()
	var all []*jobState
	for _, s := range n.jobs {
		all = append(all, s)
	}
	n.mu.Unlock()
	infos := make([]JobInfo, 0, len(all))
	for _, s := range all {
		r := s.snapshot()
		j := s.contract.Job
		infos = append(infos, JobInfo{Contract: s.contract.Hash().String(), Name: j.Name, Task: j.Task, Proposer: j.Proposer,
			Parties: j.Parties, Self: n.name(), Privacy: j.Privacy, Topology: j.Topology,
			State: r.State, Reason: r.Reason, Sessions: r.Session, Summary: Summary(s.contract, n.name())})
	}
	sort.Slice(infos, func(i, k int) bool {
		return infos[i].Name < infos[k].Name || infos[i].Name == infos[k].Name && infos[i].Contract < infos[k].Contract
	})
	return infos
}

// find returns the one job of that name, or whose contract hash starts with these digits.
func (n *Node) find(which string) (keys.Hash, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []keys.Hash
	for h, s := range n.jobs {
		if s.contract.Job.Name == which || len(which) >= 4 && strings.HasPrefix(h.String(), which) {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return keys.Hash{}, fmt.Errorf("this node has no job %q; hanse jobs lists them", which)
	case 1:
		return found[0], nil
	}
	return keys.Hash{}, fmt.Errorf("%q fits %d jobs; give the first digits of the contract's hash, hanse jobs lists them", which, len(found))
}

// ServeSocket answers the owner's commands on the node's socket until ctx ends. Whoever may open
// the socket file may command the node; it is the owner's alone.
func (n *Node) ServeSocket(ctx context.Context) error {
	path, err := SocketPath(n.config.Dir)
	if err != nil {
		return err
	}
	listener, err := listenSocket(path)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: n.routes()}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// listenSocket takes the socket over from a node that died, but not from one that lives.
func listenSocket(path string) (net.Listener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another node runs on %s: stop it first, or give this one another --dir", filepath.Dir(path))
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(path, 0o600)
}

// routes maps the owner's commands.
func (n *Node) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(n.Jobs()) })
	mux.HandleFunc("GET /report", n.serveReport)
	mux.HandleFunc("POST /prepare", n.servePrepare)
	mux.HandleFunc("POST /launch", n.serveLaunch)
	mux.HandleFunc("POST /decide", n.serveDecide)
	mux.HandleFunc("POST /score", n.serveScore)
	return mux
}

// serveReport waits until a job is done and returns this party's report of it.
func (n *Node) serveReport(w http.ResponseWriter, r *http.Request) {
	h, err := n.find(r.URL.Query().Get("job"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	s, _ := n.job(h)
	select {
	case <-s.final:
	case <-r.Context().Done():
		return
	}
	if err := s.endedError(); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	data, err := s.vault.Load(reportFile)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if data == nil {
		http.Error(w, fmt.Sprintf("job %q is done, and ended while this node was away: it has no report of its own", s.contract.Job.Name), http.StatusConflict)
		return
	}
	w.Write(data)
}

// servePrepare streams the events of a Prepare; the last one is a summary or an error.
func (n *Node) servePrepare(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxJob))
	out := newEventStream(w)
	if err != nil {
		out.send(Event{Kind: EventError, Text: err.Error()})
		return
	}
	c, err := n.Prepare(r.Context(), text, out.send)
	if err != nil {
		out.send(Event{Kind: EventError, Text: err.Error()})
		return
	}
	out.send(Event{Kind: EventSummary, Job: c.Hash().String(), Text: Summary(c, n.name())})
}

// serveLaunch streams the events of a Launch. The job goes on when the caller leaves.
func (n *Node) serveLaunch(w http.ResponseWriter, r *http.Request) {
	out := newEventStream(w)
	h, err := n.find(r.URL.Query().Get("job"))
	if err != nil {
		out.send(Event{Kind: EventError, Text: err.Error()})
		return
	}
	ended := make(chan struct{})
	n.work.Go(func() {
		defer close(ended)
		if _, err := n.Launch(n.ctx, h, out.send); err != nil {
			out.send(Event{Kind: EventError, Job: h.String(), Text: err.Error()})
		}
	})
	select {
	case <-ended:
	case <-r.Context().Done():
		out.close()
	}
}

// serveDecide takes a person's decision.
func (n *Node) serveDecide(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	h, err := n.find(q.Get("job"))
	if err == nil {
		err = n.Decide(h, q.Get("yes") == "true", q.Get("reason"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// serveScore answers one row of a serving prediction; no id ends the prediction.
func (n *Node) serveScore(w http.ResponseWriter, r *http.Request) {
	h, err := n.find(r.URL.Query().Get("job"))
	var row []string
	if err == nil {
		row, err = n.ScoreRow(r.Context(), h, r.URL.Query().Get("id"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	json.NewEncoder(w).Encode(row)
}

// eventStream writes events as JSON lines.
type eventStream struct {
	mu      sync.Mutex
	encoder *json.Encoder
	flush   func() error
}

// newEventStream streams to an HTTP response.
func newEventStream(w http.ResponseWriter) *eventStream {
	return &eventStream{encoder: json.NewEncoder(w), flush: http.NewResponseController(w).Flush}
}

// send writes one event, unless the stream is closed.
func (s *eventStream) send(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.encoder != nil && s.encoder.Encode(e) == nil {
		s.flush()
	}
}

// close ends the stream: the response must not be written after its handler returned.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.encoder = nil
}
