package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/localnet"
)

var (
	atFirm = regexp.MustCompile(`^At (bank|insurer|telco):$`)
	mails  = regexp.MustCompile("^- (\\w+) mails (\\w+) `([^`]+)`$")
)

// staying are the commands that stay until others have done something; early are those that are given again where what
// they need is not there yet; asking are those by which a person is asked.
var (
	staying = []string{"hanse charter propose ", "hanse join ", "hanse align ", "hanse train "}
	early   = []string{"hanse join ", "hanse status ", "hanse jobs --show ", "hanse approve "}
	asking  = append([]string{"hanse approve "}, staying...)
)

// begins reports whether a command is one of some.
func begins(line string, some []string) bool {
	return slices.ContainsFunc(some, func(s string) bool { return strings.HasPrefix(line, s) })
}

// dayScript makes one script of a page on which firms type commands and mail files, each in its folder. At the end of a
// section all commands that have stayed must have succeeded; nodes stay for good. It returns the commands, too.
func dayScript(page string) (script string, commands []string) {
	var b strings.Builder
	b.WriteString("again() { n=0; until \"$@\"; do n=$((n+1)); test $n -lt 300; sleep 0.1; done; }\nstays=\n")
	firm, inBlock, inFile := "", false, false
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		switch m, mail := atFirm.FindStringSubmatch(line), mails.FindStringSubmatch(line); {
		case line == "```sh":
			inBlock = true
			fmt.Fprintf(&b, "cd %s\n", firm)
		case line == "```" && inBlock:
			inBlock = false
			b.WriteString("cd ..\n")
		case !inBlock && m != nil:
			firm = m[1]
		case mail != nil:
			fmt.Fprintf(&b, "cp %s/%s %s/\n", mail[1], mail[3], mail[2])
		case strings.HasPrefix(line, "## "):
			b.WriteString("for p in $stays; do wait $p; done\nstays=\n")
		case !inBlock:
		case inFile || strings.HasPrefix(line, "cat > "):
			inFile = line != "END"
			b.WriteString(line + "\n")
		default:
			commands = append(commands, line)
			b.WriteString(typed(line))
		}
	}
	return b.String(), commands
}

// typed is a command as the script gives it.
func typed(line string) string {
	run := strings.Replace(line, "hanse-id1...", "$(cat ../bank.id)", 1)
	run = strings.Replace(run, "hanse keys new ", "hanse keys new --no-passphrase ", 1)
	if begins(line, asking) {
		run += " --yes"
	}
	if begins(line, early) {
		run = "again " + run
	}
	switch {
	case strings.HasPrefix(line, "hanse node "):
		run += " 2> ../$(basename $PWD).log &"
	case begins(line, staying):
		run += " &\nstays=\"$stays $!\""
	case strings.HasPrefix(line, "hanse keys new bank.key "):
		run += "\nhanse keys show bank.key | sed -n 's/^id *//p' > ../bank.id"
	}
	return run + "\n"
}

// TestDayOneRunsAsPrinted runs what each of the three firms of docs/day-one.md types and mails, in the page's order, as
// processes of three folders: every command as printed, but for addresses and what a person is asked.
func TestDayOneRunsAsPrinted(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "day-one.md"))
	must(t, err)
	free, err := localnet.FreePorts(2)
	must(t, err)
	t.Cleanup(free.Close)
	page := strings.NewReplacer(
		"/dns4/bank.example/tcp/4001", fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", free.Numbers[0]),
		"/dns4/insurer.example/tcp/4001", fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", free.Numbers[1]),
	).Replace(string(text))
	script, commands := dayScript(page)
	if len(commands) < 25 {
		t.Fatalf("the page has %d commands: is the search broken?\n%s", len(commands), script)
	}
	const tables = `hanse split --people 667 --overlap 0.6 --out .
for firm in bank insurer telco; do mv $firm/train.csv $firm/customers.csv; rm $firm/test.csv; done
`
	printed := oneLine(runTour(t, t.TempDir(), tables+script))
	_, shown := blocksOf(string(text))
	for line := range strings.Lines(shown + "credit train bank done\n" + "customers align bank done\n") {
		if line = oneLine(line); !strings.Contains(printed, line) {
			t.Errorf("the page shows the line %q, which no command printed:\n%s", line, printed)
		}
	}
	for _, firm := range []string{"insurer", "telco"} {
		if !strings.Contains(printed, firm+" reads it and signs it with hanse join --key "+firm+".key --inviter hanse-id1") {
			t.Errorf("bank has no line to mail to %s:\n%s", firm, printed)
		}
	}
	if !strings.Contains(printed, "PARTIAL: Not read: the transcripts of ") {
		t.Errorf("the audit did not end well:\n%s", printed)
	}
}
