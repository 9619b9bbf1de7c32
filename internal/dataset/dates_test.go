package dataset

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDates(t *testing.T) {
	for _, c := range []struct {
		text, order string
		want        float64
	}{
		{"1970-01-01", ISO, 0},
		{"1969-12-31", ISO, -1},
		{"2024-02-29", ISO, 19782},
		{"2024/02/29", ISO, 19782},
		{"2024-02-29 12:00", ISO, 19782.5},
		{"2024-02-29T06:00:00Z", ISO, 19782.25},
		{"2024-02-29T06:00:00.000+02:00", ISO, 19782.25 - 2.0/24},
		{"2024-02-29 18:00:00 UTC", ISO, 19782.75},
		{"29.2.2024", DayMonthYear, 19782},
		{"29.02.2024 06:00", DayMonthYear, 19782.25},
		{"29/02/2024", DayMonthYear, 19782},
		{"2/29/2024", MonthDayYear, 19782},
		{"02/29/2024 6:00 PM", MonthDayYear, 19782.75},
	} {
		if got, ok := parseDate(c.text, c.order); !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s as %s is %v (%v), want %v", c.text, c.order, got, ok, c.want)
		}
	}
	for _, text := range []string{
		"", "2023-02-29", "2024-13-01", "20240229", "2024-02-29 25:00", "29/02/24", "2024-02-29 6 o'clock", "12.5",
		"2024-02-29 18:00:00 CET",
	} {
		for _, order := range []string{ISO, DayMonthYear, MonthDayYear} {
			if v, ok := parseDate(text, order); ok {
				t.Errorf("%q as %s is %v", text, order, v)
			}
		}
	}
}

// column of a table of one column of these cells.
func columnOf(t testing.TB, o Options, cells ...string) (*Table, Column) {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,since\n")
	for i, c := range cells {
		fmt.Fprintf(&b, "%06d,%s\n", i, c)
	}
	table := mustRead(t, b.String(), asCSV, o)
	return table, *mustColumn(t, table, "since")
}

// TestColumnsOfDates recognises dates where they can be read in one way alone.
func TestColumnsOfDates(t *testing.T) {
	for _, c := range []struct {
		o     Options
		cells string
		want  string
	}{
		{Options{}, "2024-01-02 NA 2024-01-03", ISO},
		{Options{}, "1.2.2024 3.4.2024", DayMonthYear},
		{Options{}, "01/02/2024 13/02/2024", DayMonthYear},
		{Options{}, "01/02/2024 02/13/2024", MonthDayYear},
		{Options{}, "01/02/2024 02/03/2024", ""},
		{Options{Dates: "mdy"}, "01/02/2024 02/03/2024", MonthDayYear},
		{Options{Dates: "dmy"}, "01/02/2024 02/13/2024", MonthDayYear}, // it can be read in one way alone
		{Options{}, "01/13/2024 13/01/2024", ""},
		{Options{}, "2024-01-02 soon", ""},
		{Options{Dates: "text"}, "2024-01-02 2024-01-03", ""},
		{Options{Categorical: []string{"since"}}, "2024-01-02 2024-01-03", ""},
		{Options{Label: "since"}, "2024-01-02 2024-01-03", ""},
		{Options{DateOrders: map[string]string{"since": DayMonthYear}}, "01/02/2024", DayMonthYear},
		{Options{DateOrders: map[string]string{}}, "2024-01-02", ""},
	} {
		table, column := columnOf(t, c.o, strings.Fields(c.cells)...)
		if got := table.DateOrders["since"]; got != c.want || (column.Kind == Numeric) != (c.want != "") {
			t.Errorf("%+v: %s are %v in order %q, want %q", c.o, c.cells, column.Kind, got, c.want)
		}
	}
	_, column := columnOf(t, Options{}, "2024-02-29", "?", "1970-01-01")
	if v := column.Values; v[0] != 19782 || !math.IsNaN(v[1]) || v[2] != 0 {
		t.Errorf("values %v", v)
	}
	o := Options{DateOrders: map[string]string{"since": ISO}}
	_, err := readString("id,since\na,2024-01-02\nb,2.1.2024\n", asCSV, o)
	wantError(t, err, `row 2 (line 3), column "since": "2.1.2024" is not a date as the others are: mend the cell, or `+
		`ignore the column: put ignore = ["since"] into the table's options`)
}

// TestManyDates reads more different times than a categorical column may have.
func TestManyDates(t *testing.T) {
	begin := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	var cells []string
	for i := range 6000 {
		cells = append(cells, begin.Add(time.Duration(i)*time.Hour).Format("02/01/2006 15:04:05"))
	}
	table, column := columnOf(t, Options{}, cells...)
	if !reflect.DeepEqual(table.DateOrders, map[string]string{"since": DayMonthYear}) {
		t.Fatalf("dates %v", table.DateOrders)
	}
	for i, v := range column.Values {
		if want := 18262 + float64(i)/24; math.Abs(v-want) > 1e-9 {
			t.Fatalf("row %d is day %v, want %v", i, v, want)
		}
	}
}

// TestDatesAreThoseOfTheCalendar writes days in every layout and reads them back.
func TestDatesAreThoseOfTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.Int64Range(-300_000, 300_000).Draw(t, "day")
		order := rapid.SampledFrom([]string{ISO, DayMonthYear, MonthDayYear}).Draw(t, "order")
		layout := rapid.SampledFrom(layouts(order)).Draw(t, "layout")
		text := time.Unix(day*86400, 0).UTC().Format(layout)
		if got, ok := parseDate(text, order); !ok || got != float64(day) {
			t.Fatalf("day %d, %s, is %v (%v)", day, text, got, ok)
		}
	})
}

// FuzzDate never panics, and what it reads is finite and lies between the years 0 and 10000.
func FuzzDate(f *testing.F) {
	for _, seed := range []string{"2024-02-29", "2024-02-29T06:00:00.123456789+02:00", "29.2.2024 1:00 PM", "1/2/2006"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, order := range []string{ISO, DayMonthYear, MonthDayYear} {
			if v, ok := parseDate(text, order); ok && !(v > -719_530 && v < 2_932_900) {
				t.Fatalf("%q as %s is day %v", text, order, v)
			}
		}
	})
}
