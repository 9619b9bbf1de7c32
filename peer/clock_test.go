package peer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/keys"
)

const day = 24 * time.Hour

// shifted is a clock that is wrong by so much.
func shifted(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

// clocked starts hosts whose clocks are wrong by so much, the lowest id first, and their logs.
func clocked(t *testing.T, change func(*Config), by ...time.Duration) (hosts []*Host, logs []*lines) {
	t.Helper()
	hosts = federation(t, len(by), func(c *Config) {
		log := new(lines)
		c.Now, c.Log = shifted(by[len(logs)]), newLog(log)
		logs = append(logs, log)
		if change != nil {
			change(c)
		}
	})
	meetAll(t, hosts...)
	return hosts, logs
}

// saying counts the lines of a log that start so, and waits for the first.
func saying(t *testing.T, log *lines, start string) (text string, n int) {
	t.Helper()
	for ctx := within(t); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		for _, line := range log.all() {
			if strings.HasPrefix(line, start) {
				text, n = line, n+1
			}
		}
		if n > 0 {
			return text, n
		}
	}
	t.Fatalf("no line of the log starts with %q: %q", start, log.all())
	return "", 0
}

// TestClocksDiffer has two nodes connect whose clocks are far apart: both ends name it.
func TestClocksDiffer(t *testing.T) {
	for transport, change := range map[string]func(*Config){
		"tcp":  nil,
		"quic": func(c *Config) { c.QUIC, c.Listen = true, []string{"/ip4/127.0.0.1/udp/0/quic-v1"} },
	} {
		for _, by := range []time.Duration{
			2*day + time.Hour, -2*day - time.Hour, 31*day + time.Hour, -31*day - time.Hour, 3 * time.Minute,
		} {
			t.Run(fmt.Sprint(transport, by), func(t *testing.T) {
				hosts, logs := clocked(t, change, 0, by)
				for i, h := range hosts {
					other, want := hosts[1-i], by
					if i == 1 {
						want = -by
					}
					got, ok := h.ClockDifference(other.Self())
					if !ok || (got-want).Abs() > 30*time.Second {
						t.Errorf("the clock of %s is %v ahead (%v), want %v", nameAt(1-i), got, ok, want)
					}
					s := statusOf(t, h, other.Self())
					start := fmt.Sprintf("the clock of %s is %s this machine's, which says ",
						nameAt(1-i), clockPlace(want.Round(time.Hour)))
					if by.Abs() < time.Hour {
						start = fmt.Sprintf("the clock of %s is ", nameAt(1-i))
					}
					if !strings.HasPrefix(s.ClockTrouble, start) || s.Trouble != "" || s.ClockAhead == 0 {
						t.Errorf("status %+v, want the trouble to start with %q and no other", s, start)
					}
					line, n := saying(t, logs[i], "WARN clocks differ member="+nameAt(1-i)+" reason=")
					if n != 1 || !strings.Contains(line, clockHarm) || !strings.Contains(line, "set the one that is wrong") {
						t.Errorf("%d lines, the last %q", n, line)
					}
				}
			})
		}
	}
}

// TestClocksAgree says nothing of what a clock may be off for lack of care.
func TestClocksAgree(t *testing.T) {
	hosts, _ := clocked(t, nil, 0, 90*time.Second)
	s := statusOf(t, hosts[0], hosts[1].Self())
	if s.ClockTrouble != "" || s.ClockAhead.Round(30*time.Second) != 90*time.Second {
		t.Errorf("status %+v, want no trouble", s)
	}
	if text := hosts[0].ClockTrouble(); text != "" {
		t.Errorf("this node's own: %s", text)
	}
	if _, ok := hosts[0].ClockDifference(keys.ID{1}); ok {
		t.Error("somebody unknown has a clock")
	}
}

