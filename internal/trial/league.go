package trial

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
)

// League is a federation on this machine: a folder for each member with its key file and card,
// and a charter that all have signed.
type League struct {
	Dir     string
	Names   []string
	Keys    []*keys.PrivateKey
	Charter *keys.SignedCharter
}

// policyText consents to whatever the first member proposes.
const policyText = `# consent to everything that %s proposes: right for a trial on one machine, not for a partner
format = "hanse-policy-v1"

[[accept]]
proposers = [%q]
`

// Found makes key files, cards, policies and a charter for the named members below dir. Members
// listen on free ports of this machine. minPrivacy is the charter's rule.
func Found(dir string, names []string, minPrivacy string) (*League, error) {
	l := &League{Dir: dir, Names: names}
	c := keys.Charter{Name: "trial", Version: 1, Created: time.Now()}
	c.Rules.MinPrivacy = minPrivacy
	c.Rules.Discovery = []string{"addresses"}
	ports, err := FreePorts(len(names))
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		card, err := l.admit(name, ports[i])
		if err != nil {
			return nil, err
		}
		c.Admit(card)
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
func (l *League) admit(name string, port int) (keys.Card, error) {
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
	card := keys.Card{Name: name, ID: k.ID(), Addresses: []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port)}}
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
func (l *League) Offer(name, table, label string) error {
	path := l.Path(name, "policy.toml")
	policy, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(policy, "\n[[table]]\nname = %q\nlabels = [%q]\n", table, label), 0o600)
}

// Path returns a file in a member's folder.
func (l *League) Path(name, file string) string { return filepath.Join(l.Dir, name, file) }

// CharterFile returns where the charter is.
func (l *League) CharterFile() string { return filepath.Join(l.Dir, "charter.toml") }

// NodeArgs returns the command line of a member's node behind the program's name.
func (l *League) NodeArgs(name string, workers int) []string {
	return []string{"node", "--key", l.Path(name, name+".key"), "--charter", l.CharterFile(),
		"--data", "train=" + l.Path(name, "train.csv"), "--data", "test=" + l.Path(name, "test.csv"),
		"--policy", l.Path(name, "policy.toml"), "--dir", l.Path(name, "node"), "--workers", fmt.Sprint(workers)}
}

// ReadingArgs returns the flags by which a node reads its tables as o says.
func ReadingArgs(o dataset.Options) []string {
	var args []string
	if o.ID != "" {
		args = append(args, "--id", o.ID)
	}
	if o.Missing != "" {
		args = append(args, "--missing", o.Missing)
	}
	for _, name := range o.Categorical {
		args = append(args, "--categorical", name)
	}
	return args
}

// The ports a trial takes: below those that systems hand out for outgoing connections, which come
// and go at any moment.
const (
	firstPort = 20_000
	portSpan  = 12_000
)

// FreePorts finds TCP ports of this machine that nobody listens on at this moment.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for try := 0; len(ports) < n; try++ {
		port := firstPort + rand.IntN(portSpan)
		l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", port))
		if err != nil {
			if try > 20*n+100 {
				return nil, fmt.Errorf("no free ports between %d and %d: %w", firstPort, firstPort+portSpan, err)
			}
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports, nil
}
