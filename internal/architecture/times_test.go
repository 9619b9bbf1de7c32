package architecture

import (
	"regexp"
	"strings"
	"testing"
)

// TestTimesHaveOneForm: a point in time on a screen is written by wording.Time. Other layouts with hours are what a
// file or another program wants, or parts of a span within a day; they stand here.
func TestTimesHaveOneForm(t *testing.T) {
	layout := regexp.MustCompile(`"[^"\n]*\b15:04[^"\n]*"|time\.(?:DateTime|Stamp|Kitchen|RFC822|RFC1123|RFC850)`)
	may := map[string]bool{
		"internal/wording/people.go":  true,
		"internal/consent/hours.go":   true, // of a policy
		"internal/consent/keys.go":    true, // the weekday and hour that a policy is held against
		"audit/render/story.go":       true, // from when to when, with seconds
		"peer/clock.go":               true, // may not know package wording
		"internal/dataset/dates.go":   true, // as tables have them
		"internal/source/postgres.go": true, // as databases have them
	}
	eachSource(t, func(s source) {
		if s.test || may[s.path] || strings.HasPrefix(s.path, "lab/") {
			return
		}
		for i, line := range strings.Split(string(s.text), "\n") {
			if layout.MatchString(line) {
				t.Errorf("%s:%d has a layout of its own: %s", s.path, i+1, strings.TrimSpace(line))
			}
		}
	})
}
