package fdskl

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol/contract"
)

// DefaultFeatures is D of a job of the fixed schedule over many rows that does not say it; leastFeatures is what few
// rows get.
const (
	DefaultFeatures = 1024
	leastFeatures   = 256
)

// FeaturesFor returns D of a job over so many rows that does not say it: the smallest power of two that is no less than
// the rows, from 256 to DefaultFeatures. More change no error of so few rows that their test could tell, and their time
// grows with the square; see docs/performance.md.
func FeaturesFor(rows int) int {
	d := leastFeatures
	for d < min(rows, DefaultFeatures) {
		d *= 2
	}
	return d
}

// few returns how many random features a training over so many rows has that does not say it, 0 where it has as many as
// usual.
func (p Params) few(rows int) int {
	d := FeaturesFor(rows)
	if rows < 1 || p.Schedule != Fixed || p.Binned() || d >= DefaultFeatures || d < 2*len(p.Active) {
		return 0
	}
	return d
}

// CompleteFeatures writes into a training's parameters how many random features its rows bear, where its text does not
// say a number and they are fewer than usual, and returns that in words.
func CompleteFeatures(job *contract.Job, rows int) (string, error) {
	const name = "features"
	p, err := ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return "", fmt.Errorf("job %q: %w", job.Name, err)
	}
	d := p.few(rows)
	if d == 0 || job.Parameters[name] != nil {
		return "", nil
	}
	job.Parameters[name] = int64(d)
	return fmt.Sprintf("%d random features, because there are %d rows; say features = %d for as many as usual", d, rows,
		DefaultFeatures), nil
}

// FewFeatures says of a training that has as many random features as its few rows get why there are no more, empty of
// any other.
func (p Params) FewFeatures(rows int) string {
	if d := p.few(rows); d == 0 || p.Features != d {
		return ""
	}
	return fmt.Sprintf("%d random features for %d rows: more would change no error that so few can show, and take longer",
		p.Features, rows)
}
