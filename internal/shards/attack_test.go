package shards

import (
	"math"
	"strings"
	"testing"
)

// TestFilesTakeRoom: what a worker hands in is counted so that neither a size near the largest number nor many empty
// files pass the limit.
func TestFilesTakeRoom(t *testing.T) {
	l := newSharded(t)
	l.run.MaxFiles, l.run.Reserve = 10_000, func(int64) error { return nil }
	h := &hearing{run: l.run, shard: 1, contract: l.job.Contract(), folder: t.TempDir(), over: make(chan error, 1)}
	keep := func(string) error { return nil }
	if err := h.said(Said{Kind: SaidFile, Name: TranscriptFile, Size: 1}, nil, keep); err != nil {
		t.Fatal(err)
	}
	err := h.said(Said{Kind: SaidFile, Name: "payloads/a", Size: math.MaxInt64}, nil, keep)
	if err == nil || !strings.Contains(err.Error(), "at most 10000 are kept") {
		t.Errorf("the largest number of bytes: %v", err)
	}
	for range 100 {
		if err = h.said(Said{Kind: SaidFile, Name: "payloads/a"}, nil, keep); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("files without end are kept, if they are empty")
	}
}
