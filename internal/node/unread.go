package node

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// UnreadName is what a job is called, by its folder, whatever version of the program wrote it; zeros where that cannot
// be found.
func UnreadName(folder string) string {
	return unreadJob(folder, keys.Hash{}, new(vault.VersionError)).Name
}

// unreadJob is what can be said of a job that another version of the program made, by its folder: which program, and
// of its contract what every version writes so.
func unreadJob(folder string, h keys.Hash, other *vault.VersionError) JobInfo {
	j := JobInfo{Contract: h.String(), Name: h.String()[:8], State: job.Unread}
	var its struct {
		Name, Algorithm, Task, Proposer string
		Parties                         []string
	}
	var line struct{ Job string }
	text := job.LineOf(filepath.Join(folder, job.ContractCopy), `job = "`)
	if _, err := toml.Decode(text, &line); err == nil {
		toml.Decode(line.Job, &its) // an error leaves what came before it
	}
	for to, word := range map[*string]string{&j.Name: its.Name, &j.Algorithm: its.Algorithm, &j.Task: its.Task,
		&j.Proposer: its.Proposer} {
		if wording.IsWord(word) {
			*to = word
		}
	}
	for _, p := range its.Parties {
		if wording.IsWord(p) {
			j.Parties = append(j.Parties, p)
		}
	}
	e := *other
	e.By = job.WrittenBy(folder)
	j.Standing = "made by " + cmp.Or(e.By, "another version")
	j.Reason = fmt.Sprintf("job %s cannot be read: %v", j.Name, &e)
	return j
}
