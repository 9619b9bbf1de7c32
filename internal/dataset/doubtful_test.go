package dataset

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhatColumnsSeemToBe: a column that is read without fault, or refused for its many texts, is told for what it
// seems.
func TestWhatColumnsSeemToBe(t *testing.T) {
	say := func(format string, args ...any) func(int) string {
		return func(i int) string {
			var list []any
			for _, a := range args {
				list = append(list, a.(func(int) any)(i))
			}
			return fmt.Sprintf(format, list...)
		}
	}
	n := func(times, mod, plus int) func(int) any { return func(i int) any { return i*times%mod + plus } }
	pick := func(of ...string) func(int) any { return func(i int) any { return of[i%len(of)] } }
	for _, c := range []struct {
		cell func(row int) string
		want string // a part of it; "": nothing is said
	}{
		{say("20%02d%02d%02d", n(1, 5, 18), n(1, 12, 1), n(7, 28, 1)), `its numbers read as days, as 2018`},
		{say("20%02d%02d", n(1, 5, 18), n(1, 12, 1)), `its numbers read as months, as 201801, and December would be 89 from ` +
			`January: write 2018-01-01`},
		{say("20%02d%02d", n(1, 5, 18), n(1, 13, 1)), ""}, // there is no month 13
		{say("2019010%d", n(1, 9, 1)), ""},                // numbers in a row
		{say("20%02d", n(1, 20, 0)), ""},                  // years
		{say("2019%02d%02d", n(1, 2, 1), n(3, 28, 1)), `its numbers read as days, as 2019010`},
		{func(i int) string { return []string{"99991231", fmt.Sprintf("2004%02d15", i%12+1)}[min(i%9, 1)] },
			`its numbers read as days, as 20040115, and`},
		{func(i int) string { return []string{"20040230", fmt.Sprintf("2004%02d15", i%12+1)}[min(i, 1)] },
			`its numbers read as days, as 20040115, but for 20040230, and 31 January`},
		{func(i int) string {
			return []string{"20040230", "20040231", fmt.Sprintf("2004%02d15", i%12+1)}[min(i, 2)]
		}, ""},
		{say("20240%d151830", n(1, 9, 1)), `its numbers read as times, as 202401151830, and 1:00 would be 41 from 0:59: ` +
			`write 2024-01-15 18:30`},
		{say("20240%d15183059", n(1, 9, 1)), `write 2024-01-15 18:30:59`},
		{say("%d%02d20%02d", n(5, 28, 1), n(1, 12, 1), n(1, 5, 18)), `its numbers read as days, as 0`},
		{say("%02d.20%02d", n(1, 12, 1), n(1, 5, 4)), `its numbers read as months, as 01.2004, and December 2004 would come ` +
			`after January 2005: write 2004-01-01`},
		{say("20%02d.%02d", n(1, 5, 4), n(1, 12, 1)), `its numbers read as months, as 2004.01, and December`},
		{say("20%02d.%02d", n(1, 5, 4), n(1, 13, 1)), ""},
		{say("%d.2%03d", n(1, 12, 1), n(7, 500, 4)), ""},
		{say("-4%015d", n(7919, 90000, 1000)), `has more digits than a number keeps`},
		{say("4%015d.0", n(7919, 90000, 1000)), `has more digits than a number keeps`},
		{say("4%015d.5", n(7919, 90000, 1000)), ""},
		{say("%05d", n(7919, 90000, 1000)), `has zeros in front, which a number has not: put categorical = ["v"] into `},
		{say("4%015d", n(7919, 90000, 1000)), `has more digits than a number keeps`},
		{say("4%014d", n(7919, 90000, 1000)), ""},
		{say("%v", pick("-999", "12", "15", "17.5", "30", "31")), `"-999" in 50 rows seems to stand for a missing cell`},
		{say("%v", pick("345", "17.123", "12", "1.250", "980", "104.000")), `the point in "17.123" in row 2 (line 3) can ` +
			`stand between thousands or before decimals`},
		{say("%v", pick("345", "17.123", "12", "1.25", "980", "104.000")), ""},   // a decimal
		{say("%v", pick("345", "17.123", "12", "1.250", "9800", "104.000")), ""}, // 9800 has none
		{say("%v", pick("345", "0.123", "12", "0.250", "980", "0.001")), ""},
		{say("%d.%03d", n(1, 90, 1), n(7, 999, 0)), "the point in \"1.000\" in row 1 (line 2) can stand between thousands or " +
			"before decimals"}, // three decimals everywhere
		{say("%v", pick("9999", "12", "15", "17.5", "30", "31")), `"9999" in 50 rows seems to stand for a missing cell`},
		{say("%v", pick("-9", "0", "1", "2", "3", "")), `"-9" in 50 rows seems to stand for a missing cell`},
		{say("%v", pick("-999", "9999", "12", "15", "17.5", "30", "31")), `"-999" in 43 rows and "9999" in 43 rows seem to ` +
			`stand for missing cells`},
		{say("%v", pick("-1", "0", "1", "2", "3", "")), ""}, // as far from 0 as 0 from 1
		{say("%d", func(i int) any { return i%12 - 1 }), `"-1" in 25 rows seems to stand for a missing cell`},
		{say("%d", func(i int) any { return i%14 - 2 }), ""}, // others are below zero
		{say("%v", pick("-999.0", "12", "15", "17.5", "30", "31")), `"-999.0" in 50 rows`},
		{say("%v", pick("k.A.", "unbekannt", "low", "high")), `"k.A." in 75 rows and "unbekannt" in 75 rows seem to stand for ` +
			`missing cells`},
		{say("%v", pick("ND", "NC", "NV", "none")), ""}, // states
		{say("%v", pick("00.00.0000", "13.01.2020", "14.02.2020")), `"00.00.0000" in 100 rows seems to stand for a missing`},
		{say("%v", pick("£ 1", "£ 1", "#REF!")), `"#REF!" in 100 rows seems to stand for a missing cell`},
		{say("%v", pick("1.5", "2", "#DIV/0!", "3")), `"#DIV/0!" in 75 rows seems to stand for a missing cell`},
		{say("%v", pick("ja", "nein", "99")), `"99" in 100 rows seems to stand for a missing cell`},
		{say("%v", pick("12", "unbekannt", "-", "17.5", "k.A.", "31", "7", "8")), `"unbekannt" in 38 rows, "-" in 38 ` +
			`rows and "k.A." in 37 rows seem to stand for missing cells`},
		{say("%v", pick("99", "12", "15", "17.5", "80", "31")), ""}, // as far from 80 as 80 from others
		{say("%v", pick("0", "99")), ""},
		{say("%v", pick("0", "9", "1", "2")), ""},
		{func(i int) string { return []string{"-999", fmt.Sprintf("%d.5", i%30)}[min(i, 1)] }, `"-999" in 1 row seems to`},
		{func(i int) string { return []string{"-9", fmt.Sprintf("%d.5", i%30)}[min(i, 1)] }, ""},
		{func(i int) string { return []string{"-999", fmt.Sprint(i*5 - 900)}[min(i, 1)] }, ""},
		{say("%v", pick("-99.9", "12.5", "15", "17.5", "30", "31")), `"-99.9" in 50 rows seems to stand for a missing cell`},
		{say("%v", pick("-32768", "12.5", "15", "17.5", "30", "31")), `"-32768" in 50 rows seems to stand for`},
		{say("%v", pick("2020-01-31", "2020-02-28", "9999-12-31", "0001-01-01")), `dates as 2006-01-31, in days since ` +
			`1970-01-01; "9999-12-31" in 75 rows and "0001-01-01" in 75 rows seem to stand for missing cells`},
		{say("%v", pick("31.12.9999", "13.01.2020")), `"31.12.9999" in 150 rows seems to stand for a missing cell`},
		{func(i int) string { return []string{"x5", fmt.Sprintf("%d.5 €", i%30)}[min(i, 1)] },
			`its cells are numbers with "€" and decimal points; "x5" in row 1 (line 2) is no number: mend it`},
		{func(i int) string { return []string{"x5", "y7", "-999", fmt.Sprintf("%d,5 €", i%30)}[min(i, 3)] },
			`"-999" in 1 row seems to stand for a missing cell; "x5" in row 1 (line 2) and "y7" in row 2 (line 3) are no ` +
				`numbers: mend them`},
		{func(i int) string { return []string{"x5", "k.A.", fmt.Sprint(i % 30)}[min(i, 2)] },
			`"k.A." in 1 row seems to stand for a missing cell; "x5" in row 1 (line 2) is no number: mend it`},
		{say("%v", pick("yes", "no", "Yes")), `its texts "Yes" and "yes" differ by capitals or blanks alone and are two categories`},
		{say("%v", pick("New York", "NewYork", "Rome")), `its texts "New York" and "NewYork" differ by capitals or blanks`},
		{say("%v-%d", pick("Feb", "Mär", "Okt"), n(1, 4, 18)), `its cells are months, weeks or quarters`},
		{say("20%d-%02d", n(1, 5, 18), n(1, 12, 1)), `its cells are months, weeks or quarters`},
		{say("20%dQ%d", n(1, 5, 18), n(1, 4, 1)), `its cells are months, weeks or quarters`},
		{say("2019-W%02d", n(1, 10, 1)), `its cells are months, weeks or quarters`},
		{say("%v", pick("07.09.1977", "1991-08-14", "28/04/1996", "30.11.2001", "2003-12-13", "17/05/1988")),
			`its cells are dates that are written in several ways: write all as 2006-01-31`},
		{say("%02d:%02d", n(1, 24, 0), n(7, 60, 0)), `its cells are times of the day, or durations`},
		{say("%d:%02d:%02d", n(1, 4, 0), n(7, 60, 0), n(11, 60, 0)), `its cells are times of the day, or durations`},
		{say("%d:%02d pm", n(1, 12, 1), n(7, 60, 0)), `its cells are times of the day, or durations`},
		{say("%d. Januar 20%d", n(1, 28, 1), n(1, 5, 18)), `its cells are dates with the month as a word`},
		{say("Mon, March %d, 20%d", n(1, 28, 1), n(1, 5, 18)), `its cells are dates with the month as a word`},
		{say("%dJAN%d", n(1, 28, 1), n(1, 5, 18)), `its cells are dates whose years have two digits`},
		{say("%02dJAN20%d", n(1, 28, 1), n(1, 5, 18)), `dates as 31.1.2006, in days since 1970-01-01`},
		{say("%02dJAN20%d:12:%02d:00.000", n(1, 28, 1), n(1, 5, 18), n(1, 60, 0)), `dates as 31.1.2006`},
		{say("\uff11%v", pick("\uff12", "\uff13", "4")), `its cells have digits that are not 0 to 9: write them so`},
		{say("%v", pick("1.5", "7,5", "12.25")), `"7,5" in row 2 (line 3) has a comma before the decimals, and "1.5" in ` +
			`row 1 (line 2) a point: write all alike, or ignore the column`},
		{say("%v", pick("68 %", "0.7", "12 %")), `and others have none, of which nobody knows whether 1 is all or a hundredth`},
		{say("%v 5%d", pick("EUR", "USD"), n(1, 10, 0)), `its cells are numbers with "EUR" and "USD", which are not the same`},
		{say("%v", pick("$10.5", "$1.5 m", "$2", "$3", "$4")), `numbers with "$" and "m", which are not the same`},
		{say("%v", pick("$100.5", "$1.5 USD", "$2", "$3", "$4")), `its cells are numbers with "$", "USD" and decimal points`},
		{say("%v", pick("EUR 5", "6 €", "7", "EUR 8", "9 €")), `its cells are numbers with "EUR" and "€"`},
		{say("%v", pick("12.-", "15.-", "120,-", "1'300.--")), `its cells are sums without cents: write 12 in the place of`},
		{say("%v", pick("12,-", "15,50")), `its cells are sums without cents`},
		{say("%v", pick("1-", "2-", "3-")), `all its cells have a minus behind: write -12 if they are numbers below zero`},
		{say("%v %d", pick("March", "Mars", "Jane"), n(1, 5, 1)), ""},
		{say("%v", pick("A:1", "10:99", "x")), ""},
	} {
		content := tableOf(300, "v", func(i int) string { return `"` + c.cell(i) + `"` })
		s := survey(t, content, Options{})
		said := s.Columns[0].Says + s.Columns[0].Fault
		if (c.want == "") != (said == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s, %s, %s, ...: %s\nwant %s", c.cell(0), c.cell(1), c.cell(2), said, c.want)
		}
	}
	s := survey(t, "id,v\n1,good\n2,Good\n3,bad\n", Options{Label: "v"})
	if !strings.Contains(s.Columns[0].Says, `"Good" and "good" differ`) {
		t.Errorf("of a label: %q", s.Columns[0].Says)
	}
}
