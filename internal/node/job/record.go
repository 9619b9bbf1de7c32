package job

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// State is where a job stands at a node; package node draws the transitions.
type State string

// The states of a job. All from Done on are final, and outcomes of endings but for the last.
const (
	Proposed  State = "proposed" // waits for a person's consent
	Agreed    State = "agreed"   // this node has signed
	Running   State = "running"  // a session is on
	Paused    State = "paused"   // a session broke; the coordinator starts another
	Done            = State(contract.OutcomeDone)
	Cancelled       = State(contract.OutcomeCancelled)
	Refused         = State(contract.OutcomeRefused)
	Failed          = State(contract.OutcomeFailed)
	Expired         = State(contract.OutcomeExpired)
	// Unread is the state of a job that another version of the program made, in lists alone; see OtherVersion.
	Unread State = "unread"
)

// States lists all of them, in the order of a job's life.
func States() []State {
	return []State{Proposed, Agreed, Running, Paused, Done, Cancelled, Refused, Failed, Expired, Unread}
}

// Final reports whether nothing changes a job any more that is in this state, here and by this program.
func (s State) Final() bool {
	switch s {
	case Done, Cancelled, Refused, Failed, Expired, Unread:
		return true
	}
	return false
}

// Record is what is kept of a job beside its contract and its ending.
//
// Evolution: the line of program stays as it is in every version, for those who can read no other; see OtherVersion.
type Record struct {
	State   State  `toml:"state"`
	Program string `toml:"program,omitempty"` // the version of the program that wrote this last
	Reason  string `toml:"reason,omitempty"`
	Session uint32 `toml:"session"` // the number of the last session
	// over columns: the last session that made this party's part, which it keeps
	Stored uint32 `toml:"stored,omitzero"`
	// the last session that ended well here; over columns, countersigned by all and sealed
	Finished uint32 `toml:"finished,omitzero"`
	Recorded int64  `toml:"recorded,omitzero"` // bytes of the transcript when the last session ended
	// What this party has signed of the job's end: one ending of one session.
	SignedSession uint32    `toml:"signed_session,omitzero"`
	Signed        keys.Hash `toml:"signed"`
	Made          time.Time `toml:"made,omitzero"`    // when the job came to this node
	Ended         time.Time `toml:"ended,omitzero"`   // when the end was stored here
	Removed       time.Time `toml:"removed,omitzero"` // when its owner removed what the job left
	Known         int64     `toml:"known,omitzero"`   // of a sealed prediction: the rows whose scores its receiver had
	Data          keys.Hash `toml:"data"`             // digest of the table that was consented to
	Renewed       bool      `toml:"renewed,omitzero"` // a record before it was damaged: something may have opened then
	// the record before was damaged: what the contract says is verified anew
	Damaged bool     `toml:"damaged,omitzero"`
	Consent *Consent `toml:"consent,omitempty"` // nil: nobody has consented, and nothing is signed
	Deaths  Deaths   `toml:"deaths"`            // of this node in the job's sessions
	Anyway  bool     `toml:"anyway,omitempty"`  // its owner has it start though it takes more memory than there is
	// approvals that have come while more are wanted; nil: none
	Pending *Pending `toml:"pending,omitempty"`
}

// Unbegun reports whether no session of a job that has not ended was ever opened here.
func (r *Record) Unbegun() bool { return !r.State.Final() && r.Session == 0 }

// Pending is approvals that are not enough yet.
type Pending struct {
	Approvals []string `toml:"approvals"` // texts of package consent
}

// How often a node may die in the sessions of a job before it comes to no other by itself. A node that dies takes its
// other jobs along, so a job that kills it is held back, whoever proposes it.
const (
	deathsInARow = 2 // without a checkpoint in between
	deathsInAll  = 8 // since the job began, or since its owner resumed it
)

// Deaths is how often this node died in a job's sessions.
type Deaths struct {
	InARow uint32    `toml:"in_a_row,omitzero"` // without a checkpoint in between
	InAll  uint32    `toml:"in_all,omitzero"`
	Last   uint32    `toml:"last,omitzero"` // the session of the latest
	Mark   keys.Hash `toml:"mark"`          // of the checkpoints that it left
}

// Hold reports whether the node comes to no session of the job by itself.
func (d *Deaths) Hold() bool { return d.InARow >= deathsInARow || d.InAll >= deathsInAll }

// Files in a job's folder that this package writes. Contract is for people; the others are in envelopes (package
// vault).
const (
	ContractCopy = transcript.ContractFile // a copy of ContractFile for people, made anew when it is damaged

	ContractFile = "contract"
	RecordFile   = "status"
	EndingFile   = "end"
	ReportFile   = "report" // what this party says of a job that is done
	// Drafts begins the names of what sessions keep of this party's part until the job is done. Shares of two sessions do
	// not fit together, and all sign for the parts of one.
	Drafts = "model-"
)

// Draft names what a session keeps of this party's part.
func Draft(session uint32) string { return Drafts + strconv.FormatUint(uint64(session), 10) }

// HashOf returns the contract's hash that names a job's folder, which may be that of any node on this machine.
func HashOf(folder string) (h keys.Hash, err error) {
	if err := h.UnmarshalText([]byte(strings.TrimSpace(filepath.Base(folder)))); err != nil {
		return h, fmt.Errorf("%s is no job's folder: %w", folder, err)
	}
	return h, nil
}
