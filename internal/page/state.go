package page

import (
	"time"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Config is what a page shows, and what its owner can do there. All functions may be called at the same time.
type Config struct {
	// Status is the node as it stands.
	Status func() node.Status
	// Contract is that of a job, nil where the node has no such job.
	Contract func(keys.Hash) *contract.Contract
	// Report is this party's report of a job that is done, nil where it has none.
	Report func(keys.Hash) (*jobs.Report, error)
	// Ledger is what the node has told, over all its jobs.
	Ledger func() (*node.Ledger, error)
	// Decide takes a person's decision on a proposal. The error is a sentence for the owner.
	Decide func(node.Decision) (node.Decided, error)
	// Algorithms are those that the node knows.
	Algorithms registry.List
	// Now is the clock by which links and sessions end; nil means time.Now.
	Now func() time.Time
}
