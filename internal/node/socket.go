package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// socket takes the commands of this node's owner.
type socket struct {
	config     *Config
	life       *life
	tables     *jobs.Tables
	columns    *columns.Jobs
	algorithms *algorithms
	roster     *roster
	sessions   *sessions
	accounts   *accounts
	keeper     *keeper
	digests    *digests
	consents   *consents
	proposer   *proposer
	views      *views
	peer       reader // who sends a command
}

// waiting tells jobs that wait for consent.
func waiting(s job.State) bool { return s == job.Proposed }

// ServeSocket answers the owner's commands on the node's socket until ctx ends. Commands of other users of this machine
// are refused.
func (n *socket) ServeSocket(ctx context.Context) error {
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
func (n *socket) routes() http.Handler {
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
			h, err := n.roster.find(q.Get("job"), fits)
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
		n.roster.alive()
		return nil, nil
	})
	handle("GET /status", func(*http.Request, url.Values) (any, error) { return n.views.Status(), nil })
	handle("GET /doctor", func(r *http.Request, q url.Values) (any, error) {
		if n.config.Doctor == nil {
			return nil, errors.New("this node has no doctor")
		}
		return n.config.Doctor(r.Context(), q["member"])
	})
	handle("GET /jobs", func(*http.Request, url.Values) (any, error) { return n.views.Jobs(), nil })
	handle("GET /disk", func(*http.Request, url.Values) (any, error) { return n.sessions.Disk() })
	handle("GET /ledger", func(*http.Request, url.Values) (any, error) { return n.accounts.Ledger() })
	handle("GET /removed", func(*http.Request, url.Values) (any, error) { return n.views.Removed(), nil })
	// The full text of what other members were told a code of.
	handle("GET /faults", func(_ *http.Request, q url.Values) (any,
		error) {
		return n.config.References.Find(q.Get("ref"))
	})
	handle("GET /table", func(_ *http.Request, q url.Values) (any, error) { return n.tables.PathOf(q.Get("name")) })
	handle("POST /table/refresh", func(r *http.Request, q url.Values) (any, error) {
		return n.algorithms.RefreshTable(r.Context(), q.Get("name"), personOf(r))
	})
	// The scores of the rows that a prediction is of where all have opened here before, and nothing where one has not.
	handle("GET /known", func(r *http.Request, q url.Values) (any, error) {
		times, err := strconv.Atoi(q.Get("times"))
		if err != nil {
			return nil, err
		}
		if err := n.algorithms.refreshOwn(r.Context(), q.Get("table"), byCommand("hanse predict", personOf(r))); err != nil {
			return nil, err
		}
		var k Known
		k.Scores, k.Rows, err = n.columns.KnownScores(&contract.Job{Name: q.Get("job"), Model: q.Get("model"),
			Table: q.Get("table"), Rows: q.Get("rows"), ScoresPerRow: times})
		return k, err
	})
	// This party's report of a job that is done; where it is asked to wait, once it is.
	about("GET /report", anyJob, func(r *http.Request, q url.Values, h keys.Hash) (any, error) {
		s, _ := n.roster.job(h)
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
	about("GET /explain", open, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) {
		return n.consents.Explain(h)
	})
	about("POST /cancel", open, func(_ *http.Request, q url.Values, h keys.Hash) (any, error) {
		return nil, n.keeper.Cancel(h, q.Get("reason"))
	})
	// The keys of workers of a job in shards: the text of a new file of them, and how many were taken back.
	about("POST /worker/keys", open, func(_ *http.Request, q url.Values, h keys.Hash) (any, error) {
		return n.makeWorkerKeys(q, h)
	})
	about("POST /worker/revoke", anyJob, func(_ *http.Request, q url.Values, h keys.Hash) (any, error) {
		return n.revokeWorkerKeys(q, h)
	})
	about("POST /resume", open, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) {
		return nil, n.keeper.Resume(h)
	})
	about("GET /removal", anyJob, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) {
		return n.views.PlanRemoval(h)
	})
	handle("POST /remove", func(_ *http.Request, q url.Values) (any, error) {
		var h keys.Hash // of what the person was shown
		if err := h.UnmarshalText([]byte(q.Get("contract"))); err != nil {
			return nil, err
		}
		return n.views.Remove(h)
	})
	// A person's decision. Consent is to the contract that the person was shown.
	handle("POST /decide", func(r *http.Request, _ url.Values) (any, error) {
		var d Decision
		if err := json.NewDecoder(io.LimitReader(r.Body, maxDecision)).Decode(&d); err != nil {
			return nil, fmt.Errorf("the decision cannot be read: %w", err)
		}
		d.Person = personOf(r)
		return n.proposer.Decide(d)
	})
	// The note that hanse audit leaves.
	handle("POST /audited", func(r *http.Request, _ url.Values) (any, error) {
		var a Audited
		if err := json.NewDecoder(io.LimitReader(r.Body, maxAudited)).Decode(&a); err != nil {
			return nil, fmt.Errorf("the note of an audit cannot be read: %w", err)
		}
		return nil, n.views.NoteAudit(a, personOf(r))
	})
	// A row of a serving prediction; no id ends the prediction.
	about("POST /score", open, func(r *http.Request, q url.Values, h keys.Hash) (any, error) {
		return n.views.ScoreRow(r.Context(), h, q.Get("id"))
	})
	about("GET /scores", doneOrOpen, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) {
		s, _ := n.roster.job(h)
		return n.views.scores(s)
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
	about("GET /draft", anyJob, func(_ *http.Request, _ url.Values, h keys.Hash) (any, error) {
		return n.proposer.DraftOf(h)
	})
	handle("POST /rehearsal", func(r *http.Request, _ url.Values) (any, error) {
		return nil, n.proposer.keepRehearsal(r.Body)
	})
	mux.HandleFunc("POST /draft", n.serveDraft)
	mux.HandleFunc("POST /prepare", n.servePrepare)
	mux.HandleFunc("POST /launch", n.serveLaunch)
	return mux
}

