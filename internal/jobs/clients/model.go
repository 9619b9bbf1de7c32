package clients

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Model is what a job over clients left at one of its parties. Its owner needs nobody else to use it.
type Model struct {
	federated.Model
	Contract *contract.Contract
	Party    string
	Server   bool

	algorithm *federated.Algorithm
}

// DecodeModel reads what the party at a job over clients kept as its model, of one of the algorithms listed.
func DecodeModel(l registry.List, c *contract.Contract, party string, data []byte) (*Model, error) {
	self := c.Job.Index(party)
	if self < 0 {
		return nil, fmt.Errorf("%s is no party of job %q", party, c.Job.Name)
	}
	a := l.OverClients(c.Job)
	if a.Name == "" {
		return nil, fmt.Errorf("job %q is of algorithm %q, of which no party has a model of its own",
			c.Job.Name, c.Job.Algorithm)
	}
	j, err := a.Read(c.Job, 0)
	if err != nil {
		return nil, err
	}
	m, err := j.Model(c, self, data)
	if err != nil {
		return nil, err
	}
	return &Model{Model: m, Contract: c, Party: party, Server: c.Job.Serves(self), algorithm: a}, nil
}

// Portable returns the model as other programs read it, with whose it is and what of it is theirs alone.
func (m *Model) Portable() *portable.Model {
	p := m.Model.Portable()
	p.Format, p.Role = portable.Format, portable.RoleServer
	p.Job, p.Contract, p.Party = m.Contract.Job.Name, m.Contract.Hash().String(), m.Party
	if m.Server {
		return p
	}
	p.Role = portable.RoleClient
	seen := "no other party has them"
	if m.algorithm.Uploaded && m.Contract.Job.Privacy == keys.PrivacyPublished {
		seen = "its server saw what they were at its last upload, since the job was published"
	}
	p.Private = fmt.Sprintf("%s %s's own: %s, and something of the labels can be told from them", m.algorithm.Private,
		m.Party, seen)
	return p
}
