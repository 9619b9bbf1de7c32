package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Client commands a running node through its socket.
type Client struct {
	dir      string
	http     *http.Client
	peer     reader
	patience time.Duration // for the first answer
	answers  atomic.Bool   // the node has answered
}

// firstAnswer is how long a command waits for a sign of life of its node.
const firstAnswer = 5 * time.Second

// NewClient prepares to command the node that keeps its state in dir.
func NewClient(dir string) (*Client, error) {
	return newClient(dir, owner.Peer), nil
}

// newClient is NewClient with the way to learn who answers.
func newClient(dir string, peer reader) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialNode(ctx, dir, peer) }
	return &Client{dir: dir, http: &http.Client{Transport: &http.Transport{DialContext: dial}}, peer: peer,
		patience: firstAnswer}
}

// Alive asks the node for a sign of life.
func (c *Client) Alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, errHung)
	defer cancel()
	body, err := c.ask(ctx, http.MethodGet, "/alive", nil)
	if err == nil {
		c.answers.Store(true)
		return body.Close()
	}
	if context.Cause(ctx) != errHung {
		return err
	}
	process, pid := "its process", "PID"
	if conn, err := dialNode(context.WithoutCancel(ctx), c.dir, c.peer); err == nil {
		if p := owner.Process(conn); p > 0 {
			process, pid = fmt.Sprintf("process %d", p), strconv.Itoa(p)
		}
		conn.Close()
	}
	return fmt.Errorf("%w: %s in %s, %s, has not answered for %s; look at its log, and if it stands still, end it with "+
		"kill %s, then kill -9 %s, and start it again: its jobs go on", errHung, "the node", c.dir, process, c.patience,
		pid, pid)
}

// errHung is inside the error of a command to a node that is there and does not answer.
var errHung = errors.New("no answer")

