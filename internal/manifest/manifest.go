// Package manifest writes down how an engine that a party has starts the workers of its shards: a Kubernetes Indexed
// Job, a Slurm array, systemd instances, or a shell loop. All of them run one command, once for each shard.
package manifest

import (
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

const (
	mostShards = 100_000 // an Indexed Job has no more
	mostCPU    = 1024
	mostBytes  = 1 << 50
	mib        = 1 << 20
)

// Shards are a party's workers of one job.
type Shards struct {
	Job       string // the job's name
	Contract  string // the hash of its contract, in hexadecimal
	Party     string
	Of        int     // how many shards there are
	Parallel  int     // how many workers run at the same time, at most
	Node      string  // HOST:PORT of the party's node
	Memory    int64   // bytes that a worker takes
	CPU       float64 // processors that a worker takes
	Scratch   int64   // bytes of its scratch folder, at most
	Image     string  // the program's image; this and what follows is for Kubernetes alone
	InitImage string  // an image with a shell, cp and chmod, by which the key is copied; that of the Helm chart if empty
	Secret    string  // the name of the Secret with the keys of the job's workers; Name if empty
	Claim     string  // the name of the PersistentVolumeClaim with the parts
	Namespace string  // empty for the one that kubectl is set to
}

// word is one of a path of an image.
const word = `[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*`

// InitImage is the image that copies the key where none is given.
const InitImage = "docker.io/library/busybox:1.37"

var (
	// label and subdomain are Kubernetes' words for names without and with dots: RFC 1123.
	label     = pattern(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	subdomain = pattern(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	// image is [REGISTRY[:PORT]/]PATH[:TAG][@sha256:DIGEST].
	image = pattern(`^([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?/)?` + word + `(/` + word + `)*` +
		`(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
)

// pattern compiles an expression when it is first needed: repetitions take milliseconds, and most commands of the
// program need none of these.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

const (
	longestName  = 253 // of an object of Kubernetes
	longestImage = 512
)

// Validate checks all that is given. What only Kubernetes needs may be missing.
func (s *Shards) Validate() error {
	digest, err := hex.DecodeString(s.Contract)
	switch {
	case err != nil || len(digest) != len(keys.Hash{}) || strings.ToLower(s.Contract) != s.Contract:
		return fmt.Errorf("contract is %s, want the %d hexadecimal digits of a contract's hash", quoted(s.Contract),
			2*len(keys.Hash{}))
	case s.Of < 1 || s.Of > mostShards:
		return fmt.Errorf("the job has %d shards, want 1 to %d", s.Of, mostShards)
	case s.Parallel < 1 || s.Parallel > s.Of:
		return fmt.Errorf("%d workers at the same time, want 1 to %d, the number of shards", s.Parallel, s.Of)
	case s.Memory < 1 || s.Memory > mostBytes:
		return fmt.Errorf("a worker's memory is %d bytes, want 1 to %d", s.Memory, int64(mostBytes))
	case s.Scratch < 1 || s.Scratch > mostBytes:
		return fmt.Errorf("a worker's scratch folder is %d bytes, want 1 to %d", s.Scratch, int64(mostBytes))
	case !(s.CPU > 0 && s.CPU <= mostCPU):
		return fmt.Errorf("a worker takes %v processors, want more than 0 and up to %d", s.CPU, mostCPU)
	}
	if err := keys.CheckName(s.Job); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	if err := keys.CheckName(s.Party); err != nil {
		return fmt.Errorf("party: %w", err)
	}
	if _, _, err := s.address(); err != nil {
		return err
	}
	for _, c := range []struct {
		what, value string
		form        func() *regexp.Regexp
		longest     int
	}{
		{"image", s.Image, image, longestImage}, {"image that copies the key", s.InitImage, image, longestImage},
		{"Secret", s.Secret, subdomain, longestName}, {"PersistentVolumeClaim", s.Claim, subdomain, longestName},
		{"namespace", s.Namespace, label, longestName},
	} {
		if c.value != "" && (len(c.value) > c.longest || !c.form().MatchString(c.value)) {
			return fmt.Errorf("the %s is %s, which is no such name in Kubernetes", c.what, quoted(c.value))
		}
	}
	return nil
}

// quoted clips and quotes what came from elsewhere.
func quoted(s string) string { return strconv.Quote(wording.Clip(s)) }

// address takes the node's address apart.
func (s *Shards) address() (host string, port int, err error) {
	bad := fmt.Errorf("the node's address is %s, want HOST:PORT", quoted(s.Node))
	host, text, err := net.SplitHostPort(s.Node)
	if err != nil {
		return "", 0, bad
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' {
		return "", 0, bad
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Zone() == "" && net.JoinHostPort(host, text) == s.Node {
		return host, int(n), nil
	}
	if len(host) > longestName || !subdomain().MatchString(host) || strings.Contains(s.Node, "[") {
		return "", 0, bad
	}
	return host, int(n), nil
}

// KeyFile is what the file with the keys of a job's workers is called where nothing else is said; contract is the hash
// of its contract, in hexadecimal.
func KeyFile(contract string) string { return "hanse-" + contract[:12] + ".key" }

// Name is what the Job, the array and the NetworkPolicy are called.
func (s *Shards) Name() string {
	return strings.TrimRight("hanse-"+s.Contract[:12]+"-"+s.Party, "-")
}

// Kubernetes returns an Indexed Job and its NetworkPolicy, as YAML.
func (s *Shards) Kubernetes() (string, error) {
	for _, c := range []struct{ what, value string }{
		{"image", s.Image}, {"PersistentVolumeClaim", s.Claim},
	} {
		if c.value == "" {
			return "", fmt.Errorf("the %s is missing", c.what)
		}
	}
	return s.render("kubernetes.yaml")
}

// Slurm returns a script for sbatch.
func (s *Shards) Slurm() (string, error) { return s.render("slurm.sh") }

// Systemd returns the unit hanse-worker@.service.
func (s *Shards) Systemd() (string, error) { return s.render("hanse-worker@.service") }

// Loop returns a shell script that runs the workers on this machine.
func (s *Shards) Loop() (string, error) { return s.render("loop.sh") }

//go:embed files
var files embed.FS

// templates have two functions that quote: for YAML and for a shell. The unit needs none: what Validate passes means
// nothing to systemd.
var templates = template.Must(template.New("").Option("missingkey=error").Funcs(template.FuncMap{
	"yaml": strconv.QuoteToASCII, "shell": shellQuote,
}).ParseFS(files, "files/*"))

// shellQuote makes one word of s in a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// view is what a template sees.
type view struct {
	Shards
	Name      string
	KeyFile   string
	Last      int    // the number of the last shard
	Port      int    // of the node
	CIDR      string // of the node alone, if its address is no name
	IP        string
	MilliCPU  int
	Cores     int // whole ones
	MemoryMiB int64
	LimitMiB  int64 // of memory: half as much again, as a forecast may be wrong
	DiskMiB   int64
}

// render fills a template.
func (s *Shards) render(name string) (string, error) {
	if err := s.Validate(); err != nil {
		return "", err
	}
	host, port, err := s.address()
	if err != nil {
		return "", err
	}
	v := view{Shards: *s, Name: s.Name(), KeyFile: KeyFile(s.Contract),
		Last: s.Of - 1, Port: port, MilliCPU: int(math.Ceil(s.CPU * 1000)),
		Cores: int(math.Ceil(s.CPU)), MemoryMiB: (s.Memory + mib - 1) / mib, DiskMiB: (s.Scratch + mib - 1) / mib}
	v.LimitMiB = v.MemoryMiB + (v.MemoryMiB+1)/2
	if v.Secret == "" {
		v.Secret = v.Name
	}
	if v.InitImage == "" {
		v.InitImage = InitImage
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		v.IP, v.CIDR = ip.String(), netip.PrefixFrom(ip, ip.BitLen()).String()
	}
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, v); err != nil {
		return "", errors.Join(errors.New("the manifest cannot be written"), err)
	}
	return b.String(), nil
}
