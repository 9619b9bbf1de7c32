package charterfile

import (
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// ParseRelayLimits reads limits as a person gives them: minutes=60,mib=1024,reservations=64,circuits=8. What is left
// out is no limit.
func ParseRelayLimits(text string) (keys.RelayLimits, error) {
	var limits keys.RelayLimits
	places := map[string]*int{"minutes": &limits.Minutes, "mib": &limits.MiB, "reservations": &limits.Reservations,
		"circuits": &limits.Circuits}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		place := places[strings.TrimSpace(name)]
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if place == nil || err != nil || n < 0 {
			return limits, usage.Errorf("limits of relays: %q is none: want minutes=N, mib=N, reservations=N or circuits=N, "+
				"with commas between", wording.ClipAt(part, 40))
		}
		*place = n
	}
	return limits, nil
}
