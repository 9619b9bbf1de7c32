package chaos

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// watchEvery is how often a folder is looked at for changes. It is short beside the time that a safe write takes.
const watchEvery = 200 * time.Microsecond

// changes counts the files that appear in the job folders of a node, and those that others take the place of.
type changes struct {
	jobs string
	seen map[string]os.FileInfo
	last string // what changed last
}

// newChanges watches a node's folder from now on.
func newChanges(dir string) *changes {
	c := &changes{jobs: filepath.Join(dir, "jobs"), seen: make(map[string]os.FileInfo)}
	c.look()
	return c
}

// look returns how many changes there were since the last look.
func (c *changes) look() (n int) {
	folders, _ := os.ReadDir(c.jobs)
	for _, folder := range folders {
		files, _ := os.ReadDir(filepath.Join(c.jobs, folder.Name()))
		for _, f := range files {
			info, err := f.Info()
			path := filepath.Join(c.jobs, folder.Name(), f.Name())
			if err != nil || c.seen[path] != nil && os.SameFile(c.seen[path], info) {
				continue
			}
			c.seen[path], c.last = info, f.Name()
			n++
		}
	}
	return n
}

// count counts changes until the context ends.
func (c *changes) count(ctx context.Context) (n int) {
	for ctx.Err() == nil {
		n += c.look()
		time.Sleep(watchEvery)
	}
	return n
}

// copies keeps what the files of a folder had in them, as far as it is seen.
type copies struct {
	dir string

	mu   sync.Mutex
	kept map[string][][]byte
}

// Bounds of what copies keeps of a file.
const (
	maxCopies   = 40
	maxCopySize = 32 << 20
)

// newCopies starts with what there is.
func newCopies(dir string) *copies {
	c := &copies{dir: dir, kept: make(map[string][][]byte)}
	c.take()
	return c
}

// run takes copies until the context ends.
func (c *copies) run(ctx context.Context, every time.Duration) {
	for ctx.Err() == nil {
		c.take()
		time.Sleep(every)
	}
}

// take copies what has changed.
func (c *copies) take() {
	c.mu.Lock()
	defer c.mu.Unlock()
	files, _ := stateFiles(c.dir)
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil || info.Size() > maxCopySize || len(c.kept[path]) >= maxCopies {
			continue
		}
		data, err := os.ReadFile(path)
		if old := c.kept[path]; err == nil && (len(old) == 0 || !bytes.Equal(old[len(old)-1], data)) {
			c.kept[path] = append(old, data)
		}
	}
}

// before returns the contents that a file had, other than those it has now.
func (c *copies) before(path string) (older [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, _ := os.ReadFile(path)
	for _, data := range c.kept[path] {
		if !bytes.Equal(data, now) {
			older = append(older, data)
		}
	}
	return older
}
