package manifest

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/testnet/needs"
	"github.com/hanse-project/hanse/keys"
)

var update = flag.Bool("update", false, "write the files of testdata anew; look at the difference before keeping it")

// byName are shards whose node is given by name, and byAddress others whose node is not.
func byName() *Shards {
	return &Shards{
		Job: "credit-2026", Contract: strings.Repeat("c0ffee01", 8), Party: "bank", Of: 16, Parallel: 4,
		Node: "bank.default.svc:4711", Memory: 3 << 30, CPU: 1.5, Scratch: 20_000_000_001,
		Image: "registry.example:5000/team/hanse:v1.2.3", Secret: "hanse-worker", Claim: "parts", Namespace: "learning",
	}
}

func byAddress() *Shards {
	s := byName()
	s.Node, s.Namespace, s.InitImage, s.CPU = "[2001:db8::7]:4711", "", "busybox@sha256:"+strings.Repeat("ab", 32), 2
	s.Secret = "" // that of the Job's name
	return s
}

// rendered are the manifests that testdata has. deploy/helm/test holds the first two against Kubernetes' types.
var rendered = []struct {
	file   string
	render func() (string, error)
}{
	{"kubernetes-name.yaml", byName().Kubernetes},
	{"kubernetes-address.yaml", byAddress().Kubernetes},
	{"slurm.sh", byName().Slurm},
	{"loop.sh", byName().Loop},
	{"hanse-worker@.service", byName().Systemd},
	{"hanse-worker-address@.service", byAddress().Systemd},
}

