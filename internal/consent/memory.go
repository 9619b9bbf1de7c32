package consent

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Memory is what a job takes of a node's memory, and what the node has, in bytes.
type Memory struct {
	Takes int64 // about, beside what the node takes for itself
	Has   int64 // for all jobs; 0: nobody knows
}

// maxMemory bounds what a job takes of this node's memory. Its standard is half of what the node has.
var maxMemory = key{
	name: "max_memory", set: func(r *Rule) bool { return r.MaxMemory != "" },
	mistakes: func(r *Rule, _ *keys.Charter) []string {
		if _, err := ParseSize(r.MaxMemory); err != nil {
			return []string{"max_memory: " + err.Error()}
		}
		return nil
	},
	fits: func(r *Rule, c *Case) (bool, string, string) {
		most, err := ParseSize(r.MaxMemory)
		return err == nil && c.Memory.Takes <= most, wording.Size(c.Memory.Takes), "at most " + r.MaxMemory
	},
	words: func(r *Rule) string { return "it takes at most " + r.MaxMemory + " of this node's memory" },
	standard: func(c *Case) (bool, string, string) {
		half := c.Memory.Has / 2
		return c.Memory.Has == 0 || c.Memory.Takes <= half, wording.Size(c.Memory.Takes),
			fmt.Sprintf("at most %s, half of what this node has", wording.Size(half))
	},
}
