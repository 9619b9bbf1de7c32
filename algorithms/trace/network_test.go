package trace_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// stageOf has sums come third.
func stageOf(kind string) int64 {
	if kind == "sums" {
		return 3
	}
	return 0
}

// TestTimesCountAsIfDone compares loops with what stands for them.
func TestTimesCountAsIfDone(t *testing.T) {
	sum := contract.Operation{Kind: "sums", Collective: contract.CollectiveSum, Root: "a"}
	told := contract.Operation{Kind: "told", Collective: contract.CollectiveBroadcast, Root: "b"}
	body := func(c *trace.Network) error {
		_ = c.Count(sum, contract.ClassMasked, contract.Packed(11), 3) // 33 bits are 5 bytes, every time
		_ = c.Count(told, contract.ClassControl, contract.Bytes, 7)
		return nil
	}
	looped, stood := trace.Network{Stage: stageOf}, trace.Network{Stage: stageOf}
	for range 5 {
		for range 2 {
			_ = body(&looped)
		}
		_ = looped.Count(told, contract.ClassControl, contract.Bytes, 1)
	}
	if err := stood.Times(5, func() error {
		err := stood.Times(2, func() error { return body(&stood) })
		_ = stood.Count(told, contract.ClassControl, contract.Bytes, 1)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_ = stood.Times(0, func() error { return body(&stood) })
	if !reflect.DeepEqual(looped.Operations, stood.Operations) {
		t.Errorf("counted %+v, want %+v", stood.Operations, looped.Operations)
	}
	want := []contract.Operation{
		{Kind: "sums", Stage: 3, Collective: "sum", Root: "a", Class: "masked", Encoding: "packed11", Shape: []int64{30},
			Count: 10, Bytes: 50},
		{Kind: "told", Collective: "broadcast", Root: "b", Class: "control", Encoding: "bytes", Count: 15, Bytes: 75},
	}
	if !reflect.DeepEqual(stood.Operations, want) {
		t.Errorf("counted %+v, want %+v", stood.Operations, want)
	}
}

// TestEndsAreLines: another root, receiver or tree is another line, and an error ends what stands for many.
func TestEndsAreLines(t *testing.T) {
	c := trace.Network{Stage: stageOf}
	failure := errors.New("failed")
	if err := c.Times(9, func() error { return failure }); err != failure {
		t.Errorf("error is %v", err)
	}
	for _, o := range []contract.Operation{{Root: "a"}, {Root: "b"}, {Root: "a", To: "b"},
		{Root: "a", Tree: 1, Excluded: "b"},
		{Root: "a", Tree: 2, Excluded: "b"}, {Root: "a", Tree: 2, Excluded: "c"}, {Root: "a"}} {
		_ = c.Count(o, contract.ClassMasked, contract.Turns16, 1)
	}
	var counts []int64
	for _, o := range c.Operations {
		counts = append(counts, o.Count)
	}
	if !reflect.DeepEqual(counts, []int64{2, 1, 1, 1, 1, 1}) {
		t.Errorf("counts are %v", counts)
	}
}
