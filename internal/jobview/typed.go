package jobview

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// InFolder is the flag that names a node's folder, with a blank before it; nothing where none was typed.
func InFolder(dir string) string {
	if dir == "" {
		return ""
	}
	return " --dir " + wording.Quoted(dir)
}

// AtNode are the commands that a person gives at a node, by its folder. The longer of two that begin alike is first.
var AtNode = []string{
	"align", "approve", "audit verify", "audit", "cancel", "charter invite", "charter propose", "contributions", "doctor",
	"job new", "jobs", "ledger", "model export", "model show", "model threshold", "page", "policy explain", "predict",
	"refuse", "rehearse", "remove", "result", "resume", "scorecard", "shard manifest", "status", "table refresh", "train",
	"worker key", "worker revoke",
}

// printed is a command at a node in a sentence.
var printed = regexp.MustCompile(`\bhanse (?:` + strings.Join(AtNode, "|") + `)\b`)

// argument is what stands behind a command that has one: a job or a table, and no verb of the sentence.
var argument = regexp.MustCompile(`^hanse (?:approve|cancel|refuse|remove|result|resume|status|table refresh)` +
	` ((?:[a-z0-9_-]+|JOB)\b)`)

// verbs are what a sentence says of such a command where its argument would be.
var verbs = []string{"lists", "says", "shows", "refuses", "reads", "prints"}

// elsewhere ends what stands before a command that others give at their own node.
var elsewhere = regexp.MustCompile(`(?:there|there:|owners?) (?:runs? |reads more with )?$`)

// Typed adds to the commands in a sentence the folder of the node that it comes from, as its reader has typed it: a
// node does not know from where it is asked. Commands that others are to give stay as they are.
func Typed(text, dir string) string {
	if dir == "" {
		return text
	}
	var b strings.Builder
	from := 0
	found := printed.FindAllStringIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		until := at[1]
		if m := argument.FindStringSubmatchIndex(text[at[0]:end]); m != nil &&
			text[at[0]+m[2]] != '-' && !slices.Contains(verbs, text[at[0]+m[2]:at[0]+m[3]]) {
			until = at[0] + m[3]
		}
		b.WriteString(text[from:until])
		from = until
		rest := text[from:end]
		if !strings.Contains(rest, " --dir ") && !strings.HasPrefix(rest, " --help") && !elsewhere.MatchString(text[:at[0]]) {
			b.WriteString(InFolder(dir))
		}
	}
	return b.String() + text[from:]
}
