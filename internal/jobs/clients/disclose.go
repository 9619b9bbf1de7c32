package clients

import (
	"errors"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// ServerFile is where the algorithms over clients keep a server's state, in a job's vault.
const ServerFile = federated.ServerSlot

// ClientFile is the name of a client's state.
const ClientFile = federated.ClientSlot

// Facts implements jobs.Task: a server brings what its algorithm says, a client the names of its stream's columns.
func (t *task) Facts() (contract.Facts, error) {
	f := contract.Facts{Name: t.member.Name(), ID: t.member.ID, Role: federated.RoleServer}
	var err error
	if slices.Contains(t.contracted.Servers, f.Name) {
		f.Columns, err = t.job.Brings(t.member.table)
		return f, err
	}
	label, inputs := t.job.Stream()
	s, err := t.member.Tables.OpenStream(t.contracted.Table, label, inputs)
	if err != nil {
		return f, err
	}
	defer t.member.Tables.CloseStream(s)
	var names [][]byte
	for _, name := range s.Columns() {
		names = append(names, []byte(name))
	}
	f.Role, f.Columns = federated.RoleClient, len(names)
	f.Header = keys.HashOf("hanse columns v1", names...)
	return f, nil
}

// operationsOf lists what the parties of a job over clients do together: the sums of every server, and
// what more the algorithm sends.
func operationsOf(job *contract.Job, all []contract.Facts, sums []federated.Summed,
	more []contract.Operation) ([]contract.Operation, error) {
	list := slices.Clone(more)
	c := &contract.Contract{Job: job, Parties: all}
	for _, s := range sums {
		name := s.Server
		spec, err := specOf(c, job.Index(name), 0)
		if err != nil {
			return nil, err
		}
		v, _, err := sumWords(s.Sum, s.Clients)
		if err != nil {
			return nil, err
		}
		flows, err := spec.Flows(len(job.Parties), s.Clients, v, s.Times)
		if err != nil {
			return nil, err
		}
		for _, f := range flows {
			list = append(list, operationOf(f, s.Server, s.Sum, s.Times))
		}
	}
	// Beside the algorithm's messages a server says how a session ends and, where there are no sums to list it, every
	// client sends its session key.
	for _, name := range job.Servers {
		list = append(list, operation(kindFinished, contract.CollectiveDownload, name, contract.ClassControl, 1, 0),
			operation(kindPaused, contract.CollectiveDownload, name, contract.ClassControl, 1, 0))
		if !slices.ContainsFunc(sums, func(s federated.Summed) bool { return s.Server == name }) {
			list = append(list, operation(cohort.KindKey, contract.CollectiveUpload, name, contract.ClassControl, 1,
				contract.SessionKeySize))
		}
	}
	return contract.SessionOperations(len(all), list), nil
}

// mixedOperations lists what passes between a server and those whose vectors it sums: what the sums of clients have,
// and what is told before each.
func mixedOperations(job *contract.Job, m *federated.Mixed, parties int) ([]contract.Operation, error) {
	members := membersOf(job, m)
	spec, err := mixingSpec(job, job.Index(m.Server), members)
	if err != nil {
		return nil, err
	}
	v, _, err := sumWords(m.Sum, len(members))
	if err != nil {
		return nil, err
	}
	flows, err := spec.Flows(parties, len(members), v, m.Times)
	if err != nil {
		return nil, err
	}
	list := []contract.Operation{operation(m.Told, contract.CollectiveDownload, m.Server, contract.ClassControl,
		2*m.Times+1, m.Times*int64(len(encodeThere(0, members))+roundSize)+roundSize)}
	for _, f := range flows {
		list = append(list, operationOf(f, m.Server, m.Sum, m.Times))
	}
	for i := range list {
		for _, party := range members {
			list[i].Among = append(list[i].Among, job.Parties[party])
		}
	}
	return list, nil
}

// operation is a contract's line of messages of bytes.
func operation(kind, collective, root string, class contract.Class, count, bytes int64) contract.Operation {
	return contract.Operation{Kind: kind, Collective: collective, Root: root, Class: class.String(),
		Encoding: contract.Bytes.String(), Count: count, Bytes: bytes}
}

// operationOf makes a contract's line of a flow of so many sums at a server.
func operationOf(f cohort.Flow, server string, sum federated.Sum, times int64) contract.Operation {
	collective := contract.CollectiveDownload
	if f.Up {
		collective = contract.CollectiveUpload
	}
	o := operation(f.Kind, collective, server, f.Class, f.Count, f.Bytes)
	if f.Kind == sum.Kind {
		o.Shape = []int64{times, int64(sum.N)}
	}
	return o
}

// Disclose implements jobs.Task.
func (t *task) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	job := t.contracted
	d, err := t.job.Disclose(all)
	if err != nil {
		return nil, nil, err
	}
	var more []contract.Operation
	for _, e := range d.Told {
		more = append(more, operation(e.Kind, contract.CollectiveDownload, e.Server, contract.ClassOpening, e.Times,
			e.Bytes+e.Times*roundSize))
	}
	for _, a := range d.Answers {
		more = append(more, operation(a.Kind, contract.CollectiveUpload, a.Server, contract.ClassOpening, a.Times, a.Bytes))
	}
	for _, e := range d.Between {
		more = append(more, operation(e.Kind, contract.CollectiveServers, "", contract.ClassOpening, e.Times,
			e.Bytes+e.Times*roundSize))
	}
	for i := range d.Mixed {
		list, err := mixedOperations(job, &d.Mixed[i], len(all))
		if err != nil {
			return nil, nil, err
		}
		more = append(more, list...)
	}
	operations, err := operationsOf(job, all, d.Sums, more)
	return d.Openings, operations, err
}

// joined is errors.Join that keeps a single error as it is.
func joined(first, second error) error {
	if second == nil {
		return first
	}
	return errors.Join(first, second)
}
