package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/perf/align"
	"github.com/hanse-project/hanse/secagg/psi"
)

// TestAlign measures tiny lists: the command itself fails where what the parties find is not the plain intersection.
func TestAlign(t *testing.T) {
	var r align.Report
	hanselab(t, &r, "align", "--rows", "300", "--parties", "2,3", "--buckets", "1,4",
		"--pieces", "200", "--repeat", "2", "--json")
	if len(r.Runs) != 8 || len(r.Pieces) != 8 || r.Machine == "" {
		t.Fatalf("%d runs and %d pieces, want 8 and 8", len(r.Runs), len(r.Pieces))
	}
	for _, c := range r.Runs {
		// Of a list of 300, 150 rows are everybody's, and 75 its neighbour's too.
		want, helper, other := 225, c.Mode == psi.ModeHelper, c.Parties > 2
		if other {
			want = 150
		}
		if c.Common != want || c.Seconds <= 0 || c.CPU <= 0 || c.PlainSeconds <= 0 || c.Ratio <= 0 || c.CPURatio <= 0 ||
			c.PerCore <= 0 {
			t.Errorf("got %+v, want %d common rows and positive times", c, want)
		}
		if c.Buckets != 1 && c.Buckets != 4 {
			t.Errorf("%d buckets", c.Buckets)
		}
		element := int64(32 + 16) // a point, and one of the other's under both scalars
		if helper {
			element = 16
		}
		if c.Asker < 300*element || c.Keeper < 300*element || helper != (c.Helper > 0) || other != (c.Other > 300*16) ||
			c.Bytes != c.Asker+c.Keeper+c.Helper+c.Other {
			t.Errorf("%s, %d parties: %d bytes sent by the asker, %d by the keeper, %d by the helper, %d by others, %d by all",
				c.Mode, c.Parties, c.Asker, c.Keeper, c.Helper, c.Other, c.Bytes)
		}
	}
	for _, p := range r.Pieces {
		if p.IDs != 200 || p.PerCore <= 0 {
			t.Errorf("got %+v", p)
		}
	}
}

// TestAlignPrintsNarrowTables reads what people see of large lists.
func TestAlignPrintsNarrowTables(t *testing.T) {
	r := align.Report{Machine: "2 cores"}
	for _, mode := range []string{psi.ModeDH, psi.ModeHelper} {
		r.Runs = append(r.Runs, align.Result{
			Mode: mode, Parties: 8, Rows: 10_000_000, Common: 5_000_000, Buckets: 40, Seconds: 1234.5, CPU: 2345.6,
			PlainSeconds: 12.34, Ratio: 100, CPURatio: 166.6, PerCore: 1_234_567, Asker: 512_345_678, Keeper: 512_345_678,
			Helper: 512_345_678, Other: 512_345_678, Peak: 12_345_678_901, Load: 12.3,
		})
	}
	r.Pieces = []align.Piece{{Name: "SHA-512 of elements", IDs: 10_000_000, CPU: 1, PerCore: 10_000_000}}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestAlignRefusesWrongCommandLines(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--rows 0", "--rows is 0, want at least 1"},
		{"--rows 20000000", "lists of 20000000 ids, want at most 16777216"},
		{"--parties 2,1", "--parties is [2 1], want 2 to 64 each"},
		{"--buckets 0", "--buckets is [0], want 1 to 1024 each"},
		{"--mode bloom", `--mode is "bloom", want some of ["dh" "helper"]`},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), strings.Fields("hanselab align "+c.args), nil, &out, &said)
		if code != 1 || said.String() != "hanselab: "+c.want+"\n" {
			t.Errorf("align %s: code %d, says %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}
