package keys

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
)

// MaxName is the longest name of a member or a charter, in bytes.
const MaxName = 32

// CheckName returns an error that states the rule unless s can name a member or a charter:
// 1 to MaxName characters of a-z, 0-9 and "-", the first a letter. Names stand in file names,
// logs and reports, so nothing in them ever needs quoting.
func CheckName(s string) error {
	if s == "" {
		return fmt.Errorf("the name is missing")
	}
	ok := len(s) <= MaxName && 'a' <= s[0] && s[0] <= 'z'
	for _, r := range s {
		ok = ok && ('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-')
	}
	if !ok {
		return fmt.Errorf("malformed name %q: want 1 to %d characters of a-z, 0-9 and \"-\", the first a letter",
			wording.ClipAt(s, 2*MaxName), MaxName)
	}
	return nil
}
