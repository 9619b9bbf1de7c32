package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
)

func TestBadNetworksOfProcessesAreRefused(t *testing.T) {
	data := t.TempDir()
	labtest.WriteAirStream(t, data)
	bad := labtest.StandIn(t, `{"mse": 1}`, 0).Path
	dead := labtest.StandIn(t, "", 1).Path
	for want, args := range map[string][]string{
		"--league is of air, not of mnist":                        {"--set", "mnist"},
		"--league goes without --scan":                            {"--set", "air", "--scan"},
		"--league goes without --update":                          {"--set", "air", "--update", "none"},
		"--clients is 2, want at least 3 with --league":           {"--set", "air", "--clients", "2"},
		"--max-importance is 0, want a cap above 0 with --league": {"--set", "air", "--max-importance", "0"},
		"--rounds is 201, want 1 to 200":                          {"--set", "air", "--rounds", "201"},
		"hanse demo prints a result without a mean squared error": {"--set", "air", "--clients", "3", "--rounds",
			"2", "--hanse", bad},
		"--label NO2 --rounds 2": {"--set", "air", "--clients", "3", "--rounds",
			"2", "--hanse", dead},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"hanselab", "ofmsft", "--league", "--data", data}, args...), nil,
			&out, &said)
		if code != 1 || !strings.Contains(said.String(), want) {
			t.Errorf("%v: exit code %d, said %q, want %q", args, code, said.String(), want)
		}
	}
}
