package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/doctor"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol/fault"
)

// ward is a federation of two on this machine: bank, which is examined, and telco.
type ward struct {
	t           *testing.T
	dir         string
	bank, telco *keys.PrivateKey
	bankAt      []string
	telcoAt     []string // what the charter says
	now         func() time.Time
	tables      map[string]jobs.TableSpec
}

// newWard has both listen on ports that are free now.
func newWard(t *testing.T) *ward {
	w := &ward{t: t, dir: t.TempDir()}
	for _, k := range []**keys.PrivateKey{&w.bank, &w.telco} {
		made, err := keys.GenerateKey()
		must(t, err)
		*k = made
	}
	w.bankAt, w.telcoAt = []string{freeAddress(t)}, []string{freeAddress(t)}
	return w
}

// freeAddress is one that nobody listens at.
func freeAddress(t *testing.T) string {
	ports, err := localnet.FreePorts(1)
	must(t, err)
	t.Cleanup(ports.Close)
	return fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", ports.Numbers[0])
}

// charter is one that both have signed.
func (w *ward) charter(version int) *keys.SignedCharter {
	draft := keys.Charter{Name: "ward", Version: version, Created: time.Unix(1700000000, 0).UTC()}
	draft.Members = []keys.Member{{Name: "bank", ID: w.bank.ID(), Addresses: w.bankAt},
		{Name: "telco", ID: w.telco.ID(), Addresses: w.telcoAt}}
	draft.Rules.Discovery = []string{peer.DiscoverAddresses}
	if version > 1 {
		draft.Parent = keys.HashOf("ward", []byte("the version before"))
	}
	c, err := keys.NewCharter(draft)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, k := range []*keys.PrivateKey{w.bank, w.telco} {
		if err := c.Sign(k); err != nil {
			w.t.Fatal(err)
		}
	}
	return c
}

