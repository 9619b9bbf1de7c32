package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// network is that of three parties, in which every broadcast is a byte.
func network() *trace.Network {
	return &trace.Network{Names: []string{"a", "b", "c"}, Stage: stageOf,
		Answer: func(string, int) (trace.Answer, error) {
			return trace.Answer{Class: contract.ClassControl, Data: []byte{0}}, nil
		}}
}

// turn begins with a broadcast on which the number of its sums depends, of as many rows each, and ends with a message
// between two parties.
func turn(n *trace.Network) error {
	ctx := context.Background()
	if _, err := n.Broadcast(ctx, "aside", 0, nil, 1); err != nil {
		return err
	}
	rows, err := n.Broadcast(ctx, "rows", 1, nil, 8)
	if err != nil {
		return err
	}
	three, err := n.Three([rss.Roles]int{2, 0, 1})
	if err != nil {
		return err
	}
	for i, count := range rows {
		n.About(func() trace.About { return trace.About{Rows: trace.Rows(10*i, int(count))} })
		if err := n.SumTurns(ctx, "sums", 0, n.Turns(int(count))); err != nil {
			return err
		}
		if err := n.SumTurns(ctx, "sums", 0, n.Turns(7)); err != nil { // of nothing that is noted
			return err
		}
	}
	n.About(func() trace.About { return trace.About{Rows: []int{99}} })
	_, err = three.BeginPass(ctx, "between", rss.LabelHolder, rss.Helper, 64, 2, nil)
	return err
}

// TestFollowerGivesEachMessageItsRows, in whatever order the links bring them.
func TestFollowerGivesEachMessageItsRows(t *testing.T) {
	n := network()
	f := n.Follow([]string{"rows"}, func() error { return errors.Join(turn(n), turn(n)) })
	defer f.Close()
	if _, err := f.Next("sums", -1, -1, 3); err == nil || err.Error() != `a message "sums" where all rows had theirs` {
		t.Errorf("before anything was told the error is %v", err)
	}
	want := func(kind string, from, to, words int, rows ...int) {
		t.Helper()
		if got, err := f.Next(kind, from, to, words); err != nil || !slices.Equal(got.Rows, rows) {
			t.Errorf("%s of %d words is of rows %v, %v, want %v", kind, words, got.Rows, err, rows)
		}
	}
	rows := func(told ...byte) {
		t.Helper()
		if err := errors.Join(f.Broadcast("aside", []byte{9}), f.Broadcast("rows", told)); err != nil {
			t.Fatal(err)
		}
	}
	rows(3, 2)
	want("between", 2, 1, -1, 99) // its link is ahead of the sums
	want("sums", -1, -1, 3, 0, 1, 2)
	want("sums", -1, -1, 2, 10, 11)
	rows(1)
	want("sums", -1, -1, 1, 0)
	want("between", 2, 1, 2, 99)
	if _, err := f.Next("between", 1, 2, 2); err == nil {
		t.Error("a message the other way had rows")
	}
	if err := f.Broadcast("rows", nil); err == nil || err.Error() != `"rows" was told where nothing is due any more` {
		t.Errorf("after the end the error is %v", err)
	}
	if len(n.Operations) > 0 {
		t.Errorf("%d operations were counted for a Follower", len(n.Operations))
	}
}

// TestFollowerRefusesWhatDoesNotFit and stays refused.
func TestFollowerRefusesWhatDoesNotFit(t *testing.T) {
	n := network()
	f := n.Follow([]string{"rows"}, func() error { return turn(n) })
	defer f.Close()
	if err := f.Broadcast("rows", bytes.Repeat([]byte{3}, 20)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Next("others", -1, -1, 3); err == nil || err.Error() != `a message "others" where 1 sums are due` {
		t.Errorf("error is %v", err)
	}
	if _, err := f.Next("sums", -1, -1, 4); err == nil || err.Error() != `a sum of 4 angles, want 3` {
		t.Errorf("error is %v", err)
	}
	for range 2 { // the second sum is due
		if err := f.Broadcast("rows", []byte{3}); err == nil || err.Error() != `"rows" was told where 1 sums are due` {
			t.Errorf("error is %v", err)
		}
	}
	if _, err := f.Next("between", 2, 1, 2); err == nil || err.Error() != `a message "between" where 17 sums are due` {
		t.Errorf("error is %v", err)
	}
	other := network()
	f = other.Follow([]string{"rows", "late"}, func() error { return turn(other) })
	defer f.Close()
	for range 2 {
		if err := f.Broadcast("late", nil); err == nil || err.Error() != `"late" was told where "rows" is due` {
			t.Errorf("error is %v", err)
		}
	}
	if _, err := f.Next("sums", -1, -1, 3); err == nil || err.Error() != `"late" was told where "rows" is due` {
		t.Errorf("error is %v", err)
	}
}

// TestClosedFollowerEndsItsPart wherever it is, and one that never began.
func TestClosedFollowerEndsItsPart(t *testing.T) {
	for told := range 3 {
		n, ended := network(), error(nil)
		f := n.Follow([]string{"rows"}, func() error {
			ended = errors.Join(turn(n), turn(n))
			return ended
		})
		if told > 0 && f.Broadcast("rows", []byte{3, 3}) != nil {
			t.Fatal("the part fails")
		}
		if told > 1 {
			if _, err := f.Next("between", 2, 1, 2); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
		if told > 0 && (ended == nil || !strings.Contains(ended.Error(), "nobody follows")) {
			t.Errorf("after %d messages the part ended with %v", told, ended)
		}
	}
	var none *trace.Follower
	none.Close()
}

// TestRequestsAreReadAsTheyAreWritten: number and row, until the receiver ends them.
func TestRequestsAreReadAsTheyAreWritten(t *testing.T) {
	n := network()
	var got [][2]int
	f := n.Follow([]string{trace.KindRequest}, func() error {
		return n.EachRequest(5, func(number, row int) error {
			got = append(got, [2]int{number, row})
			return nil
		})
	})
	defer f.Close()
	ask := func(number, row uint32) error {
		return f.Broadcast(trace.KindRequest, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, number), row))
	}
	if err := errors.Join(ask(1, 4), ask(2, 0), ask(2, trace.EndOfRequests)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, [][2]int{{1, 4}, {2, 0}}) {
		t.Errorf("requests are %v", got)
	}
	if err := ask(3, 1); err == nil {
		t.Error("a request came after the end")
	}
}
