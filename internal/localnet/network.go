// Package localnet runs a federation on one machine: a folder for each member with its key file, card and policy, a
// charter that all have signed, and the programs that are the members' nodes, each a process with a log.
package localnet

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// Network is a federation on this machine: a folder for each member with its key file and card,
// and a charter that all have signed.
type Network struct {
	Dir     string
	Names   []string
	Keys    []*keys.PrivateKey
	Charter *keys.SignedCharter

	ports *Ports // that the members listen on
}

// policyText consents to whatever the first member proposes.
const policyText = `# consent to everything that %s proposes: right for a trial on one machine, not for a partner
format = "hanse-policy-v1"

[[accept]]
proposers = [%q]
`

// Found makes key files, cards, policies and a charter for the named members below dir. Members
// listen on free ports of this machine. minPrivacy is the charter's rule.
func Found(dir string, names []string, minPrivacy string) (*Network, error) {
	c := keys.Charter{Name: "trial"}
	c.Rules.MinPrivacy = minPrivacy
	return FoundLike(dir, names, &c)
}

// FoundBehind is Found for nodes that something stands in front of. Their addresses are names: where those lead is
// nothing that a node would correct by telling the others where it listens.
func FoundBehind(dir string, names []string, minPrivacy string) (*Network, error) {
	c := keys.Charter{Name: "trial"}
	c.Rules.MinPrivacy = minPrivacy
	return found(dir, names, &c, "/dns4/localhost")
}

// FoundLike is Found with the name and the rules of another charter, and what that says of roles, of the named members
// that are affiliated, and of what identifies a row.
func FoundLike(dir string, names []string, like *keys.Charter) (*Network, error) {
	return found(dir, names, like, "/ip4/127.0.0.1")
}

// found is FoundLike with members at a host.
func found(dir string, names []string, like *keys.Charter, host string) (*Network, error) {
	c := keys.Charter{Name: like.Name, Version: 1, Created: time.Now(), Rules: like.Rules, Identifiers: like.Identifiers}
	c.Rules.Discovery, c.Rules.Transports, c.Rules.RevokeBy = []string{"addresses"}, nil, 0
	ports, err := FreePorts(len(names))
	if err != nil {
		return nil, err
	}
	l := &Network{Dir: dir, Names: names, ports: ports}
	for i, name := range names {
		card, err := l.admit(name, fmt.Sprintf("%s/tcp/%d", host, ports.Numbers[i]))
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
	if l.Charter, err = keys.NewCharter(c); err != nil {
		return nil, err
	}
	for _, k := range l.Keys {
		if err := l.Charter.Sign(k); err != nil {
			return nil, err
		}
	}
	return l, os.WriteFile(l.CharterFile(), l.Charter.Text(), 0o600)
}

// admit makes one member's folder.
func (l *Network) admit(name, address string) (keys.Card, error) {
	if err := os.MkdirAll(filepath.Join(l.Dir, name), 0o700); err != nil {
		return keys.Card{}, err
	}
	k, err := keys.GenerateKey()
	if err != nil {
		return keys.Card{}, err
	}
	l.Keys = append(l.Keys, k)
	if err := keys.CreateKeyFile(l.Path(name, name+".key"), name, k, nil); err != nil {
		return keys.Card{}, err
	}
	card := keys.Card{Name: name, ID: k.ID(), Addresses: []string{address}}
	signed, err := card.Sign(k)
	if err != nil {
		return keys.Card{}, err
	}
	if err := os.WriteFile(l.Path(name, name+".card"), signed.Text(), 0o600); err != nil {
		return keys.Card{}, err
	}
	policy := fmt.Sprintf(policyText, l.Names[0], l.Names[0])
	return card, os.WriteFile(l.Path(name, "policy.toml"), []byte(policy), 0o600)
}

// Offer lets other members name the label column of a member's table.
func (l *Network) Offer(name, table, label string) error {
	path := l.Path(name, "policy.toml")
	policy, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(policy, "\n[[table]]\nname = %q\nlabels = [%q]\n", table, label), 0o600)
}

