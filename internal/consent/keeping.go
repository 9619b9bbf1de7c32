package consent

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/wording"
)

// mostDays is the longest time for which payloads are kept by a policy, in days.
const mostDays = 36500

// KeepsPayloads returns how long the payloads of transcripts are kept after a job ends; limited is false where they
// are kept until a person removes them.
func (p *Policy) KeepsPayloads() (d time.Duration, limited bool) {
	if p == nil || p.KeepPayloads == "" {
		return 0, false
	}
	d, err := parseDays(p.KeepPayloads)
	return d, err == nil // Check has seen to that
}

// Quota returns the most bytes that the node's folder may come to, 0 where the policy sets no bound.
func (p *Policy) Quota() int64 {
	if p == nil || p.DiskQuota == "" {
		return 0
	}
	n, err := ParseSize(p.DiskQuota)
	if err != nil {
		return 0 // Check has seen to that
	}
	return n
}

// parseDays reads a number of days, such as "30d".
func parseDays(text string) (time.Duration, error) {
	digits, ok := strings.CutSuffix(text, "d")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > mostDays {
		return 0, fmt.Errorf("%q is no number of days: want one from 0d to %dd, such as 30d", clip(text), mostDays)
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

// ParseSize reads a number of bytes, such as "50GB": a whole number and MB, GB or TB, of 10^6, 10^9 and 10^12 bytes.
func ParseSize(text string) (int64, error) {
	for unit, bytes := range map[string]int64{"MB": 1e6, "GB": 1e9, "TB": 1e12} {
		digits, ok := strings.CutSuffix(text, unit)
		if n, err := strconv.ParseInt(digits, 10, 32); ok && err == nil && n > 0 && n <= 1_000_000 {
			return n * bytes, nil
		}
	}
	return 0, fmt.Errorf("%q is no size: want a whole number and MB, GB or TB, such as 50GB", clip(text))
}

// keepingMistakes lists what is wrong with the keys about the disk.
func (p *Policy) keepingMistakes() []string {
	var found []string
	if p.KeepPayloads != "" {
		if _, err := parseDays(p.KeepPayloads); err != nil {
			found = append(found, "keep_payloads: "+err.Error())
		}
	}
	if p.DiskQuota != "" {
		if _, err := ParseSize(p.DiskQuota); err != nil {
			found = append(found, "disk_quota: "+err.Error())
		}
	}
	return found
}

// keepingWords says what a policy does with the disk.
func (p *Policy) keepingWords() []Line {
	var lines []Line
	if d, limited := p.KeepsPayloads(); limited {
		lines = append(lines, Line{0, fmt.Sprintf("payloads of transcripts are deleted %s after their job's end",
			wording.Count(int(d/(24*time.Hour)), "day"))})
	}
	if n := p.Quota(); n > 0 {
		lines = append(lines, Line{0, fmt.Sprintf("the node's folder has at most %s", wording.Size(n))})
	}
	return lines
}
