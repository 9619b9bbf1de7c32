package jobview

import "testing"

// TestTyped: a command that a node prints has the folder by which its reader asked it, once, and nobody else's has.
func TestTyped(t *testing.T) {
	for _, c := range []struct{ text, dir, want string }{
		{`this node has no job "x"; hanse jobs lists them`, "telco-node",
			`this node has no job "x"; hanse jobs --dir telco-node lists them`},
		{"hanse jobs lists them", "", "hanse jobs lists them"},
		{"run hanse table refresh train, or end it with hanse cancel credit", "my node",
			"run hanse table refresh train --dir 'my node', or end it with hanse cancel credit --dir 'my node'"},
		{"hanse result credit --wait --dir bank-node waits for it", "bank-node",
			"hanse result credit --wait --dir bank-node waits for it"},
		{"hanse result credit --dir a; hanse remove credit", "a", "hanse result credit --dir a; hanse remove credit --dir a"},
		{"consent is asked for: a person there runs hanse approve credit", "a",
			"consent is asked for: a person there runs hanse approve credit"},
		{"(its owner reads more with hanse jobs --ref 7f3a2c)", "a", "(its owner reads more with hanse jobs --ref 7f3a2c)"},
		{"which hanse result lists; hanse result credit --wait", "a",
			"which hanse result --dir a lists; hanse result credit --dir a --wait"},
		{"a person does, by hanse approve", "a", "a person does, by hanse approve --dir a"},
		{"each of them runs hanse approve credit --as NAME", "a", "each of them runs hanse approve credit --dir a --as NAME"},
		{"give one job file: hanse train JOB.toml; see hanse train --help", "a",
			"give one job file: hanse train --dir a JOB.toml; see hanse train --help"},
		{"hanse audits nothing, start it with hanse node, hanse keys new", "a",
			"hanse audits nothing, start it with hanse node, hanse keys new"},
	} {
		if got := Typed(c.text, c.dir); got != c.want {
			t.Errorf("in %q it reads\n%q, want\n%q", c.dir, got, c.want)
		}
	}
}
