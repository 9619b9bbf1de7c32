package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// waiting tells jobs that wait for consent.
func waiting(s job.State) bool { return s == job.Proposed }

// leastDigits is how many digits of a contract's hash stand for a job at least.
const leastDigits = 4

// Means reports whether somebody who types which can mean a job: it is the job's name, or the first digits of its
// contract's hash, as lists print them.
func Means(which, name, contract string) bool {
	return which == name || len(which) >= leastDigits && strings.HasPrefix(contract, which)
}

// find returns the one job of that name, or whose contract hash starts with these digits. Of several those count that
// the command can be about, if there are any.
func (n *Node) find(which string, fits func(job.State) bool) (keys.Hash, error) {
	n.mu.Lock()
	all := maps.Clone(n.jobs)
	n.mu.Unlock()
	var whole keys.Hash
	if whole.UnmarshalText([]byte(which)) == nil && all[whole] != nil { // whatever another's job is called
		if !all[whole].Record().Removed.IsZero() {
			return keys.Hash{}, all[whole].Removable()
		}
		return whole, nil
	}
	var found, fitting []keys.Hash
	var removed *jobState
	for h, s := range all {
		if Means(which, s.Contract().Job.Name, h.String()) {
			if !s.Record().Removed.IsZero() {
				removed = s
				continue
			}
			found = append(found, h)
			if fits(s.State()) {
				fitting = append(fitting, h)
			}
		}
	}
	if len(fitting) > 0 {
		found = fitting
	}
	switch len(found) {
	case 0:
		if removed != nil {
			return keys.Hash{}, removed.Removable()
		}
		for _, j := range n.unread {
			if Means(which, j.Name, j.Contract) {
				return keys.Hash{}, errors.New(j.Reason)
			}
		}
		var names []string
		for _, s := range all {
			names = append(names, s.Contract().Job.Name)
		}
		return keys.Hash{}, fmt.Errorf("this node has no job %q; hanse jobs lists them%s", which,
			wording.DidYouMean(which, slices.Sorted(slices.Values(names))))
	case 1:
		return found[0], nil
	}
	var each []string
	for _, h := range found {
		each = append(each, fmt.Sprintf("%.8s (%s)", h, all[h].State()))
	}
	slices.Sort(each)
	return keys.Hash{}, fmt.Errorf("there are %d jobs %q: give the first digits of the contract in its place, %s",
		len(found), which, wording.List(each, "or"))
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

// routes maps the owner's commands. What is refused is refused with a sentence.
func (n *Node) routes() http.Handler {
	mux := http.NewServeMux()
	// A command answers with bytes as they are, with anything else as JSON, or with nothing.
	handle := func(pattern string, answer func(r *http.Request, q url.Values) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := answer(r, r.URL.Query())
			data, raw := v.([]byte)
			switch {
			case err != nil:
				http.Error(w, err.Error(), http.StatusConflict)
			case raw:
				w.Write(data)
			case v != nil:
				json.NewEncoder(w).Encode(v)
			}
		})
	}
	// Most are about a job, of those that the command can be about.
	about := func(pattern string, fits func(job.State) bool, answer func(r *http.Request, q url.Values, h keys.Hash) (any,
		error)) {
		handle(pattern, func(r *http.Request, q url.Values) (any, error) {
			h, err := n.find(q.Get("job"), fits)
			if err != nil {
				return nil, err
			}
			return answer(r, q, h)
		})
	}
	anyJob := func(job.State) bool { return true }
	open := func(s job.State) bool { return !s.Final() }
	doneOrOpen := func(s job.State) bool { return s == job.Done || !s.Final() }

	handle("GET /alive", func(*http.Request, url.Values) (any, error) {
		n.mu.Lock() // a node that stands still with its state locked is no live one
		defer n.mu.Unlock()
		return nil, nil
	})
	handle("GET /status", func(*http.Request, url.Values) (any, error) { return n.Status(), nil })
	handle("GET /doctor", func(r *http.Request, q url.Values) (any, error) {
		if n.config.Doctor == nil {
			return nil, errors.New("this node has no doctor")
		}
		return n.config.Doctor(r.Context(), q["member"])
	})
	handle("GET /jobs", func(*http.Request, url.Values) (any, error) { return n.Jobs(), nil })
	handle("GET /disk", func(*http.Request, url.Values) (any, error) { return n.Disk() })
	handle("GET /ledger", func(*http.Request, url.Values) (any, error) { return n.Ledger() })
	handle("GET /removed", func(*http.Request, url.Values) (any, error) { return n.Removed(), nil })
	// The full text of what other members were told a code of.
	handle("GET /faults", func(_ *http.Request, q url.Values) (any,
		error) {
		return n.config.References.Find(q.Get("ref"))
	})
	handle("GET /table", func(_ *http.Request, q url.Values) (any, error) { return n.tables.PathOf(q.Get("name")) })
	handle("POST /table/refresh", func(r *http.Request, q url.Values) (any, error) {
		return n.RefreshTable(r.Context(), q.Get("name"), personOf(r))
	})
	// The scores of the rows that a prediction is of where all have opened here before, and nothing where one has not.
	handle("GET /known", func(r *http.Request, q url.Values) (any, error) {
		times, err := strconv.Atoi(q.Get("times"))
		if err != nil {
			return nil, err
		}
		if err := n.refreshOwn(r.Context(), q.Get("table"), byCommand("hanse predict", personOf(r))); err != nil {
			return nil, err
		}
		var k Known
		k.Scores, k.Rows, err = n.columns.KnownScores(&contract.Job{Name: q.Get("job"), Model: q.Get("model"),
			Table: q.Get("table"), Rows: q.Get("rows"), ScoresPerRow: times})
		return k, err
	})
	// This party's report of a job that is done; where it is asked to wait, once it is.
	about("GET /report", anyJob, func(r *http.Request, q url.Values, h keys.Hash) (any, error) {
		s, _ := n.job(h)
		if record := s.Record(); q.Get("wait") != "true" && s.Ending() == nil {
			return nil, fmt.Errorf("job %q is %s%s", s.Contract().Job.Name, record.State, because(record.Reason))
		}
		select {
		case <-s.Final():
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		if err := s.EndedError(); err != nil {
			return nil, err
		}
		data, err := s.vault.Load(job.ReportFile)
		if err == nil && data == nil {
			err = fmt.Errorf("job %q is done, and ended while this node was away: it has no report of its own",
				s.Contract().Job.Name)
		}
		return data, err
	})
	about("GET /explain", open, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) { return n.Explain(h) })
	about("POST /cancel", open, func(_ *http.Request, q url.Values, h keys.Hash) (any, error) {
		return nil, n.Cancel(h, q.Get("reason"))
	})
	// The keys of workers of a job in shards: the text of a new file of them, and how many were taken back.
	about("POST /worker/keys", open, func(_ *http.Request, q url.Values, h keys.Hash) (any, error) {
		return n.makeWorkerKeys(q, h)
	})
	about("POST /worker/revoke", anyJob, func(_ *http.Request, q url.Values, h keys.Hash) (any, error) {
		return n.revokeWorkerKeys(q, h)
	})
	about("POST /resume", open, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) { return nil, n.Resume(h) })
	about("GET /removal", anyJob, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) {
		return n.PlanRemoval(h)
	})
	handle("POST /remove", func(_ *http.Request, q url.Values) (any, error) {
		var h keys.Hash // of what the person was shown
		if err := h.UnmarshalText([]byte(q.Get("contract"))); err != nil {
			return nil, err
		}
		return n.Remove(h)
	})
	// A person's decision. Consent is to the contract that the person was shown.
	handle("POST /decide", func(r *http.Request, _ url.Values) (any, error) {
		var d Decision
		if err := json.NewDecoder(io.LimitReader(r.Body, maxDecision)).Decode(&d); err != nil {
			return nil, fmt.Errorf("the decision cannot be read: %w", err)
		}
		d.Person = personOf(r)
		return n.Decide(d)
	})
	// The note that hanse audit leaves.
	handle("POST /audited", func(r *http.Request, _ url.Values) (any, error) {
		var a Audited
		if err := json.NewDecoder(io.LimitReader(r.Body, maxAudited)).Decode(&a); err != nil {
			return nil, fmt.Errorf("the note of an audit cannot be read: %w", err)
		}
		return nil, n.NoteAudit(a, personOf(r))
	})
	// A row of a serving prediction; no id ends the prediction.
	about("POST /score", open, func(r *http.Request, q url.Values, h keys.Hash) (any, error) {
		return n.ScoreRow(r.Context(), h, q.Get("id"))
	})
	about("GET /scores", doneOrOpen, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) {
		s, _ := n.job(h)
		return n.scores(s)
	})
	handle("POST /figures", n.serveFigures)
	handle("POST /threshold", n.serveThreshold)
	handle("POST /page", func(r *http.Request, q url.Values) (any, error) {
		if n.config.Pages == nil {
			return nil, errors.New("this node has no page")
		}
		return n.config.Pages.OpenPage(q.Get("listen"), personOf(r))
	})
	handle("POST /page/close", func(*http.Request, url.Values) (any, error) {
		if n.config.Pages == nil {
			return nil, nil
		}
		return nil, n.config.Pages.ClosePage()
	})
	about("GET /draft", anyJob, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) { return n.DraftOf(h) })
	handle("POST /rehearsal", func(r *http.Request, _ url.Values) (any, error) { return nil, n.keepRehearsal(r.Body) })
	mux.HandleFunc("POST /draft", n.serveDraft)
	mux.HandleFunc("POST /prepare", n.servePrepare)
	mux.HandleFunc("POST /launch", n.serveLaunch)
	return mux
}

