package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/perf/record"
)

func TestRecordComparesThreeWaysToTrain(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
	var r record.Report
	hanselab(t, &r, "record", "--data", dir, "--set", "phishing", "--features", "32", "--repeat", "2", "--json")
	if r.Rows != 90 || r.Features != 32 || r.Parties != 4 || len(r.Ways) != 3 {
		t.Fatalf("got %+v", r)
	}
	nothing, digests, full := r.Ways[0], r.Ways[1], r.Ways[2]
	if nothing.Ratio != 1 || nothing.Frames != 0 || nothing.TranscriptBytes != 0 || nothing.Seconds <= 0 {
		t.Errorf("without transcripts: %+v", nothing)
	}
	for _, w := range []record.Way{digests, full} {
		if w.Frames%2 != 0 || w.TranscriptBytes < 160*w.Frames || w.HashedBytes < 3*90*32*2 || len(w.Ratios) != 2 ||
			w.Ratio <= 0 {
			t.Errorf("%s: %+v, want each frame at both its ends, a block for each, and all angles hashed", w.Record,
				w)
		}
	}
	if digests.Frames != full.Frames || digests.HashedBytes >= full.HashedBytes { // openings are hashed for the store
		t.Errorf("frames and bytes of the same training differ: %+v and %+v", digests, full)
	}
	if digests.KeptBytes != 0 || full.KeptBytes < 3*90*32*2 || full.KeptBytes > full.HashedBytes {
		t.Errorf("kept %d bytes with digests and %d in full, of %d hashed", digests.KeptBytes, full.KeptBytes,
			full.HashedBytes)
	}
}

func TestWrongRecordCommandLines(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"--set adult", `there is no set "adult"; there are a9a, defaultcredit, phishing, w8a, ijcnn1`},
		{"--repeat 0", "--repeat is 0 and --features 0, want at least 1, and none or a positive number"},
		{"--features -3", "--repeat is 7 and --features -3, want at least 1, and none or a positive number"},
		{"--set w8a", `the set "w8a" is not here`},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"hanselab", "record", "--data", empty}, strings.Fields(c.args)...),
			nil, &out, &said)
		if code != 1 || !strings.Contains(said.String(), c.want) || out.Len() > 0 {
			t.Errorf("record %s: code %d, says %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}
