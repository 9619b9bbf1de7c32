package fdskl

import (
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestFeaturesOfFewRows writes no more random features into a job than its rows bear, and never where it says a number.
func TestFeaturesOfFewRows(t *testing.T) {
	for _, c := range []struct {
		rows int
		more map[string]any
		want any
		said string
	}{
		{161, nil, int64(256), "256 random features, because there are 161 rows; say features = 1024 for as many as usual"},
		{1, nil, int64(256), "256 random features, because there are 1 rows; say features = 1024 for as many as usual"},
		{256, nil, int64(256), "256 random features, because there are 256 rows; say features = 1024 for as many as usual"},
		{257, nil, int64(512), "512 random features, because there are 257 rows; say features = 1024 for as many as usual"},
		{513, nil, nil, ""},
		{0, nil, nil, ""},
		{161, map[string]any{"features": int64(1024)}, int64(1024), ""},
		{161, map[string]any{"schedule": DoublyStochastic}, nil, ""},
		{161, map[string]any{"bins": int64(5)}, nil, ""},
	} {
		job := &contract.Job{Name: "credit", Parties: []string{"bank", "insurer", "telco"},
			Parameters: map[string]any{"active": []any{"bank"}, "label": "y"}}
		for name, value := range c.more {
			job.Parameters[name] = value
		}
		said, err := CompleteFeatures(job, c.rows)
		if got := job.Parameters["features"]; err != nil || got != c.want || said != c.said {
			t.Errorf("%d rows, %v: features %v, said %q, %v, want %v and %q", c.rows, c.more, got, said, err, c.want, c.said)
		}
		p, err := ParamsOf(job.Parameters, job.Parties)
		mustDo(t, err)
		if text := p.FewFeatures(c.rows); (text != "") != (c.said != "") {
			t.Errorf("%d rows, %v: the summary says %q", c.rows, c.more, text)
		}
	}
}
