package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/disk"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// views is what this node's owner sees of it.
type views struct {
	config   *Config
	life     *life
	disk     *folder
	tables   *jobs.Tables
	columns  *columns.Jobs
	traffic  *traffic
	waits    *waits
	member   *member
	roster   *roster
	sessions *sessions
	workers  *workers
	keeper   *keeper
	digests  *digests
	consents *consents
}

// Status is a node at one moment, as its owner sees it: hanse status prints it, the metrics count it, and the page
// shows it. Nothing in it is a secret, a row, or how many rows another party has; names and reasons of others are
// printable.
type Status struct {
	Time      time.Time        `json:"time"`    // by this machine's clock
	Member    string           `json:"member"`  // this node's, in its charter
	ID        string           `json:"id"`      // its public key
	Version   string           `json:"version"` // of the program
	Started   time.Time        `json:"started"`
	Dir       string           `json:"dir"` // the node's folder, absolute
	Charter   CharterStatus    `json:"charter"`
	Listening []string         `json:"listening"` // multiaddrs; none: the node only dials
	Members   []MemberStatus   `json:"members"`   // the other members, in the charter's order
	Strangers []StrangerStatus `json:"strangers"` // refused at the door, the latest first
	Jobs      []JobStatus      `json:"jobs"`      // as Jobs lists them
	Alerts    []Alert          `json:"alerts"`    // the worst first; none: all is well
	Disk      disk.Space       `json:"disk"`      // the file system of Dir; zero: this system does not say
	Folder    Disk             `json:"folder"`    // what Dir holds, as it was measured last
	// Unwritable says why nothing can be written into Dir; empty where it can.
	Unwritable string          `json:"unwritable,omitempty"`
	Traffic    []TrafficStatus `json:"traffic"`  // of jobs since the node started, by member and class
	Waits      []WaitStatus    `json:"waits"`    // of jobs since the node started, by member
	Sessions   int64           `json:"sessions"` // begun since the node started
}

// CharterStatus says which charter is in force here.
type CharterStatus struct {
	Name    string    `json:"name"`
	Version int       `json:"version"`
	Digest  string    `json:"digest"`
	Created time.Time `json:"created"`
	// Waiting are the versions that are proposed here and lack signatures, the oldest first.
	Waiting []WaitingCharter `json:"waiting"`
}

// WaitingCharter is a version of the charter that is proposed and not in force.
type WaitingCharter struct {
	Version int       `json:"version"`
	Digest  string    `json:"digest"`
	By      string    `json:"by"`    // the first member that has signed it
	Since   time.Time `json:"since"` // when it was drafted, by its drafter's clock
	File    string    `json:"file"`  // where this node's owner reads it and signs it
	Signed  bool      `json:"signed"`
	Missing []string  `json:"missing"`       // whose signatures it lacks
	New     []string  `json:"new,omitempty"` // of these whose key is new: they sign with hanse join
}

// alert says what is to be done about a version that waits.
func (w *WaitingCharter) alert(dir string) Alert {
	a := Alert{Code: CodeSignature, Level: AlertWarning, Since: w.Since, Text: fmt.Sprintf("charter version %d, which %s "+
		"proposes, drafted %s, waits for the signatures of %s", w.Version, w.By,
		wording.Time(w.Since), wording.Several(w.Missing)),
		Mend: "their nodes show it to them; whoever is away is to start its node"}
	switch {
	case !w.Signed:
		a.Mend = fmt.Sprintf("read it with hanse charter show %s, and sign it with hanse charter sign --key FILE.key %s",
			w.File, w.File)
	case len(w.New) > 0:
		a.Mend = fmt.Sprintf("with its new key %s signs by the command that hanse charter propose --dir %s %s prints",
			wording.Several(w.New), dir, w.File)
	}
	return a
}

// Network is what a node's host says of the network; see Config.Network.
type Network struct {
	Waiting   []WaitingCharter
	Listening []string
	Members   []MemberStatus
	Strangers []StrangerStatus
}

