package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// JobInfo is a job as the owner sees it.
type JobInfo struct {
	Contract  string   `json:"contract"`
	Name      string   `json:"name"`
	Algorithm string   `json:"algorithm"`
	Task      string   `json:"task"`
	Proposer  string   `json:"proposer"`
	Parties   []string `json:"parties"`
	Servers   []string `json:"servers,omitempty"` // of a job over clients
	Self      string   `json:"self"`              // this node's name
	Privacy   string   `json:"privacy"`
	Topology  string   `json:"topology"`
	State     State    `json:"state"`
	Reason    string   `json:"reason,omitempty"`
	Expires   string   `json:"expires,omitempty"` // of a proposal
	Consent   *Consent `json:"consent,omitempty"` // who agreed to it in this member's name, and when
	Sessions  uint32   `json:"sessions"`
	Summary   string   `json:"summary"`
}

// infoOf says of a job what its contract says of it.
func infoOf(c *protocol.Contract, self string) JobInfo {
	j := c.Job
	return JobInfo{
		Contract: c.Hash().String(), Name: j.Name, Algorithm: j.Algorithm, Task: j.Task, Proposer: j.Proposer, Parties: j.Parties,
		Servers: j.Servers, Self: self, Privacy: j.Privacy, Topology: j.Topology, Expires: j.Expires,
	}
}

// sortInfos orders jobs by name and contract.
func sortInfos(all []JobInfo) {
	sort.Slice(all, func(i, k int) bool {
		return all[i].Name < all[k].Name || all[i].Name == all[k].Name && all[i].Contract < all[k].Contract
	})
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
		r, info := s.snapshot(), infoOf(s.contract, n.nameIn(s.contract))
		info.State, info.Reason, info.Consent, info.Sessions = r.State, r.Reason, r.Consent, r.Session
		info.Summary = Summary(s.contract, info.Self)
		infos = append(infos, info)
	}
	sortInfos(infos)
	return infos
}

// Which jobs a command is about, where several have one name.
func anyJob(State) bool       { return true }
func openJob(s State) bool    { return !s.Final() }
func waiting(s State) bool    { return s == StateProposed }
func doneOrOpen(s State) bool { return s == StateDone || !s.Final() }

// find returns the one job of that name, or whose contract hash starts with these digits. Of several those count that
// the command can be about, if there are any.
func (n *Node) find(which string, fits func(State) bool) (keys.Hash, error) {
	n.mu.Lock()
	all := maps.Clone(n.jobs)
	n.mu.Unlock()
	var whole keys.Hash
	if whole.UnmarshalText([]byte(which)) == nil && all[whole] != nil { // whatever another's job is called
		return whole, nil
	}
	var found, fitting []keys.Hash
	for h, s := range all {
		if s.contract.Job.Name == which || len(which) >= 4 && strings.HasPrefix(h.String(), which) {
			found = append(found, h)
			if fits(s.status()) {
				fitting = append(fitting, h)
			}
		}
	}
	if len(fitting) > 0 {
		found = fitting
	}
	switch len(found) {
	case 0:
		return keys.Hash{}, fmt.Errorf("this node has no job %q; hanse jobs lists them", which)
	case 1:
		return found[0], nil
	}
	return keys.Hash{}, fmt.Errorf("%q fits %d jobs; give the first digits of the contract's hash, hanse jobs lists them", which, len(found))
}

// ServeSocket answers the owner's commands on the node's socket until ctx ends. Commands of other users of this machine
// are refused.
func (n *Node) ServeSocket(ctx context.Context) error {
	listener, err := listenSocket(n.config.Dir)
	if err != nil {
		return err
	}
	server := n.commands()
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// routes maps the owner's commands.
func (n *Node) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(n.Jobs()) })
	mux.HandleFunc("GET /faults", n.serveFaults)
	mux.HandleFunc("GET /report", n.serveReport)
	mux.HandleFunc("POST /prepare", n.servePrepare)
	mux.HandleFunc("POST /launch", n.serveLaunch)
	mux.HandleFunc("POST /decide", n.serveDecide)
	mux.HandleFunc("GET /explain", n.serveExplain)
	mux.HandleFunc("POST /cancel", n.serveCancel)
	mux.HandleFunc("POST /score", n.serveScore)
	mux.HandleFunc("GET /scores", n.serveScores)
	mux.HandleFunc("GET /known", n.serveKnown)
	mux.HandleFunc("GET /table", n.serveTable)
	return mux
}

