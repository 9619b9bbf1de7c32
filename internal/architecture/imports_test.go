// Package architecture holds tests about the shape of the source tree. It reads the sources, not
// the build list, so that nothing is cached and test files count too.
package architecture

import (
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path that our own imports start with.
const module = "github.com/hanse-project/hanse/"

// may lists what the packages of each folder may import of ours, test files excepted; "/..." takes in all below. The
// longest folder that fits counts, and a new import is written down here first.
var may = map[string][]string{
	"keys":                {"internal/durable", "internal/wording"},
	"protocol":            {"keys", "protocol/contract", "protocol/fault"},
	"protocol/contract":   {"internal/wording", "keys", "protocol/fault"},
	"protocol/fault":      {"internal/wording"},
	"protocol/transcript": {"keys", "protocol", "protocol/contract"},
	"secagg":              {"keys", "protocol", "protocol/contract", "secagg/ring"},
	"secagg/cohort": {
		"keys", "protocol", "protocol/contract", "secagg", "secagg/graph", "secagg/he", "secagg/shamir",
	},
	"secagg/graph": {},
	"secagg/he":    {"internal/raced", "keys", "protocol", "protocol/contract", "secagg"},
	"secagg/psi": {
		"internal/parallel", "internal/wording", "keys", "protocol/contract", "secagg/psi/okvs", "secagg/psi/point",
	},
	"secagg/psi/okvs":       {"keys"},
	"secagg/psi/point":      {"internal/parallel"},
	"secagg/ring":           {"internal/parallel", "internal/raced"},
	"secagg/rss":            {"internal/raced", "keys", "protocol", "protocol/contract", "secagg/ring"},
	"secagg/shamir":         {},
	"algorithms/checkpoint": {"algorithms/parameters", "keys"},
	"algorithms/trace":      {"keys", "protocol/contract", "secagg/rss"},
	"algorithms/fdskl": {
		"algorithms/joint", "algorithms/kernel", "algorithms/kernel/lbfgs", "algorithms/parameters",
		"algorithms/trace", "internal/parallel", "keys", "protocol/contract",
	},
	"algorithms/joint": {
		"algorithms/kernel", "algorithms/parameters", "algorithms/trace", "keys", "protocol/contract", "secagg/rss",
	},
	"algorithms/glm": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/sealed", "protocol/contract",
	},
	"algorithms/federated":        {"algorithms/portable", "keys", "protocol/contract"},
	"algorithms/federated/memory": {"algorithms/federated"},
	"algorithms/gfml": {
		"algorithms/checkpoint", "algorithms/federated", "algorithms/kernel", "algorithms/parameters",
		"algorithms/portable", "audit/attack", "keys", "protocol/contract",
	},
	"algorithms/kernel": {
		"algorithms/kernel/cholesky", "algorithms/parameters", "internal/parallel", "internal/raced", "keys",
		"secagg/ring",
	},
	"algorithms/kernel/cholesky": {"internal/parallel", "internal/raced"},
	"algorithms/kernel/lbfgs":    {"algorithms/parameters"},
	"algorithms/nn":              {"internal/wording", "keys"},
	"algorithms/ofmsft": {
		"algorithms/checkpoint", "algorithms/federated", "algorithms/nn",
		"algorithms/parameters", "algorithms/portable", "audit/attack", "internal/parallel", "keys", "protocol/contract",
	},
	"algorithms/parameters": {"keys"},
	"algorithms/pofmkl": {
		"algorithms/checkpoint", "algorithms/federated", "algorithms/kernel",
		"algorithms/parameters", "algorithms/portable", "audit/attack", "keys", "protocol/contract",
	},
	"algorithms/portable": {},
	"algorithms/registry": {
		"algorithms/fdskl", "algorithms/federated", "algorithms/gfml", "algorithms/glm", "algorithms/joint",
		"algorithms/ofmsft", "algorithms/pofmkl", "algorithms/sealed", "algorithms/trace", "protocol/contract",
	},
	"algorithms/sealed": {
		"algorithms/checkpoint", "algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/parameters",
		"algorithms/trace", "internal/parallel", "keys", "protocol/contract", "secagg/rss",
	},
	"algorithms/wired": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/registry", "internal/dataset",
		"internal/vertical", "keys", "protocol", "protocol/contract", "protocol/transcript", "secagg", "secagg/he",
		"secagg/rss",
	},
	"audit": {
		"algorithms/fdskl", "algorithms/registry", "algorithms/sealed", "audit/conform", "audit/evidence",
		"audit/finding", "audit/views", "audit/views/aligned", "audit/views/payload", "audit/views/updates",
		"internal/consent", "internal/parallel", "internal/wording", "keys", "protocol/contract",
		"protocol/transcript", "secagg/psi", "secagg/rss",
	},
	"audit/attack": {"internal/parallel", "internal/raced"},
	"audit/conform": {
		"algorithms/fdskl", "algorithms/sealed", "audit/conform/clients", "audit/conform/lockstep",
		"audit/conform/rules", "audit/evidence", "audit/finding", "internal/wording", "keys", "protocol",
		"protocol/contract", "protocol/transcript", "secagg/cohort", "secagg/he", "secagg/psi", "secagg/rss",
	},
	"audit/conform/clients": {
		"algorithms/federated", "audit/conform/rules", "audit/evidence", "audit/finding",
		"internal/wording", "protocol", "protocol/contract", "protocol/transcript", "secagg/cohort",
	},
	"audit/conform/lockstep": {
		"audit/conform/rules", "audit/finding", "internal/wording", "keys", "protocol/contract",
		"protocol/transcript", "secagg/he",
	},
	"audit/conform/rules": {
		"algorithms/fdskl", "audit/evidence", "audit/finding", "internal/consent", "keys", "protocol/contract",
		"protocol/transcript", "secagg/he",
	},
	"audit/evidence": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/registry", "algorithms/sealed",
		"algorithms/trace", "keys", "protocol/contract", "protocol/transcript", "secagg/rss",
	},
	"audit/finding": {"internal/wording"},
	"audit/render": {
		"audit/finding", "internal/wording", "keys", "protocol/contract", "secagg/he", "secagg/rss",
	},
	"audit/views": {
		"algorithms/fdskl", "algorithms/kernel", "algorithms/sealed", "algorithms/trace", "audit/attack",
		"audit/evidence", "audit/finding", "audit/views/payload", "internal/wording", "keys", "protocol/contract",
		"protocol/transcript", "secagg", "secagg/he", "secagg/rss",
	},
	"audit/views/aligned": {
		"audit/evidence", "audit/finding", "audit/views/payload", "internal/wording", "keys", "protocol/contract",
		"protocol/transcript", "secagg/psi", "secagg/psi/point",
	},
	"audit/views/payload": {
		"audit/attack", "audit/evidence", "audit/finding", "internal/wording", "protocol/contract",
		"protocol/transcript", "secagg/he",
	},
	"audit/views/updates": {
		"algorithms/federated", "audit/attack", "audit/evidence", "audit/finding", "audit/views/payload",
		"internal/wording", "keys", "protocol/contract", "protocol/transcript", "secagg", "secagg/cohort",
	},
	"internal/worker": {
		"algorithms/kernel", "internal/control", "internal/shards", "keys", "protocol",
		"protocol/contract", "protocol/transcript",
	},
	"peer":                  {"keys", "peer/discovery", "peer/session", "protocol", "protocol/fault"},
	"peer/discovery":        {"internal/durable", "keys"},
	"peer/session":          {"keys", "protocol", "protocol/contract"},
	"peer/testnet":          {"keys", "protocol", "protocol/contract", "protocol/fault"},
	"internal/architecture": {},
	"internal/alignment":    {"internal/ids", "keys"},
	"internal/auditing": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/registry", "audit", "audit/evidence",
		"audit/finding", "audit/render", "internal/alignment", "internal/auditing/shardfiles", "internal/build",
		"internal/charterfile", "internal/consent", "internal/dataset", "internal/ids", "internal/jobs",
		"internal/node", "internal/node/job", "internal/source", "internal/stream", "internal/terminal",
		"internal/textfile", "internal/usage", "internal/vertical", "internal/wording", "keys", "protocol/contract",
		"protocol/transcript", "secagg/psi",
	},
	"internal/auditing/shardfiles": {"audit/evidence", "internal/shards", "protocol/contract"},
	"internal/build":               {},
	"internal/cache":               {"keys"},
	"internal/charterfile": {
		"internal/enrol", "internal/ids", "internal/terminal", "internal/textfile", "internal/usage",
		"internal/wording", "keys",
	},
	"internal/consent": {
		"internal/textfile", "internal/wording", "keys", "protocol/contract", "secagg/psi",
	},
	"internal/control": {},
	"internal/credit":  {"internal/dataset"},
	"internal/daemon": {
		"internal/alignment", "internal/consent", "internal/disk", "internal/doctor", "internal/enrol",
		"internal/forecast", "internal/jobs", "internal/metrics", "internal/node", "internal/owner",
		"internal/page", "internal/reference", "internal/shards", "internal/systemd", "internal/usage",
		"internal/wording", "internal/worker", "internal/workerkeys", "keys", "peer", "peer/session", "protocol",
		"protocol/fault",
	},
	"internal/dataset": {"internal/source", "internal/wording", "keys"},
	"internal/demo": {
		"algorithms/fdskl", "algorithms/gfml", "algorithms/joint", "algorithms/kernel", "algorithms/ofmsft",
		"algorithms/registry", "algorithms/sealed", "audit", "audit/render", "internal/auditing",
		"internal/charterfile", "internal/dataset", "internal/figures", "internal/jobs", "internal/jobview",
		"internal/localnet", "internal/node", "internal/node/job", "internal/terminal", "internal/textfile",
		"internal/trial", "internal/trial/online", "internal/usage", "internal/wording", "keys", "protocol/contract",
	},
	"internal/disk": {},
	"internal/doctor": {
		"internal/control", "internal/disk", "internal/jobs", "internal/source", "internal/statusview", "internal/stream",
		"internal/terminal", "internal/wording", "keys", "peer", "protocol", "protocol/fault",
	},
	"internal/durable": {},
	"internal/enrol": {
		"internal/control", "internal/reference", "internal/textfile", "internal/wording", "keys", "protocol",
		"protocol/fault",
	},
	"internal/faults": {
		"algorithms/federated", "internal/vault", "protocol", "protocol/contract", "protocol/fault", "secagg/cohort",
		"secagg/psi",
	},
	"internal/figures":          {"internal/parallel", "internal/wording"},
	"internal/figures/page":     {"internal/figures"},
	"internal/figures/coverage": {},
	"internal/forecast": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/registry", "algorithms/sealed",
		"algorithms/trace", "internal/build", "internal/durable", "internal/figures", "internal/wording", "keys",
		"protocol", "protocol/contract", "secagg", "secagg/psi", "secagg/psi/okvs", "secagg/psi/point", "secagg/ring",
		"secagg/rss",
	},
	"internal/golden": {},
	"internal/idcheck": {
		"internal/alignment", "internal/charterfile", "internal/dataset", "internal/ids", "internal/source",
		"internal/terminal", "internal/usage", "internal/wording", "keys",
	},
	"internal/ids":   {"internal/parallel", "internal/wording", "keys"},
	"internal/inbox": {"keys", "protocol"},
	"internal/jobs": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/sealed", "internal/alignment",
		"internal/dataset", "internal/faults", "internal/figures", "internal/forecast", "internal/ids",
		"internal/ledger", "internal/shards", "internal/source", "internal/stream", "internal/vault",
		"internal/vertical", "internal/wording", "keys", "protocol", "protocol/contract", "protocol/fault",
		"secagg/he", "secagg/psi", "secagg/rss",
	},
	"internal/jobs/clients": {
		"algorithms/federated", "algorithms/portable", "algorithms/registry", "internal/cache", "internal/consent",
		"internal/durable", "internal/faults", "internal/forecast", "internal/inbox", "internal/jobs", "internal/stream",
		"internal/vault", "keys", "protocol", "protocol/contract", "protocol/fault", "secagg", "secagg/cohort",
	},
	"internal/jobs/columns": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/registry", "algorithms/sealed",
		"algorithms/trace", "algorithms/wired", "internal/alignment", "internal/control", "internal/dataset",
		"internal/durable", "internal/faults", "internal/figures", "internal/forecast", "internal/ids",
		"internal/jobs", "internal/ledger", "internal/parts", "internal/shards", "internal/vault",
		"internal/vertical", "internal/wording", "internal/worker", "keys", "protocol", "protocol/contract",
		"protocol/fault", "protocol/transcript", "secagg/psi", "secagg/rss",
	},
	"internal/jobs/summary": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/registry", "algorithms/sealed", "algorithms/wired",
		"internal/consent", "internal/jobs", "internal/jobs/columns", "internal/wording", "keys", "protocol/contract",
		"secagg/psi", "secagg/rss",
	},
	"internal/jobview": {
		"internal/consent", "internal/figures", "internal/jobs", "internal/ledger", "internal/node", "internal/node/job",
		"internal/terminal", "internal/wording",
	},
	"internal/joining": {
		"internal/charterfile", "internal/enrol", "internal/terminal", "internal/textfile", "internal/wording", "keys",
		"peer", "protocol",
	},
	"internal/ledger": {
		"internal/consent", "internal/vault", "internal/wording", "keys", "protocol/contract", "secagg/psi",
	},
	"internal/localnet": {"internal/jobs", "internal/node", "keys", "protocol/contract"},
	"internal/manifest": {"internal/wording", "keys"},
	"internal/memory":   {},
	"internal/metrics":  {"internal/node", "internal/node/job"},
	"internal/node": {
		"algorithms/fdskl", "algorithms/federated", "algorithms/joint", "algorithms/registry", "algorithms/sealed",
		"internal/alignment", "internal/consent", "internal/control", "internal/disk", "internal/durable",
		"internal/faults", "internal/figures", "internal/forecast", "internal/jobs", "internal/jobs/clients",
		"internal/jobs/columns", "internal/jobs/summary", "internal/ledger", "internal/memory", "internal/node/job",
		"internal/owner", "internal/reference", "internal/rehearsal", "internal/shards", "internal/textfile",
		"internal/vault", "internal/wording", "internal/workerkeys", "keys", "protocol", "protocol/contract",
		"protocol/fault", "protocol/transcript", "secagg/psi", "secagg/rss",
	},
	"internal/node/job": {
		"internal/durable", "internal/faults", "internal/vault", "internal/wording", "keys", "protocol/contract",
		"protocol/fault", "protocol/transcript",
	},
	"internal/testnet/optimum": {},
	"internal/owner":           {"internal/textfile"},
	"internal/ownmodel": {
		"algorithms/fdskl", "algorithms/kernel", "algorithms/portable", "internal/durable",
		"internal/jobs/clients", "internal/stream", "internal/terminal", "internal/wording",
	},
	"internal/page": {
		"algorithms/registry", "internal/figures/page", "internal/jobs", "internal/jobs/columns",
		"internal/jobs/summary", "internal/ledger", "internal/node", "internal/node/job", "internal/wording", "keys",
		"protocol/contract",
	},
	"internal/parallel":   {},
	"internal/parts":      {"algorithms/kernel", "internal/durable", "internal/parallel", "internal/source", "keys"},
	"internal/passphrase": {"internal/terminal", "internal/textfile", "keys"},
	"internal/raced":      {},
	"internal/reference":  {"internal/durable", "internal/wording"},
	"internal/rehearsal":  {"internal/durable", "internal/wording", "keys"},
	"internal/rehearsal/stage": {
		"algorithms/registry", "audit", "internal/auditing", "internal/localnet", "internal/node", "internal/node/job",
		"internal/rehearsal", "internal/rehearsal/standin", "internal/terminal", "internal/usage", "internal/wording", "keys",
		"protocol/contract",
	},
	"internal/rehearsal/standin": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "algorithms/registry", "internal/dataset",
		"keys", "protocol/contract",
	},
	"internal/shards": {
		"internal/control", "internal/durable", "internal/vault", "internal/wording", "keys", "protocol",
		"protocol/contract", "protocol/transcript",
	},
	"internal/split": {
		"internal/credit", "internal/dataset", "internal/terminal", "internal/textfile", "internal/trial",
		"internal/trial/online", "internal/usage", "internal/wording", "keys", "protocol/contract",
	},
	"internal/source":         {"keys"},
	"internal/testnet/pgtest": {"internal/testnet/needs"},
	"internal/statusview": {
		"internal/jobview", "internal/node", "internal/node/job", "internal/terminal", "internal/wording",
	},
	"internal/stream":              {},
	"internal/tablecheck":          {"internal/dataset", "internal/terminal", "internal/wording"},
	"internal/systemd":             {},
	"internal/terminal":            {"internal/jobs", "internal/systemd", "internal/usage", "internal/wording"},
	"internal/testnet/conformance": {"keys", "protocol", "protocol/fault"},
	"internal/testnet/drawn":       {},
	"internal/testnet/needs":       {},
	"internal/textfile":            {"internal/durable"},
	"internal/trial": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "internal/credit", "internal/dataset",
		"internal/figures", "internal/textfile", "internal/vertical", "keys",
	},
	"internal/trial/online": {
		"algorithms/gfml", "algorithms/nn", "algorithms/ofmsft", "algorithms/pofmkl", "internal/stream", "keys",
		"protocol/contract",
	},
	"internal/usage": {},
	"internal/vault": {"internal/durable", "keys"},
	"internal/vertical": {
		"algorithms/fdskl", "algorithms/joint", "algorithms/kernel", "internal/dataset", "internal/vault",
		"internal/wording", "keys",
	},
	"internal/wording":    {},
	"internal/workerkeys": {"internal/durable", "keys"},
	"cmd": {
		"keys/...", "protocol/...", "secagg/...", "algorithms/...", "audit/...", "peer/...", "internal/...",
	},
	"examples/train": {"algorithms/...", "keys/...", "peer/...", "protocol/...", "secagg/..."}, // as any module may
	"examples": {
		"keys/...", "protocol/...", "secagg/...", "algorithms/...", "audit/...", "peer/...", "internal/...",
		"examples/...",
	},
	"lab": {
		"keys/...", "protocol/...", "secagg/...", "algorithms/...", "audit/...", "peer/...", "internal/...", "lab/...",
	},
	"lab/chaos": {
		"algorithms/fdskl", "internal/dataset", "internal/enrol", "internal/jobs", "internal/localnet",
		"internal/node", "internal/node/job", "internal/trial", "internal/trial/online", "keys", "protocol/contract",
	},
}

