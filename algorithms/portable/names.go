package portable

import (
	"regexp"
	"strings"
	"sync"
)

// suffix ends the names of networks' files.
const suffix = ".safetensors"

// plainName is what a network's name may be for its file to have it. It is compiled when it is first needed, since that
// takes a millisecond.
var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$`)
})

// plainNames reports whether all networks' names will do for files in one folder, also where case does not count. The
// names in a job are another's words: no path is made of them otherwise.
func plainNames(networks []Network) bool {
	seen := map[string]bool{strings.TrimSuffix(Tensors, suffix): true}
	for _, n := range networks {
		low := strings.ToLower(n.Name)
		if !plainName().MatchString(n.Name) || seen[low] {
			return false
		}
		seen[low] = true
	}
	return true
}