// MemberStatus is another member, as seen from here.
type MemberStatus struct {
	Name      string        `json:"name"`
	ID        string        `json:"id"`
	Kept      bool          `json:"kept"` // a link to it is kept; false: it may connect, and is not dialled
	Connected bool          `json:"connected"`
	Since     time.Time     `json:"since,omitzero"`    // when the link was made or, of one that is away, lost; zero: never
	Address   string        `json:"address,omitempty"` // the member's end of the link, as a multiaddr
	Path      string        `json:"path,omitempty"`    // how that address was found, or that the member dialled
	RTT       time.Duration `json:"rtt_ns,omitempty"`  // of the latest heartbeat
	Version   string        `json:"version,omitempty"` // of its program, by its own word; empty: it has not said
	Heard     time.Time     `json:"heard,omitzero"`    // when the last byte came; zero: never
	// OtherWire says that Trouble is for the versions of the two programs: there is no link until one is updated.
	OtherWire bool `json:"other_wire,omitempty"`
	// ClockAhead is by how much its clock is ahead of this one's, negative when it is behind.
	ClockAhead time.Duration `json:"clock_ahead_ns,omitempty"`
	Clock      string        `json:"clock,omitempty"`   // how the two clocks differ and what that breaks; or empty
	Trouble    string        `json:"trouble,omitempty"` // why there is no link, or what it is restricted to
	Links      int64         `json:"links"`             // made with it since the node started
	In         int64         `json:"in"`                // bytes since the node started: jobs, calls, heartbeats, discovery
	Out        int64         `json:"out"`
}

// StrangerStatus is somebody who is no member and was refused.
type StrangerStatus struct {
	ID      string    `json:"id"`
	Address string    `json:"address"`
	Reason  string    `json:"reason"`
	Last    time.Time `json:"last"`
}

// JobStatus is a job and what passes in it here.
type JobStatus struct {
	JobInfo
	Session time.Time      `json:"session,omitzero"` // when the session that is on began; zero: none is on
	Sent    []EgressStatus `json:"sent,omitempty"`   // in the latest session since the node started
	// Waited is for how many seconds that session was blocked on each other party, which may itself have waited.
	Waited map[string]float64 `json:"waited,omitempty"`
	Curve  []Point            `json:"curve,omitempty"` // the latest step's metric as it came, evenly thinned
}

// Point is a step's metric when so much of the step was done.
type Point struct {
	Done   int64   `json:"done"`
	Metric float64 `json:"metric"`
}

// EgressStatus is what left this machine in a session for one party in one class, and what may.
type EgressStatus struct {
	Peer   string `json:"peer"`
	Class  string `json:"class"` // as contracts name it
	Bytes  int64  `json:"bytes"` // of payload
	Agreed int64  `json:"agreed"`
}

// TrafficStatus is what passed between this node and another member in jobs.
type TrafficStatus struct {
	Peer  string `json:"peer"`
	Class string `json:"class"` // as contracts name it
	Sent  int64  `json:"sent"`  // bytes of payload
	Read  int64  `json:"read"`
}

// The levels of an alert.
const (
	AlertWarning  = "warning"  // it needs somebody, some time
	AlertCritical = "critical" // jobs stand still until it is mended
)

// The codes of alerts. They are part of what programs read, and keep their meaning.
const (
	CodeDisk     = "disk"     // the node's file system is nearly full
	CodeTwin     = "twin"     // another node runs with this one's key
	CodeAway     = "away"     // a member that a link is kept with has none
	CodeClock    = "clock"    // a member's clock and this one's differ
	CodeCharter  = "charter"  // a member is on another version of the charter
	CodeVersion  = "version"  // a member's program speaks another version of the wire
	CodePaused   = "paused"   // a job stands still
	CodeSlow     = "slow"     // a session waits for one member most of the time, and takes far longer than forecast
	CodeProposal = "proposal" // a job waits for a person here
	// CodeSignature: a version of the charter lacks signatures, this member's or others'.
	CodeSignature = "signature"
	CodeUnbegun   = "unbegun" // an agreed job that nobody starts ends by itself within a day
)

