package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestThresholdsThatOpenVectorsAreRefusedWithAJob: everybody who is asked for consent works out what the job sends,
// and so does its proposer. The least threshold is in the error.
func TestThresholdsThatOpenVectorsAreRefusedWithAJob(t *testing.T) {
	job := &contract.Job{Algorithm: contract.POFMKL, Privacy: "masked", Topology: "star", Servers: []string{"p0"},
		MinContributors: 3}
	var all []contract.Facts
	for i := range 41 {
		job.Parties = append(job.Parties, fmt.Sprintf("p%d", i))
		all = append(all, contract.Facts{Name: job.Parties[i]})
	}
	sums := []federated.Summed{{Server: "p0", Clients: 40, Times: 3,
		Sum: federated.Sum{Kind: "updates", N: 10, Bits: 20, Bound: 1}}}
	for threshold, want := range map[float64]string{0.51: "threshold is 0.51, want at least 0.7142",
		0.64: "want at least 0.7142", 0.7142: "", 0: ""} {
		job.Threshold = threshold
		_, err := operationsOf(job, all, sums, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("threshold %v: error %v, want %q", threshold, err, want)
		}
	}
}

// TestContractsHaveTheCoinsMessages of sums among more than 32 clients, as often as a sum may begin.
func TestContractsHaveTheCoinsMessages(t *testing.T) {
	for clients, want := range map[int]bool{32: false, 33: true} {
		job := &contract.Job{Algorithm: contract.POFMKL, Privacy: "masked", Topology: "star", Servers: []string{"p0"},
			MinContributors: 3}
		var all []contract.Facts
		for i := range clients + 1 {
			job.Parties = append(job.Parties, fmt.Sprintf("p%d", i))
			all = append(all, contract.Facts{Name: job.Parties[i]})
		}
		operations, err := operationsOf(job, all, []federated.Summed{{Server: "p0", Clients: clients, Times: 3,
			Sum: federated.Sum{Kind: "updates", N: 10, Bits: 20, Bound: 1}}}, nil)
		must(t, err)
		bytes := map[string]int64{"sum-commit": 12 * 32, "sum-pledged": 12 * (5 + 32), "sum-reveal": 12 * 16,
			"sum-nonces": 3*(33*16+2) + 33*98}
		found := 0
		for _, o := range operations {
			if b, ok := bytes[o.Kind]; ok {
				found++
				if o.Bytes != b {
					t.Errorf("%s: %d times %d bytes in all, want %d bytes", o.Kind, o.Count, o.Bytes, b)
				}
			}
		}
		if (found == len(bytes)) != want || !want && found > 0 {
			t.Errorf("%d clients: the contract has %d of the coin's %d kinds", clients, found, len(bytes))
		}
	}
}
