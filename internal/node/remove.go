package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/keys"
)

// whatStays are the files of a job that is removed which stay. Without the contract and its end the same contract could
// be consented to and run a second time; without the status the policy's bounds over 30 days, and what a row's scores
// were counted at, would be forgotten; without the log of scored rows a model part that comes back from a copy would
// score them again; and the transcript is what an audit proves with that nothing else left.
var whatStays = []string{job.ContractFile, job.ContractCopy, job.EndingFile, job.RecordFile, TranscriptFile,
	auditedFile, columns.ScoredRowsFile}

// Removal is what becomes of a job's files when its owner removes it.
type Removal struct {
	Contract string `json:"contract"`
	Job      string `json:"job"`
	Goes     []Pile `json:"goes"`
	Stays    []Pile `json:"stays"`
}

// Pile is files of one use.
type Pile struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
}

// usesOf says what a file in a job's folder is.
var usesOf = map[string]string{
	job.ContractFile: "contract and its end", job.ContractCopy: "contract and its end",
	job.EndingFile:          "contract and its end",
	job.RecordFile:          "who consented, when, and what it counts for",
	TranscriptFile:          "transcript: what passed, by digests, chained and signed",
	auditedFile:             "what its audit concluded",
	columns.ScoredRowsFile:  "which rows were scored with this model",
	PayloadFolder:           "payloads of the transcript",
	jobs.ModelFile:          "this member's part of the model",
	jobs.AlignmentFile:      "the common rows",
	jobs.ScoresFile:         "scores",
	columns.KnownScoresFile: "scores that opened here with this model",
	job.ReportFile:          "report",
}

// otherUse is that of all other files.
const otherUse = "states and secrets of the job"

// PlanRemoval says what Remove would do, or why it is refused.
func (n *Node) PlanRemoval(h keys.Hash) (*Removal, error) {
	s, err := n.removable(h)
	if err != nil {
		return nil, err
	}
	return s.planRemoval()
}

// planRemoval adds up the files of a job's folder.
func (s *jobState) planRemoval() (*Removal, error) {
	r := &Removal{Contract: s.Contract().Hash().String(), Job: s.Contract().Job.Name}
	entries, err := os.ReadDir(s.vault.Path("."))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		bytes, err := sizeOf(s.vault.Path(e.Name()))
		if err != nil {
			return nil, err
		}
		list, what := &r.Goes, usesOf[e.Name()]
		switch {
		case e.Name() == "index":
			continue
		case e.Name() == shards.Folder: // transcripts stay, and what they keep of payloads goes
			what, list = whatShards, &r.Stays
			for _, folder := range s.shardPayloads() {
				size, err := sizeOf(folder)
				if err != nil {
					return nil, err
				}
				bytes -= size
				r.Goes = addPile(r.Goes, usesOf[PayloadFolder], size)
			}
		case shards.IsRecord(e.Name()):
			what, list = whatShards, &r.Stays
		case slices.Contains(whatStays, e.Name()):
			list = &r.Stays
		case what == "":
			what = otherUse
		}
		*list = addPile(*list, what, bytes)
	}
	return r, nil
}

// whatShards is what stays of the sessions of shards.
const whatShards = "transcripts and contracts of shards"

// addPile adds bytes to what is of one use.
func addPile(list []Pile, what string, bytes int64) []Pile {
	at := slices.IndexFunc(list, func(p Pile) bool { return p.What == what })
	if at < 0 {
		at, list = len(list), append(list, Pile{What: what})
	}
	list[at].Bytes += bytes
	return list
}

// shardPayloads lists the folders of payloads of the sessions of a job's shards.
func (s *jobState) shardPayloads() []string {
	list, _ := filepath.Glob(filepath.Join(s.vault.Path(shards.Folder), "*", "*", shards.PayloadFolder))
	return list
}

// clearRemoved deletes what does not stay of a job that is removed.
func (s *jobState) clearRemoved() error {
	keep := append(slices.Clone(whatStays), shards.Folder)
	for _, name := range s.vault.Names() {
		if shards.IsRecord(name) {
			keep = append(keep, name)
		}
	}
	errs := []error{s.vault.Clear(keep...)}
	for _, folder := range s.shardPayloads() {
		errs = append(errs, os.RemoveAll(folder))
	}
	return errors.Join(errs...)
}

// sizeOf adds up the bytes of a file, or of all files below a folder. What is deleted meanwhile counts nothing.
func sizeOf(path string) (total int64, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return skipGone(err)
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return skipGone(err)
	})
	return total, err
}

// skipGone is err, unless it says that a file is not there any more.
func skipGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removable returns a job that may be removed: one that has ended, and that no open job needs.
func (n *Node) removable(h keys.Hash) (*jobState, error) {
	s, ok := n.job(h)
	if !ok {
		return nil, fmt.Errorf("this node has no job %s", h.Short())
	}
	name := s.Contract().Job.Name
	if err := s.Removable(); err != nil {
		return nil, err
	}
	if n.inSession(s) {
		return nil, fmt.Errorf("job %q is ending: its last session is still on; try again in a moment", name)
	}
	for _, open := range n.openJobs() {
		if job := open.Contract().Job; job.Model == h.String() || job.Alignment == h.String() {
			return nil, fmt.Errorf("job %q is needed by job %q, which is %s: cancel that one, or wait for its end", name,
				job.Name, open.State())
		}
	}
	return s, nil
}

// Remove deletes what a job that has ended left at this node, but for what this member's promises to others rest on:
// see whatStays. It cannot be taken back. The other parties keep what is theirs.
func (n *Node) Remove(h keys.Hash) (*Removal, error) {
	s, err := n.removable(h)
	if err != nil {
		return nil, err
	}
	r, err := s.planRemoval()
	if err != nil {
		return nil, err
	}
	n.config.Log.Info("a job is removed by its owner", "job", r.Job, "contract", h.Short())
	return r, n.apply(s, job.Removed{Now: n.config.Now().UTC().Round(0)})
}

// Removed lists the jobs of which the owner has removed what they left, the newest first.
func (n *Node) Removed() []JobInfo {
	var all []JobInfo
	for _, s := range n.allJobs() {
		if r := s.Record(); !r.Removed.IsZero() {
			info := infoOf(s.Contract(), s.Self())
			info.State, info.Consent, info.Sessions = r.State, r.Consent, r.Session
			info.Made, info.Ended, info.Standing = r.Made, r.Ended, string(r.State)+", removed"
			info.Reason, info.Audited = "removed on "+r.Removed.UTC().Format(time.DateOnly), n.audited(s)
			all = append(all, info)
		}
	}
	sortInfos(all)
	return all
}
