package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// ReadOwnModel reads the model that a job over clients left in a node's folder, also while the node runs: nothing is
// written, and no file is waited for. job is from Trainings, and must be done.
func ReadOwnModel(dir string, job *JobInfo) (*clients.Model, error) {
	switch {
	case job.State == StateDone:
	case job.State == StateUnread:
		return nil, errors.New(job.Reason)
	case job.State.Final():
		return nil, fmt.Errorf("job %q is %s%s: no model came of it", job.Name, job.State, because(job.Reason))
	default:
		return nil, fmt.Errorf("job %q is %s%s, not done: hanse result %s --wait --dir %s waits for it",
			job.Name, job.State, because(job.Reason), job.Name, dir)
	}
	var h keys.Hash
	if err := h.UnmarshalText([]byte(job.Contract)); err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, jobsDir, h.String())
	c, err := readContract(folder, h)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, federated.ModelSlot)
	data, err := vault.ReadFile(path, h)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("job %q left no model at this node, which had no part in its last rounds, or was killed "+
			"before it kept one: the job's other parties have theirs", c.Job.Name)
	}
	if faults.IsDamage(err) {
		return nil, fmt.Errorf("%w; put a copy of it back, or run the job anew", err)
	}
	if err != nil {
		return nil, err
	}
	m, err := clients.DecodeModel(c, job.Self, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Trainings lists the node's trainings and how they stand. Where no node runs it reads them from the node's folder, and
// writes nothing there.
func (c *Client) Trainings(ctx context.Context) (all []JobInfo, running bool, err error) {
	all, err = c.Jobs(ctx)
	running = err == nil
	if errors.Is(err, errNoNode) {
		var found error
		if all, found = ReadJobs(c.dir); found == nil {
			err = nil
		} else if !errors.Is(found, fs.ErrNotExist) {
			err = errors.Join(err, found)
		}
	}
	return slices.DeleteFunc(all, func(j JobInfo) bool { return j.Task != contract.TaskTrain }), running, err
}

// TablePath returns the file of one of the running node's tables.
func (c *Client) TablePath(ctx context.Context, name string) (string, error) {
	body, err := c.do(ctx, http.MethodGet, "/table?"+url.Values{"name": {name}}.Encode(), nil)
	if err != nil {
		return "", err
	}
	defer body.Close()
	var path string
	return path, json.NewDecoder(body).Decode(&path)
}

// NoNode reports whether an error is that no node runs.
func NoNode(err error) bool { return errors.Is(err, errNoNode) }

// ReadJobs lists the jobs in the folder of a node, also of one that does not run. A folder that cannot be read is left
// out, as the node would set it aside. The error is fs.ErrNotExist where no node has been started.
func ReadJobs(dir string) ([]JobInfo, error) {
	who, err := ReadIdentity(dir)
	if err != nil {
		return nil, err
	}
	id, err := keys.ParseID(who.ID)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, jobsDir))
	if err != nil {
		return nil, err
	}
	var all []JobInfo
	for _, e := range entries {
		var h keys.Hash
		if !e.IsDir() || h.UnmarshalText([]byte(e.Name())) != nil {
			continue
		}
		folder := filepath.Join(dir, jobsDir, e.Name())
		c, err := readContract(folder, h)
		if other, ok := errors.AsType[*vault.VersionError](err); ok {
			all = append(all, unreadJob(folder, h, other))
		}
		if err != nil {
			continue
		}
		if i, r := partyWith(c, id), readStatus(folder, h); i >= 0 && r.Removed.IsZero() {
			info := infoOf(c, c.Parties[i].Name)
			info.Made, info.Ended = r.Made, r.Ended
			info.State, info.Reason = readStanding(folder, c, info.Self)
			all = append(all, info)
		}
	}
	sortInfos(all)
	return all, nil
}

// readStatus reads what is kept of a job beside its contract and its ending, nothing where that cannot be read.
func readStatus(folder string, h keys.Hash) (r statusRecord) {
	text, err := vault.ReadFile(filepath.Join(folder, statusFile), h)
	if err == nil && keys.DecodeStrict(statusFile, text, &r) != nil {
		return statusRecord{}
	}
	return r
}

// readContract reads a job's contract from its folder: the envelope or, where that cannot be read, the copy.
func readContract(folder string, h keys.Hash) (*contract.Contract, error) {
	path := filepath.Join(folder, contractFile)
	kept, err := vault.ReadFile(path, h)
	if other, ok := errors.AsType[*vault.VersionError](err); ok {
		return nil, other
	}
	copied, _ := os.ReadFile(filepath.Join(folder, ContractFile))
	return parseKept(path, kept, copied, h)
}

// readStanding says how a job stands by its folder. An ending that cannot be read is none: its node asks for it again.
func readStanding(folder string, c *contract.Contract, self string) (State, string) {
	text, err := vault.ReadFile(filepath.Join(folder, endingFile), c.Hash())
	if err == nil {
		e, err := contract.ParseEnding(c, text)
		if err == nil && e.InForce(c) == nil {
			return State(e.Outcome), reasonOfEnding(c, e, self, "")
		}
	}
	var r statusRecord
	text, err = vault.ReadFile(filepath.Join(folder, statusFile), c.Hash())
	if err != nil || keys.DecodeStrict(statusFile, text, &r) != nil || r.State.Final() {
		return StatePaused, "its end cannot be read in its folder: start the node, which asks the other parties for it"
	}
	return r.State, r.Reason
}