// Path returns a file in a member's folder.
func (l *Network) Path(name, file string) string { return filepath.Join(l.Dir, name, file) }

// CharterFile returns where the charter is.
func (l *Network) CharterFile() string { return filepath.Join(l.Dir, "charter.toml") }

// Log returns the file of what a member's node says.
func (l *Network) Log(name string) string { return l.Path(name, "node.log") }

// NodeArgs returns the command line, behind the program's name, of the node of a member with two tables, train.csv and
// test.csv in its folder.
func (l *Network) NodeArgs(name string, workers int) []string {
	return l.Args(name, Node{Workers: workers, Tables: []string{"train=train.csv", "test=test.csv"}})
}

// Node says how the node of one member differs from that of another.
type Node struct {
	Workers    int
	Tables     []string      // NAME=FILE, each file in the member's folder
	Neighbours []string      // members to keep links with; none: all
	Silence    time.Duration // after which a member is gone; 0: the program's own
	ByHand     bool          // without the policy that consents to all that the first member proposes
}

// Args returns the command line of a member's node behind the program's name.
func (l *Network) Args(name string, n Node) []string {
	args := []string{"node", "--key", l.Path(name, name+".key"), "--charter", l.CharterFile(),
		"--dir", l.Path(name, "node"), "--workers", fmt.Sprint(n.Workers)}
	if !n.ByHand {
		args = append(args, "--policy", l.Path(name, "policy.toml"))
	}
	if n.Silence > 0 {
		args = append(args, "--silence", n.Silence.String())
	}
	for _, t := range n.Tables {
		table, file, _ := strings.Cut(t, "=")
		args = append(args, "--data", table+"="+l.Path(name, file))
	}
	for _, other := range n.Neighbours {
		args = append(args, "--neighbour", other)
	}
	return args
}

// The ports a trial takes: below those that systems hand out for outgoing connections, which come
// and go at any moment.
const (
	firstPort = 20_000
	portSpan  = 12_000
	portBlock = 8 // of which the first is nobody's: who listens there has the others
)

// Ports are TCP ports of this machine that nobody listens on. No other FreePorts, in this process or another, finds
// them until they are closed, or nobody has them any more.
type Ports struct {
	Numbers []int

	blocks []net.Listener
}

// FreePorts finds n ports.
func FreePorts(n int) (*Ports, error) {
	p := new(Ports)
	for try := 0; len(p.Numbers) < n; try++ {
		first := firstPort + portBlock*rand.IntN(portSpan/portBlock)
		block, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
		if err != nil {
			if try > 20*n+100 {
				p.Close()
				return nil, fmt.Errorf("no free ports between %d and %d: %w", firstPort, firstPort+portSpan, err)
			}
			continue
		}
		p.blocks = append(p.blocks, block)
		for port := first + 1; port < first+portBlock && len(p.Numbers) < n; port++ {
			if l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", port)); err == nil {
				l.Close()
				p.Numbers = append(p.Numbers, port)
			}
		}
	}
	return p, nil
}

// Close lets others have the ports.
func (p *Ports) Close() {
	for _, l := range p.blocks {
		l.Close()
	}
}

// Address returns where a member's node listens, as host and port.
func (l *Network) Address(name string) string {
	return fmt.Sprintf("127.0.0.1:%d", l.ports.Numbers[slices.Index(l.Names, name)])
}

// WorkerArgs are the arguments of the program for a member's worker of a shard.
func (l *Network) WorkerArgs(name, contract string, shard, of int) []string {
	return []string{"worker", "--node", l.Address(name), "--key", l.Path(name, filepath.Join("node", "worker.key")),
		"--parts", l.Path(name, filepath.Join("node", "parts")), "--cores", "1", "--shard", fmt.Sprint(shard), "--of",
		fmt.Sprint(of), contract}
}
