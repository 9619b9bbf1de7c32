package gfml

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// roles is the least that a job says, among the parties a, b, a1, a2, a3, a4, b1, b2, b3, b4.
const roles = `servers = ["a", "b"]
clients = {a = ["a1", "a2", "a3", "a4"], b = ["b1", "b2", "b3", "b4"]}
edges = [["a", "b"]]
clusters = [["a"], ["b"]]
columns = ["x"]
label = "y"
`

func roleParties() []string {
	return []string{"a", "b", "a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"}
}

func TestParametersThatAJobMayNotHave(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(roles, old) {
			t.Fatalf("%q is not in the text", old)
		}
		return strings.Replace(roles, old, new, 1)
	}
	for _, c := range []struct{ text, want string }{
		{roles + "colour = 1\n", `parameters: line 7: unknown key "colour"`},
		{roles + "features = 0\n", "features is 0, want 1 to 65536"},
		{roles + "features = 65537\n", "features is 65537, want 1 to 65536"},
		{roles + "sigma = 0\n", "kernel width sigma is 0: it must lie in [1e-06, 1e+09]"},
		{roles + "iterations = -1\n", "iterations is -1, want 1 to 1073741824"},
		{roles + "step = 0\n", "step is 0, want a positive number"},
		{roles + "step = inf\n", "step is +Inf, want a positive number"},
		{roles + "step = nan\n", "step is NaN, want a positive number"},
		{roles + "eta = 2.0\n", "eta is 2, want 0 to 1"},
		{roles + "eta = nan\n", "eta is NaN, want 0 to 1"},
		{roles + "bound = 0.5\n", "bound is 0.5, want 1 to 4294967296"},
		{roles + "participants = 5\n", `participants is 5, want 1 to 4, the number of clients of "a"`},
		{roles + "participants = 0\n", `participants is 0, want 1 to 4, the number of clients of "a"`},
		{roles + "entries = 201\n", "entries is 201, want 1 to 200"},
		{roles + "entries = 4\nshift = 201\n", "shift is 201, want 1 to 200"},
		{roles + "entries = 4\nshift = 50\n", "shift is 50: with 200 features and 4 entries at a time some entries are " +
			"never shared, want a greatest common divisor of shift and features of at most 4, not 50"},
		{roles + "selection = \"random\"\n", `selection is "random", want "coordinated" or "uncoordinated"`},
		{swap(`["a", "b"]`, `[]`), "the number of servers is 0, want 1 to 1024"},
		{swap(`["a", "b"]`, `["a", "a"]`), `party "a" is a server and a server, want one role for each party`},
		{swap(`"b4"]`, `"a4"]`), `party "a4" is a client of "a" and a client of "b", want one role for each party`},
		{swap(`, b = ["b1", "b2", "b3", "b4"]`, ``), `the number of clients of "b" is 0, want 1 to 65536`},
		{swap(`{a =`, `{z = [], a =`), `clients are listed for "z", which is not among the servers`},
		{swap(`, "b4"`, ``), `party "b4" has no role, want it among the servers or the clients`},
		{swap(`"b4"`, `"b4", "b5"`), `"b5", a client of "b", is not among the job's parties`},
		{swap(`["x"]`, `[]`), "the number of columns is 0, want 1 to 4096"},
		{swap(`["x"]`, `["x", ""]`), "column 2 has no name"},
		{swap(`["x"]`, `["x", "x"]`), `columns name "x" twice`},
		{swap(`label = "y"`, ``), "label is missing, want the name of the column that is learnt"},
		{swap(`label = "y"`, `label = "x"`), `label "x" is among the columns, want a column that is no input`},
		{swap(`[["a", "b"]]`, `[["a"]]`), "edge 1 names 1 servers, want 2"},
		{swap(`[["a", "b"]]`, `[["a", "z"]]`), `edge a - z: "z" is not among the servers`},
		{swap(`[["a", "b"]]`, `[["b", "b"]]`), "edge b - b joins a server to itself"},
		{swap(`[["a", "b"]]`, `[["a", "b"], ["b", "a"]]`), "edge b - a is there twice, want it once, for both directions"},
		{swap(`[["a", "b"]]`, `[]`), "the graph is not connected: no edges lead from a to b"},
		{swap(`[["a"], ["b"]]`, `[["a", "b"], []]`), "cluster 2 is empty, want at least one server"},
		{swap(`[["a"], ["b"]]`, `[["a"], ["z"]]`), `cluster 2: "z" is not among the servers`},
		{swap(`[["a"], ["b"]]`, `[["a"], ["b", "a"]]`), `server "a" is in cluster 1 and in cluster 2, want one`},
		{swap(`[["a"], ["b"]]`, `[["a"]]`), `server "b" is in no cluster, want one`},
		{roles + "rho = [[0, 1]]\n", "rho has 1 rows, want 2, one for each server"},
		{roles + "rho = [[0, 1], [1]]\n", `rho, row of "b", has 1 numbers, want 2, one for each server`},
		{roles + "rho = [[0, 0.9], [1, 0]]\n", `rho, row of "a": the sum is 0.9, want 1`},
		{roles + "rho = [[0, 1], [1.5, -0.5]]\n", `rho, row of "b": the weight of "b" is -0.5, want none below 0`},
		{roles + "rho = [[0.5, 0.5], [1, 0]]\n", `rho, row of "a": the weight of "a" is 0.5, want 0, as it is no neighbour in other clusters`},
		{roles + "combine = [[1, 0.5], [0, 0.5]]\n", `combine, column of "b": the weight of "a" is 0.5, want 0, as it is no neighbour in its own cluster`},
		{roles + "combine = [[1, 0], [0, 0.25]]\n", `combine, column of "b": the sum is 0.25, want 1`},
		{roles + "combine = [[nan, 0], [0, 1]]\n", `combine, column of "a": the weight of "a" is NaN, want none below 0`},
	} {
		p, err := ParseParams([]byte(c.text), roleParties())
		wantError(t, err, c.want)
		if !reflect.DeepEqual(p, Params{}) {
			t.Errorf("%q: a partial result is kept: %+v", c.text, p)
		}
	}
}

