package rivals

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// LIBSVM trains a support vector machine with a Gaussian kernel by the programs svm-train and svm-predict (Chang and
// Lin, "LIBSVM: a library for support vector machines", 2011).
type LIBSVM struct {
	Cost  float64 // C
	Gamma float64 // of exp(-gamma |x - x'|^2)
	Dir   string  // for files, which are written anew
}

// LIBSVMRun is what svm-train took and how its model does on the test rows.
type LIBSVMRun struct {
	Seconds    float64
	CPUSeconds float64
	Error      float64
}

// CheckLIBSVM says what to install if LIBSVM's programs are not there.
func CheckLIBSVM() error {
	for _, name := range []string{"svm-train", "svm-predict"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is not on the path: it comes with LIBSVM, in Debian's package libsvm-tools", name)
		}
	}
	return nil
}

// Run trains and tests on rows whose columns stand in parts, with labels -1 and +1. The time is that of svm-train
// with its file reading; nothing else counts. svm-train has one thread, so that its processor time is what it would
// take on an idle machine.
func (l LIBSVM) Run(
	ctx context.Context, train []*kernel.Matrix, labels []float64, test []*kernel.Matrix, held []float64,
) (LIBSVMRun, error) {
	path := func(name string) string { return filepath.Join(l.Dir, name) }
	if err := writeLIBSVMFile(path("train.svm"), train, labels); err != nil {
		return LIBSVMRun{}, err
	}
	if err := writeLIBSVMFile(path("test.svm"), test, held); err != nil {
		return LIBSVMRun{}, err
	}
	start := time.Now()
	cpu, err := command(ctx, "svm-train", "-q", "-t", "2", "-c", fmt.Sprint(l.Cost), "-g", fmt.Sprint(l.Gamma),
		path("train.svm"), path("svm.model"))
	if err != nil {
		return LIBSVMRun{}, err
	}
	r := LIBSVMRun{Seconds: time.Since(start).Seconds(), CPUSeconds: cpu.Seconds()}
	if _, err := command(ctx, "svm-predict", path("test.svm"), path("svm.model"), path("svm.out")); err != nil {
		return LIBSVMRun{}, err
	}
	text, err := os.ReadFile(path("svm.out"))
	if err != nil {
		return LIBSVMRun{}, err
	}
	r.Error, err = wrongShare(strings.Fields(string(text)), held)
	return r, err
}

// wrongShare compares predicted labels with the right ones.
func wrongShare(got []string, want []float64) (float64, error) {
	if len(got) != len(want) {
		return 0, fmt.Errorf("svm-predict wrote %d labels for %d rows", len(got), len(want))
	}
	wrong := 0
	for i, text := range got {
		y, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("svm-predict wrote %q as label %d", text, i+1)
		}
		if y != want[i] {
			wrong++
		}
	}
	return float64(wrong) / float64(len(want)), nil
}

// command runs a program and returns the processor time it took; the last of what it says is in the error.
func command(ctx context.Context, name string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	if said, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return 0, fmt.Errorf("%s: %w: %s", name, err, strings.Join(lines[max(0, len(lines)-3):], "\n"))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