// maxDecision is the longest text of a decision, in bytes.
const maxDecision = 64 << 10

// servePrepare streams the events of a Prepare; the last one is a summary or an error.
func (n *socket) servePrepare(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxJob))
	out := newEventStream(w)
	defer out.close()
	if err != nil {
		out.send(jobs.Event{Kind: jobs.EventError, Text: err.Error()})
		return
	}
	c, err := n.proposer.Prepare(r.Context(), text, out.send)
	if err != nil {
		out.send(jobs.Event{Kind: jobs.EventError, Text: err.Error()})
		return
	}
	says := n.digests.summaryOf(c)
	out.send(jobs.Event{Kind: jobs.EventSummary, Job: c.Hash().String(), Text: says.text, Whole: says.whole})
}

// serveLaunch streams the events of a Launch. The job goes on when the caller leaves.
func (n *socket) serveLaunch(w http.ResponseWriter, r *http.Request) {
	out := newEventStream(w)
	defer out.close() // others may be about to tell it what they heard of the job
	h, err := n.roster.find(r.URL.Query().Get("job"), waiting)
	if err != nil {
		out.send(jobs.Event{Kind: jobs.EventError, Text: err.Error()})
		return
	}
	ended := make(chan struct{})
	person := personOf(r)
	n.life.work.Go(func() {
		defer close(ended)
		if _, err := n.proposer.launch(n.life.ctx, h, person, out.send); err != nil {
			out.send(jobs.Event{Kind: jobs.EventError, Job: h.String(), Text: err.Error()})
		}
	})
	select {
	case <-ended:
	case <-r.Context().Done():
	}
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

// serveFigures makes figures of scores that the owner sends.
func (n *socket) serveFigures(r *http.Request, _ url.Values) (any, error) {
	var asked ScoredRows
	if err := json.NewDecoder(io.LimitReader(r.Body, maxScores)).Decode(&asked); err != nil {
		return nil, err
	}
	if err := n.algorithms.refreshOwn(r.Context(), asked.Table, byCommand("hanse figures", personOf(r))); err != nil {
		return nil, err
	}
	return n.columns.FiguresOf(asked.Training, asked.Table, asked.Labels, asked.Scores, asked.Others)
}

// serveThreshold has a rule choose the threshold of a model.
func (n *socket) serveThreshold(_ *http.Request, q url.Values) (any, error) {
	var h keys.Hash
	if err := h.UnmarshalText([]byte(q.Get("model"))); err != nil {
		return nil, err
	}
	rule, err := figures.ParseRule(q.Get("rule"))
	if err != nil {
		return nil, err
	}
	return n.columns.SetRule(h, rule)
}

// serveDraft streams the events of a Draft; the last one is the draft or an error.
func (n *socket) serveDraft(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxJob))
	out := newEventStream(w)
	defer out.close()
	var said []byte
	if err == nil {
		var d *Draft
		if d, err = n.proposer.Draft(r.Context(), text, out.send); err == nil {
			said, err = json.Marshal(d)
		}
	}
	if err != nil {
		out.send(jobs.Event{Kind: jobs.EventError, Text: err.Error()})
		return
	}
	out.send(jobs.Event{Kind: jobs.EventDraft, Text: string(said)})
}
