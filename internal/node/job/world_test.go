package job

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// errKilled is what the writes of a killed process come to.
var errKilled = errors.New("the process was killed at this write")

// memory is a Disk in memory, whose process can be killed at a write and whose files can be damaged.
type memory struct {
	files   map[string][]byte
	damaged map[string]bool
	writes  int
	kill    int  // the process is killed at this write, from 1; 0: at none
	stored  bool // what it is killed at is done
	dead    bool
	full    bool // the disk takes nothing
	aside   []string
}

func newMemory() *memory { return &memory{files: map[string][]byte{}, damaged: map[string]bool{}} }

// again is the disk as the process finds it when it starts again.
func (m *memory) again() *memory {
	return &memory{files: maps.Clone(m.files), damaged: maps.Clone(m.damaged)}
}

func (m *memory) write(do func()) error {
	if m.dead {
		return errKilled
	}
	if m.full {
		return errors.New("no space left on device")
	}
	if m.writes++; m.writes != m.kill {
		do()
		return nil
	}
	if m.dead = true; m.stored {
		do()
	}
	return errKilled
}

func (m *memory) Load(name string) ([]byte, error) {
	if m.damaged[name] {
		return nil, &vault.DamagedError{Path: name, Why: "its bytes are others"}
	}
	return bytes.Clone(m.files[name]), nil
}

func (m *memory) Save(name string, data []byte) error {
	return m.write(func() { m.files[name] = bytes.Clone(data); delete(m.damaged, name) })
}

func (m *memory) Remove(name string) error { return m.write(func() { delete(m.files, name) }) }

func (m *memory) SetAside(name string, _ error) error {
	m.aside = append(m.aside, name)
	return m.write(func() { delete(m.files, name); delete(m.damaged, name) })
}

func (m *memory) Names() []string { return slices.Sorted(maps.Keys(m.files)) }

func (m *memory) Time(string) time.Time { return began.Add(time.Hour) }

// began is when the job of the tests was consented to.
var began = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// members are the parties of the tests' job, and who holds which key.
type members struct {
	contract *contract.Contract
	keys     []*keys.PrivateKey
}

// fataler is a test, or one that rapid draws.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// newMembers makes a job of three: over columns, or over clients of the first.
func newMembers(t fataler, overClients bool) *members {
	t.Helper()
	names := []string{"bank", "insurer", "telco"}
	j := &contract.Job{
		Format: "hanse-job-v1", Name: "trial", Algorithm: "fdskl", Task: contract.TaskTrain, Parties: names,
		Privacy: keys.PrivacyMasked, Topology: "star", Table: "train", Record: contract.RecordDigests,
		Expires: began.AddDate(0, 0, 7).Format(time.RFC3339), Charter: keys.Hash{1}.String(), Proposer: "bank",
		Nonce: "00112233445566778899aabbccddeeff", Parameters: map[string]any{},
	}
	m := new(members)
	var facts []contract.Facts
	for i, name := range names {
		k, err := keys.GenerateKey()
		must(t, err)
		f := contract.Facts{Name: name, ID: k.ID(), Role: "passive", Rows: 10, Columns: 2}
		switch {
		case overClients && i == 0:
			f = contract.Facts{Name: name, ID: k.ID(), Role: "server"}
		case overClients:
			f.Role, f.Rows = "client", 0
		case i == 0:
			f.Role = "active"
		}
		facts, m.keys = append(facts, f), append(m.keys, k)
	}
	if overClients {
		j.Algorithm, j.Servers = "pofmkl", names[:1]
	}
	c, err := contract.NewContract(j, facts, nil, contract.SessionOperations(len(facts), nil))
	must(t, err)
	m.contract = c
	return m
}

// folder is where a party has the job, for errors.
func (m *members) folder() string { return m.contract.Hash().String() }

// config is the Config of a party.
func (m *members) config(i int) Config {
	return Config{Self: m.contract.Parties[i].Name, Part: "model.hanse", Program: "v1.0.0"}
}

// create keeps the job on a party's disk, as a proposal.
func (m *members) create(t fataler, i int, d Disk) *Job {
	t.Helper()
	must(t, Create(d, m.config(i), m.contract, Record{State: Proposed}))
	return New(d, m.folder(), m.config(i), m.contract, Record{State: Proposed})
}

// open reads the job from a party's disk, as its node does when it starts.
func (m *members) open(t fataler, i int, d Disk) *Job {
	t.Helper()
	j, _, err := Open(d, m.folder(), func(*contract.Contract) Config { return m.config(i) })
	must(t, err)
	return j
}

// signed is the contract with all signatures.
func (m *members) signed(t fataler) contract.InForce {
	t.Helper()
	c, err := contract.ParseContract(m.contract.Text())
	must(t, err)
	for _, k := range m.keys {
		c.Sign(k)
	}
	f, err := c.InForce()
	must(t, err)
	return f
}

// part is what a party keeps of a session, and the digest of it.
func (m *members) part(i int, session uint32) (data []byte, digest keys.Hash) {
	data = fmt.Appendf(nil, "the part of %s of session %d", m.contract.Parties[i].Name, session)
	return data, keys.HashOf("part", data)
}

// done is the ending of a session, without signatures.
func (m *members) done(t fataler, session uint32) *contract.Ending {
	t.Helper()
	e := contract.Ending{Outcome: contract.OutcomeDone, Session: session}
	for _, p := range m.contract.Enders() {
		_, digest := m.part(m.contract.Job.Index(p.Name), session)
		e.Parts = append(e.Parts, contract.PartDigest{Party: p.Name, Digest: digest})
	}
	made, err := contract.NewEnding(m.contract, e)
	must(t, err)
	return made
}

// agreed is done with all the signatures that it needs.
func (m *members) agreed(t fataler, session uint32) *contract.Ending {
	e := m.done(t, session)
	for _, p := range m.contract.Enders() {
		e.Sign(m.keys[m.contract.Job.Index(p.Name)])
	}
	return e
}

// word is an ending by one party, signed.
func (m *members) word(t fataler, i int, outcome contract.Outcome, reason string) *contract.Ending {
	t.Helper()
	e := contract.Ending{Outcome: outcome, By: m.contract.Parties[i].Name, Reason: reason}
	made, err := contract.NewEnding(m.contract, e)
	must(t, err)
	made.Sign(m.keys[i])
	return made
}

// consent is a person's.
func consent() *Consent { return &Consent{By: ByOwner, At: began, Person: "ana", Salt: "00"} }

// mustApply has events happen.
func mustApply(t testing.TB, j *Job, events ...Event) (effects []Effect) {
	t.Helper()
	for _, e := range events {
		follows, err := j.Apply(e)
		if err != nil {
			t.Fatalf("%T: %v", e, err)
		}
		effects = append(effects, follows...)
	}
	return effects
}

// must ends the test on an error.
func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
