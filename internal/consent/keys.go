package consent

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// key is one key of a rule: how it is checked, judged and said.
type key struct {
	name string
	set  func(*Rule) bool
	// mistakes lists what is wrong with the key's value.
	mistakes func(*Rule, *keys.Charter) []string
	// fits compares a job's value with the rule's; both come back for people.
	fits func(*Rule, *Case) (ok bool, job, want string)
	// words says what the key asks of a job.
	words func(*Rule) string
	// standard is fits for an accept rule that does not set the key; nil: any job fits.
	standard func(*Case) (ok bool, job, want string)
	accepts  bool // it bounds what may be accepted, and has no place in a rule that refuses
}

// ruleKeys lists all keys in the order in which a job is held against them.
var ruleKeys = append(jobKeys, ledgerKeys...)

// jobKeys are the keys about a job by itself.
var jobKeys = []key{
	oneOf("proposers", "its proposer is", func(r *Rule) []string { return r.Proposers }, members,
		func(c *Case) (string, bool) { return c.job().Proposer, true }),
	oneOf("algorithms", "its algorithm is", func(r *Rule) []string { return r.Algorithms }, words(algorithms),
		func(c *Case) (string, bool) { return c.job().Algorithm, true }),
	oneOf("tasks", "its task is to", func(r *Rule) []string { return r.Tasks }, words(tasks),
		func(c *Case) (string, bool) { return c.job().Task, true }),
	oneOf("privacy", "its privacy is", func(r *Rule) []string { return r.Privacy }, words(privacies),
		func(c *Case) (string, bool) { return c.job().Privacy, true }),
	oneOf("aggregation", "its sums are protected by", func(r *Rule) []string { return r.Aggregation }, words(aggregations),
		func(c *Case) (string, bool) { return cmp.Or(c.job().Aggregation, contract.AggregateMasked), true }),
	oneOf("tables", "its table is", func(r *Rule) []string { return r.Tables }, nil,
		func(c *Case) (string, bool) { return c.job().Table, true }),
	oneOf("label_columns", "a training's label column is", func(r *Rule) []string { return r.LabelColumns }, nil,
		func(c *Case) (string, bool) { return LabelOf(c.job()), c.job().Task == contract.TaskTrain }),
	oneOf("roles", "this node's role in it is", func(r *Rule) []string { return r.Roles }, words(roles),
		func(c *Case) (string, bool) { return c.Role, true }),
	{
		name: "parties", set: func(r *Rule) bool { return r.Parties != nil },
		mistakes: func(r *Rule, c *keys.Charter) []string { return unknown("parties", r.Parties, members(c)) },
		fits: func(r *Rule, c *Case) (bool, string, string) {
			for _, name := range c.job().Parties {
				if name != c.Self && !slices.Contains(r.Parties, name) {
					return false, "party " + name, list(r.Parties)
				}
			}
			return true, "", ""
		},
		words: func(r *Rule) string { return "its other parties are all among " + list(r.Parties) },
	},
	oneOf("open_to", "a prediction's scores open to", func(r *Rule) []string { return r.OpenTo }, members,
		func(c *Case) (string, bool) { return c.job().OpenTo, c.job().Task == contract.TaskPredict }),
	bound("min_rows", "it has at least %d rows", func(r *Rule) *int64 { return r.MinRows }, false,
		func(c *Case) (int64, bool) {
			if c.job().Task == contract.TaskAlign { // of the common ones, fewer than which do not open
				p, err := psi.ParamsOf(c.job())
				return int64(p.MinRows), err == nil
			}
			if c.refusing {
				return c.mostRows(), true
			}
			return c.fewestRows(), true
		}).unset(standardRows),
	bound("max_rows", "it has at most %d rows, and at most as many requests where a rule accepts",
		func(r *Rule) *int64 { return r.MaxRows }, true,
		func(c *Case) (int64, bool) {
			if c.refusing {
				return c.fewestRows(), true
			}
			return c.mostRows(), true
		}),
	bound("max_shards", "it asks for at most %d shards, so many workers of this member",
		func(r *Rule) *int64 { return r.MaxShards }, true,
		func(c *Case) (int64, bool) { return int64(c.job().Shards), true }),
	bound("max_bytes", "at most %d bytes leave this machine in a session, and its workers in those of its shards",
		func(r *Rule) *int64 { return r.MaxBytes }, true,
		func(c *Case) (int64, bool) { return c.egress(), true }),
	maxMemory,
	openings,
	bound("scores_per_row", "a prediction scores no row more than %d times, together with all predictions of its "+
		"model so far",
		func(r *Rule) *int64 { return r.ScoresPerRow }, true,
		func(c *Case) (int64, bool) { return c.scoresPerRow(), c.job().Task == contract.TaskPredict }).accepting(),
	{
		name: "hours", set: func(r *Rule) bool { return r.Hours != nil },
		mistakes: func(r *Rule, _ *keys.Charter) []string {
			if len(r.Hours) == 0 {
				return []string{emptyList("hours")}
			}
			var found []string
			for _, text := range r.Hours {
				if _, err := parseHours(text); err != nil {
					found = append(found, fmt.Sprintf("hours has %q: %v", clip(text), err))
				}
			}
			return found
		},
		fits: func(r *Rule, c *Case) (bool, string, string) {
			for _, text := range r.Hours {
				if w, err := parseHours(text); err == nil && w.holds(c.Now) {
					return true, "", ""
				}
			}
			return false, c.Now.UTC().Format("Mon 15:04 UTC"), join(r.Hours, "or")
		},
		words: func(r *Rule) string { return "it is " + join(r.Hours, "or") },
	},
	{
		name: "until", set: func(r *Rule) bool { return r.Until != "" },
		mistakes: func(r *Rule, _ *keys.Charter) []string {
			if _, err := parseUntil(r.Until); err != nil {
				return []string{fmt.Sprintf("until is %q: %v", clip(r.Until), err)}
			}
			return nil
		},
		fits: func(r *Rule, c *Case) (bool, string, string) {
			end, err := parseUntil(r.Until)
			return err == nil && c.Now.Before(end), c.Now.UTC().Format(time.DateOnly), r.Until
		},
		words: func(r *Rule) string { return "it is not after " + r.Until + " (UTC)" },
	},
}

