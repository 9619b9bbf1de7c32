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
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// OwnModel is what a job over clients left at one of its parties. Its owner needs nobody else to use it.
type OwnModel struct {
	federated.Model
	Contract *protocol.Contract
	Party    string
	Server   bool
}

// ReadOwnModel reads the model that a job over clients left in a node's folder, also while the node runs: nothing is
// written, and no file is waited for. job is from Trainings, and must be done.
func ReadOwnModel(dir string, job *JobInfo) (*OwnModel, error) {
	switch {
	case job.State == StateDone:
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
	if isDamage(err) {
		return nil, fmt.Errorf("%w; put a copy of it back, or run the job anew", err)
	}
	if err != nil {
		return nil, err
	}
	m := &OwnModel{Contract: c, Party: job.Self, Server: slices.Contains(c.Job.Servers, job.Self)}
	if m.Model, err = decodeOwnModel(c, job.Self, data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// decodeOwnModel reads the model of a party of a job over clients.
func decodeOwnModel(c *protocol.Contract, party string, data []byte) (federated.Model, error) {
	self := c.Job.Index(party)
	if self < 0 {
		return nil, fmt.Errorf("%s is no party of job %q", party, c.Job.Name)
	}
	serves := c.Job.Serves(self)
	switch c.Job.Algorithm {
	case algorithmPOFMKL:
		params, err := pofmklParams(c.Job)
		if err != nil {
			return nil, err
		}
		d, err := pofmkl.NewDictionary(params, numbered(c))
		if err != nil {
			return nil, err
		}
		return pofmkl.DecodeModel(d, serves, data)
	case algorithmGFML:
		plan, err := gfmlPlan(c.Job)
		if err != nil {
			return nil, err
		}
		at := c.Job.ServerOf(self)
		server := slices.Index(c.Job.Servers, c.Job.Parties[at])
		if serves {
			return plan.DecodeServerModel(server, data)
		}
		return plan.DecodeModel(server, slices.Index(c.Job.ClientsOf(at), self), data)
	case algorithmOFMSFT:
		params, err := ofmsftParams(c.Job)
		if err != nil {
			return nil, err
		}
		return ofmsft.DecodeMixture(params, serves, data)
	}
	return nil, fmt.Errorf("job %q is of algorithm %q, of which no party has a model of its own",
		c.Job.Name, c.Job.Algorithm)
}

// Portable returns the model as other programs read it, with whose it is and what of it is theirs alone.
func (m *OwnModel) Portable() *portable.Model {
	p := m.Model.Portable()
	p.Format, p.Role = portable.Format, portable.RoleServer
	p.Job, p.Contract, p.Party = m.Contract.Job.Name, m.Contract.Hash().String(), m.Party
	if m.Server {
		return p
	}
	p.Role = portable.RoleClient
	const all = "%s's own: no other party has them, and something of the labels can be told from them"
	p.Private = fmt.Sprintf("the kernels' weights are "+all, m.Party)
	switch {
	case m.Contract.Job.Algorithm == algorithmGFML && m.Contract.Job.Privacy == "published":
		p.Private = fmt.Sprintf("the numbers in theta are %s's own: its server saw what they were at its last upload, since the "+
			"job was published, and something of the labels can be told from them", m.Party)
	case m.Contract.Job.Algorithm == algorithmGFML:
		p.Private = fmt.Sprintf("the numbers in theta are "+all, m.Party)
	case m.Contract.Job.Algorithm == algorithmOFMSFT:
		p.Private = fmt.Sprintf("the networks' weights and shares are "+all, m.Party)
	}
	return p
}

// Trainings lists the node's trainings and how they stand. Where no node runs it reads them from the node's folder, and
// writes nothing there.
func (c *Client) Trainings(ctx context.Context) (all []JobInfo, running bool, err error) {
	all, err = c.Jobs(ctx)
	running = err == nil
	if errors.Is(err, errNoNode) {
		var found error
		if all, found = readJobs(c.dir); found == nil {
			err = nil
		} else if !errors.Is(found, fs.ErrNotExist) {
			err = errors.Join(err, found)
		}
	}
	return slices.DeleteFunc(all, func(j JobInfo) bool { return j.Task != protocol.TaskTrain }), running, err
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

// serveTable returns where one of the node's tables is, for a command on this machine that reads it.
func (n *Node) serveTable(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	spec, ok := n.tables.specs[name]
	var path string
	var err error
	switch {
	case !ok:
		err = fmt.Errorf("this node has no table %q; it has %s: name one of these with --table, or a file with --data",
			name, n.tables.names())
	case spec.Path == stream.Stdin:
		err = fmt.Errorf("table %q is the node's standard input, whose rows do not come again: name a file with --data", name)
	default:
		path, err = filepath.Abs(spec.Path)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	json.NewEncoder(w).Encode(path)
}

// readJobs lists the jobs in the folder of a node that does not run. A folder that cannot be read is left out, as the
// node would set it aside. The error is fs.ErrNotExist where no node has been started.
func readJobs(dir string) ([]JobInfo, error) {
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
		if err != nil {
			continue
		}
		if i := partyWith(c, id); i >= 0 {
			info := infoOf(c, c.Parties[i].Name)
			info.State, info.Reason = readStanding(folder, c, info.Self)
			all = append(all, info)
		}
	}
	sortInfos(all)
	return all, nil
}

// readContract reads a job's contract from its folder: the envelope or, where that cannot be read, the copy.
func readContract(folder string, h keys.Hash) (*protocol.Contract, error) {
	for _, read := range []func() ([]byte, error){
		func() ([]byte, error) { return vault.ReadFile(filepath.Join(folder, contractFile), h) },
		func() ([]byte, error) { return os.ReadFile(filepath.Join(folder, ContractFile)) },
	} {
		text, err := read()
		if err != nil {
			continue
		}
		if c, err := protocol.ParseContract(text); err == nil && c.Hash() == h {
			return c, nil
		}
	}
	return nil, &vault.DamagedError{
		Path: filepath.Join(folder, contractFile), Why: "neither it nor its copy " + ContractFile + " can be read",
	}
}

// readStanding says how a job stands by its folder. An ending that cannot be read is none: its node asks for it again.
func readStanding(folder string, c *protocol.Contract, self string) (State, string) {
	text, err := vault.ReadFile(filepath.Join(folder, endingFile), c.Hash())
	if err == nil {
		e, err := protocol.ParseEnding(c, text)
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
