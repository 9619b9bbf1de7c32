package wording

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "1.0": "1", "1.": "1", "+1": "1", "-1": "-1", "1e+05": "100000", "1E5": "100000", "1.2e3": "1200",
		"000001": "1", "-0": "0", "-0.0": "0", "0": "0", "000": "0", "0e9": "0", ".0": "0", "1e0": "1", "10e-1": "1",
		"1.25e+02": "125", "1.000000000000000000e+05": "100000", "1.23456E7": "12345600", "0.5e1": "5", "-12.00": "-12",
		"1234.000": "1234", "1.0000": "1", "0.000": "0", "007.0": "7", "1e00000005": "100000", "1e15": "1000000000000000",
		"9007199254740991.0": "9007199254740991", "12345678901234567890": "12345678901234567890",
		strings.Repeat("0", 4000) + "7": "7", strings.Repeat("9", 4000): strings.Repeat("9", 4000),
	} {
		if got, ok := Whole(text); !ok || got != want {
			t.Errorf("%.40q is %.40q, %t; want %.40q", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "+", "-", ".", "e", "e5", ".e5", "1e", "1e+", "1.5", "1e-1", "0x1", "1_000", "1,0", "1 0", " 1", "1 ", "--1",
		"1.2.0", "1..0", "one", "NaN", "inf", "1e5x", "\uff11", "1e16", "9007199254740992.0", "9.007199254740993e15",
		"1e99999999999999999999", "1e-99999999999999999999", "0e999999", "1.000", "12.000", "123.000", "-1.000",
		"6.12E+08", "1.00E+05", "1.23457E+11", "1.234568e+09", strings.Repeat("9", 17) + ".0",
	} {
		if got, ok := Whole(text); ok {
			t.Errorf("%q is %q, want no whole number", text, got)
		}
	}
}

// TestAllWaysToWriteAWholeNumberAreIt writes numbers as programs do.
func TestAllWaysToWriteAWholeNumberAreIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(-(1<<53-1), 1<<53-1).Draw(rt, "n")
		if rapid.Bool().Draw(rt, "round") {
			n -= n % 100_000
		}
		plain := strconv.FormatInt(n, 10)
		sign, digits := "", plain
		if n < 0 {
			sign, digits = "-", plain[1:]
		}
		zeros := rapid.SampledFrom([]string{"", "0", "00000"}).Draw(rt, "zeros")
		ways := []string{
			plain, sign + zeros + digits, plain + ".", plain + ".0", plain + ".00", plain + ".0000",
			sign + zeros + digits + ".0",
			strconv.FormatFloat(float64(n), 'e', 18, 64), plain + "e0", plain + "0e-1",
			strings.Replace(strconv.FormatFloat(float64(n), 'E', -1, 64), "+", "", 1),
		}
		if n >= 0 {
			ways = append(ways, "+"+plain, "+"+plain+".0")
		}
		for _, text := range ways {
			if got, ok := Whole(text); !ok || got != plain {
				rt.Fatalf("%q is %q, %t; want %q", text, got, ok, plain)
			}
		}
	})
}

// FuzzWhole holds what is taken for a whole number against exact arithmetic on the same text.
func FuzzWhole(f *testing.F) {
	for _, text := range []string{"1.0", "-0", "1e+05", "12.000", "6.12E+08", "0.5e1", "1e99999", "007", "1.2.3",
		"0x1p4"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain, ok := Whole(text)
		if !ok {
			if plain != "" {
				t.Fatalf("%q is no whole number and is %q", text, plain)
			}
			return
		}
		if len(plain) > max(len(text), len(largestFloat)+1) {
			t.Fatalf("%q becomes %d bytes", text, len(plain))
		}
		want, exact := new(big.Rat).SetString(strings.TrimPrefix(text, "+"))
		if !exact || !want.IsInt() || want.Num().String() != plain {
			t.Fatalf("%q is %q, and exactly %v", text, plain, want)
		}
		if again, ok := Whole(plain); !ok || again != plain {
			t.Fatalf("%q is %q, and that is %q", text, plain, again)
		}
	})
}
