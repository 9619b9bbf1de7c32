package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/keys"
)

// policyText finds policies on pages, in scripts and in help texts: from the format's line to the first that is none of
// a policy. What stands further in is taken back out.
var policyText = regexp.MustCompile(`(?m)^( *)format = "hanse-policy-v1"\n(?:(?: *\n)*(?:\[|[a-z_]+ =| |\]|#).*\n)*`)

// docMembers are whom the documents' policies speak of.
func docMembers() *keys.Charter {
	c := &keys.Charter{}
	for _, name := range []string{"bank", "insurer", "telco", "retailer"} {
		c.Members = append(c.Members, keys.Member{Name: name})
	}
	return c
}

// TestDocumentedPolicies reads and checks every policy of the pages, of the scripts of the tour and of the help.
func TestDocumentedPolicies(t *testing.T) {
	texts := make(map[string]string)
	root := filepath.Join("..", "..")
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			texts[path] = string(text)
			return err
		}
		return nil
	}))
	var help func(c *cli.Command)
	help = func(c *cli.Command) {
		texts["help of "+c.Name] = c.Description + "\n"
		for _, sub := range c.Subcommands {
			help(sub)
		}
	}
	for _, c := range newApp(io.Discard, io.Discard).Commands {
		help(c)
	}
	found := make(map[string]int)
	for where, text := range texts {
		said := strings.Count(text, `format = "hanse-policy-v1"`)
		for _, m := range policyText.FindAllStringSubmatch(text, -1) {
			found[where]++
			policy := strings.ReplaceAll("\n"+m[0], "\n"+m[1], "\n")
			p, err := consent.Parse(fmt.Sprintf("%s (%d)", where, found[where]), []byte(policy))
			if err == nil {
				err = p.Check(docMembers())
			}
			if err != nil {
				t.Errorf("%v\n%s", err, policy)
			} else if len(p.Accept)+len(p.Refuse)+len(p.Tables)+len(p.Purpose)+len(p.Approvers) == 0 {
				t.Errorf("%s: a policy without a rule was cut out of the text:\n%s", where, policy)
			}
		}
		if found[where] != said {
			t.Errorf("%s: %d policies were read of %d", where, found[where], said)
		}
	}
	for where, least := range map[string]int{
		filepath.Join(root, "docs", "policy.md"): 17, filepath.Join(root, "README.md"): 1,
		filepath.Join(root, "examples", "credit", "README.md"): 1, "help of node": 1,
	} {
		if found[where] < least {
			t.Errorf("%s: %d policies were read, want at least %d", where, found[where], least)
		}
	}
}

// TestThePolicyPageHasEveryKey in its table and in an example.
func TestThePolicyPageHasEveryKey(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "policy.md"))
	must(t, err)
	page := string(text)
	for _, key := range consent.Keys() {
		if !strings.Contains(page, "\n| `"+key+"` | ") || !strings.Contains(page, "\n"+key+" = ") {
			t.Errorf("docs/policy.md has no line or no example for key %s", key)
		}
	}
	kinds := consent.Kinds()
	last := len(kinds) - 1
	want := "The kinds are " + strings.Join(kinds[:last], ", ") + " and " + kinds[last] + "."
	if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
		t.Errorf("docs/policy.md does not list the kinds %s", want)
	}
}