// maxDecision is the longest text of a decision, in bytes.
const maxDecision = 64 << 10

// because is a reason behind a state.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// servePrepare streams the events of a Prepare; the last one is a summary or an error.
func (n *Node) servePrepare(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxJob))
	out := newEventStream(w)
	defer out.close()
	if err != nil {
		out.send(jobs.Event{Kind: jobs.EventError, Text: err.Error()})
		return
	}
	c, err := n.Prepare(r.Context(), text, out.send)
	if err != nil {
		out.send(jobs.Event{Kind: jobs.EventError, Text: err.Error()})
		return
	}
	says := n.summaryOf(c)
	out.send(jobs.Event{Kind: jobs.EventSummary, Job: c.Hash().String(), Text: says.text, Whole: says.whole})
}

// serveLaunch streams the events of a Launch. The job goes on when the caller leaves.
func (n *Node) serveLaunch(w http.ResponseWriter, r *http.Request) {
	out := newEventStream(w)
	defer out.close() // others may be about to tell it what they heard of the job
	h, err := n.find(r.URL.Query().Get("job"), waiting)
	if err != nil {
		out.send(jobs.Event{Kind: jobs.EventError, Text: err.Error()})
		return
	}
	ended := make(chan struct{})
	person := personOf(r)
	n.work.Go(func() {
		defer close(ended)
		if _, err := n.launch(n.ctx, h, person, out.send); err != nil {
			out.send(jobs.Event{Kind: jobs.EventError, Job: h.String(), Text: err.Error()})
		}
	})
	select {
	case <-ended:
	case <-r.Context().Done():
	}
}

