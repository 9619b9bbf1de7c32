package shards

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// TestWhatAFolderHasOfItsShards lists sessions in their order and leaves out what no node makes.
func TestWhatAFolderHasOfItsShards(t *testing.T) {
	dir, job := t.TempDir(), keys.HashOf("job")
	for _, name := range []string{Path(1, 2), Path(0, 10), Path(0, 2), Path(0, 123456), "shards/abc/00001",
		"shards/00001/1", "shards/00002/00001x"} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	list, err := KeptIn(dir)
	must(t, err)
	want := []struct {
		shard      int
		generation uint32
	}{{0, 2}, {0, 10}, {0, 123456}, {1, 2}}
	if len(list) != len(want) {
		t.Fatalf("%+v", list)
	}
	for i, w := range want {
		k := list[i]
		if k.Shard != w.shard || k.Generation != w.generation ||
			k.Transcript != filepath.Join(dir, Path(w.shard, w.generation), TranscriptFile) {
			t.Errorf("%+v, want %+v", k, w)
		}
	}
	v, err := vault.Open(dir, vault.Options{Owner: job})
	must(t, err)
	must(t, saveRecord(v, 1, record{Latest: 3, Done: 2}))
	if latest, done, err := Generations(dir, job, 1); latest != 3 || done != 2 || err != nil {
		t.Errorf("%d, %d, %v", latest, done, err)
	}
	if _, _, err := Generations(dir, job, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, _, err := Generations(dir, keys.HashOf("another"), 1); err == nil {
		t.Error("the record of another job is read")
	}
}