// outsiders lists modules that a few folders alone may import.
var outsiders = map[string][]string{
	"github.com/libp2p/":      {"peer", "lab/perf"}, // bare streams are measured beside ours
	"github.com/tuneinsight/": {"secagg/he"},
	"github.com/urfave/cli":   {"cmd", "lab/cmd"},
	"github.com/prometheus/":  {"internal/metrics"},
	"filippo.io/age":          {"keys"},
	"filippo.io/edwards25519": {"secagg/psi"},
	"github.com/cloudflare/":  {"secagg/psi/point"},
	"github.com/mmcloughlin/": {"secagg/ring/asm", "algorithms/kernel/cholesky/asm"}, // which write assembly
	"gonum.org/v1/plot":       {"lab/plot"},
	// What tables come from, the tests that lay one there, and the parts that a node's workers read.
	"github.com/parquet-go/": {"internal/parts", "internal/source", "internal/vertical"},
	"github.com/jackc/":      {"internal/source", "internal/testnet/pgtest"},
	"modernc.org/sqlite":     {"internal/source"},
	"github.com/chromedp/":   {"internal/page"}, // its tests
}

// without lists folders below one of the above that must do without the module all the same.
var without = map[string]string{
	"peer/testnet": "github.com/libp2p/", // it is a transport of its own
	"peer/session": "github.com/libp2p/", // it knows links and streams by what sessions need of them
}

