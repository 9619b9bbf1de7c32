package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/papers/gfml"
)

// TestGFMLTrafficIsMeasured between real processes: a fifth of the entries is a fifth of the paper's count, and more
// on the wire, where servers send each other the same.
func TestGFMLTrafficIsMeasured(t *testing.T) {
	var r gfml.TrafficReport
	hanselab(t, &r, "gfml-traffic", "--servers", "2", "--clients", "3", "--rounds", "4", "--features", "50",
		"--entries", "10", "--hanse", builtProgram(t).Path, "--json")
	if len(r.Rows) != 2 {
		t.Fatalf("got %+v", r)
	}
	whole, part := r.Rows[0], r.Rows[1]
	if whole.Entries != 50 || part.Paper != whole.Paper/5 || part.Paper != 2*2*3*8*10 {
		t.Errorf("the paper counts %v for all, %v for a fifth", whole.Paper, part.Paper)
	}
	if !(part.Clients > part.Paper && part.Clients < whole.Clients && part.Clients > whole.Clients/5) {
		t.Errorf("clients: %v bytes of %v", part.Clients, whole.Clients)
	}
	if least := 2.0 * 8 * 50; whole.Between < least || part.Between < least {
		t.Errorf("servers send each other %v and %v bytes, want at least %v", whole.Between, part.Between, least)
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil || !strings.Contains(text.String(), "| 10 ") {
		t.Errorf("error %v, the report is\n%s", err, text.String())
	}
}

// TestWrongGFMLTrafficFlags names what is wrong.
func TestWrongGFMLTrafficFlags(t *testing.T) {
	var out, said bytes.Buffer
	code := run(t.Context(), strings.Fields("hanselab gfml-traffic --entries 40,201"), nil, &out, &said)
	if want := "hanselab: --entries is [40 201], want numbers from 1 to 200, the --features\n"; code != 1 ||
		said.String() != want {
		t.Errorf("code %d, says %q, want %q", code, said.String(), want)
	}
}
