package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/audit"
)

// none stands for a number that does not apply.
const none = "-"

// count writes a whole number with commas between the thousands.
func count[T int | int64 | uint64](n T) string {
	digits := fmt.Sprint(n)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// plural writes a count with its noun.
func plural[T int | int64 | uint64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// size writes a number of bytes in decimal units, as "41.3 MB".
func size(bytes float64) string {
	if !finite(bytes) {
		return none
	}
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	if math.Abs(bytes) < 1000 {
		return strconv.FormatFloat(bytes, 'f', 0, 64) + " B"
	}
	value, unit := bytes/1000, 0
	for math.Abs(value) >= 999.95 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[unit]
}

// percent writes a share; only none of it is "0 %" and only all of it "100 %".
func percent(share float64) string {
	switch p := 100 * share; {
	case !finite(p):
		return none
	case p == math.Trunc(p) && math.Abs(p) < 1e6:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case p > 0 && p < 0.1:
		return "<0.1 %"
	case p > 99.9 && p < 100:
		return ">99.9 %"
	case math.Abs(p) < 1e6:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	default:
		return number(p) + " %"
	}
}

// number writes a real number with two or three digits that matter.
func number(v float64) string {
	switch size := math.Abs(v); {
	case !finite(v):
		return none
	case v == 0:
		return "0"
	case size < 1e-4 || size >= 1e6:
		return exponent(v)
	case size >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// exponent writes a very small or large number, as "1.2e-14".
func exponent(v float64) string {
	mantissa, power, _ := strings.Cut(strconv.FormatFloat(v, 'e', 1, 64), "e")
	n, _ := strconv.Atoi(power)
	return strings.TrimSuffix(mantissa, ".0") + "e" + strconv.Itoa(n)
}

// chance writes a p-value for people.
func chance(p float64) string {
	if p < 1e-6 {
		return "below one in a million"
	}
	return number(p)
}

// optional writes a number that may be absent.
func optional(v *float64, write func(float64) string) string {
	if v == nil {
		return none
	}
	return write(*v)
}

// present tells whether a number is there and can be drawn.
func present(v *float64) bool { return v != nil && finite(*v) }

// finite tells whether a number is one.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// duration writes seconds.
func duration(seconds float64) string {
	switch {
	case !finite(seconds) || seconds < 0 || seconds > 1e9:
		return none
	case seconds < 1:
		return "less than a second"
	case seconds < 100:
		return strconv.FormatFloat(seconds, 'f', 0, 64) + " s"
	default:
		return fmt.Sprintf("%d min %d s", int(seconds)/60, int(seconds)%60)
	}
}

// list joins names as a sentence does.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// named returns a word, or what stands for an empty one.
func named(word, otherwise string) string { return cmp.Or(word, otherwise) }

// capital writes the first letter large.
func capital(s string) string {
	if s != "" && 'a' <= s[0] && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// sentence writes the first letter large and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	s = capital(s)
	if strings.ContainsAny(s[len(s)-1:], ".?!") {
		return s
	}
	return s + "."
}

// capitals writes a verdict as the reports show it.
func capitals(v audit.Verdict) string {
	return strings.ToUpper(named(string(v), "no verdict"))
}

// meaning says what a verdict on the whole says.
func meaning(v audit.Verdict) string {
	switch v {
	case audit.Clean:
		return "Clean means: everything was looked at, and no attack gained anything from what was recorded."
	case audit.Partial:
		return "Partial means: nothing was found in what was looked at, and not everything was. The list below says what was not."
	case audit.Disclosed:
		return "Disclosed means: what is said above is possible, and the contract that all parties signed had announced it."
	case audit.Leak:
		return "Leak means: something was given away that the contract does not announce, or the job ran in a mode that protects nothing."
	case audit.Unverifiable:
		return "Unverifiable means: the transcripts are not what an honest run of the contract leaves, so that nothing below can be relied upon."
	}
	return "This is no verdict that an audit gives."
}
