// Package build says which build of the program runs.
package build

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// What the linker sets in a release, which may be made of a source archive without its history: make release does.
var (
	release string // v1.2.3, or nothing between releases
	commit  string // 40 hex digits, and a + where files had changed since
)

// Info is what a program says of its build.
type Info struct {
	Version string `json:"version"`          // as Version returns it
	Commit  string `json:"commit,omitempty"` // 40 hex digits, 12 of a module of a proxy; a + behind: files had changed
	Go      string `json:"go"`               // the toolchain, go1.26.8
	System  string `json:"system"`           // linux/amd64
}

// Read returns what this program says of its build.
func Read() Info {
	said, ok := debug.ReadBuildInfo()
	if !ok {
		said = new(debug.BuildInfo)
	}
	info := infoOf(said, release, commit)
	info.Go, info.System = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	return info
}

// Version returns the release that runs, v1.2.3, or of a build between releases the commit it was made of,
// devel-01a41a0, with a + where files had changed since; devel where nothing is known. It has at most 40 characters.
func Version() string { return Read().Version }

// Sizes of a version.
const (
	shortCommit = 7
	most        = 40 // characters of a version
)

// infoOf is Read for a program whose toolchain and linker say so much. What the linker was told counts first.
func infoOf(said *debug.BuildInfo, release, commit string) Info {
	if commit == "" {
		commit = commitOf(said)
	}
	changed := strings.HasSuffix(commit, "+")
	// A build between releases has a made-up version, in which a date and a commit stand.
	if v := said.Main.Version; release == "" && v != "(devel)" && !changed && strings.Count(v, "-") < 2 {
		release = v
	}
	version := "devel"
	if release != "" {
		version = release[:min(len(release), most)]
	} else if len(commit) >= shortCommit {
		version += "-" + commit[:shortCommit]
		if changed {
			version += "+"
		}
	}
	return Info{Version: version, Commit: commit}
}

// commitOf is the commit that the toolchain found in the repository, or in the version of a module of a proxy.
func commitOf(said *debug.BuildInfo) string {
	settings := make(map[string]string)
	for _, s := range said.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	if parts := strings.Split(said.Main.Version, "-"); commit == "" && len(parts) > 2 {
		commit = parts[len(parts)-1]
	}
	if commit != "" && settings["vcs.modified"] == "true" {
		commit += "+"
	}
	return commit
}