// scores reads the scores that opened here, which are those that this node signed for.
func (n *Node) scores(s *jobState) ([]byte, error) {
	if job := s.Contract().Job; job.Task != contract.TaskPredict || job.OpenTo != s.Self() || job.Requests > 0 {
		return nil, fmt.Errorf("job %q keeps no scores here: they are those of a prediction, at the party that they open to",
			job.Name)
	}
	if err := n.checkPart(s, jobs.ScoresFile); err != nil {
		return nil, err
	}
	return os.ReadFile(s.vault.Path(jobs.ScoresFile))
}

// ScoreRow asks a serving prediction for one row's score, as a scores file has it; no id ends the prediction. When
// the job ends before, the error says how.
func (n *Node) ScoreRow(ctx context.Context, h keys.Hash, id string) ([]string, error) {
	final := make(<-chan struct{})
	s, ok := n.job(h)
	if ok { // else it has yet to be proposed here
		final = s.Final()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.ctx, func() { cancel(errors.New("the node stops")) })()
	row, ended, err := n.columns.ScoreRow(ctx, h, id, final)
	if !ended {
		return row, err
	}
	if err := s.EndedError(); err != nil || id == "" { // that it ends is no error
		return nil, err
	}
	return nil, fmt.Errorf("job %q was done before it came to row %q", s.Contract().Job.Name, id)
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
func (s *eventStream) send(e jobs.Event) {
	e.Clean()
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
