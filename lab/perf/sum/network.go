package sum

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// sumServerIndex is the server's index among the parties; the clients come after it.
const sumServerIndex = 0

// sumNetwork is a server and its clients, as one process knows them.
type sumNetwork struct {
	sumCase
	dir      string
	charter  *keys.SignedCharter
	contract keys.Hash
	parties  []contract.Party
	plan     contract.Plan
}

// The files of a network, beside a key file for each party.
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
func (s sumCase) planned() (contract.Plan, error) {
	t, err := contract.ParseTopology(s.Topology)
	return contract.PlanFor(t, s.Clients+1, sumServerIndex), err
}

// openSumNetwork reads a network. The charter is read once for all parties of the process.
func openSumNetwork(dir string) (*sumNetwork, error) {
	l := &sumNetwork{dir: dir}
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
		l.parties = append(l.parties, contract.Party{Name: m.Name, ID: m.ID})
	}
	l.plan, err = l.planned()
	return l, err
}

// peers returns those whom a party has links to: the server everybody, a client the server and
// those it adds for or who adds for it.
func (l *sumNetwork) peers(i int) []keys.ID {
	var ids []keys.ID
	for j, p := range l.parties {
		if j != i && (i == sumServerIndex || j == sumServerIndex || l.plan.Parent[i] == j || l.plan.Parent[j] == i) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// sessionID names the session with a number.
func (l *sumNetwork) sessionID(number uint32) protocol.SessionID {
	return protocol.SessionID(keys.HashOf("hanselab sum room", l.contract[:], []byte(fmt.Sprint(number))))
}
