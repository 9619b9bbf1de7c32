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
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// ReadOwnModel reads the model that a job over clients left in a node's folder, also while the node runs: nothing is
// written, and no file is waited for. job is from Trainings, and must be done.
func ReadOwnModel(l registry.List, dir string, j *JobInfo) (*clients.Model, error) {
	switch {
	case j.State == job.Done:
	case j.State == job.Unread:
		return nil, errors.New(j.Reason)
	case j.State.Final():
		return nil, fmt.Errorf("job %q is %s%s: no model came of it", j.Name, j.State, because(j.Reason))
	default:
		return nil, fmt.Errorf("job %q is %s%s, not done: hanse result %s --wait --dir %s waits for it",
			j.Name, j.State, because(j.Reason), j.Name, dir)
	}
	var h keys.Hash
	if err := h.UnmarshalText([]byte(j.Contract)); err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, jobsDir, h.String())
	c, err := job.ReadContract(folder, h)
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
	m, err := clients.DecodeModel(l, c, j.Self, data)
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
		c, err := job.ReadContract(folder, h)
		if other, ok := errors.AsType[*vault.VersionError](err); ok {
			all = append(all, unreadJob(folder, h, other))
		}
		if err != nil {
			continue
		}
		r, _ := job.ReadRecord(folder) // what cannot be read says nothing
		if i := partyWith(c, id); i >= 0 && r.Removed.IsZero() {
			info := infoOf(c, c.Parties[i].Name)
			info.Made, info.Ended = r.Made, r.Ended
			info.State, info.Reason = job.ReadStanding(folder, c, info.Self)
			all = append(all, info)
		}
	}
	sortInfos(all)
	return all, nil
}
