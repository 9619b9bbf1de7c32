// Package ownmodel is what a member does alone with the model that a job over clients left it: predict rows, show it,
// and write it so that other programs can use it.
package ownmodel

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"

	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/terminal"
)

// Describe prints a model, and what its files come to, for people.
func Describe(w io.Writer, p *portable.Model, files []portable.Named) error {
	size := 0
	for _, f := range files {
		size += len(f.Content)
	}
	t := wording.NewTable(w, "")
	t.Row("job", fmt.Sprintf("%s, contract %.8s", p.Job, p.Contract))
	t.Row("algorithm", p.Algorithm)
	t.Row("party", fmt.Sprintf("%s, %s", p.Party, p.Role))
	t.Row("rounds", fmt.Sprintf("%d of %d", p.Round, p.Rounds))
	inputs := fmt.Sprintf("%d, whose names the clients know", p.Inputs.Count)
	if p.Inputs.Columns != nil {
		inputs = shortList(p.Inputs.Columns, 40)
	}
	if p.Inputs.DivideBy != 1 {
		inputs += fmt.Sprintf(", over %.4g", p.Inputs.DivideBy)
	}
	t.Row("inputs", terminal.Printable(inputs))
	switch {
	case p.Label.Classes > 0:
		t.Row("label", fmt.Sprintf("%s, one of %d classes", terminal.Printable(p.Label.Column), p.Label.Classes))
	case p.Label.Low == 0 && p.Label.High == 1:
		t.Row("label", terminal.Printable(p.Label.Column))
	default:
		t.Row("label", fmt.Sprintf("%s, from %g to %g", terminal.Printable(p.Label.Column), p.Label.Low, p.Label.High))
	}
	if p.Kernels != nil {
		describeKernels(t, p.Kernels)
	}
	if p.Networks != nil {
		describeNetworks(t, p.Networks)
	}
	t.Row("exported", fmt.Sprintf("%d files, %s", len(files), wording.Size(int64(size))))
	return t.Flush()
}

// mostShown is how many kernels are shown with their weights.
const mostShown = 4

// describeKernels adds lines about kernels.
func describeKernels(t *wording.Table, k *portable.Kernels) {
	low, high := k.List[0].Variance, k.List[0].Variance
	for _, one := range k.List {
		low, high = min(low, one.Variance), max(high, one.Variance)
	}
	variances := fmt.Sprintf("variance %g", low)
	if low < high {
		variances = fmt.Sprintf("variances from %.3g to %.3g", low, high)
	}
	t.Row("kernels", fmt.Sprintf("%d, gaussian, %s", len(k.List), variances))
	t.Row("features", fmt.Sprintf("%d frequencies a kernel, %s, %d weights", k.Count, k.Features, len(k.Theta)))
	if k.List[0].Weight == nil {
		t.Row("trust", "each client has its own, and this is the server's: none")
		return
	}
	if len(k.List) == 1 {
		return
	}
	best := slices.Clone(k.List)
	slices.SortStableFunc(best, func(a, b portable.Kernel) int { return cmp.Compare(*b.Weight, *a.Weight) })
	var shown []string
	for _, one := range best[:min(len(best), mostShown)] {
		shown = append(shown, fmt.Sprintf("%.3g: %s", one.Variance, terminal.Percent(*one.Weight)))
	}
	t.Row("trust, by variance", strings.Join(shown, ", "))
}

// describeNetworks adds a line for each network.
func describeNetworks(t *wording.Table, networks []portable.Network) {
	for i, n := range networks {
		name := ""
		if i == 0 {
			name = "networks"
		}
		says := terminal.Printable(n.Name)
		if n.Share != nil {
			says += ", trust " + terminal.Percent(*n.Share)
		}
		switch {
		case n.Weight != nil:
			says += ", held, weight " + terminal.Percent(*n.Weight)
		case n.Content == nil:
			says += ", not held"
		}
		t.Row(name, says)
	}
}

// shortList joins names up to so many bytes, and says how many more there are.
func shortList(names []string, most int) string {
	text := names[0]
	for i, name := range names[1:] {
		if len(text)+len(", ")+len(name) > most {
			return fmt.Sprintf("%s and %d more", text, len(names)-1-i)
		}
		text += ", " + name
	}
	return text
}

// Export writes the files of a model into a folder, which is new or empty: what stands in another is not mixed with a
// model. It returns their size in bytes.
func Export(dir string, files []portable.Named) (size int64, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return 0, err
		}
	case err != nil:
		return 0, err
	case len(entries) > 0:
		return 0, fmt.Errorf("%s is not empty: name a new folder with --out", dir)
	}
	for _, f := range files {
		if err := durable.WriteFile(filepath.Join(dir, f.Name), f.Content); err != nil {
			return size, err
		}
		size += int64(len(f.Content))
	}
	return size, nil
}