// because is a reason behind a state.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// serveFaults returns the full text of what other members were told a code of.
func (n *Node) serveFaults(w http.ResponseWriter, r *http.Request) {
	found, err := n.config.References.Find(r.URL.Query().Get("ref"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	json.NewEncoder(w).Encode(found)
}

// serveReport returns this party's report of a job that is done; where it is asked to wait, once it is.
func (n *Node) serveReport(w http.ResponseWriter, r *http.Request) {
	h, err := n.find(r.URL.Query().Get("job"), anyJob)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	s, _ := n.job(h)
	if record := s.snapshot(); r.URL.Query().Get("wait") != "true" && s.ended() == nil {
		http.Error(w, fmt.Sprintf("job %q is %s%s", s.contract.Job.Name, record.State, because(record.Reason)), http.StatusConflict)
		return
	}
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
	h, err := n.find(r.URL.Query().Get("job"), waiting)
	if err != nil {
		out.send(Event{Kind: EventError, Text: err.Error()})
		return
	}
	ended := make(chan struct{})
	person := personOf(r)
	n.work.Go(func() {
		defer close(ended)
		if _, err := n.launch(n.ctx, h, person, out.send); err != nil {
			out.send(Event{Kind: EventError, Job: h.String(), Text: err.Error()})
		}
	})
	select {
	case <-ended:
	case <-r.Context().Done():
		out.close()
	}
}

// serveDecide takes a person's decision. Consent is to the contract that the person was shown.
func (n *Node) serveDecide(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	yes := q.Get("yes") == "true"
	h, err := n.find(q.Get("job"), waiting)
	if shown := q.Get("contract"); err == nil && yes && shown != h.String() {
		err = fmt.Errorf("the job %q that waits here now has contract %s, not %.8q, which was shown: look at it "+
			"again, and run hanse approve anew",
			q.Get("job"), h.Short(), shown)
	}
	if err == nil {
		err = n.decide(h, yes, q.Get("reason"), personOf(r))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// serveExplain says what the policy makes of a job.
func (n *Node) serveExplain(w http.ResponseWriter, r *http.Request) {
	h, err := n.find(r.URL.Query().Get("job"), openJob)
	var e *Explanation
	if err == nil {
		e, err = n.Explain(h)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	json.NewEncoder(w).Encode(e)
}

// serveCancel ends a job by its owner's word.
func (n *Node) serveCancel(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	h, err := n.find(q.Get("job"), openJob)
	if err == nil {
		err = n.Cancel(h, q.Get("reason"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// serveScores returns the scores of a prediction that is done, to whose owner they opened.
func (n *Node) serveScores(w http.ResponseWriter, r *http.Request) {
	h, err := n.find(r.URL.Query().Get("job"), doneOrOpen)
	var data []byte
	if err == nil {
		s, _ := n.job(h)
		data, err = n.scores(s)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.Write(data)
}

// serveKnown returns the scores of a table's rows where all have opened here before, and nothing where one has not.
func (n *Node) serveKnown(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	times, err := strconv.Atoi(q.Get("times"))
	var data []byte
	if err == nil {
		data, err = n.KnownScores(q.Get("model"), q.Get("table"), times)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.Write(data)
}

// scores reads the scores that opened here, which are those that this node signed for.
func (n *Node) scores(s *jobState) ([]byte, error) {
	if job := s.contract.Job; job.Task != protocol.TaskPredict || job.OpenTo != n.nameIn(s.contract) || job.Requests > 0 {
		return nil, fmt.Errorf("job %q keeps no scores here: they are those of a prediction, at the party that they open to", job.Name)
	}
	if err := n.checkPart(s, ScoresFile); err != nil {
		return nil, err
	}
	return os.ReadFile(s.vault.Path(ScoresFile))
}

// serveScore answers one row of a serving prediction; no id ends the prediction.
func (n *Node) serveScore(w http.ResponseWriter, r *http.Request) {
	h, err := n.find(r.URL.Query().Get("job"), openJob)
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
	e.clean()
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
