// Package localnet runs a federation on one machine: a folder for each member with its key file, card and policy, a
// charter that all have signed, and the programs that are the members' nodes, each a process with a log.
package localnet

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// policyText consents to whatever the first member proposes.
const policyText = `# consent to everything that %s proposes: right for a trial on one machine, not for a partner
format = "hanse-policy-v1"

[[accept]]
proposers = [%q]
min_rows = 0                  # of what jobs add up to nothing is bounded: a partner would learn all
trainings_30_days = 1000000
alignments_30_days = 1000000
list_percent = 1000000
row_bits = 1000000000
least_difference = 1
`

// Found makes key files, cards, policies and a charter for the named members below dir. Members
// listen on free ports of this machine. minPrivacy is the charter's rule.
func Found(dir string, names []string, minPrivacy string) (*Federation, error) {
	c := keys.Charter{Name: "trial"}
	c.Rules.MinPrivacy = minPrivacy
	return FoundLike(dir, names, &c)
}

// FoundBehind is Found for nodes that something stands in front of. Their addresses are names: where those lead is
// nothing that a node would correct by telling the others where it listens.
func FoundBehind(dir string, names []string, minPrivacy string) (*Federation, error) {
	c := keys.Charter{Name: "trial"}
	c.Rules.MinPrivacy = minPrivacy
	return found(dir, names, &c, "/dns4/localhost")
}

// FoundLike is Found with the name and the rules of another charter, and what that says of roles, of the named members
// that are affiliated, and of what identifies a row.
func FoundLike(dir string, names []string, like *keys.Charter) (*Federation, error) {
	return found(dir, names, like, "/ip4/127.0.0.1")
}

// found is FoundLike with members at a host.
func found(dir string, names []string, like *keys.Charter, host string) (*Federation, error) {
	c := keys.Charter{Name: like.Name, Version: 1, Created: time.Now(), Rules: like.Rules, Identifiers: like.Identifiers}
	c.Rules.Discovery, c.Rules.Transports, c.Rules.RevokeBy = []string{"addresses"}, nil, 0
	c.Rules.MinRows = cmp.Or(c.Rules.MinRows, 1) // the people are made up, and tables small as often as not
	ports, err := FreePorts(len(names))
	if err != nil {
		return nil, err
	}
	f := &Federation{Dir: dir, Names: names, ports: ports}
	for i, name := range names {
		card, err := f.admit(name, fmt.Sprintf("%s/tcp/%d", host, ports.Numbers[i]))
		if err != nil {
			return nil, err
		}
		c.Admit(card)
		if m, ok := like.MemberNamed(name); ok && len(like.Roles[m.ID]) > 0 {
			if c.Roles == nil {
				c.Roles = make(map[keys.ID][]string)
			}
			c.Roles[card.ID] = like.Roles[m.ID]
		}
	}
	for _, group := range like.Affiliations {
		there := slices.DeleteFunc(slices.Clone(group), func(name string) bool { return !slices.Contains(names, name) })
		if len(there) > 1 {
			c.Affiliations = append(c.Affiliations, there)
		}
	}
	if f.Charter, err = keys.NewCharter(c); err != nil {
		return nil, err
	}
	for _, k := range f.Keys {
		if err := f.Charter.Sign(k); err != nil {
			return nil, err
		}
	}
	return f, os.WriteFile(f.CharterFile(), f.Charter.Text(), 0o600)
}

// admit makes one member's folder.
func (f *Federation) admit(name, address string) (keys.Card, error) {
	if err := os.MkdirAll(filepath.Join(f.Dir, name), 0o700); err != nil {
		return keys.Card{}, err
	}
	k, err := keys.GenerateKey()
	if err != nil {
		return keys.Card{}, err
	}
	f.Keys = append(f.Keys, k)
	if err := keys.CreateKeyFile(f.Path(name, name+".key"), name, k, nil); err != nil {
		return keys.Card{}, err
	}
	card := keys.Card{Name: name, ID: k.ID(), Addresses: []string{address}}
	signed, err := card.Sign(k)
	if err != nil {
		return keys.Card{}, err
	}
	if err := os.WriteFile(f.Path(name, name+".card"), signed.Text(), 0o600); err != nil {
		return keys.Card{}, err
	}
	policy := fmt.Sprintf(policyText, f.Names[0], f.Names[0])
	return card, os.WriteFile(f.Path(name, "policy.toml"), []byte(policy), 0o600)
}

