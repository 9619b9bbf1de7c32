package wording

import "strings"

const (
	// largestFloat is the largest whole number up to which a float64 tells all whole numbers apart: 2^53 - 1.
	largestFloat = "9007199254740991"
	// mostExponent is how many digits of an exponent are read.
	mostExponent = 5
)

// Whole returns the plain form of a whole number, however a program wrote it: its digits without zeros in front, with
// "-" where it is below zero. 1, 1.0, 1., +1, 000001, 1e+05, 1E5 and 1.2e3 are whole numbers; ok is false for 1.5, 0x1,
// 1_000, numbers with blanks or commas, and texts.
//
// It works on the digits as they are written. What is plain digits may be of any length. A number with a point or an
// exponent was a float64 before, and is none where digits may have been lost or mistaken on the way:
//
//   - beyond 2^53 - 1, where two whole numbers may be one float64;
//   - 6.12E+08 and 1.23457E+11, as spreadsheets and "%.6g" write 612345678 and 123456789012: with "+" in the exponent,
//     two decimals or more, and zeros to be added. 1.2e3, 1e+05 and 1.23457E11 are exact;
//   - 12.000, which is twelve thousand to half of the world: one to three digits, the first not 0, a point and three
//     zeros.
func Whole(text string) (plain string, ok bool) {
	rest, negative := text, false
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest, negative = rest[1:], rest[0] == '-'
	}
	before, rest := cutDigits(rest)
	after, pointed := "", false
	if rest, pointed = strings.CutPrefix(rest, "."); pointed {
		after, rest = cutDigits(rest)
	}
	exponent, raised, written := 0, false, rest != ""
	if written {
		if exponent, raised, ok = exponentOf(rest); !ok {
			return "", false
		}
	}
	if before == "" && after == "" {
		return "", false
	}
	switch {
	case !pointed && !written:
		plain = strings.TrimLeft(before, "0")
	case !written && len(after) == 3 && before != "" && len(before) <= 3 && before[0] != '0':
		return "", false // a thousand, or a thousandth
	case raised && len(after) >= 2 && len(after) < exponent:
		return "", false // rounded
	default:
		digits, point := before+after, len(before)+exponent
		significant := strings.TrimLeft(digits, "0")
		point -= len(digits) - len(significant)
		if significant = strings.TrimRight(significant, "0"); significant == "" {
			return "0", true
		}
		zeros := point - len(significant)
		if zeros < 0 || point > len(largestFloat) {
			return "", false
		}
		plain = significant + strings.Repeat("0", zeros)
		if len(plain) == len(largestFloat) && plain > largestFloat {
			return "", false
		}
	}
	switch {
	case plain == "":
		return "0", true
	case negative:
		return "-" + plain, true
	}
	return plain, true
}

// exponentOf reads an exponent from its e or E on; raised says that it has a "+".
func exponentOf(text string) (exponent int, raised, ok bool) {
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false, false
	}
	text = text[1:]
	sign := 1
	if text != "" && (text[0] == '+' || text[0] == '-') {
		if raised = text[0] == '+'; !raised {
			sign = -1
		}
		text = text[1:]
	}
	digits, rest := cutDigits(text)
	short := strings.TrimLeft(digits, "0")
	if digits == "" || rest != "" || len(short) > mostExponent {
		return 0, false, false
	}
	for _, c := range short {
		exponent = 10*exponent + int(c-'0')
	}
	return sign * exponent, raised, true
}

// cutDigits cuts the digits 0 to 9 off that a text begins with.
func cutDigits(text string) (digits, rest string) {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}
