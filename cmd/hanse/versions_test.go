package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// keepAs makes TestFoldersOfVersions write the folder of the present program under a name.
var keepAs = flag.String("keep", "", "write the folder of this version into testdata/versions, such as v0.1.0")

// versionsDir has a folder of nodes for each version that was released, as an archive, and scripts that write and read
// them.
var versionsDir = filepath.Join("testdata", "versions")

// mostOfAVersion is the largest archive that is kept, in bytes.
const mostOfAVersion = 1 << 20

// understood is what programs read of each other: who has another contract, say, cannot agree to a job.
type understood struct {
	Wire, Frame      int
	Contract, Ending string
}

// present is what this program understands.
var present = understood{peer.WireVersion, protocol.FrameVersion, contract.Format, contract.EndingFormat}

// TestFoldersOfVersions has the present program read what each released version wrote, and that before the next
// release: three nodes' folders with an alignment, a training and its scores, all done.
//
// Where it fails, this program does not read what its predecessor wrote: have it read both formats (docs/life.md,
// Versions). A folder that is called unreleased is of nobody's but the tests': until the first release it is written
// anew, as the folder of a release is written with that release's program:
//
//	go test ./cmd/hanse -run TestFoldersOfVersions -keep unreleased
func TestFoldersOfVersions(t *testing.T) {
	t.Parallel()
	if *keepAs != "" {
		keepVersion(t, filepath.Join(versionsDir, *keepAs+".tar.gz"))
	}
	archives, err := filepath.Glob(filepath.Join(versionsDir, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no folder of any version: %v", err)
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Errorf("this program does not read what %s wrote: a program reads what its predecessor wrote (docs/life.md, "+
						"Versions); what was never released is written anew with -keep %s", name, name)
				}
			})
			scriptOf(t, "read.txtar", func(env *testscript.Env) error { return unpack(archive, env.WorkDir) })
		})
	}
}

// TestAnotherContractIsAnotherWire: members whose programs do not understand each other's contracts, frames or endings
// hear so when they connect, by the wire's version, and not by a job that comes to nothing.
func TestAnotherContractIsAnotherWire(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join(versionsDir, "*.tar.gz"))
	must(t, err)
	for _, archive := range archives {
		dir := t.TempDir()
		must(t, unpack(archive, dir))
		text, err := os.ReadFile(filepath.Join(dir, "kept", "understood.json"))
		var was understood
		if err == nil {
			err = json.Unmarshal(text, &was)
		}
		must(t, err)
		if was != present && was.Wire == present.Wire {
			t.Errorf("%s understands %+v, this program %+v: raise peer.WireVersion, so that members hear of it at once",
				filepath.Base(archive), was, present)
		}
	}
}

// scriptOf runs one of the scripts that write and read folders of versions.
func scriptOf(t *testing.T, name string, setup func(*testscript.Env) error) {
	testscript.Run(t, testscript.Params{
		Files: []string{filepath.Join(versionsDir, name)}, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error { return errors.Join(setPorts(env), setup(env)) },
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"await": awaitFile},
	})
}

// keepVersion writes the folder of the present program into an archive.
func keepVersion(t *testing.T, archive string) {
	var kept string
	packed := new(bytes.Buffer)
	t.Run("keep", func(t *testing.T) {
		scriptOf(t, "write.txtar", func(env *testscript.Env) error {
			kept = filepath.Join(env.WorkDir, "kept")
			env.Defer(func() {
				text, err := json.Marshal(present)
				if err == nil {
					err = os.WriteFile(filepath.Join(kept, "understood.json"), text, 0o600)
				}
				if err == nil {
					err = pack(packed, kept)
				}
				if err != nil {
					t.Error(err)
				}
			})
			return nil
		})
	})
	if packed.Len() > mostOfAVersion || t.Failed() {
		t.Fatalf("%d bytes, at most %d are kept of a version", packed.Len(), mostOfAVersion)
	}
	must(t, os.WriteFile(archive, packed.Bytes(), 0o644))
}

// pack writes the files of a folder, in the order of their names and of no time.
func pack(w io.Writer, dir string) error {
	zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(dir), path)
		if err == nil {
			err = out.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(text))})
		}
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	})
	return errors.Join(err, out.Close(), zipped.Close())
}

// unpack writes the files of an archive below a folder.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for in := tar.NewReader(unzipped); ; {
		head, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(head.Name) || slices.Contains(strings.Split(head.Name, "/"), "..") {
			return errors.New(head.Name + " leads out of the folder")
		}
		path := filepath.Join(dir, head.Name)
		text, err := io.ReadAll(in)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
}
