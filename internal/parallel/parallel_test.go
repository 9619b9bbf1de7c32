package parallel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// TestEachVisitsEveryIndexOnce counts visits, with fewer and with more workers than there is work.
func TestEachVisitsEveryIndexOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 200} {
		visits := make([]int, 100)
		busy := make([]atomic.Bool, max(workers, 1))
		if err := Each(workers, len(visits), func(worker, i int) error {
			if busy[worker].Swap(true) {
				t.Errorf("worker %d has two calls at the same time", worker)
			}
			visits[i]++
			busy[worker].Store(false)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, n := range visits {
			if n != 1 {
				t.Errorf("%d workers: index %d was visited %d times", workers, i, n)
			}
		}
	}
	All(4, 0, func(int) { t.Error("a call of a loop without turns") })
}

// TestEachReturnsTheLowestError has a later call fail before an earlier one does.
func TestEachReturnsTheLowestError(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		later := make(chan struct{})
		var called atomic.Int64
		err := Each(workers, 1000, func(_, i int) error {
			called.Add(1)
			switch {
			case i == 3 && workers > 1:
				<-later
			case i == 4:
				close(later)
			}
			if i >= 3 {
				return fmt.Errorf("call %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "call 3" {
			t.Errorf("%d workers: error %v, want that of call 3", workers, err)
		}
		if n := called.Load(); n > 3+int64(workers) {
			t.Errorf("%d workers: %d calls, though the fourth failed", workers, n)
		}
	}
	if err := Each(2, 1, func(_, _ int) error { return errors.New("only one") }); err == nil {
		t.Error("the error of the only call is lost")
	}
}