// host runs telco's end with a key, under a charter and at an address.
func (w *ward) host(k *keys.PrivateKey, c *keys.SignedCharter, at ...string) {
	w.t.Helper()
	h, err := peer.New(peer.Config{Key: k, Charter: c, Listen: at, Discovery: []string{peer.DiscoverAddresses},
		Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	answers := doctor.NewAnswerer(h)
	h.Handle(func(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
		return answers.Handle(ctx, from, method, request)
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { h.Run(ctx) })
	w.t.Cleanup(func() { cancel(); running.Wait() })
}

// examine looks at bank's node with a key and a charter.
func (w *ward) examine(k *keys.PrivateKey, c *keys.SignedCharter) *doctor.Report {
	w.t.Helper()
	file := filepath.Join(w.dir, "charter.toml")
	if err := os.WriteFile(file, c.Text(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	key := filepath.Join(w.dir, "bank.key")
	if err := os.WriteFile(key, []byte("its text is not read again\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	dir := filepath.Join(w.dir, "node")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	r, err := Examine(ctx, Config{Key: k, KeyFile: key, Charter: c, CharterFile: file, Dir: dir, Tables: w.tables,
		Silence: 20 * time.Second}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// diagnosed wants one failed check, with these words in what it found and in the mend.
func diagnosed(t *testing.T, r *doctor.Report, about, check string, text, mend []string) {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c doctor.Check) bool { return c.Verdict == doctor.Failed })
	if i < 0 {
		t.Fatalf("nothing failed: %+v", r.Checks)
	}
	c := r.Checks[i]
	if c.About != about || c.Name != check {
		t.Errorf("the first failure is %+v, want %s of %q", c, check, about)
	}
	for _, word := range text {
		if !strings.Contains(c.Text, word) {
			t.Errorf("%q does not say %q", c.Text, word)
		}
	}
	for _, word := range mend {
		if !strings.Contains(c.Mend, word) {
			t.Errorf("the mend %q does not say %q", c.Mend, word)
		}
	}
	if r.Worst() != doctor.Failed {
		t.Errorf("the worst is %s", r.Worst())
	}
	var out strings.Builder
	r.Text(&out)
	for line := range strings.Lines(out.String()) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 && !strings.Contains(line, "/") { // paths of tests are long
			t.Errorf("more than 80 columns: %q", line)
		}
	}
}

// TestDoctorFindsNothing: where nothing is wrong, all steps up to the throughput are fine.
func TestDoctorFindsNothing(t *testing.T) {
	w := newWard(t)
	c := w.charter(1)
	w.host(w.telco, c, w.telcoAt...)
	r := w.examine(w.bank, c)
	found := make(map[string]doctor.Verdict)
	for _, check := range r.Checks {
		found[check.Name] = check.Verdict
	}
	for _, name := range []string{doctor.CheckKey, doctor.CheckCharter, doctor.CheckPorts, doctor.CheckClock,
		doctor.CheckAddress, doctor.CheckDial, doctor.CheckTLS, doctor.CheckAdmission, doctor.CheckRoundTrip,
		doctor.CheckThroughput} {
		if found[name] != doctor.Fine {
			t.Errorf("%s is %q", name, found[name])
		}
	}
	if r.Member != "bank" || r.Running {
		t.Errorf("%+v", r)
	}
}

// TestDoctorClosedPort: nothing listens where the charter says.
func TestDoctorClosedPort(t *testing.T) {
	w := newWard(t)
	diagnosed(t, w.examine(w.bank, w.charter(1)), "telco", doctor.CheckDial,
		[]string{"the port is closed"}, []string{"start the node of telco", "line ", "charter.toml", "hanse charter change"})
}

// TestDoctorOwnPortTaken: another program holds this node's port.
func TestDoctorOwnPortTaken(t *testing.T) {
	w := newWard(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	w.bankAt = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", l.Addr().(*net.TCPAddr).Port)}
	diagnosed(t, w.examine(w.bank, w.charter(1)), "", doctor.CheckPorts, []string{"the port is in use"},
		[]string{"--listen", "ss -ltnp"})
}

// TestDoctorWrongAddress: the charter's address of telco leads to another node.
func TestDoctorWrongAddress(t *testing.T) {
	w := newWard(t)
	other, err := keys.GenerateKey()
	must(t, err)
	elsewhere := *w
	elsewhere.telco = other
	elsewhere.host(other, elsewhere.charter(1), w.telcoAt...)
	diagnosed(t, w.examine(w.bank, w.charter(1)), "telco", doctor.CheckTLS,
		[]string{"answers with a key that is no member's", other.ID().Short()},
		[]string{"line ", "charter.toml", "hanse keys card --address", "--key"})
}

// TestDoctorSkewedClock: telco's clock is an hour ahead.
func TestDoctorSkewedClock(t *testing.T) {
	w := newWard(t)
	w.now = func() time.Time { return time.Now().Add(time.Hour) }
	c := w.charter(1)
	w.host(w.telco, c, w.telcoAt...)
	diagnosed(t, w.examine(w.bank, c), "", doctor.CheckClock, []string{"the clock of telco is", "ahead"},
		[]string{"timedatectl set-ntp true"})
}

// TestDoctorWrongKey: the key file is no member's.
func TestDoctorWrongKey(t *testing.T) {
	w := newWard(t)
	other, err := keys.GenerateKey()
	must(t, err)
	diagnosed(t, w.examine(other, w.charter(1)), "", doctor.CheckKey,
		[]string{"no member's", other.ID().Short(), "bank (" + w.bank.ID().Short() + ")"}, []string{"--key", "--charter"})
}

// TestDoctorOldCharter: telco is under a later version of the charter than bank.
func TestDoctorOldCharter(t *testing.T) {
	w := newWard(t)
	w.host(w.telco, w.charter(2), w.telcoAt...)
	diagnosed(t, w.examine(w.bank, w.charter(1)), "telco", doctor.CheckAdmission,
		[]string{"version 2 of the charter", "version 1"},
		[]string{"takes the newer version by itself", "copy the newer charter"})
}

// TestDoctorUnreadableTable: a table that is there and cannot be used, and one that is gone.
func TestDoctorUnreadableTable(t *testing.T) {
	w := newWard(t)
	c := w.charter(1)
	w.host(w.telco, c, w.telcoAt...)
	table := filepath.Join(w.dir, "train.csv")
	must(t, os.WriteFile(table, []byte("id,age\n1,30\n2,40,50\n"), 0o600))
	w.tables = map[string]jobs.TableSpec{"train": {Path: table}}
	diagnosed(t, w.examine(w.bank, c), "", doctor.CheckTable, []string{"train cannot be used", "line 3"},
		[]string{"hanse table check", "--data train=FILE"})
	w.tables = map[string]jobs.TableSpec{"train": {Path: table + ".gone"}}
	diagnosed(t, w.examine(w.bank, c), "", doctor.CheckTable, []string{"train cannot be used"},
		[]string{"put it back", "--data train=FILE"})
}

// TestDoctorBehindNAT: neither of the two has an address that the other could dial, and nobody relays.
func TestDoctorBehindNAT(t *testing.T) {
	w := newWard(t)
	w.bankAt, w.telcoAt = nil, nil
	c := w.charter(1)
	w.host(w.telco, c) // it dials only, as from behind NAT
	diagnosed(t, w.examine(w.bank, c), "telco", doctor.CheckAddress, []string{"behind NAT", "no member relays"},
		[]string{"relay = true", "forward a port"})
}