// TestOwnClock tells the one node of four that differs from all others that it is itself.
func TestOwnClock(t *testing.T) {
	hosts, logs := clocked(t, nil, 0, 0, day+time.Hour, 0)
	saying(t, logs[2], "WARN this machine's clock is likely wrong reason=this machine's clock says ")
	want := " and is 1d 1h ahead of those of 3 of 3 connected members, which agree"
	if text := hosts[2].ClockTrouble(); !strings.Contains(text, want) {
		t.Fatalf("its own clock: %q, want %q", text, want)
	}
	for i, h := range hosts {
		if i == 2 {
			s := statusOf(t, h, hosts[0].Self())
			want := "it is likely this machine's that is wrong: that of bank is the time of 3 of 3 connected members"
			if !strings.Contains(s.ClockTrouble, want) {
				t.Errorf("the wrong one: %q, want %q", s.ClockTrouble, want)
			}
			continue
		}
		s := statusOf(t, h, hosts[2].Self())
		want := "it is likely that of retailer that is wrong: this machine's is the time of 2 of 3 connected members ("
		if !strings.Contains(s.ClockTrouble, want) {
			t.Errorf("%s: %q, want %q", nameAt(i), s.ClockTrouble, want)
		}
		if text := h.ClockTrouble(); text != "" {
			t.Errorf("%s's own clock: %s", nameAt(i), text)
		}
	}
}

// TestClockIsSet has a person set the clock while the link lives: the trouble goes, at both ends.
func TestClockIsSet(t *testing.T) {
	var off atomic.Int64
	off.Store(int64(day))
	first := true
	hosts := federation(t, 2, func(c *Config) {
		c.Heartbeat = 20 * time.Millisecond
		if first {
			c.Now = func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
		}
		first = false
	})
	meetAll(t, hosts...)
	for round, by := range []time.Duration{0, -day} {
		since := statusOf(t, hosts[0], hosts[1].Self()).Since
		off.Store(int64(by))
		for i, h := range hosts {
			ctx := within(t)
			for {
				s := statusOf(t, h, hosts[1-i].Self())
				if !s.Connected {
					t.Fatalf("round %d: disconnected: %+v", round, s)
				}
				if (s.ClockTrouble == "") == (by == 0) && (s.ClockAhead.Abs()-by.Abs()).Abs() < time.Minute {
					break
				}
				if time.Sleep(time.Millisecond); ctx.Err() != nil {
					t.Fatalf("round %d: still %+v", round, s)
				}
			}
		}
		if now := statusOf(t, hosts[0], hosts[1].Self()).Since; now != since {
			t.Errorf("round %d: the link was made anew", round)
		}
	}
}

// TestClockOfANewcomer names the difference to a newcomer, and to the member that lets it in.
func TestClockOfANewcomer(t *testing.T) {
	ks := newKeys(t, 3)
	guest, log := ks[2], new(lines)
	cfg := config(ks[0], signed(t, draft(ks[:2]), ks))
	cfg.Invited = func(id keys.ID) bool { return id == guest.ID() }
	cfg.Now, cfg.Log = shifted(-5*day-time.Hour), newLog(log)
	h := start(t, cfg)
	j, err := DialJoin(within(t), guest, at(t, h), nil)
	mustDo(t, err)
	defer j.Close()
	want := "the clock of " + h.Self().Short() + " is 5d 1h behind this machine's, which says "
	if !strings.HasPrefix(j.ClockTrouble(), want) {
		t.Errorf("the newcomer reads %q, want %q", j.ClockTrouble(), want)
	}
	saying(t, log, "WARN clocks differ member="+guest.ID().Short()+" reason=the clock of "+guest.ID().Short()+" is 5d ")
}

