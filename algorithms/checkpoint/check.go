package checkpoint

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// CheckVersion refuses a state of another version than the one that this program reads.
func CheckVersion(version, reads int) error {
	if version != reads {
		return fmt.Errorf("state: version is %d, this program reads version %d", version, reads)
	}
	return nil
}

// CheckJob refuses a state of another job than the one whose digest is wanted; of says what it is a digest
// of.
func CheckJob(job, want keys.Hash, of string) error {
	if job != want {
		return fmt.Errorf("state: it belongs to a job with other %s, %s, want %s", of, job.Short(), want.Short())
	}
	return nil
}

// CheckVector refuses a vector of a state that has another length or is not finite.
func CheckVector(name string, v []float64, want int) error {
	if len(v) != want {
		return fmt.Errorf("state: %s has %d numbers, want %d", name, len(v), want)
	}
	return CheckFinite(name, v)
}

// CheckFinite refuses numbers of a state that are not finite.
func CheckFinite[F float32 | float64](name string, v []F) error {
	for i, x := range v {
		if f := float64(x); !parameters.IsFinite(f) {
			return fmt.Errorf("state: number %d of %s is %v, want a finite number", i+1, name, x)
		}
	}
	return nil
}
