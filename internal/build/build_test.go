package build

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const commit = "01a41a0c1b2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f"
	at := func(version, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified}}}
	}
	bare := func(version string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: version}} }
	for _, c := range []struct {
		said            *debug.BuildInfo
		release, commit string // of the linker
		want            Info
	}{
		{at("v1.2.3", "false"), "", "", Info{Version: "v1.2.3", Commit: commit}},
		{at("v1.2.3-rc1", "false"), "", "", Info{Version: "v1.2.3-rc1", Commit: commit}},
		{at("v0.0.0-20261123154500-01a41a0c1b2d", "false"), "", "", Info{Version: "devel-01a41a0", Commit: commit}},
		{at("v1.2.3+dirty", "true"), "", "", Info{Version: "devel-01a41a0+", Commit: commit + "+"}},
		{bare("v0.0.0-20261123154500-01a41a0c1b2d"), "", "", Info{Version: "devel-01a41a0", Commit: "01a41a0c1b2d"}},
		{bare("(devel)"), "", "", Info{Version: "devel"}},
		{bare("(devel)"), "v1.2.3", commit, Info{Version: "v1.2.3", Commit: commit}},
		{bare("(devel)"), "", commit + "+", Info{Version: "devel-01a41a0+", Commit: commit + "+"}},
		{at("v1.2.3", "false"), "v1.2.4", "f" + commit[1:], Info{Version: "v1.2.4", Commit: "f" + commit[1:]}},
		{new(debug.BuildInfo), "", "", Info{Version: "devel"}},
	} {
		if got := infoOf(c.said, c.release, c.commit); got != c.want {
			t.Errorf("%+v, %q, %q is %+v, want %+v", c.said, c.release, c.commit, got, c.want)
		}
	}
	if got := Read(); got.Version == "" || got.Go == "" || got.System == "" {
		t.Errorf("a test says %+v of itself", got)
	}
}
