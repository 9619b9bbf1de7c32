package lab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// write writes a file below dir that may be executed, with the folders above it, and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// hanse writes a file that stands for the program into dir.
func hanse(t *testing.T, dir string) string {
	t.Helper()
	name := "hanse"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return write(t, dir, name, "#!/bin/sh\n")
}

// checkout writes a source tree of a program that says "built", with a lab.
func checkout(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	write(t, top, "go.mod", moduleLine+"\ngo 1.26\n")
	write(t, top, "cmd/hanse/main.go", "package main\n\nfunc main() { println(\"built\") }\n")
	write(t, top, "lab/go.mod", strings.TrimSpace(moduleLine)+"/lab\n\ngo 1.26\n")
	return top
}

func TestTheGivenProgramIsTaken(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(hanse(t, t.TempDir())))
	given := hanse(t, t.TempDir())
	t.Chdir(filepath.Dir(given))
	var log bytes.Buffer
	p, err := FindProgram(t.Context(), &log, filepath.Base(given), t.TempDir())
	if err != nil || p.Path != given || log.Len() > 0 {
		t.Errorf("got %v, %v and %q on the log, want %s", p, err, log.String(), given)
	}
}

func TestTheProgramBesideComesBeforePath(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(hanse(t, t.TempDir())))
	t.Chdir(checkout(t))
	beside := hanse(t, t.TempDir())
	p, err := search(t.Context(), filepath.Dir(beside), t.TempDir())
	if err != nil || p.Path != beside {
		t.Errorf("got %v, %v, want %s", p, err, beside)
	}
}

func TestTheProgramOnPathComesBeforeABuild(t *testing.T) {
	onPath := hanse(t, t.TempDir())
	t.Setenv("PATH", filepath.Dir(onPath))
	t.Chdir(checkout(t))
	var log bytes.Buffer
	p, err := FindProgram(t.Context(), &log, "", t.TempDir())
	if err != nil || p.Path != onPath || log.String() != "measuring "+onPath+"\n" {
		t.Errorf("got %v, %v and %q on the log, want %s", p, err, log.String(), onPath)
	}
}

// TestAProgramIsBuiltFromTheCheckout: from its top, its lab and any folder of it.
func TestAProgramIsBuiltFromTheCheckout(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(goTool))
	t.Setenv("GOWORK", "off")
	top := checkout(t)
	for _, from := range []string{".", "lab", "cmd/hanse"} {
		t.Chdir(filepath.Join(top, from))
		p, err := search(t.Context(), t.TempDir(), t.TempDir())
		if err != nil {
			t.Fatalf("from %s: %v", from, err)
		}
		if said, err := exec.Command(p.Path).CombinedOutput(); err != nil || string(said) != "built\n" {
			t.Errorf("from %s: %s says %q (%v), want built", from, p.Path, said, err)
		}
	}
	write(t, top, "cmd/hanse/main.go", "no program")
	want := "cmd/hanse of " + top + " does not build (exit status 1): name a built program with --hanse PATH\n"
	if _, err := search(t.Context(), t.TempDir(), t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestWithoutAProgramItSaysWhereItLooked(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Chdir(t.TempDir())
	beside := t.TempDir()
	want := "there is no hanse beside hanselab (in " + beside + ") or on PATH, and the working folder is in no checkout " +
		"to build one from: name a program with --hanse PATH"
	if _, err := search(t.Context(), beside, t.TempDir()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestDataFolder(t *testing.T) {
	top := checkout(t)
	data := filepath.Join(filepath.Dir(top), "shared", "data")
	t.Setenv("HANSE_DATA", "")
	t.Chdir(filepath.Join(top, "lab"))
	if got := DataFolder(); got != "" {
		t.Errorf("got %s, which is not there", got)
	}
	write(t, data, "a9a.gz", "")
	if got := DataFolder(); got != data {
		t.Errorf("got %q, want %s", got, data)
	}
	t.Setenv("HANSE_DATA", "elsewhere")
	if got := DataFolder(); got != "elsewhere" {
		t.Errorf("got %q, want elsewhere", got)
	}
	t.Setenv("HANSE_DATA", "")
	t.Chdir(t.TempDir())
	if got := DataFolder(); got != "" {
		t.Errorf("got %s outside of a checkout, want none", got)
	}
}
