package node

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// PageLink is how a person comes to the node's page.
type PageLink struct {
	Link   string `json:"link"`             // opens the page once, in one browser
	Socket string `json:"socket,omitempty"` // where the page listens, when that is a socket
}

// Pages opens and closes the node's page.
type Pages interface {
	// OpenPage returns a link for a user of this machine, and has the page listen if it does not yet: on a loopback
	// address, at a socket's path or, with "", wherever it listens already, else on a free port.
	OpenPage(listen, person string) (PageLink, error)
	// ClosePage ends all sessions of the page, and its listening.
	ClosePage() error
}

// Contract returns the contract of a job, nil where the node has no such job.
func (n *views) Contract(h keys.Hash) *contract.Contract {
	s, ok := n.roster.job(h)
	if !ok {
		return nil
	}
	return n.roster.whole(s)
}

// Report returns this party's report of a job that is done, nil where it has none.
func (n *views) Report(h keys.Hash) (*jobs.Report, error) {
	s, ok := n.roster.job(h)
	if !ok {
		return nil, nil
	}
	return s.loadReport()
}

// OpenPage asks the node for a link to its page; see Pages.
func (c *Client) OpenPage(ctx context.Context, listen string) (PageLink, error) {
	var p PageLink
	body, err := c.do(ctx, http.MethodPost, "/page?"+url.Values{"listen": {listen}}.Encode(), nil)
	if err != nil {
		return p, err
	}
	defer body.Close()
	return p, json.NewDecoder(body).Decode(&p)
}

// ClosePage has the node close its page.
func (c *Client) ClosePage(ctx context.Context) error {
	body, err := c.do(ctx, http.MethodPost, "/page/close", nil)
	if err != nil {
		return err
	}
	return body.Close()
}
