package sum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// fewestClients is how many clients a sum must keep to be opened.
const fewestClients = cohort.DefaultMinContributors

// sumCases reads the flags and lists all combinations: backends change fastest, so that those to be
// compared run one after the other.
func sumCases(ctx context.Context, run lab.Run, o Options) ([]sumCase, error) {
	if err := checkSumFlags(ctx, run, o); err != nil {
		return nil, err
	}
	var cases []sumCase
	for _, topology := range o.Topology {
		for _, words := range o.Words {
			for _, clients := range o.Clients {
				for _, backend := range o.Backend {
					s := sumCase{
						Clients: clients, Words: words, Bits: o.Bits, Backend: cohort.Backend(backend), Topology: topology,
						Dropout: o.Dropout, Corrupt: o.Corrupt, Sums: o.Sums, Warm: o.Warm,
						Processes: min(o.Processes, clients), Patience: o.Patience, Seed: o.Seed,
					}
					if left := clients - s.leaving(); left < fewestClients {
						return nil, fmt.Errorf("--dropout %v leaves %d of %d clients, want at least %d", s.Dropout,
							left, clients, fewestClients)
					}
					cases = append(cases, s)
				}
			}
		}
	}
	return cases, nil
}

// checkSumFlags checks each flag by itself.
func checkSumFlags(ctx context.Context, run lab.Run, o Options) error {
	err := lab.AtLeast(1, lab.Number("sums", o.Sums), lab.Number("warm", o.Warm), lab.Number("processes",
		o.Processes))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		flag  string
		value float64
	}{{"dropout", o.Dropout}, {"corrupt", o.Corrupt}} {
		if !(0 <= f.value && f.value < 1) {
			return fmt.Errorf("--%s is %v, want at least 0 and below 1", f.flag, f.value)
		}
	}
	if bits := o.Bits; bits < 1 || bits > 64 {
		return fmt.Errorf("--bits is %d, want 1 to 64", bits)
	}
	if p := o.Patience; p < time.Second {
		return fmt.Errorf("--patience is %v, want at least 1s", p)
	}
	// Checks the flags that take lists.
	if err := within("clients", o.Clients, fewestClients, keys.MaxMembers-1); err != nil {
		return err
	}
	if err := within("words", o.Words, 1, cohort.MaxWords); err != nil {
		return err
	}
	for _, name := range o.Backend {
		if known := []cohort.Backend{cohort.Masked, cohort.HE, cohort.Plain}; !slices.Contains(known, cohort.Backend(name)) {
			return fmt.Errorf("--backend is %q, want some of %q", name, known)
		}
	}
	for _, name := range o.Topology {
		if _, err := contract.ParseTopology(name); err != nil {
			return err
		}
	}
	return nil
}

// within checks a list of sizes.
func within(flag string, sizes []int, least, most int) error {
	if slices.ContainsFunc(sizes, func(n int) bool { return n < least || n > most }) {
		return fmt.Errorf("--%s is %v, want %d to %d each", flag, sizes, least, most)
	}
	return nil
}