func TestManifests(t *testing.T) {
	for _, r := range rendered {
		text, err := r.render()
		if err != nil {
			t.Fatalf("%s: %v", r.file, err)
		}
		path := filepath.Join("testdata", r.file)
		if *update {
			must(t, os.WriteFile(path, []byte(text), 0o644))
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != text {
			t.Errorf("%s (%v) is not what is written now; go test ./internal/manifest -update writes it anew", path, err)
		}
		for i, line := range strings.Split(text, "\n") {
			if len(line) > 120 {
				t.Errorf("%s:%d has %d characters", r.file, i+1, len(line))
			}
		}
	}
}

// hostile are texts that would do harm if one of them came through.
var hostile = []string{
	"a\nimage: evil", "a\": evil", "$(reboot)", "`reboot`", "a; reboot", "a b", "a'b", `a\b`, "a #b", "{{.Job}}", "%n",
	"a\r\n", "ä", "-flag", "a..b", "a:b:c", "A/", "../etc", "a\x00", "*", "&a", "!!x", "a\u2028b", ".", "-", "a-",
	"$(JOB_COMPLETION_INDEX)", strings.Repeat("a", 600),
}

// TestHostile: no text of a flag gets out of its place.
func TestHostile(t *testing.T) {
	for name, set := range map[string]func(s *Shards, text string){
		"job":        func(s *Shards, text string) { s.Job = text },
		"contract":   func(s *Shards, text string) { s.Contract = text },
		"party":      func(s *Shards, text string) { s.Party = text },
		"node":       func(s *Shards, text string) { s.Node = text },
		"host":       func(s *Shards, text string) { s.Node = text + ":4711" },
		"port":       func(s *Shards, text string) { s.Node = "bank:" + text },
		"image":      func(s *Shards, text string) { s.Image = text },
		"tag":        func(s *Shards, text string) { s.Image = "hanse:" + text + "/" },
		"init image": func(s *Shards, text string) { s.InitImage = text },
		"secret":     func(s *Shards, text string) { s.Secret = text },
		"claim":      func(s *Shards, text string) { s.Claim = text },
		"namespace":  func(s *Shards, text string) { s.Namespace = text },
	} {
		for _, text := range hostile {
			s := byName()
			set(s, text)
			if text == "a-" && (name == "job" || name == "party") {
				continue // a member may be called so
			}
			for _, render := range []func() (string, error){s.Kubernetes, s.Slurm, s.Systemd, s.Loop} {
				if out, err := render(); err == nil {
					t.Fatalf("%s %q is written:\n%s", name, text, out)
				} else if strings.ContainsAny(err.Error(), "\n\r\x00\u2028") {
					t.Errorf("%s %q is not quoted: %q", name, text, err)
				}
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(s *Shards){
		"0 shards, want 1 to 100000":         func(s *Shards) { s.Of = 0 },
		"100001 shards":                      func(s *Shards) { s.Of = 100_001 },
		"17 workers at the same time":        func(s *Shards) { s.Parallel = 17 },
		"0 workers at the same time":         func(s *Shards) { s.Parallel = 0 },
		"memory is 0 bytes":                  func(s *Shards) { s.Memory = 0 },
		"folder is -1 bytes":                 func(s *Shards) { s.Scratch = -1 },
		"NaN processors":                     func(s *Shards) { s.CPU = math.NaN() },
		"+Inf processors":                    func(s *Shards) { s.CPU = math.Inf(1) },
		`the node's address is "bank"`:       func(s *Shards) { s.Node = "bank" },
		`the node's address is "bank:0"`:     func(s *Shards) { s.Node = "bank:0" },
		`the node's address is "bank:65536"`: func(s *Shards) { s.Node = "bank:65536" },
		`address is "[fe80::1%eth0]:4711"`:   func(s *Shards) { s.Node = "[fe80::1%eth0]:4711" },
		`contract is "C0FF`:                  func(s *Shards) { s.Contract = strings.ToUpper(s.Contract) },
		"the image is missing":               func(s *Shards) { s.Image = "" },
		"the PersistentVolumeClaim is mis":   func(s *Shards) { s.Claim = "" },
	} {
		s := byName()
		change(s)
		if _, err := s.Kubernetes(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	s := byName()
	s.Image, s.Secret, s.Claim = "", "", ""
	if _, err := s.Slurm(); err != nil {
		t.Errorf("Slurm asks for what is Kubernetes': %v", err)
	}
	for _, node := range []string{"203.0.113.7:1", "[::1]:65535", "localhost:4711", "a.b-c.example:80"} {
		s := byName()
		if s.Node = node; s.Validate() != nil {
			t.Errorf("%s: %v", node, s.Validate())
		}
	}
	for _, image := range []string{"hanse", "hanse:v1", "localhost:5000/hanse", "ghcr.io/a/b_c/hanse:v1.2.3-rc.1@sha256:" +
		strings.Repeat("0", 64)} {
		s := byName()
		if s.Image = image; s.Validate() != nil {
			t.Errorf("%s: %v", image, s.Validate())
		}
	}
	long := byName()
	long.Party = strings.Repeat("p", 32)
	if n := len(long.Name() + "-99999"); n > 63 {
		t.Errorf("a pod's host is called by %d characters, and 63 are allowed", n)
	}
}

func TestShellQuote(t *testing.T) {
	for _, text := range append(hostile, "", "a'b''c") {
		if strings.Contains(text, "\x00") {
			continue
		}
		out, err := exec.Command("sh", "-c", "printf %s "+shellQuote(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q is %q in a shell (%v)", text, out, err)
		}
	}
}

// TestScripts runs the scripts with a program that fails at first, and wants each shard served with the command line
// that it should have.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	program, calls := filepath.Join(dir, "hanse"), filepath.Join(dir, "calls")
	fake := "#!/bin/sh\n[ -d \"${13}\" ] || exit 3\necho \"$@\" >> '" + calls + "'\n" +
		"[ -e '" + dir + "'/failed-$7 ] || { : > '" + dir + "'/failed-$7; exit 1; }\n"
	must(t, os.WriteFile(program, []byte(fake), 0o700))
	run := func(script string, env ...string) error {
		cmd := exec.Command("bash", filepath.Join("testdata", script))
		cmd.Env = append(os.Environ(), "HANSE="+program, "PARTS=/the parts", "KEY=workers.key", "PAUSE=0", "TMPDIR="+dir,
			"SCRATCH="+dir)
		cmd.Env = append(cmd.Env, env...)
		out, err := cmd.CombinedOutput()
		if len(out) > 0 {
			t.Errorf("%s: %s", script, out)
		}
		return err
	}
	for script, shards := range map[string][]string{"slurm.sh": {"7"}, "loop.sh": {"0", "1", "2", "3", "4", "5", "6", "7",
		"8", "9", "10", "11", "12", "13", "14", "15"}} {
		if err := exec.Command("bash", "-n", filepath.Join("testdata", script)).Run(); err != nil {
			t.Errorf("bash -n %s: %v", script, err)
		}
		if err := run(script, "SLURM_ARRAY_TASK_ID=7"); err != nil {
			t.Errorf("%s: %v", script, err)
		}
		text, err := os.ReadFile(calls)
		must(t, err)
		served := make(map[string]int)
		call := regexp.MustCompile(`^worker --node bank\.default\.svc:4711 --key workers\.key --shard (\d+) --of 16 ` +
			`--parts /the parts --dir /\S+ (c0ffee01){8}$`)
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			m := call.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("%s calls %s", script, line)
			}
			served[m[1]]++
		}
		for _, s := range shards {
			if served[s] != 2 { // one start that fails, one that does not
				t.Errorf("%s starts shard %s %d times", script, s, served[s])
			}
		}
		if len(served) != len(shards) {
			t.Errorf("%s serves %v", script, served)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.*")); len(left) > 0 {
			t.Errorf("%s leaves %v", script, left)
		}
		must(t, os.Remove(calls))
		failed, _ := filepath.Glob(filepath.Join(dir, "failed-*"))
		for _, path := range failed {
			must(t, os.Remove(path))
		}
	}
}

// TestAPodHasTheKeyOfItsShard runs what the first container of a pod does to the file of keys: the worker finds the key
// of its own shard there, and no other.
func TestAPodHasTheKeyOfItsShard(t *testing.T) {
	text, err := byName().Kubernetes()
	must(t, err)
	found := regexp.MustCompile(`(?m)^ +- (umask 077 && .*)$`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no command cuts the file:\n%s", text)
	}
	all := &keys.ShardKeys{Note: "of shards 0-12", Contract: keys.HashOf("job"), Expires: time.Unix(1_900_000_000, 0),
		Keys: make(map[int]*keys.PrivateKey)}
	for shard := range 13 {
		if all.Keys[shard], err = keys.GenerateKey(); err != nil {
			t.Fatal(err)
		}
	}
	for _, shard := range []int{0, 1, 11} {
		dir := t.TempDir()
		must(t, keys.CreateShardKeys(filepath.Join(dir, "secret"), all))
		own := filepath.Join(dir, "key")
		command := exec.Command("sh", "-c", strings.NewReplacer("/secret/worker.key", filepath.Join(dir, "secret"),
			"/key/worker.key", own).Replace(found[1]))
		command.Env = append(os.Environ(), fmt.Sprint("JOB_COMPLETION_INDEX=", shard))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cut, err := keys.LoadShardKeys(own)
		must(t, err)
		if len(cut.Keys) != 1 || cut.Keys[shard] == nil || cut.Keys[shard].ID() != all.Keys[shard].ID() ||
			cut.Contract != all.Contract {
			t.Errorf("the pod of shard %d has %v", shard, cut.Keys)
		}
	}
}

// TestSystemd holds the unit against systemd, and against the node's: it is confined as that is.
func TestSystemd(t *testing.T) {
	confined := func(path string) []string {
		text, err := os.ReadFile(path)
		must(t, err)
		_, lines, _ := strings.Cut(string(text), "\nNoNewPrivileges=")
		lines, _, _ = strings.Cut(lines, "\n[")
		return strings.Fields(lines)
	}
	unit := filepath.Join("testdata", "hanse-worker-address@.service")
	node := confined(filepath.Join("..", "..", "deploy", "systemd", "hanse-node.service"))
	if mine := confined(unit); len(node) < 20 || !slices.Equal(mine, node) {
		t.Errorf("it is confined by\n%q, the node by\n%q", mine, node)
	}
	analyze := needs.Program(t, "apt-get install systemd", "systemd-analyze")
	self, err := os.Executable() // systemd wants a program to be where the unit says it is
	must(t, err)
	text, err := os.ReadFile(unit)
	must(t, err)
	path := filepath.Join(t.TempDir(), "hanse-worker@7.service")
	changed := strings.Replace(string(text), "ExecStart=/usr/local/bin/hanse", "ExecStart="+self, 1)
	must(t, os.WriteFile(path, []byte(changed), 0o644))
	for _, args := range [][]string{
		{"verify", "--man=no", path},
		{"security", "--offline=true", "--threshold=20", path}, // tenths of what systemd calls exposure
	} {
		// verify warns of what it does not know and is content
		if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || args[0] == "verify" &&
			strings.Contains(string(out), "hanse-worker@") {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