// vocabulary tells which words a key takes; nil: any.
type vocabulary func(*keys.Charter) []string

// words is a vocabulary that no charter changes.
func words(known []string) vocabulary { return func(*keys.Charter) []string { return known } }

// members is the vocabulary of members' names; without a charter any name is one.
func members(c *keys.Charter) []string {
	if c == nil {
		return nil
	}
	var names []string
	for _, m := range c.Members {
		names = append(names, m.Name)
	}
	return names
}

// emptyList says what is wrong with a key that lists nothing.
func emptyList(name string) string {
	return name + " is an empty list, which fits no job: name what fits, or leave the key out"
}

// unknown lists the words that are not in a vocabulary; an empty list is a mistake too.
func unknown(name string, given, known []string) []string {
	if len(given) == 0 {
		return []string{emptyList(name)}
	}
	var found []string
	for _, v := range given {
		switch {
		case v == "":
			found = append(found, name+" has an empty word: name what fits, or take it out")
		case known != nil && !slices.Contains(known, v):
			found = append(found, fmt.Sprintf("%s has %q; known are %s: write one of these", name, clip(v), list(known)))
		}
	}
	return found
}

// oneOf is a key that lists words, of which a job's must be one. value is the job's word; false where the key does not
// apply to such a job, which then fits.
func oneOf(name, says string, get func(*Rule) []string, known vocabulary, value func(*Case) (string, bool)) key {
	return key{
		name: name, set: func(r *Rule) bool { return get(r) != nil },
		mistakes: func(r *Rule, c *keys.Charter) []string {
			if known == nil {
				return unknown(name, get(r), nil)
			}
			return unknown(name, get(r), known(c))
		},
		fits: func(r *Rule, c *Case) (bool, string, string) {
			v, applies := value(c)
			return !applies || slices.Contains(get(r), v), cmp.Or(clip(v), "none"), join(get(r), "or")
		},
		words: func(r *Rule) string { return says + " " + join(get(r), "or") },
	}
}

// bound is a key that is the largest, or the smallest, number that fits. value is the job's number; false where the key
// does not apply to such a job, which then fits. A smallest number may be 0, which is no bound: where the key is left
// out, a standard may hold.
func bound(name, says string, get func(*Rule) *int64, largest bool, value func(*Case) (int64, bool)) key {
	side, least, none := "at least ", int64(0), "0 is no bound"
	if largest {
		side, least, none = "at most ", 1, "a large number is no bound"
	}
	return key{
		name: name, set: func(r *Rule) bool { return get(r) != nil },
		mistakes: func(r *Rule, _ *keys.Charter) []string {
			if n := *get(r); n < least {
				return []string{fmt.Sprintf("%s is %d, want %d or more: %s", name, n, least, none)}
			}
			return nil
		},
		fits: func(r *Rule, c *Case) (bool, string, string) {
			v, applies := value(c)
			n := *get(r)
			ok := !applies || largest && v <= n || !largest && v >= n
			return ok, strconv.FormatInt(v, 10), side + strconv.FormatInt(n, 10)
		},
		words: func(r *Rule) string { return fmt.Sprintf(says, *get(r)) },
	}
}

// unset has the key hold for accept rules that do not set it.
func (k key) unset(standard func(*Case) (bool, string, string)) key {
	k.standard = standard
	return k
}

// accepting keeps the key out of rules that refuse.
func (k key) accepting() key {
	k.accepts = true
	return k
}

// LabelOf returns the label column that a job's parameters name, empty when they name none.
func LabelOf(j *contract.Job) string {
	label, _ := j.Parameters["label"].(string)
	return strings.ToValidUTF8(label, "")
}

// Keys lists the keys of a rule.
func Keys() []string {
	var names []string
	for _, k := range ruleKeys {
		names = append(names, k.name)
	}
	return names
}