func TestDefaultsOfAJob(t *testing.T) {
	p, err := ParseParams([]byte(roles), roleParties())
	must(t, err)
	want := DefaultParams()
	want.Servers, want.Edges, want.Clusters = []string{"a", "b"}, [][]string{{"a", "b"}}, [][]string{{"a"}, {"b"}}
	want.Clients = map[string][]string{"a": {"a1", "a2", "a3", "a4"}, "b": {"b1", "b2", "b3", "b4"}}
	want.Columns, want.Label, want.Entries, want.Shift = []string{"x"}, "y", 200, 200
	if !reflect.DeepEqual(p, want) {
		t.Errorf("parameters are\n%+v, want\n%+v", p, want)
	}
	p, err = ParseParams([]byte(roles+"entries = 40\neta = 0.0\n"), roleParties())
	if err != nil || p.Entries != 40 || p.Shift != 40 || p.Eta != 0 {
		t.Errorf("error %v, entries %d, shift %d, eta %v", err, p.Entries, p.Shift, p.Eta)
	}
}

// TestParametersReadAlready: a job's table gives what its text gives, and parameters that are
// written and read again are the same.
func TestParametersReadAlready(t *testing.T) {
	text := roles + "entries = 5\nselection = \"uncoordinated\"\nrho = [[0, 1], [1, 0]]\ncombine = [[1, 0], [0, 1]]\n"
	var table map[string]any
	if _, err := toml.Decode(text, &table); err != nil {
		t.Fatal(err)
	}
	p, err := ParamsOf(table, roleParties())
	must(t, err)
	direct, err := ParseParams([]byte(text), roleParties())
	if err != nil || !reflect.DeepEqual(p, direct) {
		t.Errorf("error %v, parameters\n%+v, want\n%+v", err, p, direct)
	}
	var again bytes.Buffer
	must(t, toml.NewEncoder(&again).Encode(p))
	if back, err := ParseParams(again.Bytes(), roleParties()); err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("written and read again: error %v, parameters %+v", err, back)
	}
}

// TestTheGraphNamesWhoIsCutOff: all servers that no edge reaches are named.
func TestTheGraphNamesWhoIsCutOff(t *testing.T) {
	p, parties := testNetwork()
	p.Edges = [][]string{{"a", "b"}, {"c", "d"}}
	_, err := NewPlan(p, parties)
	wantError(t, err, "the graph is not connected: no edges lead from a to c, d, e")
}

// FuzzParseParams never panics, and what it lets through is valid and has a plan.
func FuzzParseParams(f *testing.F) {
	f.Add(roles)
	f.Add(roles + "entries = 7\nshift = 3\nselection = \"uncoordinated\"\nrho = [[0, 1], [1, 0]]\n")
	f.Add("servers = [\"a\"]\nclients = {a = []}\nfeatures = 9223372036854775807\n[clients]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseParams([]byte(text), roleParties())
		if err != nil {
			return
		}
		if _, err := NewPlan(p, roleParties()); err != nil {
			t.Fatal(err)
		}
	})
}
