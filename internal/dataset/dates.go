package dataset

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The orders of dates, as Options.DateOrders has them.
const (
	ISO           = "iso" // 2006-01-02, also with a time, and 2006/01/02
	DayMonthYear  = "dmy" // 2.1.2006, 2/1/2006, 2-1-2006, 2-Jan-2006, 2Jan2006, also with a time
	MonthDayYear  = "mdy" // 1/2/2006, 1-2-2006, also with a time
	DatesAreTexts = "text"
)

// layouts are how package time knows the days of an order.
func layouts(order string) []string {
	switch order {
	case ISO:
		return []string{"2006-01-02", "2006/01/02"}
	case DayMonthYear:
		return []string{"2.1.2006", "2/1/2006", "2-1-2006", "2-Jan-2006", "2Jan2006"}
	case MonthDayYear:
		return []string{"1/2/2006", "1-2-2006"}
	}
	return nil
}

// clocks are how package time knows what may follow a day.
func clocks() []string {
	return []string{
		" 15:04:05", "T15:04:05", " 15:04:05Z07:00", "T15:04:05Z07:00", "T15:04:05Z0700", " 15:04:05Z0700",
		" 15:04:05Z07", " 15:04:05 Z07:00", " 15:04:05 Z0700", " 15:04:05 MST", " 15:04", "T15:04", " 3:04:05 PM", " 3:04 PM",
		":15:04:05", ":15:04",
	}
}

// maxDate is the longest text that is read as a date, in bytes.
const maxDate = 40

// parseDate reads a date in an order, and returns it in days since 1970-01-01; a time without a zone is UTC.
func parseDate(text, order string) (days float64, ok bool) {
	if len(text) < 8 || len(text) > maxDate || text[0] < '0' || text[0] > '9' {
		return 0, false
	}
	at := clockAt(text)
	for _, day := range layouts(order) {
		if at < 0 {
			if t, err := time.Parse(day, text); err == nil {
				return daysOf(t), true
			}
			continue
		}
		if _, err := time.Parse(day, text[:at]); err != nil {
			continue
		}
		for _, clock := range clocks() {
			t, err := time.Parse(day+clock, text)
			if zone, _ := t.Zone(); err == nil && (!strings.HasSuffix(clock, "MST") || zone == "UTC") {
				return daysOf(t), true
			}
		}
	}
	return 0, false
}

// clockAt returns where the time of a day begins, with a blank, a T or a colon behind a digit; -1 where there is none.
func clockAt(text string) int {
	for i := 1; i < len(text); i++ {
		if (text[i] == ' ' || text[i] == 'T' || text[i] == ':') && '0' <= text[i-1] && text[i-1] <= '9' {
			return i
		}
	}
	return -1
}

// shortYear is a date whose year has two digits, or could.
var shortYear = regexp.MustCompile(`^\d{1,2}([-/.](\d{1,2}|[A-Za-z]{3})[-/.]|[A-Za-z]{3})\d{2}([ :]|$)`)

// daysOf returns the days since 1970-01-01, with a fraction for the time of the day.
func daysOf(t time.Time) float64 {
	const day = 24 * 60 * 60
	return (float64(t.Unix()) + float64(t.Nanosecond())/1e9) / day
}

// dates follows how all texts of a column can be read as dates.
type dates struct {
	want   string // Options.Dates
	some   bool   // there was a text
	orders []string
}

// add takes another text.
func (d *dates) add(text string) {
	if !d.some {
		d.some = true
		if d.want != DatesAreTexts {
			d.orders = []string{ISO, DayMonthYear, MonthDayYear}
		}
	}
	left := d.orders[:0]
	for _, order := range d.orders {
		if _, ok := parseDate(text, order); ok {
			left = append(left, order)
		}
	}
	d.orders = left
}

// order returns how the column is read, "" where it is none of dates, or one that could be read in two ways.
func (d *dates) order() string {
	switch {
	case len(d.orders) == 1:
		return d.orders[0]
	case len(d.orders) > 1:
		return d.want
	}
	return ""
}

// checkDates checks the options about dates.
func checkDates(o *Options) error {
	switch o.Dates {
	case "", DayMonthYear, MonthDayYear, DatesAreTexts:
	default:
		return fmt.Errorf("unknown way %s to read dates; want dmy, mdy or text", quote(o.Dates))
	}
	for name, order := range o.DateOrders {
		if layouts(order) == nil {
			return fmt.Errorf("column %s: unknown order %s of dates; want iso, dmy or mdy", quote(name), quote(order))
		}
	}
	return nil
}

// inWords says what the cells of an order are.
func inWords(order string) string {
	switch order {
	case ISO:
		return "dates as 2006-01-31"
	case DayMonthYear:
		return "dates as 31.1.2006"
	case MonthDayYear:
		return "dates as 1/31/2006"
	}
	return "no dates"
}

// packing is a way in which programs write dates as numbers.
type packing struct {
	kind    string
	digits  string // how fmt writes such a number
	layout  string // how package time reads it
	better  string // how it is to be written
	months  int    // so many different ones there are at least
	numbers int    // and so many different numbers
	far     string // what is wrong with them as numbers
}

var packings = []packing{
	{"days", "%08.0f", "20060102", "2006-01-02", 2, 8, "31 January would be 70 from 1 February"},
	{"days", "%08.0f", "02012006", "2006-01-02", 3, 8, "2 January would be a million from 1 January"},
	{"months", "%06.0f", "200601", "2006-01-02", 1, 8, "December would be 89 from January"},
	{"months", "%.2f", "2006.01", "2006-01-02", 3, 8, "December would be 0.89 from January"},
	{"months", "%07.4f", "01.2006", "2006-01-02", 3, 4, "December 2004 would come after January 2005"},
	{"times", "%012.0f", "200601021504", "2006-01-02 15:04", 2, 8, "1:00 would be 41 from 0:59"},
	{"times", "%014.0f", "20060102150405", "2006-01-02 15:04:05", 2, 8, "1:00:00 would be 4041 from 0:59:59"},
}

// says what numbers are that are all dates of our time, but for the ends of time and one more; "" where they are none.
func (p *packing) says(values []float64) string {
	different, months := make(map[float64]bool), make(map[int]bool)
	least, stray := math.Inf(1), ""
	for _, v := range values {
		if math.IsNaN(v) || different[v] {
			continue
		}
		text := fmt.Sprintf(p.digits, v)
		t, err := time.Parse(p.layout, text)
		same, _ := strconv.ParseFloat(text, 64)
		if err != nil || same != v || t.Year() < 1900 || t.Year() > 2100 {
			end := err == nil && (t.Year() == 9999 || t.Year() == 1)
			if different[v] = true; !end && stray != "" {
				return ""
			} else if !end {
				stray = formatNumber(v)
			}
			continue
		}
		least = min(least, v)
		different[v], months[12*t.Year()+int(t.Month())] = true, true
	}
	if len(different) < p.numbers || len(months) < p.months {
		return ""
	}
	but := ""
	if stray != "" {
		but = ", but for " + stray
	}
	text := fmt.Sprintf(p.digits, least)
	t, _ := time.Parse(p.layout, text)
	return fmt.Sprintf("its numbers read as %s, as %s%s, and %s: write %s", p.kind, text, but, p.far, t.Format(p.better))
}