// Alert is something that the node's owner should look at.
type Alert struct {
	Code  string    `json:"code"`            // what it is, for programs
	Level string    `json:"level"`           // AlertWarning or AlertCritical
	About string    `json:"about,omitempty"` // a member or a job; empty: this node
	Text  string    `json:"text"`            // what is wrong, in a sentence
	Mend  string    `json:"mend,omitempty"`  // what to do; empty where Text says it
	Since time.Time `json:"since,omitzero"`
}

// awayAfter is how long a member may be away before that is an alert: nodes are started again, and lines drop.
const awayAfter = time.Minute

// unbegunNotice is how long before an agreed job ends by itself its owner is told.
const unbegunNotice = 24 * time.Hour

// Status returns the node as it is now.
func (n *views) Status() Status {
	charter := n.member.currentCharter()
	s := Status{
		Time: time.Now(), Member: n.member.name(), ID: n.config.Key.ID().String(), Version: n.config.Version,
		Started: n.life.started, Dir: n.config.Dir, Jobs: n.jobStatuses(), Traffic: n.traffic.status(n.member.memberName),
		Waits: n.waits.status(), Sessions: n.sessions.sessionsBegun(),
		Charter: CharterStatus{Name: charter.Name, Version: charter.Version, Digest: charter.Digest().String(),
			Created: charter.Created},
	}
	if dir, err := filepath.Abs(s.Dir); err == nil {
		s.Dir = dir
	}
	if n.config.Network != nil {
		network := n.config.Network()
		s.Listening, s.Members, s.Strangers = network.Listening, network.Members, network.Strangers
		s.Charter.Waiting = network.Waiting
	}
	s.Disk, _ = disk.Of(n.config.Dir) // zero: not known
	s.Folder = n.disk.known()
	s.Unwritable = n.disk.trouble()
	s.alert()
	s.Charter.Waiting = orEmpty(s.Charter.Waiting)
	s.Listening, s.Members = orEmpty(s.Listening), orEmpty(s.Members)
	s.Strangers, s.Jobs = orEmpty(s.Strangers), orEmpty(s.Jobs)
	s.Alerts, s.Traffic, s.Waits = orEmpty(s.Alerts), orEmpty(s.Traffic), orEmpty(s.Waits)
	return s
}

// orEmpty makes a list that JSON writes as one, also where nothing is in it.
func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

