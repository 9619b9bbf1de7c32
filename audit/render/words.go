package render

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/audit/finding"
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
		// Writes a very small or large number, as "1.2e-14".
		mantissa, power, _ := strings.Cut(strconv.FormatFloat(v, 'e', 1, 64), "e")
		n, _ := strconv.Atoi(power)
		return strings.TrimSuffix(mantissa, ".0") + "e" + strconv.Itoa(n)
	case size >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
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
func capitals(v finding.Verdict) string {
	return strings.ToUpper(named(string(v), "no verdict"))
}

// meaning says what a verdict on the whole says.
func meaning(v finding.Verdict) string {
	switch v {
	case finding.Clean:
		return "Clean means: everything was looked at, and no attack gained anything from what was recorded."
	case finding.Partial:
		return "Partial means: nothing was found in what was looked at, and not everything was. The list " +
			"below says what was not."
	case finding.Disclosed:
		return "Disclosed means: what is said above is possible, and the contract that all parties signed had announced it."
	case finding.Leak:
		return "Leak means: something was given away that the contract does not announce, or the job ran " +
			"in a mode that protects nothing."
	case finding.Unverifiable:
		return "Unverifiable means: the transcripts are not what an honest run of the contract leaves, " +
			"so that nothing below can be relied upon."
	}
	return "This is no verdict that an audit gives."
}

// Headline writes the verdict and what it rests on, as Text begins. It fails when r is nil or w does.
func Headline(w io.Writer, r *finding.Report) error { return write(w, r, (*printer).headline) }

// term is a word with what it means here.
type term struct {
	Word    string
	Meaning string
}

// glossary explains fifteen words, in the order of the alphabet, to readers who know nothing of the method.
func glossary() []term {
	return []term{
		{"angle", "A number that mixes all columns of one row. A party that receives enough angles of a " +
			"row can compute the columns back."},
		{"attack", "What a dishonest party could do with what it received. The audit really carries it out."},
		{"charter", "The text by which the members name each other, with their keys and their rules. All members sign it."},
		{"contract", "The text that says what is computed, what may leave each machine and what each party " +
			"learns. All parties sign it before anything is sent."},
		{"control", "The same attack where the answer is known beforehand. An attack that fails its control " +
			"proves nothing, and counts as not tried."},
		{"countersignature", "A signature by the party at the other end of a line on what went over it. " +
			"It keeps a party from rewriting its own record afterwards."},
		{"egress", "What leaves a party's machine. The contract sets a budget for each kind of message."},
		{"fingerprint", "A short number computed from a text or file. Whoever changes the text changes the fingerprint."},
		{"keeper, helper", "The two parties that, with the label holder, compute on shares: none of the " +
			"three sees anything, and any two of them together could see everything."},
		{"label", "What the model is to foretell. The label holder is the party that knows it for the rows " +
			"that are learned from."},
		{"mask", "Random numbers added to a message so that it looks like noise to whoever lacks one of " +
			"them. A mask is used once."},
		{"opening", "A value that a party learns because the contract says so, such as a total or a score."},
		{"score", "What the model says of one row."},
		{"session", "One run of the job, or one resumption after an interruption, with fresh keys."},
		{"transcript", "A party's signed record of everything it sent and received, in which nothing can " +
			"be changed, removed or inserted unnoticed."},
	}
}

// maxString is the longest string, in characters, that a report quotes.
const maxString = 2000

// errNone is the only fault a caller can make.
var errNone = errors.New("report: there is no report to write, want one")

// printable returns a copy of a report whose strings hold nothing but printable characters: no
// line breaks, terminal sequences or marks that reverse the direction of writing.
func printable(r *finding.Report) *finding.Report {
	out := printableCopy(reflect.ValueOf(*r)).Interface().(finding.Report)
	return &out
}

// printableCopy copies a value of the report's types, and cleans the strings in it. Slices of
// numbers are shared: nothing changes them.
func printableCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(clean(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(printableCopy(v.Field(i)))
		}
	case reflect.Slice:
		out.Set(printableSlice(v))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(printableCopy(v.Elem()))
		}
	default:
		out.Set(v)
	}
	return out
}

// printableSlice copies a slice when its elements can hold strings.
func printableSlice(v reflect.Value) reflect.Value {
	if kind := v.Type().Elem().Kind(); kind != reflect.Struct && kind != reflect.String {
		return v
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(printableCopy(v.Index(i)))
	}
	return out
}

// clean replaces what is no printable character, and cuts what is too long.
func clean(s string) string {
	s = clip(s, maxString)
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case c == unicode.ReplacementChar || !unicode.IsPrint(c):
			return '?'
		}
		return c
	}, s)
	return strings.TrimSpace(s)
}

// clip cuts a string to n characters, the last three being dots when something was cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	seen, cut := 0, 0
	for i := range s {
		if seen == n-3 {
			cut = i
		}
		if seen == n {
			return s[:cut] + "..."
		}
		seen++
	}
	return s
}
