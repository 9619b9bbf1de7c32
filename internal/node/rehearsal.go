package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/rehearsal"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Draft is what a job would be agreed on as, or is: what a rehearsal of it starts from. Nothing in it is of anybody's
// data but the numbers that a contract states.
type Draft struct {
	Self     string   `json:"self"`            // this node's name in it
	Contract string   `json:"contract"`        // its text
	Charter  string   `json:"charter"`         // the text of the charter that it is under
	Takes    []string `json:"takes,omitempty"` // the contracts of the alignment and the training that it builds on
}

// Draft makes the contract of a job as Prepare does, by the same questions to the other parties, and keeps nothing.
func (n *proposer) Draft(ctx context.Context, text []byte, listen func(jobs.Event)) (*Draft, error) {
	c, _, err := n.draft(ctx, text, listen)
	if err != nil {
		return nil, err
	}
	return n.draftOf(c)
}

// DraftOf returns the contract of one of the node's jobs as a draft.
func (n *proposer) DraftOf(h keys.Hash) (*Draft, error) {
	s, ok := n.roster.job(h)
	if !ok {
		return nil, fmt.Errorf("this node has no job %s", h.Short())
	}
	return n.draftOf(n.roster.whole(s))
}

// draftOf gathers what goes with a contract.
func (n *proposer) draftOf(c *contract.Contract) (*Draft, error) {
	d := &Draft{Self: n.member.nameIn(c), Contract: string(c.Document.Text()),
		Charter: string(n.member.currentCharter().Text())}
	taken := []string{c.Job.Alignment, c.Job.Model}
	for i := 0; i < len(taken); i++ {
		if taken[i] == "" {
			continue
		}
		var h keys.Hash
		if err := h.UnmarshalText([]byte(taken[i])); err != nil {
			return nil, err
		}
		s, ok := n.roster.job(h)
		if !ok {
			return nil, fmt.Errorf("job %q builds on a job with contract %s, which this node does not have", c.Job.Name,
				h.Short())
		}
		d.Takes = append(d.Takes, string(s.Text()))
	}
	return d, nil
}

// keepRehearsal keeps what a rehearsal on this machine came to, for the summaries of contracts of its likeness. Its
// owner's own command sends it, and nobody else sees it.
func (n *proposer) keepRehearsal(body io.Reader) error {
	r, err := rehearsal.Read(body)
	if err != nil {
		return fmt.Errorf("the rehearsal cannot be kept: %w", err)
	}
	if err := n.disk.free(); err != nil {
		return err
	}
	return rehearsal.Keep(n.config.Dir, r)
}

// Draft has the node make the contract of a job text without proposing it; listen gets what happens until then.
func (c *Client) Draft(ctx context.Context, text []byte, listen func(jobs.Event)) (*Draft, error) {
	d := new(Draft)
	var malformed error
	err := c.stream(ctx, "/draft", bytes.NewReader(text), func(e jobs.Event) bool {
		if e.Kind != jobs.EventDraft {
			listen(e)
			return false
		}
		malformed = json.Unmarshal([]byte(e.Text), d)
		return true
	})
	if err == nil {
		err = malformed
	}
	return d, err
}

// DraftOf returns the contract of a job of the node; job is its name or the first digits of its contract.
func (c *Client) DraftOf(ctx context.Context, job string) (*Draft, error) {
	body, err := c.do(ctx, http.MethodGet, "/draft?"+url.Values{"job": {job}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	d := new(Draft)
	return d, json.NewDecoder(body).Decode(d)
}

// KeepRehearsal has the node keep what a rehearsal came to.
func (c *Client) KeepRehearsal(ctx context.Context, r *rehearsal.Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	body, err := c.do(ctx, http.MethodPost, "/rehearsal", bytes.NewReader(text))
	if err != nil {
		return err
	}
	return body.Close()
}