// TestAbsurdClocks measures clocks that no honest node has: differences stay within bounds.
func TestAbsurdClocks(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		theirs uint64
		now    time.Time
		rtt    time.Duration
		want   time.Duration
	}{
		{clockMillis(now), now, 0, 0},
		{clockMillis(now), now.Add(2 * time.Second), 4 * time.Second, 0},
		{clockMillis(now.Add(day)), now, 0, day},
		{math.MaxUint64, now, time.Hour, clockMost},
		{clockEnd + 1, now, 0, clockMost},
		{0, now, 0, now.Sub(time.Unix(0, 0)) * -1},
		{0, time.Unix(1<<50, 0), 0, -clockMost},
		{clockMillis(time.Unix(-1, 0)), time.Unix(0, 0), 0, 0},
	} {
		if got := clockAhead(test.theirs, test.now, test.rtt); got != test.want {
			t.Errorf("%d at %v: %v ahead, want %v", test.theirs, test.now, got, test.want)
		}
	}
	for d, want := range map[time.Duration]string{
		150 * time.Second: "2m 30s", 2 * time.Minute: "2m", day - time.Minute: "23h 59m", day: "1d",
		31*day + 4*time.Hour: "31d 4h", clockMost: "100 years or more",
	} {
		if got := spell(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}

// TestClockWatch speaks once of each change, and not of every second of a clock that jumps about.
func TestClockWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w clockWatch
		for i, step := range []struct {
			after time.Duration
			ahead time.Duration
			news  bool
		}{
			{0, clockLimit, false},
			{0, day, true},
			{time.Second, day + time.Minute, false}, // no change
			{time.Second, 0, false},                 // too soon after the last word
			{clockPause, 0, true},
			{clockPause, 0, false},
			{clockPause, -day, true},
			{clockPause, clockLimit * 3 / 4, true}, // below the limit, and not yet well
			{clockPause, clockLimit / 2, true},
			{clockPause, clockLimit * 3 / 4, false},
		} {
			time.Sleep(step.after)
			if got := w.set(step.ahead); got != step.news {
				t.Errorf("step %d: news %v, want %v", i, got, step.news)
			}
			if ahead, _ := w.get(); ahead != step.ahead {
				t.Errorf("step %d: %v ahead, want %v", i, ahead, step.ahead)
			}
		}
	})
}

// TestWhoseClock weighs what the clocks of several members say.
func TestWhoseClock(t *testing.T) {
	for _, test := range []struct {
		ahead       []time.Duration // of telco first
		wrong       bool
		own, advice string
	}{
		{[]time.Duration{day}, false, "", "set the one that is wrong"},
		{[]time.Duration{day, day}, true, "is 1d behind those of 2 of 2", "that of telco is the time of 2 of 2"},
		{[]time.Duration{-day, -day, 0}, true, "is 1d ahead of those of 2 of 3", "that of telco is the time of 2 of 3"},
		{[]time.Duration{day, -day}, false, "", "set the one that is wrong"},
		{[]time.Duration{day, 0}, false, "", "that of telco that is wrong: this machine's is the time of 1 of 2"},
		{[]time.Duration{day, day, 0, 0}, false, "", "that of telco that is wrong: this machine's is the time of 2 of 4"},
		{[]time.Duration{day, -day, -day, -day}, true, "is 1d ahead of those of 3 of 4", "others agree with neither"},
		{[]time.Duration{0, 0}, false, "", ""},
		{nil, false, "", ""},
	} {
		v := viewClocks(slices.Clone(test.ahead))
		own := v.own(noon)
		if v.wrong() != test.wrong || !strings.Contains(own, test.own) || (own == "") != (test.own == "") {
			t.Errorf("%v: wrong %v, %q, want %v, %q", test.ahead, v.wrong(), own, test.wrong, test.own)
		}
		if len(test.ahead) == 0 {
			continue
		}
		got := v.of("telco", test.ahead[0], noon)
		if !strings.Contains(got, test.advice) || (got == "") != (test.advice == "") {
			t.Errorf("%v: %q, want %q", test.ahead, got, test.advice)
		}
	}
	want := "the clock of telco is 23h 59m behind this machine's, which says 2026-11-20 12:00 UTC: " +
		"invitations and proposals expire too early or too late, and the times in charters, transcripts and logs do not agree; " +
		"set the one that is wrong (timedatectl status shows the time and whether it is kept)"
	behind := time.Minute - day
	if got := viewClocks([]time.Duration{behind}).of("telco", behind, noon); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