func TestImports(t *testing.T) {
	eachSource(t, func(s source) {
		for _, spec := range s.file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if own, ok := strings.CutPrefix(name, module); ok && !s.test {
				checkOwn(t, s, own)
			}
			for prefix, where := range outsiders {
				allowed := slices.ContainsFunc(where, func(w string) bool { return within(s.folder, w) })
				if strings.HasPrefix(name, prefix) && (!allowed || without[s.folder] == prefix) {
					t.Errorf("%s imports %s, which only %s may", s.path, name, strings.Join(where, ", "))
				}
			}
		}
	})
}

// TestTheProductDoesWithoutTheLab keeps the lab, a module of its own, out of the product's module, test files included.
func TestTheProductDoesWithoutTheLab(t *testing.T) {
	inside := 0
	eachSource(t, func(s source) {
		if within(s.folder, "lab") {
			inside++
			return
		}
		for _, spec := range s.file.Imports {
			if name, _ := strconv.Unquote(spec.Path.Value); within(name, module+"lab") {
				t.Errorf("%s imports %s, which is of another module", s.path, name)
			}
		}
	})
	if inside == 0 {
		t.Error("lab has no Go file: has it moved?")
	}
}

// checkOwn checks one import of ours against the longest folder that fits.
func checkOwn(t *testing.T, s source, own string) {
	t.Helper()
	rule := ""
	for f := range may {
		if within(s.folder, f) && len(f) > len(rule) {
			rule = f
		}
	}
	if rule == "" {
		t.Errorf("%s: folder %s has no rule about imports", s.path, s.folder)
		return
	}
	if !slices.ContainsFunc(may[rule], func(allowed string) bool {
		below, all := strings.CutSuffix(allowed, "/...")
		return own == allowed || all && within(own, below)
	}) {
		t.Errorf("%s imports %s, which %s must not", s.path, own, rule)
	}
}