// alert finds what its owner should look at.
func (s *Status) alert() {
	add := func(a Alert) { s.Alerts = append(s.Alerts, a) }
	if level := s.Disk.Level(); level != disk.Ample {
		a := Alert{Code: CodeDisk, Level: AlertWarning, Text: fmt.Sprintf("%s of %s are free where this node keeps its "+
			"jobs, in %s", wording.Size(s.Disk.Free), wording.Size(s.Disk.Total), s.Dir),
			Mend: "make room there: transcripts and payloads of jobs grow with every session"}
		if level == disk.Full {
			a.Level = AlertCritical
		}
		add(a)
	}
	if s.Unwritable != "" {
		add(Alert{Code: CodeDisk, Level: AlertCritical, Text: fmt.Sprintf("nothing can be written where this node keeps its "+
			"jobs, in %s: %s", s.Dir, s.Unwritable), Mend: "mend the disk, or mount it for writing; jobs that pause go on then"})
	}
	for _, m := range s.Members {
		switch {
		case m.OtherWire:
			add(Alert{Code: CodeVersion, Level: AlertCritical, About: m.Name, Text: m.Trouble,
				Mend: "docs/life.md says how to update a federation"})
		case !m.Connected && m.Kept && s.Time.Sub(m.awaySince(s.Started)) >= awayAfter:
			add(Alert{Code: CodeAway, Level: AlertWarning, About: m.Name, Since: m.awaySince(s.Started),
				Text: m.Name + " is away: " + cmp.Or(m.Trouble, "no attempt to connect has ended yet"),
				Mend: "hanse doctor --member " + m.Name + " says what to change"})
		case m.Connected && m.Trouble != "":
			add(Alert{Code: CodeCharter, Level: AlertCritical, About: m.Name, Text: m.Trouble,
				Mend: "hanse doctor --member " + m.Name + " says what to change"})
		}
		if m.Clock != "" {
			add(Alert{Code: CodeClock, Level: AlertWarning, About: m.Name, Text: m.Clock})
		}
	}
	for i := range s.Charter.Waiting {
		add(s.Charter.Waiting[i].alert(s.Dir))
	}
	for _, stranger := range s.Strangers {
		if stranger.ID == s.ID {
			add(Alert{Code: CodeTwin, Level: AlertCritical, Since: stranger.Last,
				Text: "a node with this one's key called from " + stranger.Address,
				Mend: "stop one of the two; if the other is not yours, the key is out: have it revoked"})
		}
	}
	for _, j := range s.Jobs {
		if !j.StartBy.IsZero() && s.Time.Add(unbegunNotice).After(j.StartBy) {
			add(Alert{Code: CodeUnbegun, Level: AlertWarning, About: j.Name, Text: fmt.Sprintf("job %s of %s was agreed to, "+
				"and ends by itself on %s unless a session begins", j.Name, j.Proposer,
				wording.Time(j.StartBy)),
				Mend: "ask " + j.Proposer + ", or whom it waits for"})
		}
		if !j.Session.IsZero() {
			if slow := j.Forecast.Slow(s.Time.Sub(j.Session).Seconds(), j.Waited); slow != nil {
				add(Alert{Code: CodeSlow, Level: AlertWarning, About: j.Name, Since: j.Session,
					Text: fmt.Sprintf("job %s of %s takes %s", j.Name, j.Proposer, slow),
					Mend: "hanse doctor --member " + slow.Party + " looks at the line; ask there what its machine does"})
			}
		}
		switch j.State {
		case job.Paused:
			add(Alert{Code: CodePaused, Level: AlertWarning, About: j.Name, Text: fmt.Sprintf("job %s stands still%s", j.Name,
				because(j.Reason))})
		case job.Proposed:
			add(Alert{Code: CodeProposal, Level: AlertWarning, About: j.Name, Text: fmt.Sprintf("job %s of %s waits for your "+
				"word until %s", j.Name, j.Proposer, j.Expires), Mend: "hanse approve " + j.Name})
		}
	}
	slices.SortStableFunc(s.Alerts, func(a, b Alert) int { return cmp.Compare(a.Level, b.Level) }) // critical first
}

// awaySince is when a member without a link was lost or, when it never had one, when the node started.
func (m *MemberStatus) awaySince(started time.Time) time.Time {
	if m.Since.IsZero() {
		return started
	}
	return m.Since
}

// jobStatuses lists the jobs with what passes in them.
func (n *views) jobStatuses() []JobStatus {
	var all []JobStatus
	for _, info := range n.Jobs() {
		j := JobStatus{JobInfo: info}
		var h keys.Hash
		if h.UnmarshalText([]byte(info.Contract)) == nil {
			if s, ok := n.roster.job(h); ok {
				s.watched.status(&j)
			}
		}
		all = append(all, j)
	}
	return all
}

// scores reads the scores that opened here, which are those that this node signed for.
func (n *views) scores(s *jobState) ([]byte, error) {
	if job := s.Contract().Job; job.Task != contract.TaskPredict || job.OpenTo != s.Self() || job.Requests > 0 {
		return nil, fmt.Errorf("job %q keeps no scores here: they are those of a prediction, at the party that they open to",
			job.Name)
	}
	if err := n.keeper.checkPart(s, jobs.ScoresFile); err != nil {
		return nil, err
	}
	return os.ReadFile(s.vault.Path(jobs.ScoresFile))
}

// ScoreRow asks a serving prediction for one row's score, as a scores file has it; no id ends the prediction. When
// the job ends before, the error says how.
func (n *views) ScoreRow(ctx context.Context, h keys.Hash, id string) ([]string, error) {
	final := make(<-chan struct{})
	s, ok := n.roster.job(h)
	if ok { // else it has yet to be proposed here
		final = s.Final()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.life.ctx, func() { cancel(errors.New("the node stops")) })()
	row, ended, err := n.columns.ScoreRow(ctx, h, id, final)
	if !ended {
		return row, err
	}
	if err := s.EndedError(); err != nil || id == "" { // that it ends is no error
		return nil, err
	}
	return nil, fmt.Errorf("job %q was done before it came to row %q", s.Contract().Job.Name, id)
}
