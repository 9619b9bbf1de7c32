package columns

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestRequestsAreBookedInOrder lists what a party takes from a receiver.
func TestRequestsAreBookedInOrder(t *testing.T) {
	v, err := vault.Open(filepath.Join(t.TempDir(), "job"), vault.Options{})
	must(t, err)
	job := contract.Job{OpenTo: "telco", Requests: 3}
	open := func() *requestLog {
		t.Helper()
		b, err := (&prediction{job: &job, model: new(joint.Model)}).openRequests(v)
		must(t, err)
		return b
	}
	b := open()
	for _, step := range []struct {
		request rowRequest
		want    string
	}{
		{rowRequest{0, 0}, "request of telco: it is number 0 after number 0"},
		{rowRequest{2, 0}, "request of telco: it is number 2 after number 0"},
		{rowRequest{1, 7}, "<nil>"},
		{rowRequest{1, 7}, "<nil>"},
		{rowRequest{1, 8}, "request of telco: number 1 asks for row 8, and asked for row 7 before: a number is one row's"},
		{rowRequest{2, 7}, "<nil>"},
		{rowRequest{1, 7}, "request of telco: it is number 1 after number 2"},
		{rowRequest{3, 0}, "<nil>"},
		{rowRequest{4, 1}, "request of telco: it is number 4, the contract has 3, over all sessions"},
	} {
		if err := b.take(step.request); fmt.Sprint(err) != step.want {
			t.Errorf("%+v: %v, want %s", step.request, err, step.want)
		}
		b = open() // what was booked is on the disk
	}
	if last, cut := b.cutOff(); !cut || last != (rowRequest{3, 0}) {
		t.Errorf("cut off is %+v, %v", last, cut)
	}
	must(t, b.answer([]float64{0.25}))
	if b = open(); !slices.Equal(b.answers[0], []float64{0.25}) || b.answered != 3 {
		t.Errorf("answers are %v, the last of number %d", b.answers, b.answered)
	}
	for file, data := range map[string][]byte{requestsFile: {1, 2}} {
		must(t, v.Save(file, data))
		if _, err := (&prediction{job: &job, model: new(joint.Model)}).openRequests(v); err == nil ||
			!strings.Contains(err.Error(), "requests has 2 bytes, want 8") {
			t.Errorf("error is %v", err)
		}
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
