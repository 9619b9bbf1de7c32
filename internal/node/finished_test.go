package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
)

// finished is a federation whose job is done, as its members' folders had it when all nodes had stopped. Nobody changes
// it: each test has a copy.
type finished struct {
	names   []string
	keys    []*keys.PrivateKey
	charter *keys.SignedCharter
	folders []map[string][]byte // of each member: files, and folders as nil
	job     keys.Hash
}

// federations are the finished ones of this process, by what their jobs are.
var federations struct {
	mu  sync.Mutex
	all map[string]*finished
}

// finishedNetwork returns a copy of a federation whose job is done, and the job. The first test that asks for a kind
// runs the job; the nodes of the copy are not started, and have openPolicy.
func finishedNetwork(
	t testing.TB, kind string, run func(t testing.TB) (*testNetwork, keys.Hash),
) (*testNetwork, keys.Hash) {
	t.Helper()
	federations.mu.Lock()
	defer federations.mu.Unlock()
	f := federations.all[kind]
	if f == nil {
		f = runToItsEnd(t, run)
		if federations.all == nil {
			federations.all = make(map[string]*finished)
		}
		federations.all[kind] = f
	}
	l := &testNetwork{t: t, policy: openPolicy(), names: f.names, keys: f.keys, charter: f.charter}
	for _, files := range f.folders {
		l.dirs = append(l.dirs, t.TempDir())
		write(t, l.dirs[len(l.dirs)-1], files)
	}
	l.connect(testnet.FoundWith(t, l.names, l.keys))
	return l, f.job
}

// runToItsEnd runs a job, waits until all parties have stored its end, and stops all nodes.
func runToItsEnd(t testing.TB, run func(t testing.TB) (*testNetwork, keys.Hash)) *finished {
	t.Helper()
	l, h := run(t)
	f := &finished{names: l.names, keys: l.keys, charter: l.charter, job: h}
	for _, n := range l.nodes {
		s, _ := n.job(h)
		<-s.Final()
	}
	for i, stop := range l.stops {
		stop()
		f.folders = append(f.folders, read(t, l.dirs[i]))
	}
	return f
}

// read returns what is below a folder.
func read(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		all[name] = nil
		if d.Type().IsRegular() {
			all[name], err = os.ReadFile(path)
			all[name] = append([]byte{}, all[name]...)
		}
		return err
	}))
	return all
}

// write makes a folder's files anew elsewhere.
func write(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && data == nil {
			err = os.MkdirAll(path, 0o700)
		} else if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		must(t, err)
	}
}

// sealedNetwork returns a federation of four with a small sealed model of so many rows, and the model's contract.
func sealedNetwork(t testing.TB, rows int) (*testNetwork, keys.Hash) {
	t.Helper()
	return trainedNetwork(t, rows, "privacy = \"sealed\"", "features = 16\niterations = 4\nlambda = 1e-2\nsigma = 1.0")
}

// maskedNetwork is sealedNetwork for a masked model.
func maskedNetwork(t testing.TB, rows int) (*testNetwork, keys.Hash) {
	t.Helper()
	return trainedNetwork(t, rows, "privacy = \"masked\"", "loss = \"square\"\nfeatures = 16")
}

// trainedNetwork returns a federation of four that has trained once in this process, with so many rows.
func trainedNetwork(t testing.TB, rows int, head, parameters string) (*testNetwork, keys.Hash) {
	t.Helper()
	return finishedNetwork(t, fmt.Sprint(rows, head, parameters), func(t testing.TB) (*testNetwork, keys.Hash) {
		l := newTestNetwork(t, 4, rows)
		l.startAll()
		_, h, err := l.propose(l.job("train", head, activeBank+parameters))
		must(t, err)
		return l, h
	})
}