// Offer lets other members name the label column of a member's table.
func (f *Federation) Offer(name, table, label string) error {
	path := f.Path(name, "policy.toml")
	policy, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(policy, "\n[[table]]\nname = %q\nlabels = [%q]\n", table, label), 0o600)
}

// Path returns a file in a member's folder.
func (f *Federation) Path(name, file string) string { return filepath.Join(f.Dir, name, file) }

// CharterFile returns where the charter is.
func (f *Federation) CharterFile() string { return filepath.Join(f.Dir, "charter.toml") }

// Log returns the file of what a member's node says.
func (f *Federation) Log(name string) string { return f.Path(name, "node.log") }

// NodeDir returns the folder that a member's node keeps its state in.
func (f *Federation) NodeDir(name string) string { return f.Path(name, "node") }

// JobFolder returns the folder of a job in a member's node's folder.
func (f *Federation) JobFolder(name, contract string) string {
	return filepath.Join(f.NodeDir(name), "jobs", contract)
}

// JobFile returns a file of a job in a member's node's folder.
func (f *Federation) JobFile(name, contract, file string) string {
	return filepath.Join(f.JobFolder(name, contract), file)
}

// IDs lists the members' identities.
func (f *Federation) IDs() []keys.ID {
	var ids []keys.ID
	for _, k := range f.Keys {
		ids = append(ids, k.ID())
	}
	return ids
}

// Node says how the node of one member differs from that of another.
type Node struct {
	Workers    int
	Tables     []string      // NAME=FILE, each file in the member's folder
	Neighbours []string      // members to keep links with; none: all
	Silence    time.Duration // after which a member is gone; 0: the program's own
	ByHand     bool          // without the policy that consents to all that the first member proposes
	Listen     string        // where it listens, if the address in the charter is not its own

	Program string   // that it is, if not the federation's
	Env     []string // besides this process's own
}

// SilenceOf is how long a node may be silent where so many share a machine.
func SilenceOf(nodes int) time.Duration {
	return 4*time.Second + time.Duration(nodes)*100*time.Millisecond
}

// Columns is the node of a member with two tables, train.csv and test.csv in its folder.
func Columns(workers int) Node {
	return Node{Workers: workers, Tables: []string{"train=train.csv", "test=test.csv"}}
}

// NodeArgs returns the command line, behind the program's name, of such a node.
func (f *Federation) NodeArgs(name string, workers int) []string {
	return f.Args(name, Columns(workers))
}

// Args returns the command line of a member's node behind the program's name.
func (f *Federation) Args(name string, n Node) []string {
	args := []string{"node", "--key", f.Path(name, name+".key"), "--charter", f.CharterFile(),
		"--dir", f.NodeDir(name), "--workers", fmt.Sprint(n.Workers)}
	if !n.ByHand {
		args = append(args, "--policy", f.Path(name, "policy.toml"))
	}
	if n.Silence > 0 {
		args = append(args, "--silence", n.Silence.String())
	}
	for _, t := range n.Tables {
		table, file, _ := strings.Cut(t, "=")
		args = append(args, "--data", table+"="+f.Path(name, file))
	}
	for _, other := range n.Neighbours {
		args = append(args, "--neighbour", other)
	}
	if n.Listen != "" {
		args = append(args, "--listen", n.Listen)
	}
	return args
}

// Address returns where a member's node listens, as host and port.
func (f *Federation) Address(name string) string {
	return fmt.Sprintf("127.0.0.1:%d", f.ports.Numbers[slices.Index(f.Names, name)])
}

// WorkerKeys is where a member's keys of the workers of a job lie, once its node has made them with WorkerKeyArgs.
func (f *Federation) WorkerKeys(name, contract string) string {
	return filepath.Join(f.NodeDir(name), "workers-"+contract+".key")
}

// WorkerKeyArgs are the arguments of the program that makes a member's keys of the workers of a job.
func (f *Federation) WorkerKeyArgs(name, contract string) []string {
	return []string{"worker", "key", "--job", contract, "--dir", f.NodeDir(name), "--out", f.WorkerKeys(name, contract)}
}

// WorkerArgs are the arguments of the program for a member's worker of a shard.
func (f *Federation) WorkerArgs(name, contract string, shard, of int) []string {
	return []string{"worker", "--node", f.Address(name), "--key", f.WorkerKeys(name, contract),
		"--parts", filepath.Join(f.NodeDir(name), "parts"), "--cores", "1", "--shard", fmt.Sprint(shard), "--of",
		fmt.Sprint(of), contract}
}
