package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
)

// sumServerIndex is the server's index among the parties; the clients come after it.
const sumServerIndex = 0

// sumLeague is a server and its clients, as one process knows them.
type sumLeague struct {
	sumCase
	dir      string
	charter  *keys.SignedCharter
	contract keys.Hash
	parties  []protocol.Party
	plan     protocol.Plan
}

// The files of a league, beside a key file for each party.
const (
	sumCharterFile = "charter.toml"
	sumCaseFile    = "case.json"
)

// sumName is a party's name.
func sumName(i int) string {
	if i == sumServerIndex {
		return "server"
	}
	return fmt.Sprintf("client-%04d", i)
}

// foundSumLeague makes key files for all parties and a charter that all have signed. The server has
// an address, and so has a client to whom others send.
func foundSumLeague(dir string, s sumCase) error {
	plan, err := s.planned()
	if err != nil {
		return err
	}
	draft := keys.Charter{Name: "many-clients", Version: 1, Created: time.Now()}
	draft.Rules.Discovery = []string{peer.DiscoverAddresses}
	ports, err := trial.FreePorts(s.Clients + 1)
	if err != nil {
		return err
	}
	all := make([]*keys.PrivateKey, s.Clients+1)
	for i := range all {
		if all[i], err = keys.GenerateKey(); err != nil {
			return err
		}
		if err := keys.CreateKeyFile(sumKeyFile(dir, i), sumName(i), all[i], nil); err != nil {
			return err
		}
		card := keys.Card{Name: sumName(i), ID: all[i].ID()}
		if len(plan.Children[i]) > 0 {
			card.Addresses = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", ports[i])}
		}
		draft.Admit(card)
	}
	return s.write(dir, draft, all)
}

// write signs the charter and writes what workers read.
func (s sumCase) write(dir string, draft keys.Charter, all []*keys.PrivateKey) error {
	charter, err := keys.NewCharter(draft)
	if err != nil {
		return err
	}
	for _, k := range all {
		if err := charter.Sign(k); err != nil {
			return err
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, sumCaseFile), text, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumCharterFile), charter.Text(), 0o600)
}

// sumKeyFile is where a party's key is.
func sumKeyFile(dir string, i int) string { return filepath.Join(dir, sumName(i)+".key") }

// planned lays the case's topology on its parties.
func (s sumCase) planned() (protocol.Plan, error) {
	t, err := protocol.ParseTopology(s.Topology)
	return protocol.PlanFor(t, s.Clients+1, sumServerIndex), err
}

// openSumLeague reads a league. The charter is read once for all parties of the process.
func openSumLeague(dir string) (*sumLeague, error) {
	l := &sumLeague{dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, sumCaseFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &l.sumCase); err != nil {
		return nil, err
	}
	if text, err = os.ReadFile(filepath.Join(dir, sumCharterFile)); err != nil {
		return nil, err
	}
	if l.charter, err = keys.ParseCharter(text); err != nil {
		return nil, err
	}
	l.contract = keys.HashOf("hanselab sum", text)
	for _, m := range l.charter.Members { // in the order in which they were admitted
		l.parties = append(l.parties, protocol.Party{Name: m.Name, ID: m.ID})
	}
	l.plan, err = l.planned()
	return l, err
}

// peers returns those whom a party has links to: the server everybody, a client the server and
// those it adds for or who adds for it.
func (l *sumLeague) peers(i int) []keys.ID {
	var ids []keys.ID
	for j, p := range l.parties {
		if j != i && (i == sumServerIndex || j == sumServerIndex || l.plan.Parent[i] == j || l.plan.Parent[j] == i) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// room names the session with a number.
func (l *sumLeague) room(number uint32) protocol.Room {
	return protocol.Room(keys.HashOf("hanselab sum room", l.contract[:], []byte(fmt.Sprint(number))))
}
