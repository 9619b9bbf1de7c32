package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/protocol"
)

// Client commands a running node through its socket.
type Client struct {
	dir  string
	http *http.Client
}

// NewClient prepares to command the node that keeps its state in dir.
func NewClient(dir string) (*Client, error) {
	return newClient(dir, owner.Peer), nil
}

// newClient is NewClient with the way to learn who answers.
func newClient(dir string, peer reader) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialNode(ctx, dir, peer) }
	return &Client{dir: dir, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

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

// Report returns the node's report of a job, once it is done.
func (c *Client) Report(ctx context.Context, job string) (*Report, error) {
	return c.report(ctx, job, true)
}

// Result returns the node's report of a job that is done; of another the error says how it stands.
func (c *Client) Result(ctx context.Context, job string) (*Report, error) {
	return c.report(ctx, job, false)
}

// report asks for a report, and waits for it where wait says so.
func (c *Client) report(ctx context.Context, job string, wait bool) (*Report, error) {
	body, err := c.do(ctx, http.MethodGet, "/report?"+url.Values{"job": {job}, "wait": {fmt.Sprint(wait)}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var r Report
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

// Known returns the scores of all rows of a table with the model of a training's contract, as CSV, where all have opened
// to the node before, so many times; nothing where one has not.
func (c *Client) Known(ctx context.Context, contract, table string, times int) ([]byte, error) {
	q := url.Values{"model": {contract}, "table": {table}, "times": {fmt.Sprint(times)}}
	body, err := c.do(ctx, http.MethodGet, "/known?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// Cancel ends a job that has not ended, at all its parties; reason is what they are told.
func (c *Client) Cancel(ctx context.Context, job, reason string) error {
	body, err := c.do(ctx, http.MethodPost, "/cancel?"+url.Values{"job": {job}, "reason": {reason}}.Encode(), nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// Prepare proposes a job text and returns its contract hash and summary; hear gets what happens
// until then.
func (c *Client) Prepare(ctx context.Context, text []byte, hear func(Event)) (contract, summary string, err error) {
	err = c.stream(ctx, "/prepare", strings.NewReader(string(text)), func(e Event) bool {
		if e.Kind != EventSummary {
			hear(e)
			return false
		}
		contract, summary = e.Job, e.Text
		return true
	})
	return contract, summary, err
}

// Launch runs a prepared job to its end and returns the report; hear gets its events.
func (c *Client) Launch(ctx context.Context, contract string, hear func(Event)) (report *Report, err error) {
	err = c.stream(ctx, "/launch?"+url.Values{"job": {contract}}.Encode(), nil, func(e Event) bool {
		hear(e)
		report = e.Report
		return e.Kind == EventDone
	})
	return report, err
}

// Approve consents to a proposed job, in the name of who runs this program; contract is the whole hash of the contract
// that was shown, and the node refuses when the job of that name has another one by now.
func (c *Client) Approve(ctx context.Context, job, contract string) error {
	return c.decide(ctx, url.Values{"job": {job}, "contract": {contract}, "yes": {"true"}})
}

// Refuse refuses a proposed job; job is its name or the start of its contract's hash, and reason what the other parties
// are told.
func (c *Client) Refuse(ctx context.Context, job, reason string) error {
	return c.decide(ctx, url.Values{"job": {job}, "yes": {"false"}, "reason": {reason}})
}

// decide posts a decision.
func (c *Client) decide(ctx context.Context, q url.Values) error {
	body, err := c.do(ctx, http.MethodPost, "/decide?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	return body.Close()
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

// stream posts a request and hears its events until hear says that the last one has come. An
// error event that nothing follows is the error.
func (c *Client) stream(ctx context.Context, path string, body io.Reader, hear func(Event) bool) error {
	answer, err := c.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	events := json.NewDecoder(answer)
	failure := fmt.Errorf("the node in %s was stopped; a job that had begun goes on when it is started again", c.dir)
	for {
		var e Event
		if err := events.Decode(&e); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return failure
		}
		if e.Kind == EventError {
			failure = errors.New(e.Text)
			continue
		}
		if hear(e) {
			return nil
		}
	}
}

// do sends one request; a refusal is an error with the node's words.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
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
		if errors.As(err, &op) && op.Op == "dial" {
			return nil, fmt.Errorf("%w in %s: start one with hanse node --dir %s", errNoNode, c.dir, c.dir)
		}
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxText))
		return nil, errors.New(protocol.Plain(string(text), maxText))
	}
	return response.Body, nil
}