// Jobs lists the node's jobs.
func (c *Client) Jobs(ctx context.Context) ([]JobInfo, error) {
	body, err := c.do(ctx, http.MethodGet, "/jobs", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var jobs []JobInfo
	return jobs, json.NewDecoder(body).Decode(&jobs)
}

// Removed lists the jobs of which the owner has removed what they left.
func (c *Client) Removed(ctx context.Context) ([]JobInfo, error) {
	body, err := c.do(ctx, http.MethodGet, "/removed", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var jobs []JobInfo
	return jobs, json.NewDecoder(body).Decode(&jobs)
}

// Ledger returns what the node's jobs have told.
func (c *Client) Ledger(ctx context.Context) (*Ledger, error) {
	body, err := c.do(ctx, http.MethodGet, "/ledger", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var l Ledger
	return &l, json.NewDecoder(body).Decode(&l)
}

// Disk returns what the node's folder holds, against its quota.
func (c *Client) Disk(ctx context.Context) (*Disk, error) {
	body, err := c.do(ctx, http.MethodGet, "/disk", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var d Disk
	return &d, json.NewDecoder(body).Decode(&d)
}

// PlanRemoval says what would go and what would stay of a job; job is its name or the start of its contract's hash.
func (c *Client) PlanRemoval(ctx context.Context, job string) (*Removal, error) {
	return c.removal(ctx, http.MethodGet, "/removal?"+url.Values{"job": {job}}.Encode())
}

// Remove removes what goes of a job; contract is its whole hash, as PlanRemoval gave it.
func (c *Client) Remove(ctx context.Context, contract string) (*Removal, error) {
	return c.removal(ctx, http.MethodPost, "/remove?"+url.Values{"contract": {contract}}.Encode())
}

// removal asks about a removal.
func (c *Client) removal(ctx context.Context, method, path string) (*Removal, error) {
	body, err := c.do(ctx, method, path, nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var r Removal
	return &r, json.NewDecoder(body).Decode(&r)
}

// Report returns the node's report of a job, once it is done.
func (c *Client) Report(ctx context.Context, job string) (*jobs.Report, error) {
	return c.report(ctx, job, true)
}

// Result returns the node's report of a job that is done; of another the error says how it stands.
func (c *Client) Result(ctx context.Context, job string) (*jobs.Report, error) {
	return c.report(ctx, job, false)
}

// report asks for a report, and waits for it where wait says so.
func (c *Client) report(ctx context.Context, job string, wait bool) (*jobs.Report, error) {
	body, err := c.do(ctx, http.MethodGet, "/report?"+url.Values{"job": {job}, "wait": {fmt.Sprint(wait)}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var r jobs.Report
	return &r, json.NewDecoder(body).Decode(&r)
}

// Faults returns the full text of what other members were told a code of, by its reference. Where no node runs, it is
// read from the node's folder.
func (c *Client) Faults(ctx context.Context, ref string) ([]reference.Entry, error) {
	body, err := c.do(ctx, http.MethodGet, "/faults?"+url.Values{"ref": {ref}}.Encode(), nil)
	if errors.Is(err, errNoNode) {
		return reference.Open(c.dir).Find(ref)
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var found []reference.Entry
	return found, json.NewDecoder(body).Decode(&found)
}

// errNoNode is inside the error of a command to a node that does not run.
var errNoNode = errors.New("no node runs")

// Scores returns the scores of a prediction that opened to this node, as CSV, once the node has held them against what
// it signed for when the job was done. The caller closes it.
func (c *Client) Scores(ctx context.Context, job string) (io.ReadCloser, error) {
	return c.do(ctx, http.MethodGet, "/scores?"+url.Values{"job": {job}}.Encode(), nil)
}

// Known is what a node has of the rows that a prediction is of.
type Known struct {
	Scores []byte `json:"scores,omitempty"` // a scores file of all of them; none where the score of one is not known
	Rows   int    `json:"rows"`             // how many have a score in it
}

// Known returns the scores of all rows that a prediction is of where all have opened to the node before, as often as it
// wants; none where one has not.
func (c *Client) Known(ctx context.Context, job *contract.Job) (k Known, err error) {
	q := url.Values{"job": {job.Name}, "model": {job.Model}, "table": {job.Table}, "rows": {job.Rows},
		"times": {fmt.Sprint(job.TimesPerRow())}}
	body, err := c.do(ctx, http.MethodGet, "/known?"+q.Encode(), nil)
	if err != nil {
		return k, err
	}
	defer body.Close()
	return k, json.NewDecoder(body).Decode(&k)
}

// Cancel ends a job that has not ended, at all its parties; reason is what they are told.
func (c *Client) Cancel(ctx context.Context, job, reason string) error {
	body, err := c.do(ctx, http.MethodPost, "/cancel?"+url.Values{"job": {job}, "reason": {reason}}.Encode(), nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// WorkerKeys has the node make keys for workers of a job's shards, "0-15" or empty for all, that are good for so long.
func (c *Client) WorkerKeys(ctx context.Context, job, shards string, length time.Duration) (*keys.ShardKeys, error) {
	body, err := c.do(ctx, http.MethodPost, "/worker/keys?"+url.Values{"job": {job}, "shards": {shards},
		"for": {length.String()}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxWorkerKeys))
	if err != nil {
		return nil, err
	}
	defer clear(text)
	return keys.ParseShardKeys(text)
}

// maxWorkerKeys is the longest answer with keys of workers, in bytes.
const maxWorkerKeys = 1 << 20

// RevokeWorkerKeys takes back all keys of workers of a job's shards, "0-15" or empty for all, and returns how many of
// them were good.
func (c *Client) RevokeWorkerKeys(ctx context.Context, job, shards string) (int, error) {
	body, err := c.do(ctx, http.MethodPost, "/worker/revoke?"+url.Values{"job": {job}, "shards": {shards}}.Encode(), nil)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	var r Revocation
	return r.Keys, json.NewDecoder(body).Decode(&r)
}

// Resume lets a job go on that the node holds back; see Node.Resume.
func (c *Client) Resume(ctx context.Context, job string) error {
	body, err := c.do(ctx, http.MethodPost, "/resume?"+url.Values{"job": {job}}.Encode(), nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// Prepared is a job that waits for its proposer's own consent.
type Prepared struct {
	Contract string // its hash
	Summary  string // what is decided by
	Whole    string // what stands below it: every message, what it takes, what is kept
}

// Unfolded is the whole summary as one text.
func (p *Prepared) Unfolded() string { return summary.Unfolded(p.Summary, p.Whole) }

// Prepare proposes a job text; listen gets what happens until the contract is there.
func (c *Client) Prepare(ctx context.Context, text []byte, listen func(jobs.Event)) (p Prepared, err error) {
	err = c.stream(ctx, "/prepare", strings.NewReader(string(text)), func(e jobs.Event) bool {
		if e.Kind != jobs.EventSummary {
			listen(e)
			return false
		}
		p = Prepared{Contract: e.Job, Summary: e.Text, Whole: e.Whole}
		return true
	})
	return p, err
}

// Launch runs a prepared job to its end and returns the report; listen gets its events.
func (c *Client) Launch(
	ctx context.Context, contract string, listen func(jobs.Event),
) (report *jobs.Report, err error) {
	err = c.stream(ctx, "/launch?"+url.Values{"job": {contract}}.Encode(), nil, func(e jobs.Event) bool {
		listen(e)
		report = e.Report
		return e.Kind == jobs.EventDone
	})
	return report, err
}

// Decide consents to a proposed job or refuses it, in the name of who runs this program.
func (c *Client) Decide(ctx context.Context, d Decision) (Decided, error) {
	var decided Decided
	text, err := json.Marshal(d)
	if err != nil {
		return decided, err
	}
	body, err := c.do(ctx, http.MethodPost, "/decide", bytes.NewReader(text))
	if err != nil {
		return decided, err
	}
	defer body.Close()
	return decided, json.NewDecoder(body).Decode(&decided)
}

// Explain says what the node's policy makes of a job.
func (c *Client) Explain(ctx context.Context, job string) (*Explanation, error) {
	body, err := c.do(ctx, http.MethodGet, "/explain?"+url.Values{"job": {job}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var e Explanation
	return &e, json.NewDecoder(body).Decode(&e)
}

// Score asks a serving prediction for one row's score, as a scores file has it; an empty id ends the
// prediction.
func (c *Client) Score(ctx context.Context, contract, id string) (row []string, err error) {
	body, err := c.do(ctx, http.MethodPost, "/score?"+url.Values{"job": {contract}, "id": {id}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return row, json.NewDecoder(body).Decode(&row)
}

// stream posts a request and hears its events until listen says that the last one has come. An
// error event that nothing follows is the error.
func (c *Client) stream(ctx context.Context, path string, body io.Reader, listen func(jobs.Event) bool) error {
	answer, err := c.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	events := json.NewDecoder(answer)
	failure := fmt.Errorf("the node in %s was stopped; a job that had begun goes on when it is started again", c.dir)
	for {
		var e jobs.Event
		if err := events.Decode(&e); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return failure
		}
		if e.Kind == jobs.EventError {
			failure = errors.New(e.Text)
			continue
		}
		if listen(e) {
			return nil
		}
	}
}

// do is ask, once the node has answered at all.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	if !c.answers.Load() {
		if err := c.Alive(ctx); err != nil {
			return nil, err
		}
	}
	return c.ask(ctx, method, path, body)
}

// ask sends one request; a refusal is an error with the node's words.
func (c *Client) ask(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://node"+path, body)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		var stranger *strangerError
		if errors.As(err, &stranger) {
			return nil, stranger
		}
		var op *net.OpError
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("you may not open the node's folder %s: be the user whose node it is, as sudo -u USER does",
				c.dir)
		}
		if errors.As(err, &op) && op.Op == "dial" {
			if _, err := os.Stat(c.dir); errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%w in %s, which is no folder: name your node's with --dir, or start one there by hanse "+
					"node", errNoNode, c.dir)
			}
			return nil, fmt.Errorf("%w in %s: start one with hanse node --dir %s", errNoNode, c.dir, c.dir)
		}
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, jobs.MaxText))
		return nil, errors.New(wording.Line(string(text), jobs.MaxText))
	}
	return response.Body, nil
}

// Status returns the node as it is now.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	body, err := c.do(ctx, http.MethodGet, "/status", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var s Status
	return &s, json.NewDecoder(body).Decode(&s)
}

// IsAbsent reports whether an error of a command says that no node runs there.
func IsAbsent(err error) bool { return errors.Is(err, errNoNode) }

// Doctor has the node look for what keeps it, or the ways to these members, from working, and decodes its report.
func (c *Client) Doctor(ctx context.Context, members []string, report any) error {
	body, err := c.do(ctx, http.MethodGet, "/doctor?"+url.Values{"member": members}.Encode(), nil)
	if err != nil {
		return err
	}
	defer body.Close()
	return json.NewDecoder(body).Decode(report)
}
