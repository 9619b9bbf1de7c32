package consent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a node knows the time zones also where its system has none
)

// weekdays are the days as hours name them, from Sunday on as package time counts them.
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// window is a part of the week.
type window struct {
	days     [7]bool
	from, to int // minutes of the day
	zone     *time.Location
}

// holds reports whether a moment is in the window.
func (w *window) holds(now time.Time) bool {
	now = now.In(w.zone)
	minute := 60*now.Hour() + now.Minute()
	return w.days[now.Weekday()] && w.from <= minute && minute < w.to
}

// parseHours reads one window, such as "mon-fri 08:00-18:00 Europe/Berlin".
func parseHours(text string) (*window, error) {
	words := strings.Fields(text)
	if len(words) != 3 {
		return nil, errors.New("want days, hours and a time zone, such as \"mon-fri 08:00-18:00 Europe/Berlin\"")
	}
	w := &window{}
	if err := w.setDays(words[0]); err != nil {
		return nil, err
	}
	from, to, ok := strings.Cut(words[1], "-")
	var okFrom, okTo bool
	w.from, okFrom = parseMinute(from)
	w.to, okTo = parseMinute(to)
	if !ok || !okFrom || !okTo || w.from >= w.to {
		return nil, fmt.Errorf("the hours %q are none: want two times of one day such as 08:00-18:00, "+
			"the first before the second", clip(words[1]))
	}
	zone, err := time.LoadLocation(words[2])
	if err != nil || words[2] == "Local" {
		return nil, fmt.Errorf("there is no time zone %q: want one such as Europe/Berlin, or UTC", clip(words[2]))
	}
	w.zone = zone
	return w, nil
}

// setDays reads days such as "mon-fri" or "mon,wed,sat-sun". A range may go over the week's end.
func (w *window) setDays(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, to := slices.Index(weekdays, first), slices.Index(weekdays, last)
		if from < 0 || to < 0 {
			return fmt.Errorf("the days %q are none: "+
				"want some of mon, tue, wed, thu, fri, sat, sun, such as mon-fri", clip(text))
		}
		for day := from; ; day = (day + 1) % 7 {
			w.days[day] = true
			if day == to {
				break
			}
		}
	}
	return nil
}

// parseMinute reads a time such as 08:00, up to 24:00.
func parseMinute(text string) (minute int, ok bool) {
	if text == "24:00" {
		return 24 * 60, true
	}
	at, err := time.Parse("15:04", text)
	return 60*at.Hour() + at.Minute(), err == nil && len(text) == len("15:04")
}

// parseUntil reads a date and returns when it is over.
func parseUntil(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, errors.New("want a date such as 2026-12-31")
	}
	return day.AddDate(0, 0, 1), nil
}