// cores are the folders whose code computes, and starts no goroutine. Loops that share work among
// processors go through internal/parallel, whose results and errors do not depend on how many there
// are.
var cores = []string{"protocol", "secagg", "keys", "algorithms", "audit"}

// starters are the files in the cores that may start goroutines all the same, and why.
var starters = map[string]string{
	"algorithms/federated/memory/session.go": "clients in one process, each of which runs as it would on a machine of its own",
	"protocol/pending.go":                    "frames of what has begun are read while others are sent; it ends with them or their link",
	"protocol/transcript/recorder.go":        "hashes and disks work beside the network, in the order of the session",
	"algorithms/sealed/columns.go":           "the shares of one block are taken while the messages of the next ones go on",
}

// TestNoGoroutinesInTheCores keeps the cores synchronous: no go statement, and no Go method of a
// sync.WaitGroup or an errgroup.Group.
func TestNoGoroutinesInTheCores(t *testing.T) {
	unused := maps.Clone(starters)
	eachSource(t, func(s source) {
		if s.test || !slices.ContainsFunc(cores, func(core string) bool { return within(s.folder, core) }) {
			return
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			starts := startsGoroutine(n)
			if _, may := starters[s.path]; starts && may {
				delete(unused, s.path)
			} else if starts {
				t.Errorf("%s starts a goroutine: use internal/parallel", s.at(n.Pos()))
			}
			return true
		})
	})
	for path := range unused {
		t.Errorf("%s may start goroutines and starts none: take it off the list", path)
	}
}

// startsGoroutine reports whether a node is a go statement, or calls the Go method of a sync.WaitGroup or an
// errgroup.Group.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		return ok && f.Sel.Name == "Go"
	}
	return false
}

// TestEveryPackageHasOneDoc wants a package comment, once.
func TestEveryPackageHasOneDoc(t *testing.T) {
	docs := make(map[string]int)
	eachSource(t, func(s source) {
		docs[s.folder] += 0
		if s.file.Doc != nil && !strings.HasSuffix(s.file.Name.Name, "_test") {
			docs[s.folder]++
		}
	})
	for folder, n := range docs {
		if n != 1 {
			t.Errorf("%s has %d package comments, want 1", folder, n)
		}
	}
}

// within reports whether path is folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}
