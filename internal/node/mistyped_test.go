package node

import (
	"os"
	"strings"
	"testing"
)

// TestMistypedNamesInJobs: of every name in a job file that its proposer can mistype, the error says which was meant.
func TestMistypedNamesInJobs(t *testing.T) {
	l := newTestNetwork(t, 3, 230)
	text, err := os.ReadFile(l.tablePath(0, "train"))
	must(t, err)
	l.writeTable(0, "train", strings.Replace(string(text), ",y\n", ",default\n", 1))
	l.startAll()
	if _, _, err := l.propose(l.align("customers", "train", "")); err != nil {
		t.Fatal(err)
	}
	const parameters = "active = [\"bank\"]\nlabel = \"default\"\nfeatures = 16\n"
	good := string(l.job("train", "privacy = \"sealed\"", parameters+"keeper = \"insurer\"\nhelper = \"telco\""))
	for _, c := range []struct{ old, mistyped, meant string }{
		{"[parameters]", "rows = \"custmers\"\n[parameters]", "customers"},
		{"[parameters]", "table = \"trian\"\n[parameters]", "train"},
		{`"default"`, `"defualt"`, "default"},
		{`active = ["bank"]`, `active = ["bnak"]`, "bank"},
		{`keeper = "insurer"`, `keeper = "insuror"`, "insurer"},
		{`helper = "telco"`, `helper = "teclo"`, "telco"},
		{`"bank", "insurer"`, `"bank", "isurer"`, "insurer"},
		{`"fdskl"`, `"fdslk"`, "fdskl"},
		{`"train"`, `"trian"`, "train"},
		{`"sealed"`, `"seald"`, "sealed"},
		{"features = 16", "featuers = 16", "features"},
		{"privacy =", "privasy =", "privacy"},
	} {
		job := strings.Replace(good, c.old, c.mistyped, 1)
		if job == good {
			t.Fatalf("%s is not in\n%s", c.old, good)
		}
		_, err := l.nodes[0].Prepare(t.Context(), []byte(job), nil)
		if want := "; did you mean \"" + c.meant + "\"?"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error %v, want one that ends with %q", c.mistyped, err, want)
		}
	}
	servers := strings.Replace(string(l.job("train", "servers = [\"bnak\"]", "")), `"fdskl"`, `"gfml"`, 1)
	if _, err := l.nodes[0].Prepare(t.Context(), []byte(servers), nil); err == nil ||
		!strings.HasSuffix(err.Error(), "; did you mean \"bank\"?") {
		t.Errorf("a mistyped server: error %v", err)
	}
	keeper := l.align("others", "train", `keeper = "isurer"`)
	if _, err := l.nodes[0].Prepare(t.Context(), keeper, nil); err == nil ||
		!strings.HasSuffix(err.Error(), "; did you mean \"insurer\"?") {
		t.Errorf("a mistyped keeper of an alignment: error %v", err)
	}
}
